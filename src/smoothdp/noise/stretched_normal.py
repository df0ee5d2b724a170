"""Laws made from a normal variable by stretching it: the same on both sides, and rising."""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from smoothdp.exact.balls import special
from smoothdp.exact.balls.special import Ball
from smoothdp.noise import normal
from smoothdp.noise.sigma_law import SigmaLaw
from smoothdp.types import FloatArray


class StretchedNormal(SigmaLaw):
    """Z = sgn(Y) h(|Y|), Y standard normal, h rising with h(0) = 0 and h'(0) = 1."""

    @abstractmethod
    def _stretch(self, y: FloatArray) -> FloatArray:
        """Return h(y), y >= 0."""

    @abstractmethod
    def _normal_of(self, a: FloatArray) -> FloatArray:
        """Return the y >= 0 with h(y) = a."""

    @abstractmethod
    def _ball_normal_of(self, x: Ball) -> Ball:
        """Return the y > 0 with h(y) = x."""

    def _log_survival(self, a: FloatArray) -> FloatArray:
        return np.where(np.isinf(a), -math.inf, normal.log_tail(self._normal_of(a)))

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        return self._stretch(normal.tail_quantile(log_tail))

    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        return self._stretch(normal.central_quantile(mass))

    def _ball_log_peak(self) -> Ball:
        return -special.log(2 * special.pi()) / 2

    def _ball_survival(self, x: Ball) -> Ball:
        return special.normal_tail(self._ball_normal_of(x))
