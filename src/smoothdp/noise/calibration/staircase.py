"""Pure DP: the least variance of symmetric unimodal noise, with shift and dilation together.

Let f be symmetric and fall with |x|, b = e^-epsilon, T(x) = e^t x + s. Pure DP for shifts up to
s (with t' = 0) and for (s, t) in reverse says, for x >= 0:

    f(x + s) >= b f(x),     f(T x) >= b e^-t f(x).

Theorem (proofs/pure-noise#7). Let K(x) = sum of b^i (T^i x)^2, f_g be 1 on [0, g s) and b on
[g s, s), and V the least over g in [0, 1] of the integral of f_g K over [0, s) to that of
f_g / (1 - b). Then E Z^2 >= V; and it is infinite for t >= epsilon / 2.

At t = 0 it is the optimal staircase noise of Geng and Viswanath,
(b + (b (1 + b) / 2)^(2/3)) / (1 - b)^2, which is optimal among all noise. At
epsilon = 1 PolyPlace, calibrated exactly, has 1.025, 1.056, 1.169 and 1.207 times the least
standard deviation at t = 0.01, 0.1, 0.4 and 0.49.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Real

_STEPS = 60


def staircase_variance(epsilon: Real, t: Fraction) -> Ball:
    """Return a ball with a lower bound of E Z^2 / s^2 inside, for 2 t < epsilon.

    The ratio in g is least where K(g) (b + (1 - b) g) = (1 - b) I(g) + b I(1), I the integral of K
    (s = 1); the left side minus the right rises in g, from below 0 to above. The least ratio is
    (1 - b) K there, so (1 - b) K at a g that is certainly not beyond it is a bound
    (proofs/pure-noise#7).
    """
    if t == 0:
        with precision(192):
            b = (-ball(epsilon)).exp()
            # (b (1 + b) / 2)^(2/3)
            root = ((b * (1 + b) / 2).log() * 2 / 3).exp()
            return (b + root) / (-ball(epsilon)).expm1() ** 2
    bits = 192 + 8 * max(0, t.denominator.bit_length() - t.numerator.bit_length())
    with precision(bits):
        amount, dilation = ball(epsilon), ball(t)
        b = (-amount).exp()
        # 1 / (1 - b e^(j t)) for j = 0, 1, 2.
        a0, a1, a2 = (-1 / (j * dilation - amount).expm1() for j in range(3))
        reach = 1 / dilation.expm1()

        def k(u: Ball) -> Ball:
            # T^i u = e^(i t) (u + reach) - reach.
            v = u + reach
            return a2 * v * v - 2 * reach * a1 * v + reach * reach * a0

        def integral(u: Ball) -> Ball:
            def primitive(v: Ball) -> Ball:
                return a2 * v**3 / 3 - reach * a1 * v * v + reach * reach * a0 * v

            return primitive(u + reach) - primitive(reach)

        full_integral = integral(special.number(1.0))

        def before(g: Ball) -> bool:
            left = k(g) * (b + (1 - b) * g)
            return bool(left <= (1 - b) * integral(g) + b * full_integral)

        return k(_last_true(before)) / a0


def _last_true(holds: Callable[[Ball], bool]) -> Ball:
    """Return a point of [0, 1] where ``holds`` is true, near the last such point."""
    low, high = Fraction(0), Fraction(1)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(ball(middle)) else (low, middle)
    return ball(low)
