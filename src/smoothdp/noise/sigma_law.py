"""Laws with one shape, sigma: how it is read, kept and seen in balls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.exact import special
from smoothdp.exact.balls import ball
from smoothdp.exact.parameters import Parameter, Real, float_of
from smoothdp.exact.special import Ball
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.shift_claim import ShiftClaim, no_exact_shift, unbounded_loss
from smoothdp.privacy.concentrated import ZCDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.standard import ApproxDP


@dataclass(frozen=True, init=False, repr=False)
class SigmaLaw(NoiseDistribution):
    """A law that names one parameter, sigma > 0."""

    exact_sigma: Fraction

    def __init__(self, sigma: Parameter) -> None:
        object.__setattr__(self, "exact_sigma", self.parameters[0].read(sigma))

    @property
    def sigma(self) -> float:
        """The shape as a float."""
        return float(self.exact_sigma)

    @special.per_precision
    def _shape(self) -> Ball:
        return ball(self.exact_sigma)

    @classmethod
    def _shape_range(cls, guarantee: Guarantee, smoothing: Fraction) -> tuple[float, float]:
        lowest, highest = (float(Fraction(edge)) for edge in cls.parameters[0].reach)
        if isinstance(guarantee, ZCDP) and smoothing > 0:
            e = math.sqrt(2 * float(guarantee.exact_rho))
            # Nearer to its limit t / e a certificate needs very high orders.
            lowest = max(lowest, float(smoothing) / e * 1.05)
        else:
            scale = 1.0
            if isinstance(guarantee, ApproxDP):
                scale = max(1e-3, min(1.0, float_of(guarantee.exact_epsilon)))
            lowest = max(lowest, 0.02 * scale)
        return lowest, min(highest, max(5.0, 4 * lowest))

    def _pure_claim(self, epsilon: Real, smoothing: Fraction) -> ShiftClaim:
        del epsilon
        raise unbounded_loss(self, "log-normal") if smoothing else no_exact_shift(self)
