"""A window of order statistics on one column: exact sums, and its ends as far as needed."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from smoothdp.queries.read_arguments import Bounds, Values
from smoothdp.queries.windows.exact_sums import clamped_sum
from smoothdp.queries.windows.sides import Clamp, Sides, sides


class OrderStatistics:
    """A column, put in order range by range: a copy of it, unless it is one already.

    Positions count from 0 in ascending order. `arrange` costs O(n) and the sorting of its
    ranges; afterwards ``values[start:stop]`` of a range is sorted, and what lies between two
    ranges is the right set of values in any order.
    """

    __slots__ = ("values",)

    def __init__(self, values: Values, *, is_private_copy: bool = False) -> None:
        self.values = values if is_private_copy else values.copy()

    def __len__(self) -> int:
        return len(self.values)

    def arrange(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Sort the ranges [start, stop) in place; ranges may overlap. Return them merged."""
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(ranges):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
            else:
                merged.append((start, stop))
        if merged == [(0, len(self))]:
            self.values.sort()
            return merged
        self.values.partition(sorted({i for a, b in merged for i in (a, b - 1)}))
        for start, stop in merged:
            self.values[start:stop].sort()
        return merged


class Selected:
    """The mean of x_(lo+1), ..., x_(n-hi) on one column, values clamped to bounds.

    The column is ordered on demand, in place, in a private copy: ``reach`` ranks beyond each
    end, and no more than the last call of `sides` asked for.
    """

    def __init__(self, values: Values, drops: tuple[int, int], bounds: Bounds) -> None:
        self.n_records = len(values)
        self.drops = drops
        self.width = self.n_records - sum(drops)
        self.clamp = Clamp.on(values, bounds)
        self._ordered = OrderStatistics(values)
        self._reach = -1
        self._inward = -1

    def arrange(self, reach: int, *, inward: int = 0) -> None:
        """Sort ``reach`` ranks beyond each end of the window, and ``inward`` ranks inside."""
        if reach <= self._reach and inward <= self._inward:
            return
        reach, inward = max(reach, self._reach), max(inward, self._inward)
        n, (lo, hi) = self.n_records, self.drops
        self._ordered.arrange(
            [
                (max(0, lo - reach), min(n, lo + inward + 1)),
                (max(0, n - hi - 1 - inward), min(n, n - hi + reach)),
            ]
        )
        self._reach, self._inward = reach, inward

    def sides(self, reach: int) -> Sides:
        """Return the values beyond both ends, out to ``reach`` ranks (and then the bounds)."""
        self.arrange(reach)
        n, (lo, hi) = self.n_records, self.drops
        values = self._ordered.values
        low = values[max(0, lo - reach) : lo + 1][::-1]
        high = values[n - hi - 1 : n - hi + reach]
        return sides(low, high, self.clamp, complete=(reach > lo, reach > hi))

    def first_steps(self) -> tuple[int, int]:
        """Return the steps p and q at which v_p and u_q first differ from v_0 and u_0.

        Counted in one pass, nothing is sorted. The bound stands one step beyond the values.
        """
        self.arrange(0)
        n, (lo, hi) = self.n_records, self.drops
        values = self._ordered.values
        below, above = self._below(values[lo].item()), self._above(values[n - hi - 1].item())
        return lo - below + 1, hi - above + 1

    def _below(self, raw: int | float) -> int:
        """Return how many values are below one, all clamped."""
        clamp, values = self.clamp, self._ordered.values
        if clamp.value(raw) == clamp.bounds[0]:
            return 0
        if raw > clamp.last and clamp.last < clamp.bounds[1]:
            return int(np.count_nonzero(values <= clamp.last))
        return int(np.count_nonzero(values < min(raw, clamp.last)))

    def _above(self, raw: int | float) -> int:
        """Return how many values are above one, all clamped."""
        clamp, values = self.clamp, self._ordered.values
        if clamp.value(raw) == clamp.bounds[1]:
            return 0
        if raw < clamp.first and clamp.first > clamp.bounds[0]:
            return int(np.count_nonzero(values >= clamp.first))
        return int(np.count_nonzero(values > max(raw, clamp.first)))

    def beyond_ties(self, reach: int, steps: tuple[int, int]) -> Sides:
        """Return the sides with what `first_steps` gave, and ``reach`` ranks from there on."""
        n, (lo, hi) = self.n_records, self.drops
        below, above = lo - steps[0] + 1, n - hi - 1 + steps[1]
        low, high = (max(0, below - reach), below), (above, min(n, above + reach))
        ends = [(lo, lo + 1), (n - hi - 1, n - hi)]
        self._ordered.arrange([*ends, *(ranks for ranks in (low, high) if ranks[0] < ranks[1])])
        self._reach = self._inward = 0
        values = self._ordered.values
        return sides(
            np.concatenate([values[lo : lo + 1], values[slice(*low)][::-1]]),
            np.concatenate([values[n - hi - 1 : n - hi], values[slice(*high)]]),
            self.clamp,
            complete=(reach > below, reach > n - above),
            second=steps,
        )

    def sum_between(self, start: int, stop: int) -> Fraction:
        """Return the sum of the order statistics start+1, ..., stop, clamped, exactly.

        Both ends of the range must lie in what was arranged.
        """
        return clamped_sum(self._ordered.values[start:stop], self.clamp)

    def mean(self) -> Fraction:
        """Return the mean of the window, exactly."""
        self.arrange(0)
        lo, hi = self.drops
        return self.sum_between(lo, self.n_records - hi) / self.width


def first_reach(n_records: int, rate: Fraction) -> int:
    """Return a reach that will nearly always do: bounds e^20 times n gaps apart."""
    return math.ceil(min(n_records + 1.0, (20 + math.log(n_records)) / float(rate))) + 2


def needed_reach(log_range: float, log_best: float, rate: Fraction) -> int:
    """Return a reach beyond which no pair can matter.

    A pair beyond reach K counts at a distance of at least K, and its difference is at most the
    range: nothing is lost if ln(range) - rate K is below the best so far, with a unit to spare.
    """
    if log_best == -math.inf:
        return sys.maxsize
    return math.ceil(max(0.0, log_range - log_best + 1.0) / float(rate)) + 2


def first_true(holds: Callable[[int], bool], stop: int) -> int:
    """Return the least k < stop at which a monotone statement holds, or stop.

    >>> first_true(lambda k: k * k >= 10, 100)
    4
    """
    start = 0
    while start < stop:
        middle = (start + stop) // 2
        if holds(middle):
            stop = middle
        else:
            start = middle + 1
    return start
