"""A column as a step function on the line: the order statistics, with a pad on either side.

With n values x_1 <= ... <= x_n, clamped to [a, b], write X(u) = a for u <= 0, x_i for u in
(i - 1, i], and b for u > n. A window of it has a mean at every n, also at n = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.queries.read_arguments import Bounds, Values
from smoothdp.queries.windows.exact_sums import clamped_sum
from smoothdp.queries.windows.selected import OrderStatistics
from smoothdp.queries.windows.sides import Clamp
from smoothdp.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class CellValues:
    """The values of some cells, each as a number of the column's type and a remainder.

    Differences of ``raw`` and differences of ``rest`` have one sign, so that their sum has a
    relative error of a few roundings however close the values are.
    """

    raw: Values
    rest: FloatArray

    def minus(self, other: CellValues) -> FloatArray:
        """Return self - other, which must not be negative, within 3 roundings."""
        raw, subtracted = self.raw, other.raw
        if raw.dtype == np.int64:
            # 2^62 less -2^62 is no 64-bit number with a sign.
            raw, subtracted = raw.view(np.uint64), subtracted.view(np.uint64)
        gap = np.asarray(raw - subtracted, np.float64)
        return np.asarray(gap + (self.rest - other.rest), np.float64)


class PaddedCells:
    """The cells of one column: X(u) by number of the cell, as far out as was arranged.

    The column is put in order in place: it must belong to nobody else. ``arranged`` holds the
    ranges [start, stop) of it that are.
    """

    __slots__ = ("_between_floats", "_ordered", "_rests", "arranged", "clamp", "n_records")

    def __init__(self, values: Values, bounds: Bounds) -> None:
        self.n_records = len(values)
        self.arranged: list[tuple[int, int]] = []
        self.clamp = Clamp.on(values, bounds)
        # Bounds between two neighbouring numbers of the column's type: each value is a bound.
        self._between_floats = self.clamp.first > self.clamp.last
        lower, upper = bounds
        rests = Fraction(self.clamp.first) - lower, upper - Fraction(self.clamp.last)
        self._rests = float(rests[0]), float(rests[1])
        self._ordered = OrderStatistics(values, is_private_copy=True)

    def arrange(self, *ranges: tuple[int, int]) -> None:
        """Sort the cells that meet each range [u, v] of the line."""
        n = self.n_records
        cut = [(max(0, u), min(n, v + 1)) for u, v in ranges]
        wanted = [
            (start, stop)
            for start, stop in cut
            if start < stop and not any(a <= start and stop <= b for a, b in self.arranged)
        ]
        if wanted:
            # With what was arranged before, which another order would undo.
            self.arranged = self._ordered.arrange([*self.arranged, *wanted])

    def exact(self, cell: int) -> Fraction:
        """Return the value of the i-th cell, exactly."""
        if cell <= 0:
            return self.clamp.bounds[0]
        if cell > self.n_records:
            return self.clamp.bounds[1]
        return self.clamp.value(self._ordered.values[cell - 1].item())

    def values(self, cells: IntArray) -> CellValues:
        """Return the values of many cells, in an array of any shape."""
        stored, n = self._ordered.values, self.n_records
        # Without rows every cell is a pad.
        if n:
            raw = stored[np.minimum(np.maximum(cells, 1), n) - 1]
        else:
            raw = np.zeros(cells.shape, stored.dtype)
        return self.from_raw(cells, raw)

    def from_raw(self, cells: IntArray, raw: Values) -> CellValues:
        """Return the values of cells from what the column holds there; at a pad, anything."""
        clamp, n, dtype = self.clamp, self.n_records, raw.dtype
        at_lower = (cells <= 0) | ((cells <= n) & (raw < clamp.first))
        at_upper = (cells > n) | ((cells > 0) & (raw > clamp.last))
        lower, upper = clamp.bounds
        if self._between_floats:
            return CellValues(np.zeros_like(raw), np.where(at_upper, float(upper - lower), 0.0))
        raw = np.where(at_lower, clamp.first, np.where(at_upper, clamp.last, raw))
        below, above = self._rests
        return CellValues(
            raw.astype(dtype, copy=False),
            np.where(at_lower, -below, np.where(at_upper, above, 0.0)),
        )

    def rises(self, cell: int) -> tuple[int | None, int | None]:
        """Return the ranks next to a cell, below and above it, after which X rises.

        None where it never does. The cell must have been arranged.
        """
        (lower, upper), value = self.clamp.bounds, self.exact(cell)
        first, last, stored = self.clamp.first, self.clamp.last, self._ordered.values
        below: int | None = None
        above: int | None = None
        if value > lower:
            if value < upper:
                found = stored < stored[cell - 1]
            else:
                found = stored < last if last == upper else stored <= last
            below = int(np.count_nonzero(found))
        if value < upper:
            if value > lower:
                found = stored <= stored[cell - 1]
            else:
                found = stored <= first if first == lower else stored < first
            above = int(np.count_nonzero(found))
        return below, above

    def keys(self, cells: IntArray) -> IntArray:
        """Return for each cell two whole numbers that are equal where the values are."""
        values = self.values(cells)
        side = np.sign(values.rest).astype(np.int64)
        return np.stack([np.ascontiguousarray(values.raw).view(np.int64), side])

    def integral(self, start: Fraction, stop: Fraction) -> Fraction:
        """Return the integral of X over [start, stop], exactly.

        The cells at both ends must have been arranged.
        """
        first, last = math.ceil(start), math.floor(stop)
        if first > last:
            # Both ends lie in one cell.
            return (stop - start) * self.exact(first)
        return (
            (first - start) * self.exact(first)
            + self._sum(first, last)
            + (stop - last) * self.exact(last + 1)
        )

    def _sum(self, start: int, stop: int) -> Fraction:
        """Return the sum of the cells start + 1, ..., stop."""
        n, (lower, upper) = self.n_records, self.clamp.bounds
        below = max(0, min(stop, 0) - start)
        above = max(0, stop - max(start, n))
        inside = self._ordered.values[min(max(start, 0), n) : max(min(stop, n), 0)]
        return below * lower + above * upper + clamped_sum(inside, self.clamp)
