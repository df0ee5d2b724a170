"""The certificate: D_a <= a rho for every order, dilation and shift, or the first doubt.

For a law f, P is the law of Z and Q that of e^t' Z + s' with 0 <= t' <= t and |s'| <= s: this
is every pair of neighbours, up to scale, when a query moves by at most s S(x) and S is
t-smooth (one of the two neighbours has the smaller S; proofs/dilated-divergences#1). What must
be checked is finite:

* shifts: f is symmetric and unimodal, so every divergence rises with |s'|: only s' = s
  (proofs/dilated-divergences#2);
* forward dilations: (a - 1) D_a(P || Q) is convex in t' on the whole line, because phi(e^v) is
  convex, phi = -ln f: only t' = 0 and t' = t (proofs/zcdp-certificates#1);
* reverse dilations: convex under Theorem B, which a law says of itself (`_reverse_convexity`;
  proofs/zcdp-certificates#3, #4; Theorem B' is the arsinh-normal law's: #5), else the cover of
  Theorem A (proofs/zcdp-certificates#2);
* orders: `orders.py` up to a cutoff, `promise.py` beyond.

Theorem A: with R(t'; s) = (a - 1) D_a(e^t' Z + s || Z), for t' in [u, v]

    R(t'; s) <= max(R(u; s), R(v; s e^(v - u))).

Intervals are laid from t downwards. R(u; s) of an interval is at most the bound that the
next one, which ends at u with a larger shift, is checked for; at u = 0 it is the forward curve at
dilation 0. What all of it proves: (proofs/zcdp-certificates#9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.exact.balls.balls import exp_bounds
from smoothdp.exact.balls.work import share
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.concentrated.estimate import stretch
from smoothdp.noise.calibration.concentrated.orders import unproved
from smoothdp.noise.calibration.concentrated.promise import Promise, divergence_curve, last_excess
from smoothdp.noise.calibration.limits import MOST_WORK_OF_A_CURVE

_MOST_INTERVALS = 300
_KEPT = 0.98
_HALVINGS = 4
# Intervals end at multiples of 1 / _GRID, so that rationals stay short.
_GRID = 2**70


@dataclass(frozen=True, slots=True)
class Certificate:
    """Whether a promise is proved for a shift, and by what or why not.

    Attributes:
        holds: True only if every comparison of bounds succeeded; False means "not proved".
        reason: the theorems that were used, or the check that failed.
        intervals: how many intervals of [0, t] Theorem A needed; 0 if the theorem was not needed.
    """

    holds: bool
    reason: str
    intervals: int = 0


def certify(law: AbstractLaw, promise: Promise, shift: Fraction) -> Certificate:
    """Prove that Z with a shift keeps a promise, or say which check failed.

    >>> from smoothdp.noise import StudentT
    >>> promise = Promise(Fraction(1, 2), None, Fraction(1, 10))
    >>> certify(StudentT(13), promise, Fraction("1.08")).holds
    True
    >>> certify(StudentT(13), promise, Fraction("1.09")).holds
    False
    """
    rho, t = promise.rho, promise.smoothing
    forward = last_excess(law, promise, shift, t, reverse=False)
    reverse = last_excess(law, promise, shift, t, reverse=True)
    if forward is None or reverse is None:
        return Certificate(False, "no order is large enough for the bounds of the tails")
    points = [(Fraction(0), False, forward)]
    if t > 0:
        # The reverse curve is usually the one that fails.
        points += [(t, True, reverse), (t, False, forward)]
    for dilation, backwards, last in points:
        curve = divergence_curve(law, shift, dilation, reverse=backwards)
        with share(MOST_WORK_OF_A_CURVE):
            left = unproved(curve, rho, [(0.0, last)])
        if left:
            name = "reverse" if backwards else "forward"
            return Certificate(False, f"{name} at dilation {float(dilation):.6g}")
    if t == 0:
        return Certificate(True, "no dilation")
    theorem = law._reverse_convexity(shift)
    if theorem:
        return Certificate(True, f"{theorem}: reverse convex in the dilation")
    intervals = cover(law, promise, shift)
    if intervals is None:
        return Certificate(False, "the cover of Theorem A")
    return Certificate(True, f"Theorem A: a cover of {intervals} pieces", intervals)


def cover(law: AbstractLaw, promise: Promise, shift: Fraction) -> int | None:
    """Return the number of intervals that prove the reverse side on [0, t]; None if none do.

    The forward curve at dilation 0 must have been proved.
    """
    high, intervals = promise.smoothing, 0
    while high > 0:
        last = last_excess(law, promise, shift, high, reverse=True)
        if last is None or intervals >= _MOST_INTERVALS:
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
        high, intervals = low, intervals + 1
    return intervals


def _lower_end(high: Fraction, length: float, smoothing: Fraction) -> Fraction:
    step = Fraction(math.floor(length * _GRID), _GRID)
    if step < smoothing / 10**8:
        return high
    return max(Fraction(0), high - step)
