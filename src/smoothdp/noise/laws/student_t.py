"""Student's T, for any real number of degrees of freedom."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_real, sign
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw
from smoothdp.noise.abstract_law import Growth, epsilon_over, rational_above
from smoothdp.noise.calibration.paper import BUN_STEINKE, Statement, required, theorem_31_amount
from smoothdp.noise.calibration.pure import check_epsilon, no_pure_room
from smoothdp.noise.laws.floats import log_incomplete_beta, log_mills
from smoothdp.noise.laws.inverted_quantiles import InvertedQuantiles
from smoothdp.noise.shift_claim import ShiftClaim, read_smoothing
from smoothdp.noise.specification import ParameterSpec, short_decimal
from smoothdp.sources import Source
from smoothdp.types import FloatArray

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

    @classmethod
    def finite_moment_above(cls, k: int) -> int:
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
        log_complement = np.log1p(-np.exp(log_z))
        return log_incomplete_beta(d / 2, 0.5, scale, log_z, log_complement) - math.log(2)

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
        # (proofs/the-released-number#4)
        # sqrt(d (U^(-2/d) - 1)) cos(pi V), exact for every d > 0: R. W. Bailey, Polar generation
        # of random variates with the t-distribution (1994).
        d, power = ball(self.exact_degrees), ball(-2 / self.exact_degrees)

        def draw(_: bool, u: Ball, v: Ball) -> Ball:
            return (d * (power * u.log()).expm1()).sqrt() * v.cos_pi()

        return draw

    def _growth(self) -> Growth:
        d = self.exact_degrees
        return Growth(rational_above(student_t_score(d)), power=d)

    def _reverse_convexity(self, shift: Fraction) -> str | None:
        # (proofs/zcdp-certificates#4).
        return "Theorem B" if shift**2 <= self.exact_degrees else None

    @classmethod
    def _shape_rule(cls, guarantee: Guarantee, smoothing: Fraction) -> Fraction | None:
        if not isinstance(guarantee, PureDP) or epsilon_over(guarantee, smoothing) <= 2:
            return None
        return short_decimal(float(best_degrees(guarantee.exact_epsilon, smoothing)))

    @classmethod
    def _shipped_targets(cls) -> Iterable[tuple[Guarantee, Fraction]]:
        return ((ZCDP(Fraction(1, 2)), Fraction(1, 10)),)

    def _pure_claim(self, epsilon: Real, smoothing: Fraction) -> ShiftClaim:
        check_epsilon(epsilon)
        ends = positive_ends(lambda: student_t_shift(self.exact_degrees, epsilon, smoothing))
        if ends is None:
            raise no_pure_room("max(1, degrees) * smoothing < epsilon", self, smoothing)
        source = Source(BUN_STEINKE, "Theorem 31, calibrated exactly")
        return ShiftClaim(*ends, "proved", source, "closed form (sinh)")

    def _printed_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        d = self.exact_degrees
        statement = Statement(
            required(theorem_31_amount(guarantee), self, guarantee, "pure DP: Theorem 31"),
            lambda: ball((d + 1) * smoothing),
            lambda: student_t_score(d),
            "(degrees + 1) * smoothing < epsilon",
            Source(BUN_STEINKE, "Theorem 31"),
        )
        return statement.shift(self, smoothing)

    def _closed_form_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        """A dilation costs max(1, d) |t|, where Theorem 31 has (d + 1) |t|.

        Its proof leaves out the Jacobian: d/dt of t + ln f(e^t x) is in [-d, 1]
        (proofs/pure-noise#2, proofs/repaired-noise-lemmas#6).
        """
        d = self.exact_degrees
        statement = Statement(
            required(theorem_31_amount(guarantee), self, guarantee, "pure DP: Theorem 31"),
            lambda: ball(max(Fraction(1), d) * smoothing),
            lambda: student_t_score(d),
            "max(1, degrees) * smoothing < epsilon",
            Source(BUN_STEINKE, "Theorem 31, with max(1, d) for the dilation"),
        )
        return statement.shift(self, smoothing)

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


def student_t_score(degrees: Fraction) -> Ball:
    """Return (d + 1) / (2 sqrt d): (d + 1) x / (d + x^2) at x = sqrt d.

    Source: paper 2, Theorem 31; proofs/pure-noise#2, proofs/dilated-divergences#8.
    """
    return ball(degrees + 1) / (2 * special.sqrt(ball(degrees)))


def student_t_shift(degrees: Fraction, epsilon: Real, t: Fraction) -> Ball:
    """Return the largest shift in pure DP; 0 or nan unless max(1, degrees) t < epsilon.

    The worst loss at t' is (d + 1) / 2 ln L - min(1, d) t', L the largest generalised eigenvalue of
    two quadratic forms. It is epsilon where ln L = 2 h, h = (epsilon + min(1, d) t') / (d + 1):

        s^2 / d = (L - 1) (1 - e^(2 t') / L) = 4 e^t' sinh(h) sinh(h - t'),

    h - t' = (epsilon - max(1, d) t') / (d + 1). Only t' in {0, t} matter.

    Source: proofs/pure-noise#3.
    """
    d, amount = ball(degrees), ball(epsilon)
    still = (amount / (d + 1)).sinh()
    least, most = min(Fraction(1), degrees), max(Fraction(1), degrees)
    room = (amount - ball(most * t)) / (d + 1)
    if room <= 0:
        return room
    h = (amount + ball(least * t)) / (d + 1)
    moving = (ball(t) / 2).exp() * special.sqrt(h.sinh() * room.sinh())
    return 2 * special.sqrt(d) * special.minimum(still, moving)


def best_degrees(epsilon: Parameter, smoothing: Parameter) -> Fraction:
    """Return (5 + 2 r) / (1 + 4 r), r = smoothing / epsilon: Student's T in pure DP.

    The exact optimum as epsilon -> 0, from std * epsilon = (d + 1) / (2 sqrt((d - 2) (1 - r d)
    (1 + r))) (proofs/pure-noise#3); the excess standard deviation is below 0.1% up to
    epsilon = 2.

    Args:
        epsilon: > 0; smoothing: t >= 0, below epsilon / 2.

    Raises:
        InvalidParameter: outside these domains; from smoothing = epsilon / 2 on no noise of
            finite variance is pure DP.

    >>> best_degrees(1, "0.1")
    Fraction(26, 7)
    """
    ratio = smoothing_over_epsilon(epsilon, smoothing)
    if 2 * ratio >= 1:
        raise InvalidParameter(
            expected="smoothing < epsilon / 2, where noise of finite variance exists",
            got=f"smoothing={smoothing}, epsilon={epsilon}",
            remedy="Lower the smoothing or raise epsilon",
        )
    return (5 + 2 * ratio) / (1 + 4 * ratio)


def smoothing_over_epsilon(epsilon: Parameter, smoothing: Parameter) -> Fraction:
    """Return t / epsilon, of which rules for a designer are made: no guarantee rests on it."""
    t = read_smoothing(smoothing)
    amount = exact_real(epsilon, name="epsilon")
    if sign(amount) <= 0:
        raise InvalidParameter(
            expected="epsilon > 0", got=f"epsilon={shown(amount)}", remedy="Give a positive epsilon"
        )
    # No guarantee rests on the ratio, so a float of a logarithm will do.
    return t / (amount if isinstance(amount, Fraction) else Fraction(float(amount)))
