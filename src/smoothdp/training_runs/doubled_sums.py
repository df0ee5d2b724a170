"""Laws around a sum of n independent likelihood ratios, on points that follow the sum's own law.

W = e^(m y - m^2 / 2), y normal: mean 1 under the base law Q. From the laws for n and n' follow
those for n + n', so a sum of T takes about log2 T steps, or twice as many. At each step all pairs
of points are added, and each sum goes to the ends of its cell, its mean kept (above), or the sums
of a cell are put together at their mean (below). So means of convex functions only grow, or only
fall. Points lie closely in the bulk, and at a constant ratio in the tails.

All masses are sums of products >= 0: doubles keep their relative accuracy at any depth. With
`error` and `shift` = r, s of a law, and f >= 0 convex, rising (+) or falling (-):

above: E f(S) <= e^r sum of mass f(e^(+-s) point), and f over what is lost, beyond the last point;
below: E f(S) >= e^-r sum of mass f(e^(-+s) point).

Proofs: proofs/subsampled-steps#6.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.exact.balls.balls import ball, enclose, precision, round_down, round_up
from smoothdp.exact.balls.special import Ball, normal_tail, number
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.types import FloatArray

_BITS = 128
# Cells: this share of the spread of the sum, and of its distance from the middle for each unit of
# m, but no larger share of the point itself (below the middle, half as much again).
_BULK = 0.02
_FAR = 0.006
_WIDEST = 0.1
_LOW = 1.5
_LEAST_SHARE = 0.005
# Points reach so many deviations of y, and to where about this share of the masses is beyond.
_REACH = 9.0
_BEYOND = 1e-19
_FEW = 250
# Pairs that are added in one go. Masses below the least may be no more than rounding.
_AT_ONCE = 1 << 17
_LEAST_MASS = 1e-290


class Sums(NamedTuple):
    """Masses at points, for the sum of ``copies`` ratios; see the head of this file.

    ``lost`` and ``lost_mean`` are at least the mass beyond the points, and its share of the mean.
    """

    points: FloatArray
    masses: FloatArray
    copies: int
    error: float
    shift: float
    lost: float
    lost_mean: float


def sums_around(mu: Fraction, count: int) -> tuple[Sums, Sums]:
    """Return laws (above, below) of the sum of so many W, of m = mu.

    >>> above, below = sums_around(Fraction(1, 2), 3)
    >>> bool(abs(above.masses @ above.points - 3) < 1e-9), above.lost < 1e-15
    (True, True)
    >>> bool(above.masses @ above.points**2 > below.masses @ below.points**2)
    True
    """
    cells = _Cells(min(_FAR * float(mu), _WIDEST))
    above, below = _ratios(mu, cells)
    return _sum_of(above, count, cells, _spread), _sum_of(below, count, cells, _merged)


Moved = Callable[[Sums, Sums, FloatArray], Sums]


def _sum_of(one: Sums, count: int, cells: _Cells, moved: Moved) -> Sums:
    """Return the law of the sum of copies, by doubling."""
    result = None
    while True:
        if count & 1:
            result = one if result is None else moved(result, one, cells.of_sums(result, one))
        count >>= 1
        if not count:
            assert result is not None
            return result
        one = moved(one, one, cells.of_sums(one, one))


class _Cells(NamedTuple):
    """Where points lie: any choice is right, a good one is sharp."""

    far: float

    def between(self, low: float, high: float, middle: float, spread: float) -> FloatArray:
        """Return 0, and points from low to high that suit a law of this middle and spread."""
        points, at = [0.0], low
        while at < high:
            points.append(at)
            share = self.far if at > middle else _LOW * self.far
            bulk = max(_BULK * spread, _LEAST_SHARE * self.far * at)
            at += min(share * at, bulk + self.far * abs(at - middle))
        return np.array([*points, at])

    def of_sums(self, first: Sums, second: Sums) -> FloatArray:
        """Return points for the sum of both, from about what its law is."""
        few = [_fewer(law) for law in (first, second)]
        at = np.add.outer(few[0][0], few[1][0]).ravel()
        masses = np.multiply.outer(few[0][1], few[1][1]).ravel()
        order = np.argsort(at)
        at, masses = at[order], masses[order]
        below = np.cumsum(masses)
        beyond = np.cumsum((masses * at)[::-1])[::-1] / (first.copies + second.copies)

        def place(share: float) -> float:
            return float(at[min(at.size - 1, np.searchsorted(below, share * below[-1]))])

        last = min(at.size - 1, int(np.searchsorted(-beyond, -_BEYOND)))
        spread = 0.5 * (place(0.84) - place(0.16))
        return self.between(place(_BEYOND), float(at[last]), place(0.5), spread)


def _fewer(law: Sums) -> tuple[FloatArray, FloatArray]:
    """Return about the law at few points."""
    kept = law.masses > 0
    masses, points = law.masses[kept], law.points[kept]
    starts = np.arange(0, masses.size, max(1, masses.size // _FEW))
    fewer = np.add.reduceat(masses, starts)
    return np.add.reduceat(masses * points, starts) / fewer, fewer


# ---- one ratio ----------------------------------------------------------------------------


def _ratios(mu: Fraction, cells: _Cells) -> tuple[Sums, Sums]:
    """Return laws around one W: cells of y in balls, rounded to the safe side."""
    m = float(mu)
    middle = math.exp(-m * m / 2)
    low, high = middle * math.exp(-_REACH * m), math.exp(_REACH * m + m * m / 2)
    points = cells.between(low, high, middle, middle * math.sinh(m))
    size = points.size
    spread, merged, means = np.zeros(size), np.zeros(size - 1), np.zeros(size - 1)
    shift = 0.0
    with precision(_BITS):
        shares, weighted, lost = _of_cells(mu, points)
        for j, (mass, mean) in enumerate(zip(shares, weighted, strict=True)):
            left, right = number(float(points[j])), number(float(points[j + 1]))
            upward = (mean - left * mass) / (right - left)
            spread[j] += round_up(mass - upward)
            spread[j + 1] += round_up(upward)
            merged[j] = max(0.0, round_down(mass))
            lower, upper = enclose(mean / mass)
            means[j] = lower
            shift = max(shift, (upper - lower) / lower)
    # Points of which both cells' masses are added are rounded once more.
    above = Sums(points, spread, 1, 2 * UNIT_ROUNDOFF, 0.0, *lost)
    return above, Sums(means, merged, 1, 0.0, 1.01 * shift, *lost)


def _of_cells(
    mu: Fraction, points: FloatArray
) -> tuple[list[Ball], list[Ball], tuple[float, float]]:
    """Return Q and E[W; .] of the cells between points, and of what is beyond, rounded up."""
    shift = ball(mu)
    places = [number(float(point)).log() / shift + shift / 2 for point in points[1:]]
    shares = _normal(places)
    weighted = _normal([place - shift for place in places])
    lost = round_up(normal_tail(places[-1])), round_up(normal_tail(places[-1] - shift))
    return shares, weighted, lost


def _normal(places: list[Ball]) -> list[Ball]:
    """Return the normal masses up to the first place, and between each two; nothing cancels."""
    found = [normal_tail(-places[0])]
    tails = [(normal_tail(-place), normal_tail(place)) for place in places]
    for before, after in itertools.pairwise(tails):
        in_front = bool(before[0] < after[1])
        found.append(after[0] - before[0] if in_front else before[1] - after[1])
    return found


# ---- two sums into one --------------------------------------------------------------------


class _Pairs(NamedTuple):
    """Sums of a few points of two laws below the last new one, their products, and their cells."""

    at: FloatArray
    products: FloatArray
    cells: np.ndarray[tuple[int], np.dtype[np.intp]]


class _Beyond:
    """The mass, and the part of the mean, of the pairs beyond the last point."""

    def __init__(self) -> None:
        self.mass = self.mean = 0.0


def _pairs(first: Sums, second: Sums, points: FloatArray, beyond: _Beyond) -> Iterator[_Pairs]:
    """Yield all pairs; if both laws are one and the same, each pair once, with both orders."""
    is_same = first is second
    rows = max(1, _AT_ONCE // second.points.size)
    for start in range(0, first.points.size, rows):
        stop, skip = start + rows, start if is_same else 0
        at = np.add.outer(first.points[start:stop], second.points[skip:])
        products = np.multiply.outer(first.masses[start:stop], second.masses[skip:])
        if is_same:
            # 2 right of the diagonal, 1 on it, 0 left of it.
            row = np.arange(products.shape[0])
            products[:, : row.size] *= 1 + np.sign(row - row[:, np.newaxis])
            products[:, row.size :] *= 2
        at, products = at.ravel(), products.ravel()
        cells = np.searchsorted(points, at, side="right") - 1
        inside = cells < points.size - 1
        if not inside.all():
            beyond.mass += float(products[~inside].sum())
            beyond.mean += float(products[~inside] @ at[~inside])
            at, products, cells = at[inside], products[inside], cells[inside]
        yield _Pairs(at, products, cells)


def _rounding(first: Sums, second: Sums) -> float:
    """Return a bound of the relative rounding of a sum of terms >= 0 of `_pairs`: terms of one go,
    and these sums."""
    rows = max(1, _AT_ONCE // second.points.size)
    goes = -(-first.points.size // rows)
    return 1.01 * (rows * second.points.size + goes + 16) * UNIT_ROUNDOFF


def _spread(first: Sums, second: Sums, points: FloatArray) -> Sums:
    """Return the law above of the sum: each pair's mass at the ends of its cell, its mean kept."""
    masses, widths, beyond = np.zeros(points.size), np.diff(points), _Beyond()
    for at, products, cells in _pairs(first, second, points, beyond):
        share = (at - points[cells]) / widths[cells]
        masses += np.bincount(cells, products * (1 - share), points.size)
        masses += np.bincount(cells + 1, products * share, points.size)
    rounding = 2 * _rounding(first, second)
    error = first.error + second.error + rounding
    shift = max(first.shift, second.shift) + 8 * UNIT_ROUNDOFF
    # Of what one law lost, the other one is all. And products may be too small for floats.
    grown = 1.01 * math.exp(error)
    lost = first.lost + second.lost + grown * beyond.mass + _LEAST_MASS
    mean = first.lost_mean + second.lost_mean + grown * beyond.mean
    mean += 1.01 * (first.lost * second.copies + second.lost * first.copies)
    mean += 4 * float(points[-1]) * _LEAST_MASS
    return Sums(
        points, masses, first.copies + second.copies, error, shift, 1.01 * lost, 1.01 * mean
    )


def _merged(first: Sums, second: Sums, points: FloatArray) -> Sums:
    """Return the law below of the sum: the pairs of each cell at their mean; what is beyond is
    left out."""
    masses, means, beyond = np.zeros(points.size), np.zeros(points.size), _Beyond()
    for at, products, cells in _pairs(first, second, points, beyond):
        masses += np.bincount(cells, products, points.size)
        means += np.bincount(cells, products * at, points.size)
    kept = masses > _LEAST_MASS
    masses, means = masses[kept], means[kept]
    rounding = _rounding(first, second)
    error = first.error + second.error + rounding
    shift = max(first.shift, second.shift) + 2.5 * rounding
    return Sums(means / masses, masses, first.copies + second.copies, error, shift, 0.0, 0.0)
