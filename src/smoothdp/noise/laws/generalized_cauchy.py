"""The generalised Cauchy law."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw, Undrawn
from smoothdp.noise.abstract_law import Growth, rational_above
from smoothdp.noise.calibration.paper import HLADIK_TETEK, Statement, pure_amount, required
from smoothdp.noise.calibration.pure import (
    Supremum,
    check_epsilon,
    largest_shift,
    no_pure_room,
    out_of_reach,
)
from smoothdp.noise.laws.floats import log_incomplete_beta
from smoothdp.noise.laws.inverted_quantiles import InvertedQuantiles
from smoothdp.noise.shift_claim import ShiftClaim
from smoothdp.noise.specification import ParameterSpec
from smoothdp.sources import Source
from smoothdp.types import FloatArray

_BITS = 256
_SMALLEST_EPSILON = Fraction(1, 10**250)
_FLOAT_STEPS = 80
# Each step doubles the digits of the root, from those of a float.
_NEWTON_STEPS = 6


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

    @classmethod
    def finite_moment_above(cls, k: int) -> int:
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
        log_complement = -self._log_growth(1 / a)
        sums = log_incomplete_beta(first, 1 - first, scale - math.log(first), log_z, log_complement)
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
        # (proofs/the-released-number#4)
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

    def _growth(self) -> Growth:
        c = self.exact_power
        return Growth(rational_above(generalized_cauchy_score(c)), power=c - 1)

    def _pure_claim(self, epsilon: Real, smoothing: Fraction) -> ShiftClaim:
        check_epsilon(epsilon)
        c, t = self.exact_power, smoothing
        slope = max(Fraction(1), c - 1)
        # The scores of the shift and of the dilation add up: a shift that is surely good.
        start = positive_ends(
            lambda: (ball(epsilon) - ball(slope * t)) / generalized_cauchy_score(c)
        )
        if start is None:
            raise no_pure_room("max(1, power - 1) * smoothing < epsilon", self, t)
        least = start[0]
        if at_most(epsilon, _SMALLEST_EPSILON) or least < _SMALLEST_EPSILON:
            raise out_of_reach("epsilon - max(1, power - 1) * smoothing >= 1e-250", epsilon)
        # What is left of 1 - (1 - loss), four times over.
        bits = _BITS + 4 * max(0, least.denominator.bit_length() - least.numerator.bit_length())
        with precision(bits):
            supremum = generalized_cauchy_supremum(c, bits=bits)
        ends = largest_shift(supremum, epsilon, t, start=least, bits=bits)
        source = Source(HLADIK_TETEK, "Claim 16, calibrated exactly")
        return ShiftClaim(*ends, "proved", source, "the one critical point")

    def _printed_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        c = self.exact_power
        statement = Statement(
            required(pure_amount(guarantee), self, guarantee, "pure DP: Claim 16"),
            lambda: ball((c + 1) * smoothing),
            lambda: ball(c + 1),
            "(power + 1) * smoothing < epsilon",
            Source(HLADIK_TETEK, "Claim 16, after Nissim, Raskhodnikova and Smith"),
        )
        return statement.shift(self, smoothing)

    def _closed_form_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        """max(1, c - 1) |t| + (c - 1)^((c - 1) / c) |s|, where Claim 16 has (c + 1) (|t| + |s|).

        d/dt of t + ln f(e^t x) is 1 - c x^c / (1 + x^c), in [1 - c, 1]
        (proofs/repaired-noise-lemmas#6).
        """
        c = self.exact_power
        statement = Statement(
            required(pure_amount(guarantee), self, guarantee, "pure DP: Claim 16"),
            lambda: ball(max(Fraction(1), c - 1) * smoothing),
            lambda: generalized_cauchy_score(c),
            "max(1, power - 1) * smoothing < epsilon",
            Source(HLADIK_TETEK, "Claim 16, with the exact scores"),
        )
        return statement.shift(self, smoothing)

    @classmethod
    def _shipped_targets(cls) -> Iterable[tuple[Guarantee, Fraction]]:
        return ((ZCDP(Fraction(1, 2)), Fraction(1, 10)),)

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


def generalized_cauchy_score(power: Fraction) -> Ball:
    """Return (c - 1)^((c - 1) / c): c x^(c-1) / (1 + x^c) is largest at x^c = c - 1.

    Source: proofs/pure-noise#2, proofs/dilated-divergences#8.
    """
    return (ball((power - 1) / power) * ball(power - 1).log()).exp()


def generalized_cauchy_supremum(power: Fraction, *, bits: int) -> Supremum:
    """Return phi*(A, ln B) for a power c > 1, at ``bits`` of working precision.

    phi(x) = ln(1 + |x|^c). With X = A + B w, the derivative in w of phi(X) - phi(w) has the sign of
    B w^(1 - c) - X^(1 - c) - A. For A > 0 that is positive before exactly one critical point and
    negative after it. No limit at infinity is left out: it is below the maximum.

    Source: proofs/pure-noise#6.
    """
    c = ball(power)
    # Half widths, in ln w, that are tried for the bracket of the critical point.
    widths = tuple(2.0**-k for k in (min(bits // 3, 1000), min(bits // 4, 1000), 60, 40, 20))

    def supremum(a: Ball, log_b: Ball) -> Ball:
        return _Search(c, a, log_b).supremum(widths)

    return supremum


class _Search:
    """One pair (A, B); y is ln w throughout."""

    def __init__(self, c: Ball, a: Ball, log_b: Ball) -> None:
        self.c, self.a, self.log_b = c, a, log_b
        self.log_a = a.log()

    def supremum(self, widths: tuple[float, ...]) -> Ball:
        y = self._float_root()
        for _ in range(_NEWTON_STEPS):
            y = self._newton(y)
        for width in widths:
            low, high = y - width, y + width
            if self._excess(low) > 0 and self._excess(high) < 0:
                value = self._value(y)
                # Anywhere in the bracket the value differs by at most width * |slope|.
                slope = self._slope(special.interval(low, high))
                slack = special.number(width) * abs(slope)
                return special.interval(value, value + slack)
        raise ArithmeticError("the critical point of the generalised Cauchy loss was not found")

    def _float_root(self) -> Ball:
        """Return about the ln w with ln g = ln A, by bisection in floats."""
        c, log_a, log_b = (float(v.mid()) for v in (self.c, self.log_a, self.log_b))
        high = (log_b - log_a) / (c - 1)
        # g >= B w^(1-c) - A^(1-c).
        low = (log_b - _log_add(log_a, (1 - c) * log_a)) / (c - 1)
        for _ in range(_FLOAT_STEPS):
            y = (low + high) / 2
            fall = (1 - c) * _log_add(0.0, log_a - log_b - y) - c * log_b
            lost = -math.expm1(fall)
            above = lost > 0 and log_b + (1 - c) * y + math.log(lost) > log_a
            low, high = (y, high) if above else (low, y)
        return special.number((low + high) / 2)

    def _log_x_over_bw(self, y: Ball) -> Ball:
        return (self.log_a - self.log_b - y).exp().log1p()

    def _gap(self, y: Ball) -> Ball:
        """Return 1 - (X / w)^(1 - c) / B = g / (B w^(1 - c)), without cancellation."""
        return -((1 - self.c) * self._log_x_over_bw(y) - self.c * self.log_b).expm1()

    def _excess(self, y: Ball) -> Ball:
        """Return g - A, up to a positive factor."""
        return self._gap(y) - (self.log_a - self.log_b + (self.c - 1) * y).exp()

    def _newton(self, y: Ball) -> Ball:
        """Return a better point: one step on the excess, whose slope is known."""
        share = self._log_x_over_bw(y)
        shrink = -(-share).expm1()  # A / X
        power = (self.log_a - self.log_b + (self.c - 1) * y).exp()
        slope = (self.c - 1) * (
            -shrink * ((1 - self.c) * share - self.c * self.log_b).exp() - power
        )
        step = self._excess(y) / slope
        better = (y - step).mid()
        return better if better.is_finite() and abs(step) < 1 else y

    def _value(self, y: Ball) -> Ball:
        log_x = self.log_b + y + self._log_x_over_bw(y)
        return _log_growth(self.c * log_x) - _log_growth(self.c * y)

    def _slope(self, y: Ball) -> Ball:
        """Return d/dy of the value: c [(1 - A/X) X^c / (1 + X^c) - w^c / (1 + w^c)]."""
        share = self._log_x_over_bw(y)
        log_x = self.log_b + y + share
        logistic_x = 1 / (1 + (-self.c * log_x).exp())
        logistic_w = 1 / (1 + (-self.c * y).exp())
        return self.c * ((-share).exp() * logistic_x - logistic_w)


def _log_growth(v: Ball) -> Ball:
    """Return ln(1 + e^v)."""
    return v + (-v).exp().log1p() if v > 0 else v.exp().log1p()


def _log_add(first: float, second: float) -> float:
    top = max(first, second)
    return top + math.log1p(math.exp(-abs(first - second)))
