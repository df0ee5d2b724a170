"""Laws whose quantiles have no closed form: their tails and central masses are inverted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from smoothdp.noise.law import NoiseDistribution
from smoothdp.types import FloatArray

_LOWEST, _HIGHEST = -745.0, 709.7
_ROUNDS = 200


class InvertedQuantiles(NoiseDistribution):
    """A law that knows P(0 < Z < a) beside its tail; Newton's method does the rest."""

    @abstractmethod
    def _central_mass(self, a: FloatArray) -> FloatArray:
        """Return P(0 < Z < a), a >= 0, accurate where it is small."""

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        def log_slope(x: FloatArray) -> FloatArray:
            return self._log_density(x) - self._log_survival(x)

        return invert(self._log_survival, log_slope, log_tail)

    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        def log_mass(x: FloatArray) -> FloatArray:
            return np.log(self._central_mass(x))

        def log_slope(x: FloatArray) -> FloatArray:
            return self._log_density(x) - log_mass(x)

        return invert(log_mass, log_slope, np.log(mass))


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
