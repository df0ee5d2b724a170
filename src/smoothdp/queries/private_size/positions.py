"""Where the two ends of a padded window move when k rows are added or removed.

For q >= 1/2 and M = q: i rows are removed inside the window and j copies of the upper bound
added, i + j = k. The ends of the window are then read at

    T = q n + c + w/2 + (1 - q) i + q j,     B = q n + c - w/2 - q i + q j,

and one more row moves the mean of the window by at most the larger of Y(T) - Y(B) and
Y(T - M) - Y(B - M), over w (proofs/private-size#3, #5). The second is needed at j = 0 only: at
j >= 1 it is the first at j - 1, or less than that at (i + 1, j - 1). For q = 1/2 the first is
largest at j = 0 too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.types import IntArray

# Sums of a few positions stay below 2^63.
_FITS = 1 << 59


@dataclass(frozen=True, slots=True)
class Positions:
    """The window [q n + c - w/2, q n + c + w/2] on n rows, in whole units 1 / D.

    Attributes:
        n_records: n. level: q >= 1/2, which is M. width: w > 0. offset: c.
        unit: D.

    >>> place = Positions.of(10, Fraction(1, 2), width=Fraction(3), offset=Fraction(0))
    >>> place.top(np.array([0]), np.array([0])) / place.unit     # 10 / 2 + 3 / 2
    array([6.5])
    """

    n_records: int
    level: Fraction
    width: Fraction
    offset: Fraction
    unit: int

    @classmethod
    def of(cls, n_records: int, level: Fraction, *, width: Fraction, offset: Fraction) -> Positions:
        """Return the positions, with the least unit that makes them whole."""
        unit = math.lcm(level.denominator, (width / 2).denominator, offset.denominator)
        return cls(n_records, level, width, offset, unit)

    @property
    def start(self) -> Fraction:
        """B at k = 0: the lower end of the window."""
        return self.level * self.n_records + self.offset - self.width / 2

    @property
    def stop(self) -> Fraction:
        """T at k = 0: the upper end of the window."""
        return self.start + self.width

    @property
    def length(self) -> int:
        """M in units."""
        return self._units(self.level)

    @property
    def is_middle(self) -> bool:
        """Whether q = 1/2, where j = 0 is all that is needed."""
        return self.level == Fraction(1, 2)

    def top(self, distance: IntArray, added: IntArray) -> IntArray:
        """Return T in units, for k and j."""
        up = self._units(1 - self.level)
        return self._units(self.stop) + up * distance + (self.length - up) * added

    def bottom(self, distance: IntArray, added: IntArray) -> IntArray:
        """Return B in units, for k and j."""
        return self._units(self.start) - self.length * distance + 2 * self.length * added

    def saturation(self) -> int:
        """Return a distance at which B_k is (b - a) M / w, the largest that it can be."""
        upwards = max(Fraction(0), self.n_records - self.stop)
        downwards = max(Fraction(0), self.start + self.level)
        # Only by adding: j copies of b; then i rows removed bring B down again.
        added = math.ceil(upwards / self.level)
        total = added + math.ceil((downwards + self.level * added) / self.level)
        if self.level < 1:
            only_removed = math.ceil(max(upwards / (1 - self.level), downwards / self.level))
            return min(total, only_removed)
        return total

    def whole_numbers(self, numbers: IntArray) -> IntArray:
        """Return counts as 64-bit numbers, or as Python's where positions need more."""
        furthest = (self.n_records + 2 * self.saturation() + 4) * self.unit
        furthest += self._units(self.width) + abs(self._units(self.offset))
        return numbers if 4 * furthest < _FITS else numbers.astype(object)

    def reached(self, distance: int) -> list[tuple[Fraction, Fraction]]:
        """Return the ranges of the line that are read up to a distance, and the window's ends."""
        q, k = self.level, distance
        up = (1 - q) * k if self.is_middle else q * k
        back = 0 if self.is_middle else q * k
        return [
            (self.start - q * k - q, self.start + back + q),
            (self.stop - q, self.stop + up + q),
        ]

    def _units(self, number: Fraction) -> int:
        scaled = number * self.unit
        assert scaled.denominator == 1
        return scaled.numerator
