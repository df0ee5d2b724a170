"""How far a total of flipped bits strays from its mean, whatever the data."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bisection import narrowed
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.shuffle.accounting.counted_ones import MOST_VARIANCE, counted_deviation
from smoothdp.shuffle.accounting.extremal_deviation import MOST_USERS, extremal_deviation
from smoothdp.shuffle.accounting.flipped_bits import log_flip_tail

EXACT_UP_TO = 300
_CLASSES = 24
_MOST_VARIANCE = 0.245


@lru_cache(maxsize=256)
def deviation(
    failure: Fraction, flip: Fraction, n_users: int, n_bits: int, *, rounds: bool
) -> float:
    """Return D, rounded up, that |total - mean| exceeds with at most this probability.

    The mean is that of the reports: with ``rounds`` users hold fractions, and one of the bits of
    each is drawn with the fraction that is left over as its mean. Without it, for one bit a user
    and up to 300 users, the smallest such D for the worst data, and beyond nearly the smallest
    where the standard deviation is below 22 (`counted_deviation`); with ``rounds``, for one bit a
    user, nearly the smallest (`extremal_deviation`); else `tilted_deviation`: about 15% above it
    at .05, 6% at 1e-4, where the deviation is above 5, and less where it is large.
    """
    if n_bits == 1 and not rounds and n_users <= EXACT_UP_TO:
        return exact_deviation(failure, flip, n_users)
    tilted = tilted_deviation(failure, flip, n_users, n_bits, rounds=rounds)
    if not rounds and n_users * n_bits * flip <= MOST_VARIANCE:
        return min(tilted, counted_deviation(failure, flip, n_users * n_bits))
    if n_bits == 1 and rounds and n_users <= MOST_USERS:
        return min(tilted, extremal_deviation(failure, flip, n_users))
    return tilted


def tilted_deviation(
    failure: Fraction, flip: Fraction, n_users: int, n_bits: int, *, rounds: bool
) -> float:
    """Return the least (n psi(theta) + ln(2 c / failure)) / theta over a grid, rounded up.

    psi bounds ln E e^(theta (reports - mean)) over one user's data: bits that are 0 or 1, flipped
    with probability q; with ``rounds`` one of the r, be r = 1 or more, is a report that is 1 with
    a probability anywhere in [q, 1 - q] (a rounded fraction). psi is the same for -theta.
    Chernoff's bound has c = 1. Under the tilted law every total has probability at most .4689
    over the standard deviation (Baillon, Cominetti, Vaisman 2016), and the totals beyond D count
    e^-theta less with every step, so that c = .4689 / (deviation (1 - e^-theta)) holds too.

    A report with little variance has a small psi as well, so with ``rounds`` reports are put in
    classes by their tilted variance: psi at most H_j, variance at least v_j. The sum of the H_j
    with -ln of the deviation is convex in how many users are in which class, so it is largest
    where all are in one.
    """
    goal = math.log(2.0) - log_bounds(failure).lower
    q = float(flip)
    # psi comes from differences of numbers below e^theta: 16 units of roundoff each, which
    # matters only for theta that are far too small.
    units = 16 * 2.0**-52 * n_users * n_bits

    def reach(theta: float, *, largest_alone: bool = False) -> float:
        growth = math.expm1(theta)
        fixed = max(_psi(q, theta, growth), _psi(1.0 - q, theta, growth))
        # p (1 - p) of a tilted report is least where p is q or 1 - q.
        least = min(_tilted_variance(q, 1.0 - q, growth), _tilted_variance(1.0 - q, q, growth))
        largest_psi, classes = n_bits * fixed, [(n_bits * fixed, n_bits * least)]
        if rounds:
            other_psi, other_variance = (n_bits - 1) * fixed, (n_bits - 1) * least
            report_classes = (
                [(_largest_psi(q, theta, growth), _MOST_VARIANCE)]
                if largest_alone
                else _classes(q, theta, growth, least)
            )
            classes = [
                (other_psi + psi, other_variance + variance) for psi, variance in report_classes
            ]
            largest_psi = classes[-1][0]
        fewer = math.log(0.4689 / -math.expm1(-theta))
        tail = max(n_users * psi + fewer - math.log(n_users * v) / 2 for psi, v in classes)
        return (min(n_users * largest_psi, tail) + goal + units * math.exp(theta)) / theta

    thetas = np.exp(np.linspace(-25.0, 3.0, 800)).tolist()
    # The last class is in every maximum, so that it alone gives a bound from below: what lies
    # above the least found so far is not looked at.
    bounds = [(reach(theta, largest_alone=True), theta) for theta in thetas]
    found = math.inf
    for bound, theta in sorted(bounds):
        if bound >= found:
            break
        found = min(found, reach(theta))
    return found * (1 + 1e-12)


def _classes(q: float, theta: float, growth: float, least: float) -> list[tuple[float, float]]:
    """Return (psi, variance): no report of p in [q, 1 - q] has more psi and less variance.

    Each report is of a class whose psi is at least its own and whose variance is at most its own.
    psi is concave in p, largest at 1 / theta - 1 / (e^theta - 1); the tilted variance rises, then
    falls, so that it is at most v where p is at most p_- or at least p_+. The last psi is the
    largest.
    """
    best = _best(q, theta, growth)
    largest = _psi(best, theta, growth)
    # Widened by more than roundings: a class may hold more than it need.
    steps = [least * (_MOST_VARIANCE / least) ** (k / _CLASSES) for k in range(_CLASSES)]
    classes = []
    for variance, above in zip(steps, [*steps[1:], _MOST_VARIANCE], strict=True):
        half = math.sqrt(1.0 - 4.0 * min(above * (1 + 1e-9), 0.25)) / 2
        low, high = (
            tilted / (1.0 + growth - tilted * growth) for tilted in (0.5 - half, 0.5 + half)
        )
        if low < best < high:
            ends = [_psi(p, theta, growth) for p in (low, high) if q <= p <= 1.0 - q]
            classes.append((max(ends, default=-math.inf), variance * (1 - 1e-9)))
        else:
            classes.append((largest, variance * (1 - 1e-9)))
    return [*classes, (largest, _MOST_VARIANCE)]


def _best(q: float, theta: float, growth: float) -> float:
    """Return the p in [q, 1 - q] with the largest psi."""
    return min(1.0 - q, max(q, 1.0 / theta - 1.0 / growth))


def _largest_psi(q: float, theta: float, growth: float) -> float:
    return _psi(_best(q, theta, growth), theta, growth)


def _psi(p: float, theta: float, growth: float) -> float:
    return math.log1p(p * growth) - theta * p


def _tilted_variance(p: float, complement: float, growth: float) -> float:
    # ``complement`` is 1 - p, which would be 0 in floats for a p next to 1.
    return p * complement * (1.0 + growth) / (1.0 + p * growth) ** 2


def exact_deviation(failure: Fraction, flip: Fraction, n_users: int) -> float:
    """Return the smallest such D over all numbers of ones, to relative 1e-9, rounded up."""
    goal = log_bounds(failure).lower

    def outside(n_ones: int, distance: Fraction) -> float:
        n_zeros = n_users - n_ones
        mean = n_zeros * flip + n_ones * (1 - flip)
        # Totals below mean - D, and above mean + D.
        below = math.ceil(mean - distance) - 1
        above = n_users - math.floor(mean + distance) - 1
        return log_sum_upper(
            log_flip_tail(n_zeros, n_ones, flip, below).upper,
            log_flip_tail(n_ones, n_zeros, flip, above).upper,
        )

    def enough(distance: float) -> bool:
        # n - k ones mirror k ones.
        return all(outside(k, Fraction(distance)) <= goal for k in range(n_users // 2 + 1))

    return narrowed(enough, 0.0, float(n_users), relative=1e-9)[1]
