"""Functions that noise laws are computed with in floats, far into their tails.

The standard normal law, the regularized incomplete beta function, and the tail of a law over its
density by one quadrature. scipy is loaded on first use: who measures or collects never waits
for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from smoothdp.types import FloatArray

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_ROOT_TWO = math.sqrt(2.0)
_MOST_TERMS = 100_000
# Exp-sinh nodes on (0, inf): h = exp(t - e^-t) for the trapezoidal rule in t.
_STEP = 1 / 16
_T = np.arange(-4.0, 8.0 + _STEP / 2, _STEP)
_NODES = np.exp(_T - np.exp(-_T))
_WEIGHTS = _STEP * _NODES * (1 + np.exp(-_T))


@lru_cache(maxsize=1)
def scipy_special() -> Any:
    """Return scipy.special."""
    import scipy.special

    return scipy.special


def normal_log_tail(y: FloatArray) -> FloatArray:
    """Return ln P(N(0, 1) > y), for y of any sign."""
    positive = np.maximum(y, 0.0)
    far = np.log(scipy_special().erfcx(positive / _ROOT_TWO) / 2) - positive * positive / 2
    near = np.log1p(-scipy_special().erfc(-np.minimum(y, 0.0) / _ROOT_TWO) / 2)
    return np.asarray(np.where(y > 0, far, near))


def normal_mills(y: FloatArray) -> FloatArray:
    """Return P(N(0, 1) > y) over the density at y, for y >= 0."""
    return np.asarray(math.sqrt(math.pi / 2) * scipy_special().erfcx(y / _ROOT_TWO))


def normal_tail_quantile(log_probability: FloatArray) -> FloatArray:
    """Return the y >= 0 with ln P(N(0, 1) > y) = log_probability <= ln(1/2)."""
    finite = np.maximum(log_probability, -1e300)
    y = np.maximum(-scipy_special().ndtri_exp(finite), 0.0)
    for _ in range(2):
        step = (normal_log_tail(y) - finite) * normal_mills(y)
        y = np.maximum(y + np.where(np.isfinite(step), step, 0.0), 0.0)
    return np.where(log_probability == -math.inf, math.inf, y)


def normal_central_quantile(mass: FloatArray) -> FloatArray:
    """Return the y >= 0 with P(0 < N(0, 1) < y) = mass < 1/2."""
    return np.asarray(_ROOT_TWO * scipy_special().erfinv(2 * mass))


def log_incomplete_beta(
    a: float, b: float, log_scale: float, log_z: FloatArray, log_complement: FloatArray
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
    return a * log_z + b * log_complement + log_scale + np.log(total)


def log_mills(
    log_fall: Callable[[FloatArray, FloatArray], FloatArray], a: FloatArray, width: FloatArray
) -> FloatArray:
    """Return ln of the integral over h > 0 of exp(log_fall(a, h)).

    log_fall(a, h) is ln f(a + h) - ln f(a), computed without cancellation; ``width`` is its
    length scale at each point. The integrand must fall at least like h^-9.
    """
    flat, widths = a.ravel()[:, None], width.ravel()[:, None]
    values = np.exp(log_fall(flat, widths * _NODES))
    logs = np.log(values @ _WEIGHTS) + np.log(widths[:, 0])
    return np.asarray(logs.reshape(a.shape))
