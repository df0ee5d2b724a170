"""The larger of two hockey sticks, in balls: again one, with its kinks.

A stick is D(E) = m + sum over j of (p_j - E q_j)_+ for E >= 0, p_j = E_j q_j: masses p_j at
E_j = e^(l_j) > 0, and m at infinity. It is convex, falls, and is linear between the E_j. The
larger of two at each E is convex as well: linear between the E_j of both, but where they cross
(proofs/symmetrised-composition#2, #3).

1. Both are summed from the largest E_j down,
   D(E_i) = D(E_i+1) + (E_i+1 - E_i) Q(E > E_i): terms >= 0, nothing cancels, so all values
   have nearly the relative accuracy of the balls.
2. At an E_j one of the two leads, or they agree within `_TIE` of their value. In a cell whose
   ends have different leaders they cross at x, with gaps g > 0 at the left end and h > 0 at
   the right, at the share g / (g + h) of the width; the slopes differ by (g + h) / width.
3. Doubles c, c' on both sides of ln x, some units apart, are the kinks there: what lies between
   is replaced by the chord, which is above. It divides the change of slope between them in
   the ratio of the distances from x.

So the result lies nowhere below the larger stick D, and D(e) >= result(e + w), e = ln E and w
the widest of these gaps: D is the result outside of the gaps (c, c'), and falls. For
c < e < c' one has result(e + w) = D(e + w) <= D(e), as e + w >= c'; for e <= c < e + w,
result(e + w) <= result(c) = D(c) <= D(e). An error of the crossing moves a loss: it is no
factor of the whole, which near the last kink, where D = p - E q is far below p, it would be.

Where the two agree within `_TIE`, either is followed: that is a factor, of 1 + _TIE.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from smoothdp.exact.balls.balls import precision, round_down, round_up
from smoothdp.exact.balls.special import Ball, number, size
from smoothdp.types import FloatArray

FARTHEST = 1e6
"""Largest size of a loss l_j."""
_BITS = 320
_TIE = 2.0**-150
# Half the width of the gap around a crossing, in units in the last place; at least 2^-70.
_UNITS = 2
_LEAST_GAP = 2.0**-70


class Stick(NamedTuple):
    """Masses e^log_masses at losses of size up to 1e6, and ln of the mass at infinity.

    All floats are exact.
    """

    log_masses: FloatArray
    losses: FloatArray
    log_infinite: float


class Larger(NamedTuple):
    """A stick above both: the larger D satisfies D(e) <= e^mass result(e) and
    D(e) >= e^-mass result(e + loss) at every e."""

    stick: Stick
    mass: float
    loss: float


class _Values(NamedTuple):
    """D at E = 0 and at each E_i, and Q(E > E_i) in the cell to the right of each."""

    heights: list[Ball]
    slopes: list[Ball]


class _Kink(NamedTuple):
    """A float, and the Q-mass there."""

    loss: float
    q: Ball


def larger_stick(first: Stick, second: Stick) -> Larger:
    """Return the larger of two sticks.

    >>> one = Stick(np.log([0.5, 0.5]), np.log([0.75, 1.5]), -math.inf)
    >>> other = Stick(np.log([0.9, 0.1]), np.log([0.95, 2.0]), -math.inf)
    >>> larger = larger_stick(one, other)
    >>> larger.stick.losses.size, larger.loss < 1e-14
    (5, True)
    """
    mesh: list[float] = np.unique(np.concatenate([first.losses, second.losses])).tolist()
    sticks = first, second
    log_infinite = max(first.log_infinite, second.log_infinite)
    with precision(_BITS):
        exponentials = [number(loss).exp() for loss in mesh]
        widths = [
            (number(right) - number(left)).expm1() * power
            for left, right, power in zip(mesh, mesh[1:], exponentials, strict=False)
        ]
        # The cells, the first one from E = 0.
        widths = exponentials[:1] + widths
        masses = [_placed(stick, mesh) for stick in sticks]
        values = [
            _values(placed, stick.log_infinite, exponentials, widths)
            for placed, stick in zip(masses, sticks, strict=True)
        ]
        signs = [_sign(a, b) for a, b in zip(values[0].heights, values[1].heights, strict=True)]
        leaders = _leaders(signs)
        extra: dict[float, Ball] = {}
        widest, lost = 0.0, number(0.0)
        for cell, (left, right) in enumerate(leaders):
            if left != right:
                low = mesh[cell - 1] if cell else -math.inf
                gaps = _gap(values[0], values[1], cell, signs[cell])
                kinks = _crossing(low, mesh[cell], widths[cell], *gaps)
                widest = max(widest, kinks[1].loss - kinks[0].loss)
                for kink in kinks:
                    extra[kink.loss] = extra.get(kink.loss, number(0.0)) + kink.q
        own: dict[float, list[float]] = {}
        for index, loss in enumerate(mesh):
            before = leaders[index][1]
            after = leaders[index + 1][0] if index + 1 < len(mesh) else before
            if after == before:
                own[loss] = masses[before][index]
            else:
                # Both agree here: the slope goes from that of one to that of the other.
                slope = values[after].slopes[index + 1]
                change = values[before].slopes[index] - slope
                if change > 0:
                    extra[loss] = extra.get(loss, number(0.0)) + change
                else:
                    # A kink inwards, within the tie: without it the result is larger by at
                    # most x |change|, x = E_i - E, of D(E) >= D(E_i) + x slope.
                    power = exponentials[index]
                    lost += (
                        power * size(change) / (values[after].heights[index + 1] + power * slope)
                    )
        logs, losses, mass = _rounded(own, extra)
        mass += round_up(lost) + 4 * (len(mesh) + 4) * _TIE
    stick = Stick(np.array(logs), np.array(losses), log_infinite)
    # A difference of floats as close as these is exact, or rounded by half a unit.
    return Larger(stick, mass, math.nextafter(widest, math.inf) if widest else 0.0)


def _placed(stick: Stick, mesh: list[float]) -> list[list[float]]:
    """Return the log-masses at each point of a mesh that holds the losses."""
    indices = np.searchsorted(np.array(mesh), stick.losses).tolist()
    by_point: list[list[float]] = [[] for _ in mesh]
    for index, log_mass in zip(indices, stick.log_masses.tolist(), strict=True):
        by_point[index].append(log_mass)
    return by_point


def _values(
    log_masses: list[list[float]], log_infinite: float, exponentials: list[Ball], widths: list[Ball]
) -> _Values:
    height = _exp(log_infinite)
    slope = number(0.0)
    heights, slopes = [height], [slope]
    for index in range(len(widths) - 1, -1, -1):
        for log_mass in log_masses[index]:
            slope = slope + number(log_mass).exp() / exponentials[index]
        height = height + widths[index] * slope
        heights.append(height)
        slopes.append(slope)
    return _Values(heights[::-1], slopes[::-1])


def _exp(log_value: float) -> Ball:
    return number(log_value).exp() if log_value > -math.inf else number(0.0)


def _sign(a: Ball, b: Ball) -> int:
    """Return 1 or -1 if one is certainly larger by more than a tie, else 0."""
    if a - b > _TIE * a:
        return 1
    return -1 if b - a > _TIE * b else 0


def _leaders(signs: list[int]) -> list[tuple[int, int]]:
    """Return who leads at both ends of each cell: 0 or 1. They differ where both cross."""
    leaders = []
    before = next((sign for sign in signs if sign), 1)
    for left, right in itertools.pairwise(signs):
        start = left or right or before
        before = right or start
        leaders.append((_who(start), _who(before)))
    return leaders


def _who(sign: int) -> int:
    return 0 if sign > 0 else 1


def _gap(first: _Values, second: _Values, cell: int, sign: int) -> tuple[Ball, Ball]:
    """Return by how much the leader at the left end leads there, and the other at the right."""
    left = first.heights[cell] - second.heights[cell]
    right = second.heights[cell + 1] - first.heights[cell + 1]
    return (left, right) if sign > 0 else (-left, -right)


def _crossing(low: float, high: float, width: Ball, g: Ball, h: Ball) -> tuple[_Kink, _Kink]:
    """Return the two kinks around the crossing in the cell from e^low to e^high."""
    total = g + h
    change = total / width
    # Distances of the crossing from both ends: each accurate relatively.
    from_left, from_right = width * g / total, width * h / total
    start = _exp(low)
    at = float((start + from_left).log().mid())
    step = max(_UNITS * math.ulp(at), _LEAST_GAP)
    left, right = max(low, at - step), min(high, at + step)
    before = from_left if left == low else start + from_left - number(left).exp()
    after = from_right if right == high else number(right).exp() - start - from_left
    unit = change / (before + after)
    return _Kink(left, after * unit), _Kink(right, before * unit)


def _rounded(
    own: dict[float, list[float]], extra: dict[float, Ball]
) -> tuple[list[float], list[float], float]:
    """Return the log-masses, sums rounded up, their losses, and by how much they were rounded."""
    logs, losses, widest = [], [], 0.0
    for loss in sorted({*own, *extra}):
        log_masses = own.get(loss, [])
        if loss in extra:
            exact = extra[loss] * number(loss).exp()
            for log_mass in log_masses:
                exact += number(log_mass).exp()
            exact = exact.log()
            assert exact.is_finite()
            log_masses = [round_up(exact)]
            widest = max(widest, log_masses[0] - round_down(exact))
        logs += log_masses
        losses += [loss] * len(log_masses)
    return logs, losses, widest * (1 + 1e-15)
