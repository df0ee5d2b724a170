"""Intervals of a mean from independent values in [0, 1]: proved at any size, and the usual one.

Smoothed delta of one step of SGD is the mean of delta(x) over databases. Delta is at most T/n, and
for most databases a thousandth of that: an interval that is to hold without any assumption can be
narrow below the estimate, but above it ends no lower than about T/n over the number of databases.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smoothdp.types import FloatArray

# What a gambler stakes: half of the capital all of itself, which is best if large values are so
# rare that none was seen; the other half, in equal parts, these shares of itself.
_STAKES = np.append(np.geomspace(0.01, 0.8, 9), 1.0)
_LOG_PARTS = np.log([*(9 * [1 / 18]), 1 / 2])
_STEPS = 60
# Wealth must pass its limit by more than its roundings.
_SLACK = 1e-9
_NORMAL_99 = 2.5758293035489004


class Interval(NamedTuple):
    """The ends of an interval."""

    lower: float
    upper: float


def proved_interval(lows: FloatArray, highs: FloatArray, *, alpha: float) -> Interval:
    """Return ends that both hold with probability 1 - alpha, however the values are spread.

    A gambler who bets that the mean is more than m, staking a share s of the capital on each value
    X, multiplies it by 1 + s (X / m - 1); one who bets on less by 1 + s (m - X) / (1 - m). If the
    mean is m, neither gains in expectation, so that the chance to hold 2 / alpha times the first
    capital in the end is alpha / 2 at most (Markov). The capital is shared among several s. The
    ends are the m at which the gamblers hold so much.

    Args:
        lows, highs: bounds of the values, in [0, 1], at least one.
        alpha: in (0, 1).

    >>> ends = proved_interval(np.full(100, 0.1), np.full(100, 0.1), alpha=0.01)
    >>> round(ends.lower, 4), round(ends.upper, 4)
    (0.0942, 0.152)
    """
    limit = math.log(2 / alpha) + _SLACK

    def lost_above(mean: float) -> bool:
        return _log_wealth(lows / mean - 1) >= limit

    def lost_below(mean: float) -> bool:
        return _log_wealth((mean - highs) / (1 - mean)) >= limit

    lower, estimate = 0.0, float(lows.mean())
    if estimate > 0 and lost_above(estimate * 1e-9):
        low, high = math.log(estimate * 1e-9), math.log(estimate)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            low, high = (middle, high) if lost_above(math.exp(middle)) else (low, middle)
        lower = math.exp(low)
    low, high = float(highs.mean()), 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if middle < 1 and lost_below(middle) else (middle, high)
    return Interval(lower, high)


def _log_wealth(gains: FloatArray) -> float:
    """Return ln of the final capital, shared among the stakes, from gains of at least -1."""
    with np.errstate(divide="ignore"):
        logs = np.log1p(np.multiply.outer(_STAKES, np.maximum(gains, -1.0))).sum(axis=1)
    return float(np.logaddexp.reduce(_LOG_PARTS + logs))


def usual_interval(values: FloatArray) -> Interval:
    """Return the usual 99% interval: the logarithm of the mean taken as normal.

    About right for many values without rare large ones; nothing proves that these are such.

    Args:
        values: at least two, not all 0.

    >>> ends = usual_interval(np.array([0.1, 0.2] * 50))
    >>> round(ends.lower, 4), round(ends.upper, 4)
    (0.1376, 0.1635)
    """
    mean = float(values.mean())
    reach = _NORMAL_99 * float(values.std(ddof=1)) / math.sqrt(values.size) / mean
    return Interval(mean * math.exp(-reach), mean * math.exp(reach))
