"""How far a scaled cell of a sample is from the truth: its standard deviation."""

from __future__ import annotations

import math


def sampling_error(count: float, *, n_records: int, n_draws: int) -> float:
    """Return the standard deviation of (n/T) h of a cell with so many records.

    h is hypergeometric: sqrt((n/T) H (1 - H/n) (n - T)/(n - 1)) (proofs/designer#6). inf where
    nothing is drawn.

    >>> sampling_error(50, n_records=100, n_draws=100), sampling_error(1, n_records=2, n_draws=1)
    (0.0, 1.0)
    """
    if n_draws == 0:
        return math.inf
    n, t = float(n_records), float(n_draws)
    return math.sqrt(n / t * count * (1 - count / n) * (n_records - n_draws) / (n - 1))
