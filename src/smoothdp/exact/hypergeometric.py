"""Windows of the hypergeometric law, in log space."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.cells import cell_deviance
from smoothdp.exact.logwindow import LogWindow
from smoothdp.exact.stirling import DEVIANCE_ERROR, EXCESS_ERROR, log_factorial_excess


def log_hypergeometric_pmf(
    k: NDArray[np.int64], n_draws: int, count_a: int, count_b: int
) -> LogWindow:
    """Return ln P(K = k), the number of category a among n_draws without replacement.

    ln P is the factorial excess of the four margins, minus that of the total and of the
    four cells of the 2 x 2 table, minus the deviances of the cells from row * column / n.

    Args:
        k: whole numbers of any sign; those off the support get -inf.
        n_draws: 0 <= n_draws <= count_a + count_b; counts >= 0.

    >>> window = log_hypergeometric_pmf(np.array([0, 1, 2]), 2, 2, 2)
    >>> [round(float(v), 4) for v in np.exp(window.log_values)]
    [0.1667, 0.6667, 0.1667]
    """
    total = count_a + count_b
    left = total - n_draws
    values = np.full(k.shape, -np.inf)
    error = np.zeros(k.shape)
    if 0 in (count_a, count_b, n_draws, left):
        certain = n_draws if count_b == 0 else 0 if n_draws == 0 or count_a == 0 else count_a
        values[k == certain] = 0.0
        return LogWindow(values, error)
    inside = (k >= max(0, n_draws - count_b)) & (k <= min(count_a, n_draws))
    hits = k[inside].astype(np.int64)
    parts = np.zeros(hits.shape)
    excess = np.zeros(hits.shape)
    for cell, row, column in (
        (hits, n_draws, count_a),
        (n_draws - hits, n_draws, count_b),
        (count_a - hits, left, count_a),
        (count_b - n_draws + hits, left, count_b),
    ):
        parts += cell_deviance(cell, Fraction(row * column, total))
        excess += log_factorial_excess(cell)
    margins = log_factorial_excess(np.array([n_draws, left, count_a, count_b]))
    whole = log_factorial_excess(np.array([total]))
    constant = float(margins.sum() - whole[0])
    values[inside] = (constant - excess) - parts
    error[inside] = (DEVIANCE_ERROR + 2.0**-50) * parts + 12 * EXCESS_ERROR
    return LogWindow(values, error)
