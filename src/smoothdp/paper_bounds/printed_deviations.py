"""Standard deviations that paper 4 gives for older noise, at its own calibrations (appendix B)."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import LogRatio, Real


def claim_16(power: Fraction, epsilon: Real, smoothing: Fraction) -> Ball:
    """Return (c + 1) / ((epsilon - (c + 1) t) sqrt(1 + 2 cos(2 pi / c))), c > 3."""
    c = ball(power)
    shift = (ball(epsilon) - (c + 1) * ball(smoothing)) / (c + 1)
    return 1 / (shift * special.sqrt(1 + 2 * (2 * special.pi() / c).cos()))


def claim_17(degrees: Fraction, epsilon: Real, smoothing: Fraction) -> Ball:
    """Return sqrt(d / (d - 2)) (d + 1) / (2 sqrt(d) (epsilon - (d + 1) t)), d > 2."""
    d = ball(degrees)
    shift = 2 * special.sqrt(d) * (ball(epsilon) - (d + 1) * ball(smoothing)) / (d + 1)
    return special.sqrt(d / (d - 2)) / shift


def claim_18(epsilon: Real, delta: Fraction, smoothing: Fraction) -> Ball:
    """Return sqrt(2) / (epsilon - t ln(2/delta))."""
    cost = ball(smoothing) * -ball(LogRatio(delta / 2))
    return special.sqrt(special.number(2.0)) / (ball(epsilon) - cost)


def lemma_13(alpha: Fraction) -> Ball:
    """Return the variance of PolyPlace(1, alpha), alpha > 2.

    2 [(19 a^2 + 5) k + (a - 2)(a - 1)^2] / ((2 k + a - 1)(a^4 - 5 a^2 + 4)), k = (1 - 1/a)^a.
    """
    a = ball(alpha)
    k = (a * ball(LogRatio(1 - 1 / alpha))).exp()
    scale = (2 * k + a - 1) * (a**4 - 5 * a * a + 4)
    return 2 * ((19 * a * a + 5) * k + (a - 2) * (a - 1) ** 2) / scale
