"""The standard Laplace law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.errors import OutOfReach
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw
from smoothdp.noise.abstract_law import Growth
from smoothdp.noise.calibration.paper import (
    BUN_STEINKE,
    Amount,
    Statement,
    pure_amount,
    required,
)
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.shift_claim import ShiftClaim, no_room, not_in_the_papers, unbounded_loss
from smoothdp.sources import Source
from smoothdp.types import FloatArray

_MECHANISM = "Theorem 3.6"
_STATEMENTS = "approximate DP with delta < e^-2: Theorem 34; at smoothing 0 pure DP: section 1.1"


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
        # (proofs/the-released-number#4)
        def draw(positive: bool, u: Ball) -> Ball:
            return -u.log() if positive else u.log()

        return draw

    def _growth(self) -> Growth:
        return Growth(Fraction(1), exponent=1)

    def _pure_claim(self, epsilon: Real, smoothing: Fraction) -> ShiftClaim:
        """Return epsilon itself where nothing is dilated: |x + s| - |x| <= s."""
        if smoothing:
            raise unbounded_loss(self, "exponential")
        ends = positive_ends(lambda: ball(epsilon))
        if ends is None:
            raise no_room("epsilon > 0", self, smoothing, "Raise epsilon")
        exact = (epsilon, epsilon) if isinstance(epsilon, Fraction) else ends
        return ShiftClaim(*exact, "proved", Source("dwork-roth", _MECHANISM), "closed form")

    def _undilated_claim(self, guarantee: Guarantee) -> ShiftClaim | None:
        """delta = 1 - e^((epsilon - s) / 2): the shift is epsilon - 2 ln(1 - delta)."""
        if not isinstance(guarantee, ApproxDP):
            return None
        epsilon, log_complement = guarantee.exact_epsilon, LogRatio(1 - guarantee.exact_delta)
        ends = positive_ends(lambda: ball(epsilon) - 2 * ball(log_complement))
        if ends is None:
            raise OutOfReach(
                expected="epsilon or delta that can be told from 0",
                got=f"{guarantee!r}",
                remedy="Raise epsilon or delta",
            )
        source = Source("dwork-roth", f"{_MECHANISM}, its delta(epsilon) in closed form")
        return ShiftClaim(*ends, "proved", source, "closed form")

    def _printed_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        """Return that of Theorem 34 of paper 2; without a dilation, of ordinary Laplace noise."""
        t = smoothing
        if t == 0:
            statement = Statement(
                required(pure_amount(guarantee), self, guarantee, _STATEMENTS),
                lambda: ball(0),
                lambda: ball(1),
                "epsilon > 0",
                Source(BUN_STEINKE, "section 1.1"),
            )
            return statement.shift(self, t)
        # ln(1/delta) > 2, decided with room: 0.13533 < e^-2.
        if (
            not isinstance(guarantee, ApproxDP)
            or not guarantee.exact_delta
            or guarantee.exact_delta > Fraction("0.13533")
        ):
            raise not_in_the_papers(self, guarantee, _STATEMENTS)
        epsilon, delta = guarantee.exact_epsilon, guarantee.exact_delta
        statement = Statement(
            Amount(lambda: ball(epsilon), ""),
            lambda: theorem_34_cost(delta, t),
            lambda: ball(1),
            "(e^t - 1) ln(1/delta) - t < epsilon with t the smoothing",
            Source(BUN_STEINKE, "Theorem 34"),
        )
        return statement.shift(self, t)

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
        # and (s, inf), where L = r |x - s| - |x| + t (proofs/divergence-enclosures#6).
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


def theorem_34_cost(delta: Fraction, t: Fraction) -> Ball:
    """Return (e^t - 1) ln(1/delta) - t, of the Laplace law.

    The cost rises with |t| for delta < e^-2, so that it covers every |t'| <= t.
    """
    return ball(t).expm1() * -ball(LogRatio(delta)) - ball(t)
