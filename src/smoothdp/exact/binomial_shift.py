"""How far a binomial count and the count plus one are apart: both directions, by tails."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.balls import exp_bounds, real_bounds
from smoothdp.exact.log_sums import largest
from smoothdp.exact.logspace import (
    LOG_ZERO,
    LogBounds,
    log_difference_lower,
    log_difference_upper,
)
from smoothdp.exact.parameters import Real
from smoothdp.exact.tails import log_binomial_tail


def log_shift_delta(n_trials: int, probability: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln max over directions of sum (b(y) - e^epsilon b'(y))_+, b' the law shifted by 1.

    C against C + 1: the ratio P(C = y) / P(C = y - 1) = (n - y + 1) p / (y (1 - p)) falls, so
    delta = P(C <= m) - E P(C <= m - 1) with m the last y at which it is at least E; the other
    direction is the same for n - C. A threshold that is off by one only lowers the value, so
    three are tried.

    >>> bounds = log_shift_delta(10, Fraction(1, 2), Fraction(1, 2))
    >>> bounds.lower <= math.log(0.0935791566) + 1e-9 <= bounds.upper + 2e-9
    True
    """
    both = [_one_way(n_trials, p, epsilon) for p in (probability, 1 - probability)]
    return largest(both)


def _one_way(n: int, p: Fraction, epsilon: Real) -> LogBounds:
    growth = exp_bounds(epsilon)
    centre = math.floor((n + 1) * float(p) / (float(p) + growth.lower * float(1 - p)))
    best = LOG_ZERO
    for m in (centre - 1, centre, centre + 1):
        if 0 <= m <= n:
            here = _value(n, p, m, epsilon)
            best = LogBounds(max(best.lower, here.lower), max(best.upper, here.upper))
    return best


def _value(n: int, p: Fraction, m: int, epsilon: Real) -> LogBounds:
    """Bound ln (P(C <= m) - E P(C <= m - 1)), tails of n - C."""
    first = log_binomial_tail(n - m, n, 1 - p)
    second = log_binomial_tail(n - m + 1, n, 1 - p)
    log_growth = real_bounds(epsilon)
    if second == LOG_ZERO:
        return first
    shifted = second.shifted(log_growth)
    return LogBounds(
        log_difference_lower(first.lower, shifted.upper)
        if first.lower > shifted.upper
        else -math.inf,
        log_difference_upper(first.upper, shifted.lower)
        if first.upper > shifted.lower
        else -math.inf,
    )
