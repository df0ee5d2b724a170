"""Laws with one shape, sigma, made from a normal variable by stretching it or as a factor."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Parameter, Real, float_of
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.laws import floats
from smoothdp.noise.laws.inverted_quantiles import InvertedQuantiles
from smoothdp.noise.shift_claim import ShiftClaim, no_exact_shift, unbounded_loss
from smoothdp.types import FloatArray


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
        return np.where(np.isinf(a), -math.inf, floats.normal_log_tail(self._normal_of(a)))

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        return self._stretch(floats.normal_tail_quantile(log_tail))

    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        return self._stretch(floats.normal_central_quantile(mass))

    def _ball_log_peak(self) -> Ball:
        return -special.log(2 * special.pi()) / 2

    def _ball_survival(self, x: Ball) -> Ball:
        return special.normal_tail(self._ball_normal_of(x))


class LogNormalFactor(SigmaLaw, InvertedQuantiles):
    """X e^(sigma Y), Y standard normal, where the density of X falls log-concavely in ln|x|.

    Then g(v) = f(e^v) is a convolution of a normal density of variance sigma^2 with a
    log-concave function, so the tilted law of what is integrated has a variance of at most
    sigma^2. Hence A = -d ln g / dv has 0 <= dA/dv <= 1 / sigma^2 (proofs/dilated-divergences#8),
    and for real x and y

        g(x + iy) = g(x) exp(-i A(x) y + q) c,  q = y^2 / (2 sigma^2),  |c - 1| <= q:

    c is the characteristic function of the centred tilted law at y / sigma^2. So g has no
    zero where y^2 < 2 sigma^2, ln g differs from its first-order continuation by at most
    q - ln(1 - q), and A from A(x) by at most 6 / sigma within 0.6 sigma of it
    (proofs/divergence-enclosures#5).
    """

    @abstractmethod
    def _real_elasticity(self, v: Ball) -> Ball:
        """Return A(v) for a thin real ball."""

    def _ball_elasticity(self, v: Ball) -> Ball:
        real = special.real(v)
        if not real.is_finite():
            return special.undefined()
        if special.is_thin(real):
            return self._real_elasticity(real)
        # A increases in v.
        ends = (
            self._real_elasticity(special.lower(real)),
            self._real_elasticity(special.upper(real)),
        )
        return special.interval(*ends)

    def _elasticity_size(self, branch: Callable[[Ball], Ball], v: Ball) -> Ball:
        sigma = self._shape()
        if not special.imaginary_reach(v) < 0.6 * sigma:
            return special.undefined()
        return special.size(branch(v)) + 6 / sigma

    def _continuation_error(self, v: Ball) -> Ball:
        height = special.imaginary_reach(v)
        q = height * height / (2 * self._shape() ** 2)
        return q - special.log(1 - q) if q < 1 else special.undefined()

    def _elasticity_slope(self, v: Ball) -> Ball:
        del v
        return 1 / self._shape() ** 2


def _exponential(rate: Ball) -> Ball:
    """Return E exp(rate |Y|) = 2 e^(rate^2 / 2) Phi(rate), Y standard normal."""
    return 2 * (rate * rate / 2).exp() * special.normal_tail(-rate)


def hyperbolic_moment(k: int, sigma: Ball) -> Ball:
    """Return E (sinh(sigma |Y|) / sigma)^k, by the binomial theorem; balls absorb what cancels."""
    total = special.number(0.0)
    for j in range(k + 1):
        total += (-1) ** j * math.comb(k, j) * _exponential((k - 2 * j) * sigma)
    return total / (2 * sigma) ** k


def exponential_moment(k: int, rate: Ball) -> Ball:
    """Return E ((e^(rate |Y|) - 1) / rate)^k, likewise."""
    total = special.number(0.0)
    for j in range(k + 1):
        total += (-1) ** (k - j) * math.comb(k, j) * _exponential(j * rate)
    return total / rate**k
