"""The standard normal law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw, standard_normal
from smoothdp.noise.abstract_law import Growth
from smoothdp.noise.calibration.paper import (
    BUN_STEINKE,
    Statement,
    claim,
    concentrated_amount,
    required,
)
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.laws import floats
from smoothdp.noise.shift_claim import (
    ShiftClaim,
    below,
    false_as_printed,
    no_room,
    not_in_the_papers,
    unbounded_loss,
)
from smoothdp.sources import Source
from smoothdp.types import FloatArray


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
        return -a * a / 2 - floats.LOG_ROOT_TWO_PI

    def _log_survival(self, a: FloatArray) -> FloatArray:
        return floats.normal_log_tail(a)

    def _tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        return floats.normal_tail_quantile(log_tail)

    def _central_quantile(self, mass: FloatArray) -> FloatArray:
        return floats.normal_central_quantile(mass)

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
        # (proofs/the-released-number#4)
        def draw(_: bool, u: Ball, v: Ball) -> Ball:
            return standard_normal(u, v)

        return draw

    def _growth(self) -> Growth:
        return Growth(exponent=2)

    def _reverse_convexity(self, shift: Fraction) -> str:
        del shift  # (proofs/zcdp-certificates#4).
        return "Theorem B"

    def _pure_claim(self, epsilon: Real, smoothing: Fraction) -> ShiftClaim:
        del epsilon, smoothing
        raise unbounded_loss(self, "normal")

    def _undilated_claim(self, guarantee: Guarantee) -> ShiftClaim | None:
        """D_a = a s^2 / 2: the shift is sqrt(2 rho); and it is mu where mu is asked for."""
        if isinstance(guarantee, GaussianDP) and guarantee.exact_mu > 0:
            source = Source("dong-roth-su", "Theorem 2.7")
            mu = guarantee.exact_mu
            return ShiftClaim(mu, mu, "proved", source, "mu = s")
        if not isinstance(guarantee, ZCDP | TruncatedCDP):
            return None
        rho = guarantee.exact_rho
        shift = below(math.sqrt(2 * float(rho)))
        while shift * shift > 2 * rho:
            shift *= 1 - Fraction(1, 10**12)
        source = Source("bun-steinke-zcdp", "Proposition 1.6")
        upper = shift * (1 + Fraction(1, 10**10))
        return ShiftClaim(shift, upper, "proved", source, "D = a s^2 / 2")

    def _printed_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        """Return that of Lemma 8 of paper 2: a^2 / (2 sigma^2)-zCDP at distance a, for t = 0."""
        if smoothing == 0:
            statement = Statement(
                required(concentrated_amount(guarantee), self, guarantee, "zCDP: Lemma 8"),
                lambda: ball(0),
                lambda: ball(1),
                "rho > 0",
                Source(BUN_STEINKE, "Lemma 8"),
            )
            return statement.shift(self, smoothing)
        if not isinstance(guarantee, TruncatedCDP):
            raise not_in_the_papers(self, guarantee, "truncated CDP: section 3.5")
        raise false_as_printed(
            self,
            "section 3.5 of paper 2",
            "it takes e^t for the ratio of variances, which is e^(2t), and loses up to 2.4 times "
            "the rho that it claims",
        )

    def _closed_form_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        """Return the claim of section 3.5 of paper 2 as the section should read.

        Noise scaled to S has a variance ratio of e^(2t), where the text has e^t. With Lemma 33
        at 2t and g = 1 - omega (1 - e^(-2t)): rho = s^2 / (2 g) + t^2 / g^2
        (proofs/repaired-noise-lemmas#5).
        """
        t = smoothing
        if t == 0 or not isinstance(guarantee, TruncatedCDP):
            return self._printed_claim(guarantee, t)
        rho, omega = guarantee.exact_rho, guarantee.exact_omega
        gap = positive_ends(lambda: section_3_5_gap(omega, t))
        ends = gap and positive_ends(
            lambda: _root_of_positive(section_3_5_squared_shift(rho, omega, t))
        )
        if ends is None:
            raise no_room(
                "omega < 1 / (1 - e^(-2t)) and t < sqrt(rho) (1 - omega (1 - e^(-2t))), "
                "t the smoothing",
                self,
                t,
                "Lower the smoothing or omega, or raise rho",
            )
        source = Source(BUN_STEINKE, "Section 3.5, with the variance ratio e^(2t)")
        return claim(ends[0], source, "")

    def _ball_log_density(self, v: Ball) -> Ball:
        return -(2 * v).exp() / 2 - special.log(2 * special.pi()) / 2

    def _ball_log_peak(self) -> Ball:
        return -special.log(2 * special.pi()) / 2

    def _ball_elasticity(self, v: Ball) -> Ball:
        return (2 * v).exp()

    def _ball_survival(self, x: Ball) -> Ball:
        return special.normal_tail(x)

    def _renyi_closed(self, order: Ball, shift: Ball, dilation: Ball) -> Ball:
        # W = (1 - order) + order e^(2t) is the variance of the geometric mixture
        # (proofs/divergence-enclosures#6).
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


def section_3_5_squared_shift(rho: Fraction, omega: Fraction, t: Fraction) -> Ball:
    """Return s^2 = 2 g (rho - t^2 / g^2), of the Gaussian law; negative if there is no s."""
    g = section_3_5_gap(omega, t)
    return 2 * g * (ball(rho) - (ball(t) / g) ** 2)


def section_3_5_gap(omega: Fraction, t: Fraction) -> Ball:
    """Return g = 1 - omega (1 - e^(-2t))."""
    return 1 + ball(omega) * (-2 * ball(t)).expm1()


def _root_of_positive(value: Ball) -> Ball:
    """Return the square root of a positive number, and any other number as it is."""
    return special.sqrt(value) if value > 0 else value
