"""The promise to be proved at all orders of one pair of laws, and its divergences as a curve.

Orders beyond which a promise D_a <= a rho holds by analysis alone (proofs/zcdp-certificates#6).

Let t' in [0, t], |s'| <= s, c = sup phi' and b = a - 1. Forward D_a <= t + c s, reverse
D_a <= c s + D_a(e^t' Z || Z), and the dilation alone costs (proofs/dilated-divergences#7)

* t (sup A - 1) for power laws, A their elasticity;
* a t^2 / (2 sigma^2) for X e^(sigma Y);
* a t^2 / (2 sigma^2) + ln(2) / b for the arsinh-normal and the log1p-normal law: Z = h(Y), and
  e^t' Z = h(Y + d) with 0 <= d <= t / sigma for Y > 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.work import WorkLimitReached
from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.concentrated.orders import Curve

_LOG_TWO = Fraction("0.6931471805599454")
"""Not below ln 2."""


@dataclass(frozen=True, slots=True)
class OrderTail:
    """D_a <= a slope + constant + spread / (a - 1) for every order a > 1."""

    slope: Fraction
    constant: Fraction
    spread: Fraction

    def first_excess(self, rho: Fraction) -> float | None:
        """Return a b with D_a <= a rho for all a >= 1 + b; None if no b will do.

        (constant + spread / b) / (1 + b) <= rho - slope is decided in rationals; its left
        side falls in b.
        """
        gap = rho - self.slope
        if gap <= 0:
            return None
        low = (self.constant + math.sqrt(self.spread)) / gap
        b = max(1e-3, min(1e300, float(low)))
        while self._holds(Fraction(b * 0.98), gap):
            b *= 0.98
            if b < 1e-3:
                break
        while not self._holds(Fraction(b), gap):
            b *= 1.02
        return b

    def _holds(self, b: Fraction, gap: Fraction) -> bool:
        return self.constant + self.spread / b <= gap * (1 + b)


def forward_tail(law: AbstractLaw, shift: Fraction, dilation: Fraction) -> OrderTail | None:
    """Return the bound of D_a(Z || e^t' Z + s'), t' in [0, dilation]; None if there is none."""
    score = law.growth().score
    if score is None:
        return None
    return OrderTail(Fraction(0), dilation + score * shift, Fraction(0))


def reverse_tail(law: AbstractLaw, shift: Fraction, dilation: Fraction) -> OrderTail | None:
    """Return the bound of D_a(e^t' Z + s' || Z), t' in [0, dilation]; None if there is none."""
    bounds = law.growth()
    if bounds.score is None:
        return None
    constant = bounds.score * shift
    if dilation == 0:
        return OrderTail(Fraction(0), constant, Fraction(0))
    if bounds.power is not None:
        return OrderTail(Fraction(0), constant + bounds.power * dilation, Fraction(0))
    if bounds.sigma is not None:
        square = (dilation / bounds.sigma) ** 2
        return OrderTail(square / 2, constant, _LOG_TWO if bounds.folded else Fraction(0))
    return None


@dataclass(frozen=True, slots=True)
class Promise:
    """D_a <= a rho for 1 < a < omega (None: every a > 1), under smoothing t."""

    rho: Fraction
    omega: Fraction | None
    smoothing: Fraction


def last_excess(
    law: AbstractLaw, promise: Promise, shift: Fraction, dilation: Fraction, *, reverse: bool
) -> float | None:
    """Return a b beyond which every promised order is settled by analysis; None if none.

    It serves all dilations in [0, dilation] and all shifts up to ``shift``.
    """
    tail = (reverse_tail if reverse else forward_tail)(law, shift, dilation)
    last = None if tail is None else tail.first_excess(promise.rho)
    if promise.omega is not None:
        end = float_bounds(promise.omega - 1)[1]
        last = end if last is None else min(last, end)
    return last


def divergence_curve(
    law: AbstractLaw, shift: Fraction, dilation: Fraction, *, reverse: bool
) -> Curve:
    """Return the bounds of D_{1+b} of one pair; the upper one is inf where they fail."""

    def bounds(b: float) -> tuple[float, float]:
        try:
            return law.renyi_bounds(
                1 + Fraction(b),
                shift=shift,
                dilation=dilation,
                direction="reverse" if reverse else "forward",
            )
        except WorkLimitReached:
            raise
        except (OutOfReach, ArithmeticError):
            return 0.0, math.inf

    return Curve(bounds)
