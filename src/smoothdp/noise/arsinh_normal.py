"""The arsinh-normal law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smoothdp.exact import special
from smoothdp.exact.balls import ball
from smoothdp.exact.lazy.laws import DrawFunction, LazyLaw, standard_normal
from smoothdp.exact.special import Ball
from smoothdp.noise import normal
from smoothdp.noise.exponential_moments import hyperbolic_moment
from smoothdp.noise.law import FloatArray
from smoothdp.noise.specification import ParameterSpec
from smoothdp.noise.stretched_normal import StretchedNormal
from smoothdp.sources import Source


@dataclass(frozen=True, init=False, repr=False)
class ArsinhNormal(StretchedNormal):
    """Z = sinh(sigma Y) / sigma, Y standard normal.

    Density exp(-y^2 / 2) / sqrt(2 pi (1 + sigma^2 x^2)) with y = arsinh(sigma x) / sigma;
    variance (e^(2 sigma^2) - 1) / (2 sigma^2). zCDP under smooth sensitivity.

    Args:
        sigma: shape > 0; near 0 the law is near the standard normal one.

    Raises:
        InvalidParameter: sigma outside this domain. OutOfReach: beyond what is computed,
            see ``parameters``.

    >>> round(ArsinhNormal("0.4").variance, 12)
    1.17852426355
    """

    _ball_work: ClassVar[int] = 10
    source: ClassVar[Source] = Source("bun-steinke-averages", "Lemma 26")
    parameters: ClassVar[tuple[ParameterSpec, ...]] = (
        ParameterSpec(
            "sigma",
            "shape",
            above=0,
            reach=("1e-4", "20"),
            typical=("0.4", "0.17", "1.26", "3"),
        ),
    )
    printed_shapes: ClassVar[tuple[float, float] | None] = (0.01, 4.0)

    def _stretch(self, y: FloatArray) -> FloatArray:
        return np.sinh(self.sigma * y) / self.sigma

    def _normal_of(self, a: FloatArray) -> FloatArray:
        return np.arcsinh(self.sigma * np.minimum(a, 1e300)) / self.sigma

    def _log_density(self, a: FloatArray) -> FloatArray:
        # ln sqrt(1 + sigma^2 x^2) = ln cosh(sigma y).
        y = self._normal_of(a)
        decay = 2 * self.sigma * y
        log_cosh = decay / 2 + np.log1p(np.expm1(-decay) / 2)
        log_f = -y * y / 2 - log_cosh - normal.LOG_ROOT_TWO_PI
        return np.where(np.isinf(a), -math.inf, log_f)

    def _moment(self, k: int) -> float:
        return special.nearest(lambda: hyperbolic_moment(k, self._shape()))

    def lazy(self) -> LazyLaw:
        return LazyLaw(2, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        sigma, inverse = ball(self.exact_sigma), ball(1 / self.exact_sigma)

        def draw(_: bool, u: Ball, v: Ball) -> Ball:
            return (sigma * standard_normal(u, v)).sinh() * inverse

        return draw

    def _ball_log_density(self, v: Ball) -> Ball:
        w = self._shape() * v.exp()
        y = w.asinh() / self._shape()
        return special.normal_log_density(y) - (w * w).log1p() / 2

    def _ball_elasticity(self, v: Ball) -> Ball:
        sigma = self._shape()
        log_w = v + sigma.log()
        # T = tanh(sigma y) and sigma y, in a form that keeps complex balls small.
        if special.real(log_w) > 0:
            root = special.sqrt(1 + (-2 * log_w).exp())
            slope, angle = 1 / root, log_w + special.log(1 + root)
        else:
            w = log_w.exp()
            root = special.sqrt(1 + w * w)
            slope, angle = w / root, special.log(w + root)
        return slope * (angle / (sigma * sigma) + slope)

    def _ball_normal_of(self, x: Ball) -> Ball:
        sigma = self._shape()
        return (sigma * x).asinh() / sigma

    def _elasticity_slope(self, v: Ball) -> Ball:
        # T^2/sigma^2 + z sech^2 z T / sigma^2 + 2 T^2 sech^2 z, z = sigma y, T = tanh z.
        sigma = self._shape()
        z = (sigma * v.exp()).asinh()
        falling = z / z.cosh() ** 2 if z > 1 else special.number(0.5)
        rest = 2 / z.cosh() ** 2 if z > 1 else special.number(2.0)
        return (1 + falling) / (sigma * sigma) + rest
