"""Pure DP under smooth sensitivity: where the worst case is, and the largest shift.

Setting. f is a symmetric density that falls with |x|, phi = -ln f, and psi(v) = phi(e^v) is
convex (it is nondecreasing); so it is for every law of the library. S is the smaller of two
neighbouring scales, taken as 1: Z against e^t' Z + s' with t' in [0, t], |s'| <= s.

Write phi*(A, B) = sup over w >= 0 of phi(A + B w) - phi(w). Then

    forward  D_inf(Z || e^t' Z + s') = phi*(|s'| e^-t', e^-t') + t',
    reverse  D_inf(e^t' Z + s' || Z) = phi*(|s'|, e^t') - t'.

(The loss at x is phi((x - s') e^-t') + t' - phi(x), resp. with x = s' + e^t' w the loss
phi(s' + e^t' w) - t' - phi(w). Both are largest where w and s' add up, phi being even and
nondecreasing in |x|: w = -x resp. w >= 0 for s' >= 0.)

Theorem (endpoints). Both are nondecreasing in |s'|, and convex in t' on the real line, at fixed
s'. So the largest loss over the domain is at |s'| = s and t' in {0, t}; both directions agree
at t' = 0.
Proof. For each w >= 0: phi((s' + w) e^-t') = psi(ln(s' + w) - t') is convex in t'; and
phi(s' + e^t' w) = psi(ln(s' + e^(t' + ln w))), a convex nondecreasing function of a convex
function of t'. Adding t' or -t' and taking the supremum over w keeps convexity. QED

No cover is needed (Theorem A of the project's notes in the limit of infinite order), and the
shift found from the three curves is exact.

Room. A dilation alone costs t forward (at 0), and in reverse sup psi(v + t) - psi(v) - t =
(p - 1) t, p the power of the tail (its increments rise to the limit p t); infinite for a tail
below every power. Both must be at most epsilon. Finite variance needs p > 3, so pure DP has
no noise of finite variance at smoothing >= epsilon / 2 (`lower_bounds`: for any law).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.rationals import fraction_ends
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Real

# Relative width at which the search for the shift stops.
_NARROW = Fraction(1, 2**48)
_MOST_DOUBLINGS = 4096


class Curve(NamedTuple):
    """phi*(A, B) + offset, with A the shift times ``scale`` and B = e^log_b."""

    scale: Ball
    log_b: Ball
    offset: Ball


def curves(t: Ball) -> tuple[Curve, Curve, Curve]:
    """Return shift only, reverse and forward at t: the three that can be worst."""
    one, zero = ball(1), ball(0)
    return (
        Curve(one, zero, zero),
        Curve(one, t, -t),
        Curve((-t).exp(), -t, t),
    )


Supremum = Callable[[Ball, Ball], Ball]
"""phi*(A, B) of a law from A > 0 and ln B: an enclosure, without the limit at w = inf
where that is known not to exceed epsilon."""


def largest_shift(
    supremum: Supremum, epsilon: Real, t: Fraction, *, start: Fraction, bits: int
) -> tuple[Fraction, Fraction]:
    """Return (s, u): the loss is certainly at most epsilon at s, and above it at u.

    ``start`` > 0 is a shift that is proved to be good.
    """
    with precision(bits):
        amount = ball(epsilon)
        three = curves(ball(t))

        def compare(s: Fraction) -> int:
            """Return -1 if the loss is at most epsilon for certain, 1 if it is above, else 0."""
            shift = ball(s)
            verdicts = []
            for curve in three:
                loss = supremum(shift * curve.scale, curve.log_b) + curve.offset
                if loss > amount:
                    return 1
                verdicts.append(bool(loss <= amount))
            return -1 if all(verdicts) else 0

        low, high = start, 2 * start
        for _ in range(_MOST_DOUBLINGS):
            if compare(high) > 0:
                break
            low, high = (high if compare(high) < 0 else low), 2 * high
        while high - low > low * _NARROW:
            # 64 binary digits are kept, so that the fractions stay short.
            middle = fraction_ends(ball((low + high) / 2))[0]
            if not low < middle < high:
                break
            verdict = compare(middle)
            if verdict == 0:
                break
            low, high = (middle, high) if verdict < 0 else (low, middle)
    return low, high
