"""Tail probabilities of the binomial and hypergeometric laws, as sums of positive terms.

P(K >= k) beyond the mode is its first probability (by balls) times a sum of exact ratios;
before the mode it is 1 minus the other tail, which is at most about a half there, so that
nothing is lost. Differences of library tails lose percents at n = 1e9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from smoothdp.exact.logspace.bounds import (
    LOG_ONE,
    LOG_ZERO,
    SMALLEST_FLOAT,
    LogBounds,
    log_difference_lower,
    log_difference_upper,
)
from smoothdp.exact.logspace.ratio_sum import expected_length, log_ratio_sum
from smoothdp.exact.probabilities.points import binomial_point, hypergeometric_point
from smoothdp.types import FloatArray


def log_binomial_tail(k: int, n_trials: int, probability: Fraction) -> LogBounds:
    """Bound ln P(K >= k) for K ~ Bin(n_trials, probability), probability in [0, 1].

    >>> bounds = log_binomial_tail(2, 2, Fraction(1, 2))
    >>> bounds.lower <= math.log(0.25) <= bounds.upper
    True
    """
    if k <= 0:
        return LOG_ONE
    if k > n_trials or probability == 0:
        return LOG_ZERO
    if probability == 1:
        return LOG_ONE
    hit, miss = probability.numerator, probability.denominator - probability.numerator
    if k * probability.denominator <= n_trials * hit:
        # P(K <= k - 1) is the tail of the misses.
        return _complement(log_binomial_tail(n_trials - k + 1, n_trials, 1 - probability))

    # Where the odds are no float, k is n_trials: there is no second term.
    odds = hit / miss if n_trials > k else 1.0

    def ratio(d: FloatArray) -> FloatArray:
        return (n_trials - k - d) / (k + 1.0 + d) * odds

    curvature = 1 / (n_trials - k + 1) + 1 / (k + 1)
    first = binomial_point(k, n_trials, hit, miss)
    return first.shifted(_sum(ratio, n_trials - k + 1, curvature))


def log_hypergeometric_tail(k: int, n_draws: int, count_a: int, count_b: int) -> LogBounds:
    """Bound ln P(K >= k), K of category a among n_draws of count_a + count_b.

    >>> bounds = log_hypergeometric_tail(2, 2, 2, 2)
    >>> bounds.lower <= math.log(1 / 6) <= bounds.upper
    True
    """
    lowest, highest = max(0, n_draws - count_b), min(count_a, n_draws)
    if k <= lowest:
        return LOG_ONE
    if k > highest:
        return LOG_ZERO
    if k * (count_a + count_b) <= n_draws * count_a:
        # k - 1 or fewer of category a: n_draws - k + 1 or more of category b.
        return _complement(log_hypergeometric_tail(n_draws - k + 1, n_draws, count_b, count_a))
    left_a, left_draws = float(count_a - k), float(n_draws - k)
    next_b = float(count_b - n_draws + k + 1)

    def ratio(d: FloatArray) -> FloatArray:
        return ((left_a - d) * (left_draws - d)) / ((k + 1.0 + d) * (next_b + d))

    curvature = 1 / (left_a + 1) + 1 / (left_draws + 1) + 1 / (k + 1) + 1 / next_b
    first = hypergeometric_point(k, n_draws, count_a, count_b)
    return first.shifted(_sum(ratio, highest - k + 1, curvature))


def _sum(ratio: Callable[[FloatArray], FloatArray], n_terms: int, curvature: float) -> LogBounds:
    length = 2
    if n_terms > 1:
        # A ratio below floats is 0, and so are all terms after the first.
        first = max(float(ratio(np.zeros(1))[0]), SMALLEST_FLOAT)
        length = expected_length(math.log(first), curvature)
    return log_ratio_sum(
        ratio,
        np.ones_like,
        n_terms=n_terms,
        length=length,
        ratio_roundings=4,
        weight_roundings=0,
    )


def _complement(tail: LogBounds) -> LogBounds:
    """Return bounds of ln(1 - e^tail)."""
    return LogBounds(log_difference_lower(0.0, tail.upper), log_difference_upper(0.0, tail.lower))
