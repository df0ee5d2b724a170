"""The generalised Cauchy law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.exact import special
from smoothdp.exact.balls import ball
from smoothdp.exact.lazy.laws import DrawFunction, LazyLaw, Undrawn
from smoothdp.exact.parameters import Parameter
from smoothdp.exact.special import Ball
from smoothdp.noise.beta_series import log_incomplete_beta
from smoothdp.noise.inverted_quantiles import InvertedQuantiles
from smoothdp.noise.law import FloatArray
from smoothdp.noise.specification import ParameterSpec
from smoothdp.sources import Source


@dataclass(frozen=True, init=False, repr=False)
class GeneralizedCauchy(InvertedQuantiles):
    """Density c sin(pi / c) / (2 pi) / (1 + |x|^c), due to Nissim, Raskhodnikova and Smith.

    Variance 1 / (1 + 2 cos(2 pi / c)) for c > 3. Pure DP under smooth sensitivity.

    Args:
        power: c > 1; 2 is the Cauchy law.

    Raises:
        InvalidParameter: power outside this domain. OutOfReach: beyond what is computed,
            see ``parameters``.

    >>> GeneralizedCauchy(6).variance
    0.5
    """

    source: ClassVar[Source] = Source("hladik-tetek", "Claim 16")
    parameters: ClassVar[tuple[ParameterSpec, ...]] = (
        ParameterSpec(
            "power",
            "power of the tail",
            above=1,
            reach=("1.01", "1000"),
            typical=("4", "2", "1.5", "3.5", "12"),
        ),
    )
    printed_shapes: ClassVar[tuple[float, float] | None] = (3.001, 100.0)
    exact_power: Fraction

    def __init__(self, power: Parameter) -> None:
        object.__setattr__(self, "exact_power", self.parameters[0].read(power))

    @property
    def power(self) -> float:
        """The power of the tail as a float."""
        return float(self.exact_power)

    def finite_moment_above(self, k: int) -> int:
        return k + 1

    @special.per_precision
    def _shape(self) -> Ball:
        return ball(self.exact_power)

    @special.per_precision
    def _log_constant(self) -> Ball:
        c = self._shape()
        return (c * (special.pi() / c).sin() / (2 * special.pi())).log()

    def _log_growth(self, a: FloatArray) -> FloatArray:
        """Return ln(1 + a^c)."""
        return np.logaddexp(0.0, self.power * np.log(a))

    def _log_density(self, a: FloatArray) -> FloatArray:
        return special.nearest(self._log_constant) - self._log_growth(a)

    def _log_half(self, first: float, a: FloatArray) -> FloatArray:
        """Return ln of I_z(first, 1 - first) / 2, z = 1 / (1 + a^c)."""
        log_z = -self._log_growth(a)
        # 1 / B(x, 1 - x) = sin(pi x) / pi, the same for both halves.
        scale = special.nearest(lambda: ((special.pi() / self._shape()).sin() / special.pi()).log())
        log_rest = -self._log_growth(1 / a)
        sums = log_incomplete_beta(first, 1 - first, scale - math.log(first), log_z, log_rest)
        return sums - math.log(2)

    def _log_survival(self, a: FloatArray) -> FloatArray:
        far = self._log_half(1 - 1 / self.power, np.maximum(a, self._middle))
        near = np.log(0.5 - self._central_mass(np.minimum(a, self._middle)))
        return np.where(a > self._middle, far, near)

    def _central_mass(self, a: FloatArray) -> FloatArray:
        near = np.exp(self._log_half(1 / self.power, 1 / np.minimum(a, 1.0)))
        far = 0.5 - np.exp(self._log_half(1 - 1 / self.power, np.maximum(a, 1.0)))
        return np.where(a > 1, far, near)

    @property
    def _middle(self) -> float:
        """Where a^c = 1/9: the tail beyond, even if tiny, is summed and not a difference."""
        return float(9 ** (-1 / self.power))

    def _moment(self, k: int) -> float:
        if self.exact_power <= k + 1:
            return math.inf
        angle = 1 / self.exact_power
        # sin(pi / c) / sin(pi (k + 1) / c)
        return special.nearest(lambda: ball(angle).sin_pi() / ball((k + 1) * angle).sin_pi())

    def lazy(self) -> LazyLaw:
        return LazyLaw(2, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        # By rejection from min(1, |x|^-c): uniform on [0, 1] with probability (c - 1) / c, else
        # u^(-1/(c-1)); kept with probability 1 / (1 + y^c) or 1 / (1 + y^-c), at least 1/2.
        c = self.exact_power
        border, stretch = ball((c - 1) / c), ball(c / (c - 1))
        shrink, tail, exponent = ball(c), ball(-1 / (c - 1)), ball(c)

        def draw(positive: bool, u: Ball, v: Ball) -> Ball | Undrawn:
            if u < border:
                size = u * stretch
                odds = (exponent * size.log()).exp()
            elif u > border:
                log_size = ((u - border) * shrink).log() * tail
                size = log_size.exp()
                odds = (-exponent * log_size).exp()
            else:
                return Undrawn.UNDECIDED
            level = v * (1 + odds)
            if level < 1:
                return size if positive else -size
            return Undrawn.REJECTED if level > 1 else Undrawn.UNDECIDED

        return draw

    def _ball_log_density(self, v: Ball) -> Ball:
        return self._log_constant() - (self._shape() * v).exp().log1p()

    def _ball_log_peak(self) -> Ball:
        return self._log_constant()

    def _ball_elasticity(self, v: Ball) -> Ball:
        c = self._shape()
        return c / (1 + (-c * v).exp())

    def _ball_survival(self, x: Ball) -> Ball:
        c = self._shape()
        if x < 1:
            return (1 - special.regularized_beta(1 / (1 + x**-c), 1 / c, 1 - 1 / c)) / 2
        return special.regularized_beta(1 / (1 + x**c), 1 - 1 / c, 1 / c) / 2

    def _elasticity_limit(self) -> Ball:
        return self._shape()
