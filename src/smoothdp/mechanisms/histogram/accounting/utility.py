"""What a Bayesian adversary gains, equation (3) of paper 1, exactly.

The adversary knows every record but one, has a uniform prior over its categories, sees the
sampled histogram and names the likeliest category. With threshold t,

    u(t) = 1 / (1 - t) max over X of E[max(0, P(named category) - t)],

the expectation under the database with the missing record X. For two categories and
E = t / (1 - t) it is a sum over two tails: (r - E) / (r + 1) where the likelihood ratio r
of the true category exceeds E, and the same in 1/r where the other one is named
(proofs/adversary-utility#1).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LOG_ONE, LogBounds, log_sum_lower, log_sum_upper
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.mechanisms.histogram.accounting.half_plane import HalfPlane
from smoothdp.mechanisms.histogram.accounting.line import (
    BinomialLine,
    HypergeometricLine,
    Weight,
    tail_sum,
)
from smoothdp.types import FloatArray


def odds(threshold: Fraction) -> Real:
    """Return epsilon = ln(t / (1 - t)), the epsilon that belongs to a threshold t."""
    return LogRatio(threshold / (1 - threshold)) if threshold != Fraction(1, 2) else Fraction(0)


def hypergeometric_line_utility(
    present: int, other: int, n_draws: int, threshold: Fraction
) -> LogBounds:
    """Bound ln u for two categories, sampled without replacement.

    The missing record belongs to the first category: ``present`` other records are known
    to be in it, ``other`` in the second. Domain: 1/2 <= threshold < 1.
    """
    count_a, after_b = present + 1, other + 1
    epsilon = odds(threshold)
    line = HypergeometricLine(count_a, other, n_draws)

    def named_right(half_line: HalfPlane, first: int) -> tuple[Weight, int]:
        left_b, left_a = after_b - n_draws + first, count_a - first
        return _linear_weight(half_line, first, (count_a, left_b), (after_b, left_a))

    def named_wrong(half_line: HalfPlane, first: int) -> tuple[Weight, int]:
        left_a, left_b = count_a - n_draws + first, after_b - first
        return _linear_weight(half_line, first, (after_b, left_a), (count_a, left_b))

    right = tail_sum(line, (count_a, other), epsilon, named_right)
    wrong = tail_sum(line.mirrored(), (after_b, present), epsilon, named_wrong)
    return add(right, wrong)


def _linear_weight(
    half_line: HalfPlane, first: int, rising: tuple[int, int], falling: tuple[int, int]
) -> tuple[Weight, int]:
    """Return d -> (r - E) / (r + 1) = gain / (x (p + d) + y (q - d)), all parts >= 0."""
    gain = half_line.gain(first, 0) / half_line.scale
    slope = half_line.slope_a / half_line.scale
    x, p = map(float, rising)
    y, q = map(float, falling)

    def weight(d: FloatArray) -> FloatArray:
        return (gain + d * slope) / (x * (p + d) + y * (q - d))

    return weight, 8


def multinomial_line_utility(
    present: int, other: int, n_draws: int, threshold: Fraction
) -> LogBounds:
    """Like `hypergeometric_line_utility`, for sampling with replacement."""
    epsilon = odds(threshold)
    if other == 0:
        return _certain_sample(present, n_draws, epsilon)
    line = BinomialLine(present + 1, other, n_draws)
    if present == 0:
        # The first category is seen exactly when the missing record is: r is infinite.
        low, high = (n_draws * x for x in log_bounds(Fraction(other, other + 1)))
        never = LogBounds(math.nextafter(low, -math.inf), math.nextafter(high, math.inf))
        right = LogBounds(
            math.log(-math.expm1(never.upper)) - 1e-14, math.log(-math.expm1(never.lower)) + 1e-14
        )
        unseen = _ratio_utility(Fraction(other + 1, other), n_draws, epsilon).shifted(never)
        return add(right, unseen)

    def weight_from(half_line: HalfPlane, first: int) -> tuple[Weight, int]:
        gain = half_line.gain(first, 0) / half_line.scale
        slope = half_line.slope_a / half_line.scale
        inverse = math.exp(-float(epsilon))

        def weight(d: FloatArray) -> FloatArray:
            x = gain + d * slope
            return -np.expm1(-x) / (1.0 + inverse * np.exp(-x))

        return weight, 32

    right = tail_sum(line, (present + 1, other), epsilon, weight_from)
    wrong = tail_sum(line.mirrored(), (other + 1, present), epsilon, weight_from)
    return add(right, wrong)


def _certain_sample(present: int, n_draws: int, epsilon: Real) -> LogBounds:
    """Bound ln u when every known record, and the missing one, is of one category."""
    if present == 0:
        return LOG_ONE
    return _ratio_utility(Fraction(present + 1, present), n_draws, epsilon)


def _ratio_utility(base: Fraction, power: int, epsilon: Real) -> LogBounds:
    """Bound ln of max(0, (r - E) / (r + 1)) where r = base^power, base > 1."""
    log_base = log_bounds(base)
    log_e = float(epsilon)
    edges = []
    for log_r in (log_base.lower * power, log_base.upper * power):
        slack = 1e-14 * (abs(log_r) + abs(log_e) + 1.0)
        for gain in (log_r - log_e - slack, log_r - log_e + slack):
            positive = gain > 0.0
            edges.append(-math.expm1(-gain) / (1 + math.exp(-gain - log_e)) if positive else 0.0)
    lower, upper = min(edges) * (1 - 1e-14), max(edges) * (1 + 1e-14)
    return LogBounds(
        math.log(lower) - 1e-15 if lower > 0 else -math.inf,
        min(0.0, math.log(upper) + 1e-15) if upper > 0 else -math.inf,
    )


def add(first: LogBounds, second: LogBounds) -> LogBounds:
    """Return bounds of the sum of two truths."""
    return LogBounds(
        log_sum_lower(first.lower, second.lower), log_sum_upper(first.upper, second.upper)
    )
