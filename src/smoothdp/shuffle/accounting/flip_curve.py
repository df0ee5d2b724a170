"""Trade-off curves of a total of flipped bits, the worst over the other users' data."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np

from smoothdp.claims.curves.atoms import Atoms, log_of
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.probabilities.tilted_window import tilted_window
from smoothdp.types import FloatArray

ALL_UP_TO = 2000
_ON_THE_LINE = 1e-9
_POINTS_AT_ONCE = 1 << 20


def cover(n_others: int, flip: Fraction) -> list[tuple[int, int]]:
    """Return (zeros, ones) that together are at least as revealing as all data of the others.

    Up to 2,000 bits these are all data. Beyond, the k ones are cut into 200 to 1,000 ranges, each
    with the bits that all of a range share: the noise loses that share of its variance.

    >>> cover(2, Fraction(1, 4))
    [(2, 0), (1, 1), (0, 2)]
    """
    if n_others <= ALL_UP_TO:
        return [(n_others - k, k) for k in range(n_others + 1)]
    n_parts = max(200, min(1000, int(6e4 / math.sqrt(float(n_others * flip)))))
    edges = [part * (n_others + 1) // n_parts for part in range(n_parts + 1)]
    return [(n_others - (last - 1), first) for first, last in pairwise(edges)]


def flip_knots(
    n_zeros: int, n_ones: int, flip: Fraction, n_bits: int
) -> tuple[FloatArray, FloatArray]:
    """Return (alphas, powers) of the tests "total <= t", from low t to high.

    Null: one user holds ``n_bits`` ones; alternative: zeros. The others hold n_zeros zeros and
    n_ones ones. By monotone likelihood ratios these are all tests that matter. Alphas are not
    above the truth and powers not below it; what lies outside the windows, below 1e-21, is
    counted for the power and not for alpha.

    >>> alphas, powers = flip_knots(0, 0, Fraction(1, 5), 1)
    >>> alphas.round(12).tolist(), powers.round(12).tolist()
    ([0.2, 1.0], [0.8, 1.0])
    """
    low_power, power, error, dropped = _law_of_total(n_zeros + n_bits, n_ones, flip)
    low_alpha, alpha, other_error, _ = _law_of_total(n_zeros, n_ones + n_bits, flip)
    low = min(low_power, low_alpha)
    high = max(low_power + power.size, low_alpha + alpha.size)
    cumulated = []
    for start, masses in ((low_alpha, alpha), (low_power, power)):
        padded = np.concatenate(
            [np.zeros(start - low), masses, np.zeros(high - start - masses.size)]
        )
        cumulated.append(np.cumsum(padded))
    rounding = (high - low + 8) * UNIT_ROUNDOFF
    alphas = cumulated[0] * (1 - other_error - rounding)
    powers = np.minimum(1.0, cumulated[1] * (1 + error + rounding) + dropped)
    return alphas, powers


def _law_of_total(
    n_zeros: int, n_ones: int, flip: Fraction
) -> tuple[int, FloatArray, float, float]:
    """Return the law of the total: first count, masses, relative error, mass left out."""
    first = tilted_window(n_zeros, float(flip / (1 - flip)), odds_roundings=1)
    second = tilted_window(n_ones, float((1 - flip) / flip), odds_roundings=1)
    masses = np.convolve(first.mass, second.mass)
    n_sums = min(first.mass.size, second.mass.size) + 4
    error = first.error + second.error + n_sums * 1.01 * UNIT_ROUNDOFF
    return first.low + second.low, masses, error, 1.01 * (first.dropped + second.dropped)


@lru_cache(maxsize=32)
def flip_tradeoff(flip: Fraction, n_bits: int, n_others: int) -> TradeoffFunction:
    """Return the convex curve below the curves of all data of the others, both directions.

    It is what delta(epsilon) for all epsilon says, and its own mirror image: the half up to
    slope -1 is kept on its small side and mirrored.
    """
    points: list[FloatArray] = []
    n_points = 0
    for n_zeros, n_ones in cover(n_others, flip):
        for others in ((n_zeros, n_ones), (n_ones, n_zeros)):
            alphas, powers = flip_knots(*others, flip, n_bits)
            # Beyond alpha + power = 1 the mirror image takes over: a point just there is moved
            # to the line, to a smaller alpha.
            half = alphas + powers <= 1 + _ON_THE_LINE
            points.append(np.stack([np.minimum(alphas, 1.0 - powers)[half], powers[half]]))
            n_points += points[-1].shape[1]
        if n_points > _POINTS_AT_ONCE:
            # The hull of hulls is the hull: memory stays that of a part.
            points = [np.stack(_steep_hull(np.concatenate(points, axis=1)))]
            n_points = points[0].shape[1]
    alphas, powers = _steep_hull(np.concatenate(points, axis=1))
    log_runs, first_error = log_of(np.diff(alphas, prepend=0.0))
    log_rises, second_error = log_of(np.diff(powers, prepend=0.0))
    beside_hull, third_error = log_of(np.array([max(0.0, 1.0 - alphas[-1] - powers[-1])]))
    return TradeoffFunction.from_atoms(
        Atoms(
            np.concatenate([log_rises, beside_hull, log_runs[::-1]]),
            np.concatenate([log_runs, beside_hull, log_rises[::-1]]),
            max(first_error, second_error, third_error) + 4 * UNIT_ROUNDOFF,
        )
    )


def type_two_errors(alphas: FloatArray, flip: Fraction, n_bits: int, n_others: int) -> FloatArray:
    """Return the least type II error at each alpha over all data, never above the truth.

    Not convex in alpha: at each alpha another data set may be the worst.
    """
    most = np.zeros(alphas.shape)
    for n_zeros, n_ones in cover(n_others, flip):
        for others in ((n_zeros, n_ones), (n_ones, n_zeros)):
            x, y = flip_knots(*others, flip, n_bits)
            # Knots at alpha = 0 hold what lies outside the windows: the last of them counts.
            x, y = np.concatenate([[0.0], x, [1.0]]), np.concatenate([[0.0], y, [1.0]])
            start = int(np.searchsorted(x, 0.0, side="right")) - 1
            most = np.maximum(most, np.interp(alphas, x[start:], y[start:]))
    return np.maximum(0.0, 1.0 - most * (1 + 8 * UNIT_ROUNDOFF) - 4 * UNIT_ROUNDOFF)


def _steep_hull(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the points of the concave hull from (0, 0) on, as far as its slope is above 1.

    A point is left out only if it is certainly not above the hull.
    """
    order = np.lexsort((-points[1], points[0]))
    x, y = points[0][order], points[1][order]
    record = np.concatenate([[True], y[1:] > np.maximum.accumulate(y)[:-1]])
    hull: list[tuple[float, float]] = [(0.0, 0.0)]
    for a, b in zip(x[record].tolist(), y[record].tolist(), strict=True):
        while len(hull) >= 2:
            (x1, y1), (x2, y2) = hull[-2], hull[-1]
            if (y2 - y1) * (a - x2) * (1 + 16 * UNIT_ROUNDOFF) > (b - y2) * (x2 - x1):
                break
            hull.pop()
        if (a, b) != hull[-1]:
            hull.append((a, b))
    best = max(range(len(hull)), key=lambda knot: hull[knot][1] - hull[knot][0])
    steep = hull[1 : best + 1] or [(0.0, 0.0)]
    return np.array([p[0] for p in steep]), np.array([p[1] for p in steep])
