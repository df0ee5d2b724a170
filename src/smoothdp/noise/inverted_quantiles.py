"""Laws whose quantiles have no closed form: their tails and central masses are inverted."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from smoothdp.noise.inversion import invert
from smoothdp.noise.law import NoiseDistribution
from smoothdp.types import FloatArray


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
