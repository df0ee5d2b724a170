"""The function of the loss that every Renyi divergence is an integral of.

psi_b(L) = (e^(b L) - 1) / b + e^-L - 1, with (e^(b L) - 1) / b = L at b = 0. It is convex
with minimum 0 at 0, and since the integral of p (e^-L - 1) is 0 (q sums to 1), that of
p psi_b(L) is (e^(b D) - 1) / b with D the Renyi divergence of order 1 + b. Nothing cancels,
however small the divergence (proofs/divergence-enclosures#1; its rounding in floats is checked, not
proved: #8).
"""

from __future__ import annotations

import math

import numpy as np

from smoothdp.exact.logspace.bounds import LIBM_ERROR
from smoothdp.types import FloatArray

_SERIES_BELOW = 0.3
_TERMS = 16
RELATIVE_ERROR = 64 * LIBM_ERROR
"""Of psi itself: sums of two terms at most 8 times as large, each within a few units."""


def log_psi(loss: FloatArray, b: float) -> FloatArray:
    """Return ln psi_b, to within RELATIVE_ERROR of psi and a unit of the logarithm."""
    loss = np.asarray(loss, dtype=np.float64)
    result = np.empty_like(loss)
    near = np.abs(loss) * max(b, 1.0) < _SERIES_BELOW
    with np.errstate(all="ignore"):
        result[near] = _near(loss[near], b)
        result[~near] = _far(loss[~near], b)
    return result


def _near(loss: FloatArray, b: float) -> FloatArray:
    """Sum L^k (b^(k-1) + (-1)^k) / k! over k >= 2, in units of L^2."""
    total = np.zeros_like(loss)
    # (b L)^(k-2) b and (-1)^k L^(k-2), both below max(b, 1) here.
    grown, power = np.full_like(loss, b), np.ones_like(loss)
    for k in range(2, _TERMS):
        total += (grown + power) / math.factorial(k)
        grown, power = grown * (b * loss), power * -loss
    return 2 * np.log(np.abs(loss)) + np.log(total)


def _far(loss: FloatArray, b: float) -> FloatArray:
    if b == 0.0:
        gain = np.log(loss + np.expm1(-loss))
        fall = -loss + np.log((loss - 1) * np.exp(loss) + 1)
        return np.where(loss > 0, gain, fall)
    up = b * loss + np.log(-np.expm1(-b * loss) / b + np.expm1(-loss) * np.exp(-b * loss))
    down = -loss + np.log(-np.expm1(loss) + np.expm1(b * loss) * np.exp(loss) / b)
    return np.where(loss > 0, up, down)


def slope_bound(loss: FloatArray, b: float) -> FloatArray:
    """Return a bound of |d ln psi_b / d ln|L||, what a relative error of L is multiplied by.

    L psi' / psi = 2 at 0; psi' = e^(b L) - e^-L, and psi >= L psi' / (2 + max(b, 1) |L|)
    (proofs/divergence-enclosures#1).
    """
    return 2 + max(b, 1.0) * np.abs(loss)


def log_range(lower: float, upper: float, b: float) -> tuple[float, float]:
    """Return bounds of ln psi_b over lower <= L <= upper, from above and below by a margin."""
    ends = log_psi(np.array([lower, upper]), b)
    least = -math.inf if lower <= 0 <= upper else float(ends.min())
    margin = RELATIVE_ERROR * 2 + 1e-15 * float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0))
    return least - margin, float(ends.max()) + margin
