"""What is to be proved of the orders of one pair, and its divergences as a curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.errors import OutOfReach
from smoothdp.exact.parameters import float_bounds
from smoothdp.exact.work import WorkLimitReached
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.orders import Curve
from smoothdp.noise.calibration.tails import forward_tail, reverse_tail


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
