"""The smallest and the largest value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from smoothdp.queries.query import Query
from smoothdp.queries.read_arguments import bounds_text, read_bounds
from smoothdp.sources import Source


@dataclass(frozen=True)
class Minimum(Query):
    """The smallest value, clamped to the bounds.

    Source: paper 2, section 5.2; the window of one value at rank 1.

    Args:
        bounds: (a, b), a < b; fixed without looking at the data.

    Raises:
        InvalidParameter: bounds that are no finite interval.

    >>> Minimum((0, 10)).value([3, 1, 4])
    1.0
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "section 5.2")

    def __init__(self, bounds: object) -> None:
        object.__setattr__(self, "bounds", read_bounds(bounds))

    def drops(self, n_records: int) -> tuple[int, int]:
        return 0, n_records - 1

    def describe(self) -> str:
        return f"minimum, values clamped to {bounds_text(self.bounds)}"


@dataclass(frozen=True)
class Maximum(Query):
    """The largest value, clamped to the bounds.

    Source: paper 2, section 5.2; the window of one value at rank n.

    Args:
        bounds: (a, b), a < b; fixed without looking at the data.

    Raises:
        InvalidParameter: bounds that are no finite interval.

    >>> Maximum((0, 10)).value([3, 1, 4])
    4.0
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "section 5.2")

    def __init__(self, bounds: object) -> None:
        object.__setattr__(self, "bounds", read_bounds(bounds))

    def drops(self, n_records: int) -> tuple[int, int]:
        return n_records - 1, 0

    def describe(self) -> str:
        return f"maximum, values clamped to {bounds_text(self.bounds)}"
