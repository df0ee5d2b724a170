"""The exact worst loss of the generalised Cauchy law in pure DP, for every real power c > 1.

phi(x) = ln(1 + |x|^c). With X = A + B w, the derivative in w of phi(X) - phi(w) has the sign of

    g(w) - A,  g(w) = B w^(1 - c) - X^(1 - c)

(divide c [B X^(c-1) (1 + w^c) - w^(c-1) (1 + X^c)] by c (w X)^(c-1)). g falls from infinity
while X > w, since g' = -(c - 1) B (w^-c - X^-c); where X <= w (only if B < 1, from w = A / (1 - B)
on) it is at most B w^(1-c) - w^(1-c) < 0. So for A > 0 there is exactly one critical point, the
maximum: g(w) = A, and there g > 0. No limit at infinity is left out: it is below the maximum.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.noise.theorems.endpoints import Supremum

_FLOAT_STEPS = 80
# Each step doubles the digits of the root, from those of a float.
_NEWTON_STEPS = 6


def generalized_cauchy_supremum(power: Fraction, *, bits: int) -> Supremum:
    """Return phi*(A, ln B) for a power c > 1, at ``bits`` of working precision."""
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
            part = -math.expm1(fall)
            above = part > 0 and log_b + (1 - c) * y + math.log(part) > log_a
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
