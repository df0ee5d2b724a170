"""The mean of all values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from smoothdp.queries.query import Query, bounds_text
from smoothdp.queries.reading import read_bounds
from smoothdp.sources import Source


@dataclass(frozen=True)
class Mean(Query):
    """The mean of all values, each clamped to the bounds.

    Nothing is left out, so one record can move it by (b - a)/n whatever the data are.

    Source: paper 2, Proposition 40 with m = 0.

    Args:
        bounds: (a, b), a < b; fixed without looking at the data.

    Raises:
        InvalidParameter: bounds that are no finite interval.

    >>> Mean((0, 10)).value([1, 2, 300])
    4.333333333333333
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Proposition 40")

    def __init__(self, bounds: object) -> None:
        object.__setattr__(self, "bounds", read_bounds(bounds))

    def drops(self, n_records: int) -> tuple[int, int]:  # noqa: ARG002 - of every statistic
        return 0, 0

    def describe(self) -> str:
        return f"mean, values clamped to {bounds_text(self.bounds)}"
