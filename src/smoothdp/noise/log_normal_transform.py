"""The Laplace transform of the log-normal law, E exp(-z e^(sigma Y)), in floats.

The integrand is centred at its saddle point and summed by the trapezoidal rule, whose
error falls exponentially: positive terms, no cancellation, any z.
"""

from __future__ import annotations

import math

import numpy as np

from smoothdp.noise import special_functions as special
from smoothdp.types import FloatArray

_DIGITS = 40.0
_CHUNK = 256
# expm1(x) - x by its series below this.
_SERIES_BELOW = 0.5


def log_transform(log_z: FloatArray, sigma: float) -> FloatArray:
    """Return ln E exp(-e^log_z e^(sigma Y)), Y standard normal.

    With omega + ln omega = log_z + 2 ln sigma and k = omega / sigma^2, shifting the integral
    to Y = u - omega / sigma gives
    exp(-omega^2 / (2 sigma^2) - k) E exp(-k (e^(sigma u) - 1 - sigma u)), u standard normal.
    """
    flat = log_z.ravel()
    result = np.where(np.isnan(flat), math.nan, np.where(flat > 0, -math.inf, 0.0))
    finite = np.flatnonzero(np.isfinite(flat))
    for start in range(0, finite.size, _CHUNK):
        chosen = finite[start : start + _CHUNK]
        result[chosen] = _chunk(flat[chosen], sigma)
    return result.reshape(log_z.shape)


def _chunk(log_z: FloatArray, sigma: float) -> FloatArray:
    target = np.maximum(log_z + 2 * math.log(sigma), -700.0)
    omega = np.asarray(special.wrightomega(target))
    # One step of Newton's method: what is below takes the equation for exact.
    omega = omega + (target - omega - np.log(omega)) * omega / (1 + omega)
    k = omega / sigma**2
    step = _step(k, sigma)
    left, right = _reach(k, sigma, -1.0) / step, _reach(k, sigma, 1.0) / step
    j = np.arange(-math.ceil(left.max()), math.ceil(right.max()) + 1)
    u = step[:, None] * j
    terms = np.exp(-u * u / 2 - k[:, None] * _exponential_remainder(sigma * u))
    log_mean = np.log(terms.sum(axis=1) * (step / math.sqrt(2 * math.pi)))
    return np.asarray(log_mean - omega * omega / (2 * sigma * sigma) - k)


def _step(k: FloatArray, sigma: float) -> FloatArray:
    """Return a step of the trapezoidal rule with a relative error of e^-40."""
    height = np.minimum(np.sqrt(2 * _DIGITS / (1 + k * sigma**2)), 1.2 / sigma)
    # The integrand at height y is at most exp(y^2/2 - k ln cos(sigma y)) times the real one.
    growth = height**2 / 2 - k * np.log(np.cos(sigma * height))
    return 2 * math.pi * height / (_DIGITS + growth)


def _reach(k: FloatArray, sigma: float, side: float) -> FloatArray:
    """Return distances at which the integrand has fallen by e^-40."""
    far, near = np.full_like(k, math.sqrt(2 * _DIGITS)), np.zeros_like(k)
    for _ in range(12):
        middle = (far + near) / 2
        fall = middle**2 / 2 + k * _exponential_remainder(side * sigma * middle)
        far, near = np.where(fall > _DIGITS, middle, far), np.where(fall > _DIGITS, near, middle)
    return far


def _exponential_remainder(x: FloatArray) -> FloatArray:
    """Return e^x - 1 - x without cancellation."""
    small = np.clip(x, -_SERIES_BELOW, _SERIES_BELOW)
    term = small * small / 2
    total = term.copy()
    for n in range(3, 20):
        term = term * small / n
        total = total + term
    with np.errstate(over="ignore"):
        return np.where(np.abs(x) < _SERIES_BELOW, total, np.expm1(x) - x)


def transform_deficit(log_z: FloatArray, sigma: float) -> FloatArray:
    """Return 1 - E exp(-e^log_z e^(sigma Y)), accurate where it is small."""
    step = min(0.3, 2 * math.pi * (1.2 / sigma) / (_DIGITS + 2))
    u = np.arange(-9.0 - step, 9.0 + sigma + 2 * step, step)
    weights = np.exp(-u * u / 2) * (step / math.sqrt(2 * math.pi))
    flat = log_z.ravel()[:, None]
    with np.errstate(over="ignore"):
        deficit = -np.expm1(-np.exp(flat + sigma * u)) @ weights
    return np.asarray(deficit).reshape(log_z.shape)
