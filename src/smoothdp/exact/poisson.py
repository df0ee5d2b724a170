"""Windows of the Poisson law, in log space."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.cells import cell_deviance
from smoothdp.exact.logwindow import LogWindow
from smoothdp.exact.stirling import DEVIANCE_ERROR, EXCESS_ERROR, log_factorial_excess


def log_poisson_pmf(k: NDArray[np.int64], mean: Fraction) -> LogWindow:
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
