"""How far a total of flipped bits strays from its mean, whatever the data."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.exact.balls import log_bounds
from smoothdp.exact.bisection import narrowed
from smoothdp.exact.flipped_bits import log_flip_tail
from smoothdp.exact.logspace import log_sum_upper

EXACT_UP_TO = 300


def deviation(failure: Fraction, flip: Fraction, n_users: int, n_bits: int) -> float:
    """Return D, rounded up, that |total - mean| exceeds with at most this probability.

    For one bit a user and up to 300 users the smallest such D for the worst data; else
    `tilted_deviation`: about 15% above it at .05, 6% at 1e-4, where the deviation is above 5.
    """
    if n_bits == 1 and n_users <= EXACT_UP_TO:
        return exact_deviation(failure, flip, n_users)
    return tilted_deviation(failure, flip, n_users, n_bits)


def tilted_deviation(failure: Fraction, flip: Fraction, n_users: int, n_bits: int) -> float:
    """Return the least (n psi(theta) + ln(2 c / failure)) / theta over a grid, rounded up.

    psi bounds ln E e^(theta (reports - mean)) over one user's data: r - 1 bits that are 0 or 1,
    flipped with probability q, and one whose report is 1 with a probability anywhere in
    [q, 1 - q] (a rounded fraction; if n_bits = 1, a 0 or a 1). It is the same for -theta.
    Chernoff's bound has c = 1. Under the tilted law every total has probability at most .4689
    over the standard deviation (Baillon, Cominetti, Vaisman 2016), and the totals beyond D count
    e^-theta less with every step, so that c = .4689 / (deviation (1 - e^-theta)) holds too.
    """
    goal = math.log(2.0) - log_bounds(failure).lower
    q = float(flip)
    # psi comes from differences of numbers below e^theta: 16 units of roundoff each, which
    # matters only for theta that are far too small.
    units = 16 * 2.0**-52 * n_users * n_bits

    def reach(theta: float) -> float:
        growth = math.expm1(theta)
        whole = max(_psi(q, theta, growth), _psi(1.0 - q, theta, growth))
        if n_bits > 1:
            # Concave in p, largest at 1 / theta - 1 / (e^theta - 1).
            best = min(1.0 - q, max(q, 1.0 / theta - 1.0 / growth))
            whole = (n_bits - 1) * whole + _psi(best, theta, growth)
        # p (1 - p) of a tilted report is least where p is q or 1 - q.
        least = min(_tilted_variance(q, 1.0 - q, growth), _tilted_variance(1.0 - q, q, growth))
        spread = math.sqrt(n_users * n_bits * least)
        share = math.log(min(1.0, 0.4689 / (spread * -math.expm1(-theta))))
        return (n_users * whole + goal + share + units * math.exp(theta)) / theta

    thetas = np.exp(np.linspace(-25.0, 3.0, 800)).tolist()
    return min(reach(theta) for theta in thetas) * (1 + 1e-12)


def _psi(p: float, theta: float, growth: float) -> float:
    return math.log1p(p * growth) - theta * p


def _tilted_variance(p: float, rest: float, growth: float) -> float:
    # ``rest`` is 1 - p, which would be 0 in floats for a p next to 1.
    return p * rest * (1.0 + growth) / (1.0 + p * growth) ** 2


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
