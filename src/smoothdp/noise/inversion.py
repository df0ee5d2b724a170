"""Quantiles by Newton's method in ln x, where tails and central masses are log-concave."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from smoothdp.types import FloatArray

_LOWEST, _HIGHEST = -745.0, 709.7
_ROUNDS = 200


def invert(
    log_function: Callable[[FloatArray], FloatArray],
    log_slope: Callable[[FloatArray], FloatArray],
    target: FloatArray,
) -> FloatArray:
    """Return the x > 0 with log_function(x) = target, for a monotone function of ln x.

    ``log_slope`` is ln |d log_function / d x|. A bracket in ln x is kept, and halved where
    Newton's step leaves it. 0 and inf stand for results beyond floats.
    """
    ends = np.where(np.isnan(target), np.nan, 0.0)
    finite = np.isfinite(target)
    if finite.any():
        ends[finite] = _newton(log_function, log_slope, target[finite])
    if not finite.all():
        # Where the function is 0: at x = 0 if it rises, at inf if it falls.
        rising = log_function(np.ones(1)) < log_function(np.full(1, 2.0))
        ends[target == -np.inf] = 0.0 if rising[0] else np.inf
    return ends


def _newton(
    log_function: Callable[[FloatArray], FloatArray],
    log_slope: Callable[[FloatArray], FloatArray],
    target: FloatArray,
) -> FloatArray:
    low = np.full(target.shape, _LOWEST)
    high = np.full(target.shape, _HIGHEST)
    rising = log_function(np.exp(high)) > log_function(np.exp(low))
    v = np.zeros_like(target)
    moved = np.full(target.shape, np.inf)
    for _ in range(_ROUNDS):
        x = np.exp(v)
        gap = log_function(x) - target
        above = np.where(rising, gap > 0, gap < 0)
        high = np.where(above, v, high)
        low = np.where(above, low, v)
        step = -np.where(rising, 1.0, -1.0) * gap / np.exp(np.minimum(log_slope(x) + v, 700.0))
        following = v + step
        inside = np.isfinite(following) & (following >= low) & (following <= high)
        following = np.where(inside, following, (low + high) / 2)
        # Where steps no longer shrink they are rounding.
        last, moved = moved, np.abs(following - v)
        size = np.maximum(1.0, np.abs(v))
        done = (moved <= 1e-15 * size) | ((moved <= 1e-13 * size) & (moved >= last / 2))
        v = following
        if done.all():
            break
    beyond = np.where(v > _HIGHEST - 1e-6, np.inf, np.exp(v))
    return np.where(v < _LOWEST + 1e-6, 0.0, beyond)
