"""The PolyPlace law."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.exact import special
from smoothdp.exact.balls import ball
from smoothdp.exact.lazy.laws import DrawFunction, LazyLaw, Undrawn
from smoothdp.exact.parameters import LogRatio, Parameter
from smoothdp.exact.special import Ball
from smoothdp.noise.law import FloatArray, NoiseDistribution
from smoothdp.noise.specification import ParameterSpec
from smoothdp.sources import Source


@dataclass(frozen=True, init=False, repr=False)
class PolyPlace(NoiseDistribution):
    """Density N (a-1) (1 - |x|)^(a-1) for |x| < 1/a, else N (a+1) (1 - 1/a^2)^a (1 + |x|)^(-a-1).

    N = a / (2 D), D = 2 (1 - 1/a)^a + a - 1 (a = alpha; scale 1). Continuously
    differentiable; finite variance for a > 2 (Lemma 13). Pure DP under smooth sensitivity.

    Args:
        alpha: shape > 1, epsilon over the smoothing.

    Raises:
        InvalidParameter: alpha outside this domain. OutOfReach: beyond what is computed,
            see ``parameters``.

    >>> round(PolyPlace(3).variance, 12)
    1.082857142857
    """

    _ball_work: ClassVar[int] = 15
    source: ClassVar[Source] = Source("hladik-tetek", "Definition 6")
    parameters: ClassVar[tuple[ParameterSpec, ...]] = (
        ParameterSpec(
            "alpha",
            "shape",
            above=1,
            reach=("1.001", "1e6"),
            typical=("5", "1.5", "2.5", "10", "100"),
        ),
    )
    printed_shapes: ClassVar[tuple[float, float] | None] = (2.001, 3000.0)
    exact_alpha: Fraction

    def __init__(self, alpha: Parameter) -> None:
        object.__setattr__(self, "exact_alpha", self.parameters[0].read(alpha))

    @property
    def alpha(self) -> float:
        """The shape as a float."""
        return float(self.exact_alpha)

    def finite_moment_above(self, k: int) -> int:
        return k

    @special.per_precision
    def _shape(self) -> Ball:
        return ball(self.exact_alpha)

    @special.per_precision
    def _log_inner(self) -> Ball:
        """Return ln N + ln(alpha - 1), the density at 0."""
        a = self._shape()
        power = (a * ball(LogRatio(1 - 1 / self.exact_alpha))).exp()
        return (a * (a - 1) / (2 * (2 * power + a - 1))).log()

    @special.per_precision
    def _log_outer(self) -> Ball:
        """Return ln N + ln(alpha + 1) + alpha ln(1 - 1 / alpha^2)."""
        a = self._shape()
        rest = a * ball(LogRatio(1 - 1 / self.exact_alpha**2))
        return self._log_inner() + ((a + 1) / (a - 1)).log() + rest

    def _log_density(self, a: FloatArray) -> FloatArray:
        alpha = self.alpha
        inside = a * alpha < 1
        near = special.nearest(self._log_inner) + (alpha - 1) * np.log1p(-np.where(inside, a, 0.0))
        far = special.nearest(self._log_outer) - (alpha + 1) * np.log1p(a)
        return np.where(inside, near, far)

    def _log_survival(self, a: FloatArray) -> FloatArray:
        alpha = self.alpha
        inside = a * alpha < 1
        near = np.log(0.5 - self._central_mass(np.where(inside, a, 0.0)))
        far = special.nearest(self._log_outer) - math.log(alpha) - alpha * np.log1p(a)
        return np.where(inside, near, far)

    def _central_mass(self, a: FloatArray) -> FloatArray:
        """Return P(0 < Z < a), a < 1/alpha."""
        share = special.nearest(lambda: self._log_inner().exp() / self._shape())
        return -share * np.expm1(self.alpha * np.log1p(-a))

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        alpha = self.alpha
        log_outer = special.nearest(self._log_outer) - math.log(alpha)
        far = np.expm1((log_outer - log_tail) / alpha)
        near = self._central_quantile(np.maximum(0.5 - np.exp(log_tail), 0.0))
        return np.where(far * alpha < 1, near, far)

    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        share = special.nearest(lambda: self._log_inner().exp() / self._shape())
        inner = special.nearest(self._inner_mass)
        near = -np.expm1(np.log1p(-np.minimum(mass, inner) / share) / self.alpha)
        log_outer = special.nearest(self._log_outer) - math.log(self.alpha)
        far = np.expm1((log_outer - np.log(0.5 - np.minimum(mass, 0.499))) / self.alpha)
        return np.where(mass > inner, far, near)

    def _inner_mass(self) -> Ball:
        """Return P(0 < Z < 1 / alpha)."""
        a = self._shape()
        power = (a * ball(LogRatio(1 - 1 / self.exact_alpha))).exp()
        return self._log_inner().exp() / a * (1 - power)

    def _moment(self, k: int) -> float:
        if self.exact_alpha <= k:
            return math.inf

        def compute() -> Ball:
            # Binomials in y = 1 - x inside and y = 1 + x outside; balls absorb what cancels.
            a = self._shape()
            low, high = ball(1 - 1 / self.exact_alpha), ball(1 + 1 / self.exact_alpha)
            inner = outer = special.number(0.0)
            for j in range(k + 1):
                weight = math.comb(k, j)
                inner += (-1) ** j * weight * (1 - low ** (a + j)) / (a + j)
                outer += (-1) ** (k - j) * weight * high ** (j - a) / (a - j)
            return 2 * (self._log_inner().exp() * inner + self._log_outer().exp() * outer)

        return special.nearest(compute)

    def lazy(self) -> LazyLaw:
        return LazyLaw(1, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        # The inverse of the tail P(|Z| > y). With k = (1 - 1/a)^a, D = 2 k + a - 1 and
        # c = (a + 1) k / D = P(|Z| > 1/a): y = (1 + 1/a) (c / u)^(1/a) - 1 for u <= c, else
        # 1 - (1 - (1 - u) D / (a - 1))^(1/a).
        a = self.exact_alpha
        power = (ball(a) * ball(-1 / a).log1p()).exp()
        total = 2 * power + ball(a - 1)
        border = ball(a + 1) * power / total
        share, inverse = total / ball(a - 1), ball(1 / a)
        start = ball(1 / a).log1p() + border.log() * inverse

        def draw(positive: bool, u: Ball) -> Ball | Undrawn:
            if u < border:
                size = (start - u.log() * inverse).expm1()
                return size if positive else -size
            if u > border:
                size = (((u - 1) * share).log1p() * inverse).expm1()
                return -size if positive else size
            return Undrawn.UNDECIDED

        return draw

    def _kinks(self) -> tuple[Fraction, ...]:
        return (1 / self.exact_alpha,)

    def _ball_log_density(self, v: Ball) -> Ball:
        return self._log_at(v.exp())

    def _log_at(self, x: Ball) -> Ball:
        """Return ln of the density at x >= 0; both formulas hold at 1 / alpha."""
        a = self._shape()
        inner = self._log_inner() + (a - 1) * (-x).log1p()
        if a * x < 1:
            return inner
        outer = self._log_outer() - (a + 1) * x.log1p()
        return outer if a * x >= 1 else special.interval(inner, outer)

    def _ball_log_peak(self) -> Ball:
        return self._log_inner()

    def _ball_elasticity(self, v: Ball) -> Ball:
        if self._is_inner(v):
            return self._inner_elasticity(v)
        outer = self._outer_elasticity(v)
        return outer if self._is_outer(v) else special.interval(outer, self._inner_elasticity(v))

    def _ball_branch(self, v: Ball) -> Callable[[Ball], Ball]:
        return self._inner_elasticity if self._is_inner(v) else self._outer_elasticity

    def _is_inner(self, v: Ball) -> bool:
        return bool(v.exp() * self._shape() < 1)

    def _is_outer(self, v: Ball) -> bool:
        return bool(v.exp() * self._shape() >= 1)

    def _inner_elasticity(self, v: Ball) -> Ball:
        return (self._shape() - 1) / ((-v).exp() - 1)

    def _outer_elasticity(self, v: Ball) -> Ball:
        return (self._shape() + 1) / ((-v).exp() + 1)

    def _ball_survival(self, x: Ball) -> Ball:
        a = self._shape()
        outer = (self._log_outer() - a * x.log1p()).exp() / a
        if a * x >= 1:
            return outer
        share = self._log_inner().exp() / a
        inner = special.number(0.5) + share * (a * (-x).log1p()).expm1()
        return inner if a * x < 1 else special.interval(inner, outer)

    def _elasticity_limit(self) -> Ball:
        return self._shape() + 1

    def _supremum_closed(self, shift: Ball, dilation: Ball) -> Ball:
        # At a border between formulas, where both slopes agree, or at infinity. The slope of
        # ln f is -(a + 1) / (sign + x) outside and -(a - 1) / (sign - x) inside; where both laws
        # are on the same side, the loss is monotone.
        a, r = self._shape(), (-dilation).exp()
        zero = special.number(0.0)
        places = [zero, shift, 1 / a, -1 / a, shift + 1 / (a * r), shift - 1 / (a * r)]
        for sign in (1, -1):
            for copy in (1, -1):
                for side in (1, -1):
                    own, other = a + side, a - side
                    level = other * r * sign - own * copy - own * side * r * shift
                    places.append(level / (-2 * side * a * r))
        best = -a * dilation
        for x in places:
            loss = dilation + self._log_at(abs(x)) - self._log_at(abs(x - shift) * r)
            best = special.maximum(best, loss)
        return best
