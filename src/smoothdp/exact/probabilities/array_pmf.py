"""Log-probabilities at many points, each of a law of its own (Loader's method).

The formulas and bounds are those of `windows`, where many counts share one law; here every entry
has its own number of marked items.
"""

from __future__ import annotations

import numpy as np

from smoothdp.exact.probabilities.stirling import (
    DEVIANCE_ERROR,
    EXCESS_ERROR,
    deviance,
    log_factorial_excess,
)
from smoothdp.exact.probabilities.windows import LogWindow
from smoothdp.types import FloatArray, IntArray

LARGEST_TOTAL = 1 << 31
"""Products of two counts must fit 62 bits."""


def log_hypergeometric_points(
    k: IntArray, count_a: IntArray, n_draws: int, total: int
) -> LogWindow:
    """Return ln P(K = k), K of count_a marked items among n_draws of total.

    Domain: 0 < n_draws < total < 2^31, 0 < count_a < total, k in the support.

    >>> window = log_hypergeometric_points(np.array([1]), np.array([2]), 2, 4)
    >>> round(float(np.exp(window.log_values[0])), 12)
    0.666666666667
    """
    left, count_b = total - n_draws, total - count_a
    parts = np.zeros(k.shape)
    excess = log_factorial_excess(count_a) + log_factorial_excess(count_b)
    for cell, row, column in (
        (k, n_draws, count_a),
        (n_draws - k, n_draws, count_b),
        (count_a - k, left, count_a),
        (count_b - n_draws + k, left, count_b),
    ):
        parts += _cell(cell, row * column, total)
        excess = excess - log_factorial_excess(cell)
    margins = log_factorial_excess(np.array([n_draws, left, total]))
    constant = float(margins[0] + margins[1] - margins[2])
    return LogWindow(
        (constant + excess) - parts, (DEVIANCE_ERROR + 2.0**-50) * parts + 12 * EXCESS_ERROR
    )


def log_binomial_points(k: IntArray, n_trials: int, hits: IntArray, total: int) -> LogWindow:
    """Return ln P(K = k), K ~ Bin(n_trials, hits / total).

    Domain: 0 <= k <= n_trials < 2^31, 0 < hits < total < 2^31.

    >>> window = log_binomial_points(np.array([1]), 2, np.array([1]), 2)
    >>> round(float(np.exp(window.log_values[0])), 12)
    0.5
    """
    parts = _cell(k, n_trials * hits, total) + _cell(n_trials - k, n_trials * (total - hits), total)
    whole = float(log_factorial_excess(np.array([n_trials]))[0])
    values = (whole - log_factorial_excess(k) - log_factorial_excess(n_trials - k)) - parts
    return LogWindow(values, (DEVIANCE_ERROR + 2.0**-51) * parts + 4 * EXCESS_ERROR)


def _cell(x: IntArray, numerator: IntArray, total: int) -> FloatArray:
    """Return the deviance of counts x from the means numerator / total, formed exactly."""
    scaled = x * total
    below, above = scaled - numerator, scaled + numerator
    return deviance(
        x, numerator / float(total), below / float(total), below / above.astype(np.float64)
    )
