"""A quantile, or the mean of a short window around it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.queries.query import Query, bounds_text
from smoothdp.queries.read_arguments import check_room, read_bounds, read_window
from smoothdp.sources import Source


@dataclass(frozen=True)
class Quantile(Query):
    """The order statistic of rank r = floor(q (n - 1) + 1/2) + 1, counted from 1.

    With a window, the mean of the w order statistics centred on it: a release of it is 2 to 25
    times more accurate. None means 1 here; `plan` and `release` put a window in its place that
    depends on n, the bounds and the guarantee alone.

    Source: paper 2, Proposition 40, for windows that need not be in the middle:
    proofs/windows-around-the-rank#3.

    Args:
        q: from 0 (the minimum) to 1 (the maximum).
        bounds: (a, b), a < b; values are clamped to it. Fixed without looking at the data.
        window: w, odd and at least 1, or None.

    Raises:
        InvalidParameter: q outside [0, 1], bounds that are no finite interval, an even window.
        InvalidData: a window that is wider than the shorter side allows (when data are given).

    >>> Quantile("0.9", bounds=(0, 100)).value(range(1, 12))
    10.0
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Proposition 40")
    q: Fraction
    window: int | None = None

    def __init__(self, q: Parameter, *, bounds: object, window: int | None = None) -> None:
        level = exact_fraction(q, name="q")
        if not 0 <= level <= 1:
            raise InvalidParameter(
                expected="q between 0 and 1", got=f"q={q}", remedy="Give 0.9 for the 90% quantile"
            )
        object.__setattr__(self, "q", level)
        object.__setattr__(self, "bounds", read_bounds(bounds))
        object.__setattr__(self, "window", read_window(window))

    def rank(self, n_records: int) -> int:
        """Return r = floor(q (n - 1) + 1/2) + 1, in exact arithmetic.

        >>> Quantile(0.5, bounds=(0, 1)).rank(4)
        3
        """
        return math.floor(self.q * (n_records - 1) + Fraction(1, 2)) + 1

    def drops(self, n_records: int) -> tuple[int, int]:
        rank, window = self.rank(n_records), self.window or 1
        check_room(window, 2 * min(rank - 1, n_records - rank) + 1, n_records)
        return rank - 1 - window // 2, n_records - rank - window // 2

    def describe(self) -> str:
        around = f" (mean of {self.window} values around it)" if (self.window or 1) > 1 else ""
        return f"quantile {float(self.q):g}{around}, values clamped to {bounds_text(self.bounds)}"
