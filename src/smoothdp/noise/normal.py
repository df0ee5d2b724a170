"""The standard normal law in floats, far into its tails."""

from __future__ import annotations

import math

import numpy as np

from smoothdp.noise import special_functions as special
from smoothdp.types import FloatArray

LOG_ROOT_TWO_PI = 0.5 * math.log(2 * math.pi)
_ROOT_TWO = math.sqrt(2.0)


def log_tail(y: FloatArray) -> FloatArray:
    """Return ln P(N(0, 1) > y), for y of any sign."""
    positive = np.maximum(y, 0.0)
    far = np.log(special.erfcx(positive / _ROOT_TWO) / 2) - positive * positive / 2
    near = np.log1p(-special.erfc(-np.minimum(y, 0.0) / _ROOT_TWO) / 2)
    return np.asarray(np.where(y > 0, far, near))


def mills(y: FloatArray) -> FloatArray:
    """Return P(N(0, 1) > y) over the density at y, for y >= 0."""
    return np.asarray(math.sqrt(math.pi / 2) * special.erfcx(y / _ROOT_TWO))


def tail_quantile(log_probability: FloatArray) -> FloatArray:
    """Return the y >= 0 with ln P(N(0, 1) > y) = log_probability <= ln(1/2)."""
    finite = np.maximum(log_probability, -1e300)
    y = np.maximum(-special.ndtri_exp(finite), 0.0)
    for _ in range(2):
        step = (log_tail(y) - finite) * mills(y)
        y = np.maximum(y + np.where(np.isfinite(step), step, 0.0), 0.0)
    return np.where(log_probability == -math.inf, math.inf, y)


def central_quantile(mass: FloatArray) -> FloatArray:
    """Return the y >= 0 with P(0 < N(0, 1) < y) = mass < 1/2."""
    return np.asarray(_ROOT_TWO * special.erfinv(2 * mass))
