"""The probability that at least one loss is infinite."""

from __future__ import annotations

import math
from collections.abc import Sequence

from smoothdp.exact.logspace.bounds import LIBM_ERROR, LOG_ONE, LOG_ZERO, LogBounds

_SMALL = -23.0  # e^-23 = 1e-10


def log_any_infinite(parts: Sequence[tuple[LogBounds, int]]) -> LogBounds:
    """Bound ln of 1 - product of (1 - p)^count, each p given by bounds of its logarithm.

    With s = sum of -count ln(1 - p) this is 1 - e^-s. Where all p are small the sum is
    kept as a logarithm: sum p (1 - sum p / 2) <= 1 - e^-s <= sum p.

    >>> bounds = log_any_infinite([(LogBounds(-5000.0, -5000.0), 10)])
    >>> bounds.lower <= -5000 + math.log(10) <= bounds.upper
    True
    """
    lower = _side([(bounds.lower, count) for bounds, count in parts], direction=-1)
    upper = _side([(bounds.upper, count) for bounds, count in parts], direction=1)
    return LogBounds(min(lower, upper), upper)


def _side(parts: Sequence[tuple[float, int]], *, direction: int) -> float:
    terms = [(log_p, count) for log_p, count in parts if log_p > -math.inf]
    if not terms:
        return LOG_ZERO.upper
    if any(log_p >= 0.0 for log_p, _ in terms):
        return LOG_ONE.upper
    logs = [log_p + math.log(count) for log_p, count in terms]
    top = max(logs)
    log_sum = top + math.log(math.fsum(math.exp(value - top) for value in logs))
    slip = 8 * LIBM_ERROR * (1 + abs(log_sum) + max(abs(value) for value in logs))
    if log_sum < _SMALL:
        return log_sum + slip if direction > 0 else log_sum - slip - math.exp(log_sum)
    # Of a p above 0.9, 1 - p is formed as -expm1(ln p). Below, an error of p counts at most 4.
    total = math.fsum(
        -count * (math.log(-math.expm1(log_p)) if log_p > -0.1 else math.log1p(-math.exp(log_p)))
        for log_p, count in terms
    )
    total *= 1 + direction * 32 * LIBM_ERROR
    value = math.log(-math.expm1(-total))
    # d ln(1 - e^-s) / d ln s is at most 1.
    return min(0.0, value + direction * (8 * LIBM_ERROR * (1 + abs(value))))
