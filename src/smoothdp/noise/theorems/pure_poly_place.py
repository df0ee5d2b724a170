"""The exact shift of PolyPlace in pure DP, for every alpha <= epsilon / t.

phi is -(alpha - 1) ln(1 - x) up to x = 1 / alpha and (alpha + 1) ln(1 + x) - kappa beyond, with
kappa = ln((alpha + 1) / (alpha - 1)) + alpha ln(1 - 1 / alpha^2); it has one derivative. With
X = A + B w, phi(X) - phi(w) is, over w >= 0:

* both inside: monotone (its derivative has the sign of B - 1 + A);
* both outside: monotone (the sign of B - 1 - A), with the limit (alpha + 1) ln B at infinity;
* w outside, X inside: convex;
* w inside, X outside: concave, stationary at
  w = ((alpha + 1) B - (alpha - 1) (1 + A)) / (2 alpha B).

So the supremum is at 0, at 1 / alpha, where X = 1 / alpha, at that stationary point if it is in
its region, or at infinity. The limits at infinity cost alpha t in reverse and less forward: at
most epsilon, decided exactly.

Closed form. The loss at the stationary point is 2 alpha ln((1 + s + r) / 2) - alpha t', r = e^t',
in both directions (the constants cancel). At t' = 0 it is in its region if (alpha - 1) s <= 2, so
then s <= s0 = 2 (e^(epsilon / (2 alpha)) - 1) is necessary. And s0 is good for every alpha <=
epsilon / t: by concavity that loss bounds the whole piece and its ends; it is at most epsilon for
s <= s1 = 2 e^(epsilon / (2 alpha) + t / 2) - 1 - e^t, and s1 - s0 = (e^(t/2) - 1)
(2 e^(epsilon / (2 alpha)) - e^(t/2) - 1) >= 0. The other pieces end in it, at infinity (alpha t at
most), where X = 1 / alpha < w (t at most), or at w = 0 with B - 1 + A < 0, where the loss is
-(alpha - 1) ln(1 - A) + t < alpha t. With alpha = epsilon / t the shift is 2 (e^(t/2) - 1), where
Theorem 8 has t.
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.noise.theorems.endpoints import Supremum


def poly_place_closed_shift(alpha: Fraction, epsilon: Real) -> Ball:
    """Return 2 (e^(epsilon / (2 alpha)) - 1)."""
    return 2 * (ball(epsilon) / (2 * ball(alpha))).expm1()


def poly_place_supremum(alpha: Fraction) -> Supremum:
    """Return phi*(A, ln B) over finite w >= 0; the caller knows about infinity."""
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
