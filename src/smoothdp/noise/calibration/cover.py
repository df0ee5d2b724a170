"""Theorem A: the reverse divergence on all dilations from finitely many.

Divergence does not change under bijections and f is even, so the reverse curve
R(t') = (a - 1) D_a(e^t' Z + s || Z) is F(-t', s e^-t'), F the forward one (Fact 0). F rises with
the shift and is convex in its first argument (Fact 1), so for t' in [u, v]

    F(-t', s e^-t') <= F(-t', s e^-u) <= max(F(-u, s e^-u), F(-v, s e^-u)), which is

    R(t') <= max(R(u; shift s), R(v; shift s e^(v - u))).

Pieces are laid from t downwards. R(u; shift s) of a piece is at most what the next piece, which
ends at u with a larger shift, is checked for; at u = 0 it is the forward curve at dilation 0.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.balls import exp_bounds
from smoothdp.exact.work import share
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.estimate import stretch
from smoothdp.noise.calibration.limits import MOST_WORK_OF_A_CURVE
from smoothdp.noise.calibration.orders import unproved
from smoothdp.noise.calibration.promise import Promise, divergence_curve, last_excess

_MOST_PIECES = 300
_KEPT = 0.98
_HALVINGS = 4
# Pieces end at multiples of this, so that rationals stay short.
_GRID = 2**70


def cover(law: AbstractLaw, promise: Promise, shift: Fraction) -> int | None:
    """Return the number of pieces that prove the reverse side on [0, t]; None if none do.

    The forward curve at dilation 0 must have been proved.
    """
    high, pieces = promise.smoothing, 0
    while high > 0:
        last = last_excess(law, promise, shift, high, reverse=True)
        if last is None or pieces >= _MOST_PIECES:
            return None
        length = _KEPT * stretch(law, float(promise.rho), float(shift), float(high), last)
        for _ in range(_HALVINGS):
            low = _lower_end(high, length, promise.smoothing)
            if low == high:
                return None
            stretched = shift * Fraction(exp_bounds(high - low).upper)
            curve = divergence_curve(law, stretched, high, reverse=True)
            with share(MOST_WORK_OF_A_CURVE):
                left = unproved(curve, promise.rho, [(0.0, last)])
            if not left:
                break
            length /= 2
        else:
            return None
        high, pieces = low, pieces + 1
    return pieces


def _lower_end(high: Fraction, length: float, smoothing: Fraction) -> Fraction:
    step = Fraction(math.floor(length * _GRID), _GRID)
    if step < smoothing / 10**8:
        return high
    return max(Fraction(0), high - step)
