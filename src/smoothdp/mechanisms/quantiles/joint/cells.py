"""A sorted column as the cells between neighbouring values, with their exact lengths."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.queries.read_arguments import Bounds, Values
from smoothdp.queries.windows.sides import Clamp
from smoothdp.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cells:
    """Cell i = [x_(i), x_(i+1)], i = 0, ..., n, of n values clamped to [a, b].

    x_(0) = a and x_(n+1) = b; i values lie below a point inside cell i. As private as the data.

    Attributes:
        values: sorted, not clamped. clamp: the bounds, next to what the column can hold.
        n_below: how many values are below a. n_above: how many are above b.

    >>> cells = Cells.of(np.array([3.0, 1.0, 9.0]), (Fraction(0), Fraction(5)))
    >>> [float(cells.length(i)) for i in range(4)], cells.log_lengths()[3]
    ([1.0, 2.0, 2.0, 0.0], np.float64(-inf))
    """

    values: Values
    clamp: Clamp
    n_below: int
    n_above: int

    def __repr__(self) -> str:
        return f"Cells(n_records={self.n_records}, private)"

    @staticmethod
    def of(values: Values, bounds: Bounds) -> Cells:
        """Return the cells of a column of any order."""
        ordered = np.sort(values)
        clamp = Clamp.on(ordered, bounds)
        below = int(np.count_nonzero(ordered < clamp.first))
        above = int(np.count_nonzero(ordered > clamp.last))
        return Cells(ordered, clamp, below, above)

    @property
    def n_records(self) -> int:
        """n."""
        return len(self.values)

    @property
    def bounds(self) -> Bounds:
        """(a, b)."""
        return self.clamp.bounds

    def end(self, i: int) -> Fraction:
        """Return x_(i), 0 <= i <= n + 1, exactly."""
        if i == 0:
            return self.bounds[0]
        if i > self.n_records:
            return self.bounds[1]
        return self.clamp.value(self.values[i - 1].item())

    def length(self, i: int) -> Fraction:
        """Return the length of cell i, exactly."""
        return self.end(i + 1) - self.end(i)

    def lower_ends(self) -> FloatArray:
        """Return x_(0), ..., x_(n) as floats."""
        ends = np.empty(self.n_records + 1)
        ends[0] = float(self.bounds[0])
        ends[1:] = self.values
        return np.clip(ends, float(self.bounds[0]), float(self.bounds[1]))

    def log_lengths(self) -> FloatArray:
        """Return ln of all lengths, -inf for 0: each length is rounded once, and the logarithm."""
        lengths = np.zeros(self.n_records + 1)
        first, last = self.n_below, self.n_records - self.n_above
        inside = self.values[first:last]
        # Differences of floats, or of whole numbers below 2^62, are rounded once.
        lengths[first + 1 : last] = np.diff(inside)
        for i in (first, last):
            exact = self.length(i)
            lengths[i] = max(float(exact), 5e-324) if exact > 0 else 0.0
        with np.errstate(divide="ignore"):
            return np.log(lengths)

    def locate(self, share: Fraction, rest: Fraction) -> int | None:
        """Return the cell of a + u (b - a) for all u in [share, share + rest), None if not one."""
        lower, upper = self.bounds
        ends = (lower + share * (upper - lower), lower + (share + rest) * (upper - lower))
        low, high = 0, self.n_records
        while low < high:
            middle = (low + high + 1) // 2
            if self.end(middle) <= ends[0]:
                low = middle
            else:
                high = middle - 1
        return low if ends[1] <= self.end(low + 1) else None
