"""Laws with one shape, sigma: how it is read, kept and seen in balls."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.noise.law import NoiseDistribution


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
