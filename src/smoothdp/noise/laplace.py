"""The standard Laplace law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from smoothdp.exact import special
from smoothdp.exact.lazy.laws import DrawFunction, LazyLaw
from smoothdp.exact.special import Ball
from smoothdp.noise.law import FloatArray, NoiseDistribution
from smoothdp.sources import Source


@dataclass(frozen=True, repr=False)
class Laplace(NoiseDistribution):
    """Density exp(-|x|) / 2, variance 2.

    Under smooth sensitivity it gives approximate DP only: the loss of a dilation is
    unbounded.

    >>> Laplace().max_divergence(shift=0.5, dilation=0)
    0.5
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "Theorem 34")

    def _log_density(self, a: FloatArray) -> FloatArray:
        return -a - math.log(2)

    def _log_survival(self, a: FloatArray) -> FloatArray:
        return -a - math.log(2)

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        return -log_tail - math.log(2)

    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        return -np.log1p(-2 * mass)

    def _moment(self, k: int) -> float:
        return special.nearest(lambda: special.number(k + 1.0).gamma())

    def lazy(self) -> LazyLaw:
        return LazyLaw(1, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        def draw(positive: bool, u: Ball) -> Ball:
            return -u.log() if positive else u.log()

        return draw

    def _ball_log_density(self, v: Ball) -> Ball:
        return -v.exp() - special.number(2.0).log()

    def _ball_log_peak(self) -> Ball:
        return -special.number(2.0).log()

    def _ball_elasticity(self, v: Ball) -> Ball:
        return v.exp()

    def _ball_survival(self, x: Ball) -> Ball:
        return (-x).exp() / 2

    def _renyi_closed(self, order: Ball, shift: Ball, dilation: Ball) -> Ball:
        # With k = order - 1 and r = e^-t: the integral of p e^(k L) over (-inf, 0), (0, s)
        # and (s, inf), where L = r |x - s| - |x| + t.
        rate = (-dilation).exp()
        if order == 1:
            # E_p of L, by E|Z - s| = s + e^-s and E|Z| = 1.
            return rate * (shift + (-shift).exp()) - 1 + dilation
        k = order - 1
        gap = order - k * rate
        if not gap > 0:
            return special.number(math.inf)
        inner = order + k * rate
        left = (k * rate * shift).exp() / gap
        middle = (k * rate * shift).exp() * -(-inner * shift).expm1() / inner
        right = (-order * shift).exp() / gap
        return ((left + middle + right) / 2).log() / k + dilation

    def _supremum_closed(self, shift: Ball, dilation: Ball) -> Ball:
        # At x = 0, unless the copy is narrower.
        if dilation < 0:
            return special.infinity()
        return dilation + shift * (-dilation).exp()

    def _delta_closed(self, epsilon: Ball, shift: Ball, dilation: Ball) -> Ball:
        # The loss is linear on (-inf, 0), (0, s) and (s, inf), and ``top`` above epsilon at 0.
        r = (-dilation).exp()
        top = dilation + r * shift - epsilon
        zero, growth = special.number(0.0), epsilon.exp()
        if not dilation < 0 and top < 0:
            return zero
        if dilation == 0:
            return -(-special.maximum(top, zero) / 2).expm1()
        slope = 1 - r
        if dilation > 0:
            top = special.maximum(top, zero)
            low = -top / slope
            high = special.maximum(top / (1 + r), (dilation - r * shift - epsilon) / slope)
            p = _survival(low) - _survival(high)
            return p - growth * (_survival((low - shift) * r) - _survival((high - shift) * r))
        low = special.minimum(top / (1 + r), -top / slope)
        high = (dilation - r * shift - epsilon) / slope
        p = _survival(-low) + _survival(high)
        return p - growth * (_survival((shift - low) * r) + _survival((high - shift) * r))


def _survival(x: Ball) -> Ball:
    """Return P(Z > x) for any real ball; both formulas agree at 0."""
    if x > 0:
        return (-x).exp() / 2
    if x < 0:
        return 1 - x.exp() / 2
    return special.interval((-special.upper(x)).exp() / 2, 1 - special.lower(x).exp() / 2)
