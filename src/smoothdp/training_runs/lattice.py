"""Two lattice laws around a likelihood ratio, and around the mean of T of them.

W = e^(m y - m^2 / 2), y normal: mean 1 under the base law Q. With C(K) = E (W - K)_+, the
points K_j = (offset + j) 2^-places and fixed-point numbers of `BITS` binary digits:

above: each cell's mass goes to its ends such that its mean stays; what lies outside of the
    lattice, and what rounding takes, is missing.
below: C less a bound of how far its chords pass it (a quarter of the cell times its mass), 0
    from where that is not positive on and at the point before; V_0 is lowered to 1 - K_0 and to
    the least of V_j + K_j - K_0; the greatest convex minorant of these points is the C of a law.

The T-fold convolutions are exact but for rounding down (`floor_power`).
Proofs: proofs/subsampled-steps#6.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import NamedTuple

from smoothdp.exact.balls.balls import ball, precision, whole_ends
from smoothdp.exact.balls.special import Ball, normal_tail
from smoothdp.exact.balls.whole_power import floor_power

BITS = 88


class Lattice(NamedTuple):
    """Masses times 2^BITS at the points (offset + j) 2^-places, j = 0, 1, ..."""

    masses: list[int]
    places: int
    offset: int


class _Tails(NamedTuple):
    """Q(W > K_j) and E[W; W > K_j] times 2^BITS, rounded down and up."""

    mass: list[tuple[int, int]]
    mean: list[tuple[int, int]]


def lattices(mu: Fraction, *, places: int, length: int, offset: int = 0) -> tuple[Lattice, Lattice]:
    """Return lattice laws (above, below) of W, of ``length`` points."""
    tails = _tails(mu, places, range(offset, offset + length))
    above, below = _above(tails, places, offset), _below(tails, places, offset)
    return Lattice(above, places, offset), Lattice(below, places, offset)


def of_sums(law: Lattice, steps: int) -> Lattice:
    """Return the law of the sum of independent copies, at most: rounded down, and cut off."""
    length = len(law.masses)
    masses = floor_power(law.masses, steps, bits=BITS, length=length)
    return Lattice(masses, law.places, steps * law.offset)


def _tails(mu: Fraction, places: int, points: range) -> _Tails:
    one = 1 << BITS
    masses: list[tuple[int, int]] = []
    means: list[tuple[int, int]] = []
    with precision(BITS + 24):
        shift, unit = ball(mu), ball(Fraction(1, 2) ** places if places >= 0 else 2**-places)
        for j in points:
            if j == 0:
                masses.append((one, one))
                means.append((one, one))
                continue
            at = (ball(j) * unit).log() / shift + shift / 2
            masses.append(_fixed(normal_tail(at), one))
            means.append(_fixed(normal_tail(at - shift), one))
    return _Tails(masses, means)


def _fixed(value: Ball, one: int) -> tuple[int, int]:
    low, high = whole_ends(value * one)
    return max(0, low), min(one, high)


def _above(tails: _Tails, places: int, offset: int) -> list[int]:
    mass, mean = tails
    found = [0] * len(mass)
    for j in range(len(mass) - 1):
        least, most = mass[j][0] - mass[j + 1][1], mass[j][1] - mass[j + 1][0]
        first, last = mean[j][0] - mean[j + 1][1], mean[j][1] - mean[j + 1][0]
        # (E[W; cell] - K_j Q(cell)) / step goes to the right end.
        right = max(0, _times(first, places, up=False) - (offset + j) * most)
        left = max(0, least - (_times(last, places, up=True) - (offset + j) * least))
        found[j + 1] += right
        found[j] += left
    return found


def _times(value: int, places: int, *, up: bool) -> int:
    """Return value 2^places, rounded."""
    if places >= 0:
        return value << places
    return -((-value) >> -places) if up else value >> -places


def _below(tails: _Tails, places: int, offset: int) -> list[int]:
    mass, mean = tails
    values: list[int] = []
    for j in range(len(mass)):
        before = mass[j - 1][1] - mass[j][0] if j else 0
        after = mass[j][1] - mass[j + 1][0] if j + 1 < len(mass) else mass[j][1]
        # C(K_j) / step, less a quarter of the larger mass beside it.
        values.append(
            _times(mean[j][0], places, up=False)
            - (offset + j) * mass[j][1]
            + (-max(before, after)) // 4
        )
    values[-1] = 0
    first = next((j for j, value in enumerate(values) if value <= 0), len(values) - 1)
    for j in range(max(0, first - 1), len(values)):
        values[j] = 0
    # In units of the step K_j - K_0 is j, and 1 - K_0 what the mean is at most above K_0.
    one = 1 << BITS
    values[0] = min(value + j * one for j, value in enumerate(values))
    values[0] = min(values[0], _times(one, places, up=False) - offset * one)
    found = [0] * len(values)
    kept = _minorant(values)
    slopes = [Fraction(values[b] - values[a], b - a) for a, b in itertools.pairwise(kept)]
    following = [*slopes[1:], Fraction(0)]
    for vertex, before_it, after_it in zip(kept[1:], slopes, following, strict=True):
        found[vertex] = math.floor(after_it - before_it)
    # The rest lies at the first point.
    found[0] = one - sum(found)
    return found


def _minorant(values: list[int]) -> list[int]:
    """Return the vertices of the greatest convex minorant of (j, values_j)."""
    kept: list[int] = []
    for j in range(len(values)):
        while len(kept) >= 2:
            a, b = kept[-2], kept[-1]
            if (values[b] - values[a]) * (j - b) < (values[j] - values[b]) * (b - a):
                break
            kept.pop()
        kept.append(j)
    return kept
