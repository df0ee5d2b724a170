"""The exact shift of Student's T in pure DP, in closed form.

phi(x) = (d + 1) / 2 ln(d + x^2). With r = e^t', the ratio of d + x^2 to d + ((x - s) / r)^2 is
one of quadratic forms in (x, 1) with determinants d and d / r^2; its largest value L and its
smallest one m are the generalised eigenvalues, so L m = r^2 and L + m = 1 + r^2 + s^2 / d.
Reverse loss: (d + 1) / 2 ln L - t'. Forward: -(d + 1) / 2 ln m + t' = (d + 1) / 2 ln L - d t'.
The larger is (d + 1) / 2 ln L - min(1, d) t'. It is epsilon where ln L = 2 h with
h = (epsilon + min(1, d) t') / (d + 1), that is

    s^2 / d = (L - 1) (1 - r^2 / L) = 4 e^t' sinh(h) sinh(h - t'),

h - t' = (epsilon - max(1, d) t') / (d + 1). Only t' in {0, t} matter (`endpoints`).
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Real


def student_t_shift(degrees: Fraction, epsilon: Real, t: Fraction) -> Ball:
    """Return the largest shift; 0 or nan unless max(1, degrees) t < epsilon."""
    d, amount = ball(degrees), ball(epsilon)
    still = (amount / (d + 1)).sinh()
    least, most = min(Fraction(1), degrees), max(Fraction(1), degrees)
    room = (amount - ball(most * t)) / (d + 1)
    if room <= 0:
        return room
    h = (amount + ball(least * t)) / (d + 1)
    moving = (ball(t) / 2).exp() * special.sqrt(h.sinh() * room.sinh())
    return 2 * special.sqrt(d) * special.minimum(still, moving)
