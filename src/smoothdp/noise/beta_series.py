"""The regularized incomplete beta function in floats, as a series of positive terms."""

from __future__ import annotations

import numpy as np

from smoothdp.types import FloatArray

_MOST_TERMS = 100_000


def log_incomplete_beta(
    a: float, b: float, log_scale: float, log_z: FloatArray, log_rest: FloatArray
) -> FloatArray:
    """Return ln I_z(a, b), given ln z, ln(1 - z) and log_scale = -ln(a B(a, b)).

    I_z(a, b) = z^a (1 - z)^b / (a B(a, b)) * sum over n of (a+b)_n / (a+1)_n z^n.
    """
    z = np.exp(log_z)
    term = np.ones_like(z)
    total = np.ones_like(z)
    for n in range(_MOST_TERMS):
        term = term * (z * ((a + b + n) / (a + 1 + n)))
        total = total + term
        # Once terms shrink by a ratio, what follows is below term * z / (1 - z).
        if not np.any(term > 1e-18 * total):
            break
    return a * log_z + b * log_rest + log_scale + np.log(total)
