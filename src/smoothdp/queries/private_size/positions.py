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
    """The window [q n + c - w/2, q n + c + w/2] on n rows, q >= 1/2, in whole units 1 / D.

    Attributes:
        n_records: n. unit: D.
        bottom_end, top_end: the window's ends, which are B and T at k = 0, in units.
        length: M = q in units.
        furthest: a distance at which B_k is (b - a) M / w, the largest that it can be.
        fits: whether 64 bits hold all positions.

    >>> import numpy as np
    >>> place = Positions.of(10, Fraction(1, 2), width=Fraction(3), offset=Fraction(0))
    >>> place.top(np.array([0]), np.array([0])) / place.unit     # 10 / 2 + 3 / 2
    array([6.5])
    """

    n_records: int
    unit: int
    bottom_end: int
    top_end: int
    length: int
    furthest: int
    fits: bool

    @classmethod
    def of(cls, n_records: int, level: Fraction, *, width: Fraction, offset: Fraction) -> Positions:
        """Return the positions, with the least unit that makes them whole."""
        unit = math.lcm(level.denominator, (width / 2).denominator, offset.denominator)
        length = int(level * unit)
        start = length * n_records + int((offset - width / 2) * unit)
        stop = start + int(width * unit)
        furthest = _saturation(n_records * unit, start, stop, length=length, unit=unit)
        most = (n_records + 2 * furthest + 4) * unit + abs(start) + abs(stop)
        return cls(n_records, unit, start, stop, length, furthest, 4 * most < _FITS)

    @property
    def start(self) -> Fraction:
        """The lower end of the window."""
        return Fraction(self.bottom_end, self.unit)

    @property
    def stop(self) -> Fraction:
        """The upper end of the window."""
        return Fraction(self.top_end, self.unit)

    @property
    def is_middle(self) -> bool:
        """Whether q = 1/2, where j = 0 is all that is needed."""
        return 2 * self.length == self.unit

    def top(self, distance: IntArray, added: IntArray) -> IntArray:
        """Return T in units, for k and j."""
        up = self.unit - self.length
        return self.top_end + up * distance + (self.length - up) * added

    def bottom(self, distance: IntArray, added: IntArray) -> IntArray:
        """Return B in units, for k and j."""
        return self.bottom_end - self.length * distance + 2 * self.length * added

    def whole_numbers(self, numbers: IntArray) -> IntArray:
        """Return counts as 64-bit numbers, or as Python's where positions need more."""
        return numbers if self.fits else numbers.astype(object)

    def reached(self, distance: int) -> list[tuple[int, int]]:
        """Return the ranges of the line that are read up to a distance, in whole ranks outwards.

        Both ends of the window are among them.
        """
        q, k = self.length, distance
        up = (self.unit - q) * k if self.is_middle else q * k
        back = 0 if self.is_middle else q * k
        ranges = [
            (self.bottom_end - q * k - q, self.bottom_end + back + q),
            (self.top_end - q, self.top_end + up + q),
        ]
        return [(start // self.unit, -(-stop // self.unit)) for start, stop in ranges]

    def first_gain(self, below: int | None, above: int | None) -> int:
        """Return the least k with B_k > 0, where X rises after these ranks next to the window.

        The lowest position that is read at k is B - M - q k, the highest T + M + q k
        (proofs/private-size#8).
        """
        steps = []
        if below is not None:
            steps.append((self.bottom_end - self.length - below * self.unit) // self.length + 1)
        if above is not None:
            steps.append((above * self.unit - self.top_end - self.length) // self.length + 1)
        return max(0, min(steps))

    def beyond(self, distance: int, below: int | None, above: int | None) -> list[tuple[int, int]]:
        """Return the ranges that are read up to a distance where X is level between two ranks.

        Both ends of the level part are among them: what is between them may stand in any order.
        """
        low = self.bottom_end - self.length * (distance + 2)
        high = self.top_end + self.length * (distance + 2)
        ranges = self.reached(0)
        if below is not None:
            ranges.append((min(below, low // self.unit), below + 1))
        if above is not None:
            ranges.append((above - 1, max(above, -(-high // self.unit))))
        return ranges


def _saturation(end: int, start: int, stop: int, *, length: int, unit: int) -> int:
    """Return k, for some j <= k, with T >= n and B <= -M."""
    upwards, downwards = max(0, end - stop), max(0, start + length)
    # Only by adding: j copies of b; then i rows removed bring B down again.
    added = -(-upwards // length)
    total = added - (-(downwards + length * added) // length)
    up = unit - length
    if up == 0:
        return total
    return min(total, max(-(-upwards // up), -(-downwards // length)))
