"""The PolyPlace law."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw, Undrawn
from smoothdp.noise.abstract_law import SHIPPED_EPSILONS, Growth, epsilon_over
from smoothdp.noise.calibration.paper import (
    HLADIK_TETEK,
    claim,
    pure_amount,
    pure_amount_reaches,
    required,
)
from smoothdp.noise.calibration.pure import (
    Supremum,
    check_epsilon,
    largest_shift,
    no_pure_room,
)
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.shift_claim import ShiftClaim, no_room
from smoothdp.noise.specification import ParameterSpec
from smoothdp.sources import Source
from smoothdp.types import FloatArray

_BITS = 256


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

    @classmethod
    def finite_moment_above(cls, k: int) -> int:
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
        log_scale = a * ball(LogRatio(1 - 1 / self.exact_alpha**2))
        return self._log_inner() + ((a + 1) / (a - 1)).log() + log_scale

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
        # (proofs/the-released-number#4)
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

    def _growth(self) -> Growth:
        # phi' = (a - 1) / (1 - x) up to x = 1/a, (a + 1) / (1 + x) from there: both are a at 1/a
        # (proofs/dilated-divergences#8).
        return Growth(self.exact_alpha, power=self.exact_alpha)

    @classmethod
    def _shape_rule(cls, guarantee: Guarantee, smoothing: Fraction) -> Fraction | None:
        if not isinstance(guarantee, PureDP | ApproxDP):
            return None
        ratio = epsilon_over(guarantee, smoothing)
        return ratio if ratio > 2 else None

    @classmethod
    def _shipped_targets(cls) -> Iterable[tuple[Guarantee, Fraction]]:
        for epsilon in SHIPPED_EPSILONS:
            for ratio in ("1/20", "1/10", "1/5"):
                yield ApproxDP(epsilon, delta="1e-6"), epsilon * Fraction(ratio)
        yield ZCDP(Fraction(1, 2)), Fraction(1, 10)

    def _pure_claim(self, epsilon: Real, smoothing: Fraction) -> ShiftClaim:
        check_epsilon(epsilon)
        alpha, t = self.exact_alpha, smoothing
        source = Source(HLADIK_TETEK, "Theorem 8, calibrated exactly")
        ends = positive_ends(lambda: poly_place_closed_shift(alpha, epsilon))
        if ends is None or not at_most(alpha * t, epsilon):
            raise no_pure_room("alpha * smoothing <= epsilon", self, t)
        if (alpha - 1) * ends[1] <= 2:
            return ShiftClaim(*ends, "proved", source, "closed form")
        with precision(_BITS):
            supremum = poly_place_supremum(alpha)
        ends = largest_shift(supremum, epsilon, t, start=ends[0], bits=_BITS)
        return ShiftClaim(*ends, "proved", source, "critical points")

    def _printed_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        """Return s = epsilon / alpha, of Theorem 8 of paper 4, for any alpha <= epsilon / t.

        Its proof uses of S only |q(D) - q(D')| <= min(S, S') and |ln(S / S')| <= gamma, which a
        smoother S has as well.
        """
        t, alpha = smoothing, self.exact_alpha
        amount = required(pure_amount(guarantee), self, guarantee, "pure DP: Theorem 8")
        source = Source(HLADIK_TETEK, "Theorem 8, at smoothing epsilon / alpha")
        # Equality is the usual case, which no precision would decide in balls.
        ends = positive_ends(lambda: amount.epsilon() / ball(alpha))
        if ends is None or not pure_amount_reaches(guarantee, alpha * t):
            raise no_room(
                "alpha * smoothing <= epsilon",
                self,
                t,
                "Lower alpha or the smoothing, or raise epsilon",
            )
        # Where alpha = epsilon / smoothing, that is the shift and not a number below it.
        return claim(max(ends[0], t) if ends[1] >= t else ends[0], source, amount.route)

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
        candidates = [zero, shift, 1 / a, -1 / a, shift + 1 / (a * r), shift - 1 / (a * r)]
        for sign in (1, -1):
            for copy in (1, -1):
                for side in (1, -1):
                    own, copied = a + side, a - side
                    level = copied * r * sign - own * copy - own * side * r * shift
                    candidates.append(level / (-2 * side * a * r))
        best = -a * dilation
        for x in candidates:
            loss = dilation + self._log_at(abs(x)) - self._log_at(abs(x - shift) * r)
            best = special.maximum(best, loss)
        return best


def poly_place_closed_shift(alpha: Fraction, epsilon: Real) -> Ball:
    """Return 2 (e^(epsilon / (2 alpha)) - 1), the shift in pure DP for every alpha <= epsilon / t.

    The loss at the stationary point of `poly_place_supremum` is 2 alpha ln((1 + s + e^t') / 2) -
    alpha t' in both directions. At t' = 0 it is in its region if (alpha - 1) s <= 2, and then this
    shift is the largest; it is good for every alpha <= epsilon / t. With alpha = epsilon / t the
    shift is 2 (e^(t/2) - 1), where Theorem 8 has t.

    Source: proofs/pure-noise#5.
    """
    return 2 * (ball(epsilon) / (2 * ball(alpha))).expm1()


def poly_place_supremum(alpha: Fraction) -> Supremum:
    """Return phi*(A, ln B) over finite w >= 0; the caller knows about infinity.

    With X = A + B w, phi(X) - phi(w) is monotone where both are inside 1 / alpha or both outside,
    convex where only X is inside, and concave where only w is, with the stationary point
    w = ((alpha + 1) B - (alpha - 1) (1 + A)) / (2 alpha B). So the supremum is at 0, at 1 / alpha,
    where X = 1 / alpha, at that point if it is in its region, or at infinity. The limits at
    infinity cost alpha t in reverse and less forward: at most epsilon, decided exactly.

    Source: proofs/pure-noise#4, #5.
    """
    shape, kink = ball(alpha), ball(1 / alpha)
    kappa = ball(LogRatio((alpha + 1) / (alpha - 1)))
    kappa += shape * ball(LogRatio(1 - 1 / alpha**2))

    def inner(x: Ball) -> Ball:
        return -(shape - 1) * (-x).log1p()

    def outer(x: Ball) -> Ball:
        return (shape + 1) * x.log1p() - kappa

    def phi(x: Ball) -> Ball:
        if x < kink:
            return inner(x)
        return outer(x) if x > kink else special.interval(inner(x), outer(x))

    def supremum(a: Ball, log_b: Ball) -> Ball:
        b = log_b.exp()
        stationary = ((shape + 1) * b - (shape - 1) * (1 + a)) / (2 * shape * b)
        # Every candidate is a loss that occurs, so one too many does no harm.
        best = phi(a)
        for w in (kink, (kink - a) / b, stationary):
            if not w <= 0:
                point = special.maximum(w, special.number(0.0))
                best = special.maximum(best, phi(a + b * point) - phi(point))
        return best

    return supremum
