"""Windows of the binomial and the Poisson law, in log space, each with a bound of its error."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.exact.probabilities.stirling import (
    DEVIANCE_ERROR,
    EXCESS_ERROR,
    cell_deviance,
    log_factorial_excess,
)
from smoothdp.types import FloatArray, IntArray


class LogWindow(NamedTuple):
    """ln P(k) for an array of k: values (-inf off the support) and absolute errors."""

    log_values: FloatArray
    error: FloatArray


def log_binomial_pmf(k: IntArray, n_trials: int, probability: Fraction) -> LogWindow:
    """Return ln P(K = k) for K ~ Bin(n_trials, probability), by Loader's method.

    With e the factorial excess and D the deviance of a cell from its mean,
    ln P(k) = e(n) - e(k) - e(n - k) - D(k; n p) - D(n - k; n (1 - p)).

    Args:
        k: whole numbers of any sign; those off the support get -inf.
        n_trials: n >= 0.
        probability: a rational number in [0, 1].

    >>> window = log_binomial_pmf(np.array([0, 1, 2, 3]), 2, Fraction(1, 2))
    >>> [round(float(v), 4) for v in np.exp(window.log_values)]
    [0.25, 0.5, 0.25, 0.0]
    """
    values = np.full(k.shape, -np.inf)
    error = np.zeros(k.shape)
    if probability in (0, 1) or n_trials == 0:
        values[k == n_trials * probability] = 0.0
        return LogWindow(values, error)
    inside = (k >= 0) & (k <= n_trials)
    hits = k[inside].astype(np.int64)
    misses = n_trials - hits
    parts = cell_deviance(hits, n_trials * probability)
    parts += cell_deviance(misses, n_trials * (1 - probability))
    whole = float(log_factorial_excess(np.array([n_trials]))[0])
    values[inside] = (whole - log_factorial_excess(hits) - log_factorial_excess(misses)) - parts
    error[inside] = (DEVIANCE_ERROR + 2.0**-51) * parts + 4 * EXCESS_ERROR
    return LogWindow(values, error)


def log_poisson_pmf(k: IntArray, mean: Fraction) -> LogWindow:
    """Return ln P(K = k) for K ~ Poisson(mean): minus deviance minus factorial excess.

    Args:
        k: whole numbers of any sign; those off the support get -inf.
        mean: a rational number >= 0.

    >>> window = log_poisson_pmf(np.array([0, 1]), Fraction(2))
    >>> [round(float(v), 12) for v in window.log_values]
    [-2.0, -1.30685281944]
    """
    inside = k >= 0 if mean > 0 else k == 0
    values = np.full(k.shape, -np.inf)
    error = np.zeros(k.shape)
    if mean == 0:
        values[inside] = 0.0
        return LogWindow(values, error)
    kept = k[inside].astype(np.int64)
    part = cell_deviance(kept, mean)
    values[inside] = -part - log_factorial_excess(kept)
    error[inside] = (DEVIANCE_ERROR + 2.0**-52) * part + 2 * EXCESS_ERROR
    return LogWindow(values, error)
