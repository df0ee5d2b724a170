"""The summary of a column that is too large for one machine, as a statistic needs it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.queries.read_arguments import Bounds, Values
from smoothdp.queries.windows.sides import Clamp, Sides, sides
from smoothdp.sources import Source


class MoreNeeded(OutOfReach):
    """The tails of a summary end before the smooth sensitivity is decided."""

    def __init__(self, reach: int) -> None:
        self.reach = reach
        super().__init__(
            expected="tails in which the smooth sensitivity is decided",
            got="shorter ones",
            remedy="Take longer ones, as smoothdp.engines does",
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ColumnSummary:
    """A column as a windowed statistic sees it: n, the exact window sum, and the tails.

    It takes the place of the data in `Query.summary` and in `SmoothNoise.release`, and gives
    the same exact numbers, so a release from it has the same law. As private as the data: its
    text shows none of them. It is for one window and one pair of bounds.

    Attributes:
        n_records: n.
        drops: (lo, hi), how many of the smallest and the largest the window leaves out.
        bounds: what values are clamped to.
        total: the sum of the window, clamped, exactly.
        low: x_(lo+1), x_(lo), ... falling, not clamped, as many as were taken; one at least.
        high: x_(n-hi), x_(n-hi+1), ... rising.

    >>> import numpy as np
    >>> from smoothdp.queries import Median
    >>> ends = Fraction(0), Fraction(10)
    >>> low, high = np.array([5.0, 1.0]), np.array([5.0, 9.0])
    >>> column = ColumnSummary(3, (1, 1), ends, Fraction(5), low, high)   # of 1, 5 and 9
    >>> query = Median((0, 10))
    >>> query.summary(column, smoothing=1) == query.summary([9, 1, 5], smoothing=1)
    True
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Definition 14")
    n_records: int
    drops: tuple[int, int]
    bounds: Bounds
    total: Fraction
    low: Values
    high: Values

    def __repr__(self) -> str:
        # The sum and the tails are the data themselves.
        return f"ColumnSummary(n_records={self.n_records}, drops={self.drops}, private)"

    @property
    def width(self) -> int:
        """How many values the window has."""
        return self.n_records - sum(self.drops)

    def check(self, drops: tuple[int, int], bounds: Bounds) -> None:
        """Raise InvalidParameter unless the summary was made for this window and these bounds."""
        if (drops, bounds) != (self.drops, self.bounds):
            raise InvalidParameter(
                expected=f"a summary for the window without {drops} values and these bounds",
                got=f"one without {self.drops}",
                remedy="Summarise the column with mechanism.windowed",
            )

    def sides(self, reach: int) -> Sides:
        """Return the values beyond both ends; raises MoreNeeded where they are too few."""
        lo, hi = self.drops
        if len(self.low) <= min(reach, lo) or len(self.high) <= min(reach, hi):
            raise MoreNeeded(reach)
        clamp = Clamp.on(self.low, self.bounds)
        low, high = self.low[: min(reach, lo) + 1], self.high[: min(reach, hi) + 1]
        return sides(low, high, clamp, complete=(reach > lo, reach > hi))

    def mean(self) -> Fraction:
        """Return the mean of the window, exactly."""
        return self.total / self.width
