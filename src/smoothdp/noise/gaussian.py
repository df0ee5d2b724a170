"""The standard normal law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from smoothdp.exact import special
from smoothdp.exact.lazy.laws import DrawFunction, LazyLaw, standard_normal
from smoothdp.exact.special import Ball
from smoothdp.noise import normal
from smoothdp.noise.law import FloatArray, NoiseDistribution
from smoothdp.sources import Source


@dataclass(frozen=True, repr=False)
class Gaussian(NoiseDistribution):
    """N(0, 1): density exp(-x^2 / 2) / sqrt(2 pi), variance 1.

    Under smooth sensitivity it gives truncated CDP and approximate DP, never zCDP: its
    Renyi divergence is infinite from order 1 / (1 - e^(-2t)) on.

    >>> round(Gaussian().renyi(2, shift=0.5, dilation=0), 12)
    0.25
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "section 3.5")

    def _log_density(self, a: FloatArray) -> FloatArray:
        return -a * a / 2 - normal.LOG_ROOT_TWO_PI

    def _log_survival(self, a: FloatArray) -> FloatArray:
        return normal.log_tail(a)

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        return normal.tail_quantile(log_tail)

    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        return normal.central_quantile(mass)

    def _moment(self, k: int) -> float:
        # 2^(k/2) Gamma((k+1)/2) / sqrt(pi)
        return special.nearest(
            lambda: (
                special.number(2.0) ** (special.number(float(k)) / 2)
                * (special.number(k + 1.0) / 2).gamma()
                / special.sqrt(special.pi())
            )
        )

    def lazy(self) -> LazyLaw:
        return LazyLaw(2, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        def draw(_: bool, u: Ball, v: Ball) -> Ball:
            return standard_normal(u, v)

        return draw

    def _ball_log_density(self, v: Ball) -> Ball:
        return -(2 * v).exp() / 2 - special.log(2 * special.pi()) / 2

    def _ball_log_peak(self) -> Ball:
        return -special.log(2 * special.pi()) / 2

    def _ball_elasticity(self, v: Ball) -> Ball:
        return (2 * v).exp()

    def _ball_survival(self, x: Ball) -> Ball:
        return special.normal_tail(x)

    def _renyi_closed(self, order: Ball, shift: Ball, dilation: Ball) -> Ball:
        # W = (1 - order) + order e^(2t) is the variance of the geometric mixture.
        excess = order * (2 * dilation).expm1()
        if not 1 + excess > 0:
            return special.number(math.inf)
        mean = order * shift * shift / (2 * (1 + excess))
        if order == 1:
            return mean + dilation + (-2 * dilation).expm1() / 2
        return mean + (2 * dilation * order - excess.log1p()) / (2 * (order - 1))

    def _supremum_closed(self, shift: Ball, dilation: Ball) -> Ball:
        if not dilation > 0:
            return special.infinity()
        return dilation + shift * shift / (2 * (2 * dilation).expm1())

    def _delta_closed(self, epsilon: Ball, shift: Ball, dilation: Ball) -> Ball:
        tail = special.normal_tail
        growth = epsilon.exp()
        if dilation == 0:
            start = epsilon / shift - shift / 2
            return tail(start) - growth * tail(start + shift)
        # The loss is above epsilon where a x^2 + 2 b x < c, on one side of two roots.
        r = (-dilation).exp()
        a, b = -(-2 * dilation).expm1(), r * r * shift
        square = r * r * shift * shift + 2 * a * (dilation - epsilon)
        if square < 0:
            return special.number(0.0)
        root = special.sqrt(special.maximum(square, special.number(0.0)))
        low, high = -(root + b) / a, (root - b) / a
        if dilation > 0:
            p = tail(low) - tail(high)
            return p - growth * (tail((low - shift) * r) - tail((high - shift) * r))
        p = tail(-high) + tail(low)
        return p - growth * (tail((shift - high) * r) + tail((low - shift) * r))
