"""Student's T, for any real number of degrees of freedom."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.exact import special
from smoothdp.exact.balls import ball
from smoothdp.exact.lazy.laws import DrawFunction, LazyLaw
from smoothdp.exact.parameters import Parameter
from smoothdp.exact.special import Ball
from smoothdp.noise.beta_series import log_incomplete_beta
from smoothdp.noise.inverted_quantiles import InvertedQuantiles
from smoothdp.noise.law import FloatArray
from smoothdp.noise.mills import log_mills
from smoothdp.noise.specification import ParameterSpec
from smoothdp.sources import Source

# From here on the tail is integrated by quadrature where its series is long.
_MANY = 8


@dataclass(frozen=True, init=False, repr=False)
class StudentT(InvertedQuantiles):
    """Density c (1 + x^2 / d)^(-(d + 1) / 2), c = G((d+1)/2) / (sqrt(pi d) G(d/2)).

    Variance d / (d - 2) for d > 2. Pure DP under smooth sensitivity; its worst loss is in
    closed form (`max_divergence`).

    Args:
        degrees: any real number > 0; 1 is the Cauchy law.

    Raises:
        InvalidParameter: degrees outside this domain. OutOfReach: beyond what is computed,
            see ``parameters``.

    >>> StudentT("2.5").variance
    5.0
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Definition 30")
    parameters: ClassVar[tuple[ParameterSpec, ...]] = (
        ParameterSpec(
            "degrees",
            "degrees of freedom",
            above=0,
            reach=("0.01", "1e6"),
            typical=("3", "13", "1", "2.5", "0.5", "100"),
        ),
    )
    printed_shapes: ClassVar[tuple[float, float] | None] = (2.001, 300.0)
    exact_degrees: Fraction

    def __init__(self, degrees: Parameter) -> None:
        object.__setattr__(self, "exact_degrees", self.parameters[0].read(degrees))

    @property
    def degrees(self) -> float:
        """The degrees of freedom as a float."""
        return float(self.exact_degrees)

    def finite_moment_above(self, k: int) -> int:
        return k

    @special.per_precision
    def _shape(self) -> Ball:
        return ball(self.exact_degrees)

    @special.per_precision
    def _log_constant(self) -> Ball:
        d = self._shape()
        return ((d + 1) / 2).lgamma() - (d / 2).lgamma() - (special.pi() * d).log() / 2

    def _log_density(self, a: FloatArray) -> FloatArray:
        d = self.degrees
        return special.nearest(self._log_constant) - (d + 1) / 2 * self._log_growth(a)

    def _log_growth(self, a: FloatArray) -> FloatArray:
        """Return ln(1 + a^2 / d)."""
        square = a * a / self.degrees
        far = 2 * np.log(np.maximum(a, 1.0)) - math.log(self.degrees)
        return np.where(np.isfinite(square), np.log1p(square), far)

    def _log_beta(self) -> Ball:
        """Return -ln B(d/2, 1/2)."""
        return self._log_constant() + self._shape().log() / 2

    def _log_far(self, a: FloatArray) -> FloatArray:
        """Return ln P(Z > a), a^2 >= d: I_z(d/2, 1/2) / 2 with z = d / (d + a^2) <= 1/2."""
        d = self.degrees
        log_z = -self._log_growth(a)
        scale = special.nearest(self._log_beta) - math.log(d / 2)
        rest = np.log1p(-np.exp(log_z))
        return log_incomplete_beta(d / 2, 0.5, scale, log_z, rest) - math.log(2)

    def _log_survival(self, a: FloatArray) -> FloatArray:
        root = math.sqrt(self.degrees)
        close = np.minimum(a, root)
        if self.degrees < _MANY:
            near = np.log(0.5 - self._central_mass(close))
        else:
            near = self._log_density(close) + log_mills(self._log_fall, close, self._width(close))
        return np.where(a > root, self._log_far(np.maximum(a, root)), near)

    def _log_fall(self, a: FloatArray, h: FloatArray) -> FloatArray:
        """Return ln of the density at a + h over that at a."""
        return -(self.degrees + 1) / 2 * np.log1p(h * (2 * a + h) / (self.degrees + a * a))

    def _width(self, a: FloatArray) -> FloatArray:
        d = self.degrees
        return (d + a * a) / ((d + 1) * a + math.sqrt(d) * math.sqrt(d + 1))

    def _central_mass(self, a: FloatArray) -> FloatArray:
        """Return P(0 < Z < a), by its series for a^2 <= d."""
        d = self.degrees
        root = math.sqrt(d)
        near = np.minimum(a, root)
        growth = self._log_growth(near)
        scale = special.nearest(self._log_beta) + math.log(2)
        log_w = 2 * np.log(near) - math.log(d) - growth
        series = np.exp(log_incomplete_beta(0.5, d / 2, scale, log_w, -growth)) / 2
        return np.where(a > near, 0.5 - np.exp(self._log_far(np.maximum(a, root))), series)

    def _moment(self, k: int) -> float:
        if self.exact_degrees <= k:
            return math.inf

        def compute() -> Ball:
            # d^(k/2) G((k+1)/2) G((d-k)/2) / (sqrt(pi) G(d/2))
            d, order = self._shape(), special.number(float(k))
            logs = ((order + 1) / 2).lgamma() + ((d - order) / 2).lgamma() - (d / 2).lgamma()
            return (logs + order / 2 * d.log()).exp() / special.sqrt(special.pi())

        return special.nearest(compute)

    def lazy(self) -> LazyLaw:
        return LazyLaw(2, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        # sqrt(d (U^(-2/d) - 1)) cos(pi V), exact for every d > 0: R. W. Bailey, Polar generation
        # of random variates with the t-distribution (1994).
        d, power = ball(self.exact_degrees), ball(-2 / self.exact_degrees)

        def draw(_: bool, u: Ball, v: Ball) -> Ball:
            return (d * (power * u.log()).expm1()).sqrt() * v.cos_pi()

        return draw

    def _ball_log_density(self, v: Ball) -> Ball:
        d = self._shape()
        return self._log_constant() - (d + 1) / 2 * ((2 * v).exp() / d).log1p()

    def _ball_log_peak(self) -> Ball:
        return self._log_constant()

    def _ball_elasticity(self, v: Ball) -> Ball:
        d = self._shape()
        return (d + 1) / (1 + d * (-2 * v).exp())

    def _ball_survival(self, x: Ball) -> Ball:
        d = self._shape()
        half = special.number(0.5)
        if x < 1:
            return (1 - special.regularized_beta(x * x / (d + x * x), half, d / 2)) / 2
        return special.regularized_beta(d / (d + x * x), d / 2, half) / 2

    def _elasticity_limit(self) -> Ball:
        return self._shape() + 1

    def _supremum_closed(self, shift: Ball, dilation: Ball) -> Ball:
        # The ratio of d + (x - s)^2 e^(-2t) to d + x^2 is at most 1 + e, with
        # e^2 + e (a - w) - w = 0, a = 1 - e^(-2t) and w = s^2 e^(-2t) / d.
        d = self._shape()
        w = shift * shift * (-2 * dilation).exp() / d
        gap = -(-2 * dilation).expm1() - w
        root = special.sqrt(gap * gap + 4 * w)
        excess = 2 * w / (root + gap) if gap > 0 else (root - gap) / 2
        return dilation + (d + 1) / 2 * excess.log1p()
