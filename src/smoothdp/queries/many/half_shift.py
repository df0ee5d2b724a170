"""A window of half ranks around a quantile: its value and its smooth sensitivity at a shift.

The data are doubled: cell i is D_i = x_(ceil(i/2)) for 1 <= i <= 2n, the lower bound below and
the upper one above. A window of W = 2 w cells starts at cell l = centre - w + h, and h moves it
by half ranks:

    f(l) = (D_l + ... + D_(l+W-1)) / W
    A_k(l) = max(D_(l+W+k) - D_(l-k), D_(l+W-1+k) - D_(l-1-k)) / W
    S(l) = max(max over 0 <= k <= K of e^(-t k) A_k(l), e^(-t K) (b - a) / W)

The last term, the floor, belongs to the definition: without it a database with ties has S = 0
at some h and its neighbour at none (proofs/half-shift#3).

Source: proofs/half-shift#1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from fractions import Fraction

import numpy as np

from smoothdp.claims.sealed import Sealed
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import exact_int, float_of
from smoothdp.queries.read_arguments import Bounds, Values, read_smoothing
from smoothdp.queries.sensitivity.candidates import Candidate, largest
from smoothdp.queries.statistic import PrivateSummary
from smoothdp.queries.windows.exact_sums import clamped_sum
from smoothdp.queries.windows.selected import OrderStatistics
from smoothdp.queries.windows.sides import Clamp
from smoothdp.types import FloatArray, IntArray

_FURTHEST = 40
"""The floor is e^-40 of the range over W, unless that takes too long."""
_MOST_REACH = 1 << 40
_MOST_SHIFT = 1 << 50
"""Half shifts beyond it leave the data out of reach, and change nothing further."""


def default_reach(smoothing: Fraction) -> int:
    """Return K = ceil(40 / t), at most 2^40: any public number is as private."""
    return min(math.ceil(_FURTHEST / smoothing), _MOST_REACH)


@dataclass(frozen=True, slots=True)
class HalfShiftWindow:
    """A window of doubled data, before it is shifted; all of it is public.

    Attributes:
        centre: twice the rank that it is centred on. width: w, in ranks; W is twice it.
        smoothing: t. reach: K.

    Raises:
        InvalidParameter: a width below 1, a negative centre or reach, no smoothing above 0.

    >>> import numpy as np
    >>> window = HalfShiftWindow(8, 1, Fraction(1, 10), 400)
    >>> data = HalfShiftColumn(np.array([1.0, 2, 4, 7, 11, 16, 22]), (Fraction(0), Fraction(30)))
    >>> data.arrange([(window, 0)])
    >>> data.value(window, 0), data.largest(window, 0)
    (Fraction(7, 1), (6, Fraction(29, 1)))
    """

    centre: int
    width: int
    smoothing: Fraction
    reach: int

    def __post_init__(self) -> None:
        # A width of -3 would have a value and a sensitivity too, and neither bounds the other.
        object.__setattr__(self, "centre", exact_int(self.centre, name="centre", minimum=0))
        object.__setattr__(self, "width", exact_int(self.width, name="width", minimum=1))
        object.__setattr__(self, "smoothing", read_smoothing(self.smoothing))
        object.__setattr__(self, "reach", exact_int(self.reach, name="reach", minimum=0))

    def __reduce__(self) -> tuple[type[HalfShiftWindow], tuple[object, ...]]:
        # A pickle is read by the constructor, which compares what it says.
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    def start(self, half_shift: int) -> int:
        """Return l, the first cell."""
        return self.centre - self.width + min(max(half_shift, -_MOST_SHIFT), _MOST_SHIFT)

    @property
    def cells(self) -> int:
        """W."""
        return 2 * self.width

    def steps(self, half_shift: int, n_records: int) -> range:
        """Return the k that can be the best: none before differs, none beyond grows.

        While the ends are beyond the same bound A_k is 0, and from where they are on both bounds
        it stays.
        """
        start, cells = self.start(half_shift), 2 * n_records
        same = max(start - 1 - cells, -(start + self.cells), 0)
        both = max(cells + 2 - start - self.cells, start - 1, 0)
        return range(min(same, self.reach), min(both, self.reach) + 1)


class HalfShiftColumn:
    """A column as windows of half ranks see it: in order as far as they reach.

    Everything that it returns is as private as the data.
    """

    __slots__ = ("_bounds", "_clamp", "_ordered", "n_records")

    def __init__(self, values: Values, bounds: Bounds) -> None:
        self.n_records = len(values)
        self._bounds = bounds
        self._clamp = Clamp.on(values, bounds)
        self._ordered = OrderStatistics(values)

    def arrange(self, shifted: Sequence[tuple[HalfShiftWindow, int]]) -> None:
        """Put in order what windows at their half shifts look at; O(n) and the ranges' sorting."""
        n = self.n_records
        ranges: list[tuple[int, int]] = []
        for window, half_shift in shifted:
            start, far = window.start(half_shift), window.steps(half_shift, n)[-1]
            first = min(max(_rank(start - 1 - far), 1), n) - 1
            last = min(max(_rank(start + window.cells + far), 1), n)
            ranges.append((first, last))
        self._ordered.arrange(ranges)

    def value(self, window: HalfShiftWindow, half_shift: int) -> Fraction:
        """Return f, exactly; after `arrange`."""
        start, stop = window.start(half_shift), window.start(half_shift) + window.cells
        n = self.n_records
        cells = np.arange(max(start, 1), min(stop, 2 * n + 1))
        lower, upper = self._bounds
        outside = max(0, min(stop, 1) - start) * lower
        outside += max(0, stop - max(start, 2 * n + 1)) * upper
        inside = self._ordered.values[(cells + 1) // 2 - 1]
        return (clamped_sum(inside, self._clamp) + outside) / window.cells

    def largest(self, window: HalfShiftWindow, half_shift: int) -> Candidate:
        """Return (k, d) with S = e^(-t k) d / W, exactly; after `arrange`."""
        t = window.smoothing
        candidates: list[Candidate] = [(window.reach, self._bounds[1] - self._bounds[0])]
        start, looked_at = window.start(half_shift), window.steps(half_shift, self.n_records)
        steps = np.arange(looked_at.start, looked_at.stop)
        best = _log(candidates[0][1]) - float_of(t) * window.reach
        pairs = []
        for high, low in ((start + window.cells, start), (start + window.cells - 1, start - 1)):
            u, v = self._ranks(high + steps), self._ranks(low - steps)
            with np.errstate(divide="ignore"):
                scores = np.log(self._differences(u, v)) - float_of(t) * steps
            pairs.append((u, v, scores))
            best = max(best, float(scores.max()))
        # The relative error of a difference, its logarithm, t as a float and its product.
        size = abs(best) + 2 * float_of(t) * window.reach + 800
        margin = 4 * (LIBM_ERROR + 8 * UNIT_ROUNDOFF) * size
        for u, v, scores in pairs:
            for i in np.flatnonzero(scores >= best - margin).tolist():
                difference = self._exact(int(u[i])) - self._exact(int(v[i]))
                candidates.append((looked_at.start + i, difference))
        return largest(candidates, t)

    def summary(self, window: HalfShiftWindow, half_shift: int) -> PrivateSummary:
        """Return f and S, sealed, for a sampler; after `arrange`."""
        k, difference = self.largest(window, half_shift)
        sensitivity = difference / window.cells, k * window.smoothing
        return PrivateSummary(
            self.n_records, Sealed(self.value(window, half_shift)), Sealed(sensitivity)
        )

    def _ranks(self, cells: IntArray) -> IntArray:
        """Return the ranks of cells: 0 is the lower bound, n + 1 the upper one."""
        return np.clip((cells + 1) // 2, 0, self.n_records + 1)

    def _exact(self, rank: int) -> Fraction:
        if rank == 0:
            return self._bounds[0]
        if rank == self.n_records + 1:
            return self._bounds[1]
        return self._clamp.value(self._ordered.values[rank - 1].item())

    def _differences(self, high: IntArray, low: IntArray) -> FloatArray:
        """Return the differences of clamped values by their ranks, within a few roundings.

        A bound is the nearest number of the column's kind inside and what is missing to it: both
        parts of a difference are then at least 0, and no digit is lost.
        """
        clamp, (lower, upper) = self._clamp, self._bounds
        u, u_low, u_high = self._placed(high)
        v, v_low, v_high = self._placed(low)
        if clamp.first > clamp.last:
            # No number of the column's kind is inside: every value is a bound.
            return np.where(u_high & v_low, float(upper - lower), 0.0)
        if u.dtype == np.int64:
            # u >= v; 2^62 less -2^62 is no 64-bit number with a sign.
            u, v = u.view(np.uint64), v.view(np.uint64)
        inner = (u - v).astype(np.float64)
        inner = inner + np.where(u_high & ~v_high, float(upper - Fraction(clamp.last)), 0.0)
        return np.asarray(
            inner + np.where(v_low & ~u_low, float(Fraction(clamp.first) - lower), 0.0)
        )

    def _placed(self, ranks: IntArray) -> tuple[Values, IntArray, IntArray]:
        """Return the values of ranks inside the bounds, and which are the lower or upper bound."""
        n, clamp = self.n_records, self._clamp
        raw = self._ordered.values[np.clip(ranks, 1, n) - 1]
        at_lower = (ranks == 0) | ((ranks <= n) & (raw < clamp.first))
        at_upper = (ranks == n + 1) | ((ranks > 0) & (raw > clamp.last))
        kind = raw.dtype.type
        inside = np.where(at_lower, kind(clamp.first), np.where(at_upper, kind(clamp.last), raw))
        return inside, at_lower, at_upper


def _rank(cell: int) -> int:
    return (cell + 1) // 2


def _log(ratio: Fraction) -> float:
    return math.log(ratio.numerator) - math.log(ratio.denominator)
