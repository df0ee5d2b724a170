"""The log1p-normal law, which is in no paper."""

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
from smoothdp.noise.exponential_moments import exponential_moment
from smoothdp.noise.law import FloatArray
from smoothdp.noise.specification import ParameterSpec
from smoothdp.noise.stretched_normal import StretchedNormal
from smoothdp.sources import Source


@dataclass(frozen=True, init=False, repr=False)
class Log1pNormal(StretchedNormal):
    """Z = sgn(Y) (e^(sigma |Y|) - 1) / sigma, Y standard normal.

    Density phi(y) e^(-sigma y) with y = ln(1 + sigma |x|) / sigma and phi the normal density;
    variance (E e^(2 sigma |Y|) - 2 E e^(sigma |Y|) + 1) / sigma^2. An addition to the
    arsinh-normal law of the source: zCDP with less noise where the smoothing is large.

    Args:
        sigma: shape > 0; near 0 the law is near the standard normal one.

    Raises:
        InvalidParameter: sigma outside this domain. OutOfReach: beyond what is computed,
            see ``parameters``.

    >>> round(Log1pNormal("0.5").variance, 6)
    2.56067
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "section 3.3, varied")
    parameters: ClassVar[tuple[ParameterSpec, ...]] = (
        ParameterSpec(
            "sigma",
            "shape",
            above=0,
            reach=("1e-4", "20"),
            typical=("0.5", "0.15", "1.06", "3"),
        ),
    )

    def _stretch(self, y: FloatArray) -> FloatArray:
        return np.expm1(self.sigma * y) / self.sigma

    def _normal_of(self, a: FloatArray) -> FloatArray:
        return np.log1p(self.sigma * np.minimum(a, 1e300)) / self.sigma

    def _log_density(self, a: FloatArray) -> FloatArray:
        y = self._normal_of(a)
        log_f = -y * y / 2 - self.sigma * y - normal.LOG_ROOT_TWO_PI
        return np.where(np.isinf(a), -math.inf, log_f)

    def _moment(self, k: int) -> float:
        return special.nearest(lambda: exponential_moment(k, self._shape()))

    def lazy(self) -> LazyLaw:
        return LazyLaw(2, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        sigma, inverse = ball(self.exact_sigma), ball(1 / self.exact_sigma)

        def draw(positive: bool, u: Ball, v: Ball) -> Ball:
            size = (sigma * abs(standard_normal(u, v))).expm1() * inverse
            return size if positive else -size

        return draw

    def _ball_log_density(self, v: Ball) -> Ball:
        sigma = self._shape()
        log_growth = (sigma * v.exp()).log1p()
        return special.normal_log_density(log_growth / sigma) - log_growth

    def _ball_elasticity(self, v: Ball) -> Ball:
        sigma = self._shape()
        w = sigma * v.exp()
        # In a form that keeps complex balls small.
        if special.real(w) > 1:
            log_growth = v + sigma.log() + special.log(1 + 1 / w)
        else:
            log_growth = special.log(1 + w)
        return (log_growth / (sigma * sigma) + 1) / (1 + 1 / w)

    def _ball_normal_of(self, x: Ball) -> Ball:
        sigma = self._shape()
        return (sigma * x).log1p() / sigma

    def _elasticity_slope(self, v: Ball) -> Ball:
        # With r = w / (1 + w): (r / sigma^2 + (ln(1+w) / sigma^2 + 1) (1 - r)) r, and
        # (1 - r) ln(1 + w) <= 1/e, falling for w >= e - 1.
        sigma = self._shape()
        w = sigma * v.exp()
        falling = w.log1p() / (1 + w) if w > 2 else special.number(0.5)
        return (1 + falling) / (sigma * sigma) + 1 / (1 + w)
