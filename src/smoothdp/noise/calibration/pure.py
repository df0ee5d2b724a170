"""Pure DP under smooth sensitivity: where the worst case is, and the largest shift.

Setting. f is a symmetric density that falls with |x|, phi = -ln f, and psi(v) = phi(e^v) is
convex (it is nondecreasing); so it is for every law of the library. S is the smaller of two
neighbouring scales, taken as 1: Z against e^t' Z + s' with t' in [0, t], |s'| <= s; for a law of
any shape the four ends would not be enough (proofs/trimmed-mean-errors#4).

Write phi*(A, B) = sup over w >= 0 of phi(A + B w) - phi(w). Then

    forward  D_inf(Z || e^t' Z + s') = phi*(|s'| e^-t', e^-t') + t',
    reverse  D_inf(e^t' Z + s' || Z) = phi*(|s'|, e^t') - t'.

Theorem (endpoints; proofs/pure-noise#1, proofs/zcdp-certificates#8). Both are nondecreasing in
|s'|, and convex in t' on the real line, at fixed s' (proofs/dilated-divergences#2, #4). So the
largest loss over the domain is at |s'| = s and t' in {0, t}; both directions agree at t' = 0, and
the shift found from the three curves is exact.

`largest_shift` serves a law that knows phi* itself; `pure_shift` serves every other one with
the certified divergence of order inf.

Room (proofs/pure-noise#2). A dilation alone costs t forward and (p - 1) t in reverse, p the power
of the tail; infinite for a tail below every power. Both must be at most epsilon. Finite variance
needs p > 3, so pure DP has no noise of finite variance at smoothing >= epsilon / 2
(`lower_bounds`: for any law).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from smoothdp.claims.domains import read_epsilon
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.balls.balls import ball, precision, real_bounds
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.rationals import fraction_ends, positive_ends
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.noise.abstract_law import AbstractLaw, Growth
from smoothdp.noise.shift_claim import ShiftClaim, below, no_room, read_smoothing, unbounded_loss
from smoothdp.sources import Source

# Relative width at which the search for the shift stops.
_NARROW = Fraction(1, 2**48)
_MOST_DOUBLINGS = 4096
# Of the search with certified divergences: noise that is larger by so much.
_CLOSE = Fraction(1, 10**9)
_ROUGH = Fraction(1, 10**4)
_MOST_STEPS = 60
_LARGEST_EPSILON = Fraction(300)
_REMEDY = "Lower the smoothing, or raise epsilon (no law has finite variance from epsilon / 2 on)"


def pure_shift(law: AbstractLaw, epsilon: Parameter, smoothing: Fraction) -> ShiftClaim:
    """Return the largest shift at which a law is epsilon-DP under smooth sensitivity: exact.

    Proved for Student's T and PolyPlace (closed forms) and the generalised Cauchy law (its one
    critical point): proofs/pure-noise#3, #5, #6; the worst dilation is an end of [0, t]. The
    certified and the refuted shift differ by a relative 1e-14 at most. For a law without a claim
    of its own both ends are certified in balls, to a relative 1e-9.

    Args:
        law: the noise; epsilon: > 0, may be "ln(3)"; smoothing: t >= 0.

    Raises:
        InvalidParameter: the law has no pure DP (tails below every power), or no room: it
            needs max(1, degrees) t < epsilon, max(1, power - 1) t < epsilon, alpha t <= epsilon.
        OutOfReach: epsilon beyond 300 (or below 1e-250 for the generalised Cauchy law).

    >>> from smoothdp.noise import StudentT
    >>> claim = pure_shift(StudentT(3), 1, Fraction(1, 10))
    >>> round(float(claim.exact_shift), 12)
    0.805987002549
    """
    t = read_smoothing(smoothing)
    amount = read_epsilon(epsilon)
    claim = law._pure_claim(amount, t)
    return _certified(law, amount, t, _CLOSE) if claim is None else claim


def pure_estimate(law: AbstractLaw, epsilon: Real, t: Fraction) -> float:
    """Return about the shift of `pure_shift`, to choose a shape by.

    Raises:
        InvalidParameter: no scale of the law meets the guarantee.
    """
    claim = law._pure_claim(epsilon, t)
    return float((_certified(law, epsilon, t, _ROUGH) if claim is None else claim).exact_shift)


def _certified(law: AbstractLaw, epsilon: Real, t: Fraction, close: Fraction) -> ShiftClaim:
    """Return a shift that keeps epsilon at both ends of [0, t] in balls, and a shift that does not.

    Raises:
        InvalidParameter: no scale of the law meets the guarantee.
        OutOfReach: epsilon beyond 300, or no scale that could be told.
    """
    check_epsilon(epsilon)
    if t and law._elasticity_limit() is None:
        raise unbounded_loss(law, "light")
    dilations = (Fraction(0), t) if t else (Fraction(0),)

    def keeps(s: Fraction) -> bool | None:
        """Whether the worst loss at the ends is surely at most epsilon, or above it."""
        verdicts = [law._keeps_loss(epsilon, shift=s, dilation=d) for d in dilations]
        return False if False in verdicts else (True if all(verdicts) else None)

    kept, refuted = _bracket(keeps, _sure_shift(law.growth(), epsilon, t), real_bounds(epsilon)[1])
    if kept is None:
        raise no_room(f"a scale that keeps epsilon={shown(epsilon)}", law, t, _REMEDY)
    while refuted is not None and refuted > kept * (1 + close):
        middle = below(math.sqrt(float(kept) * float(refuted)))
        verdict = keeps(middle) if kept < middle < refuted else None
        if verdict is None:
            break
        kept, refuted = (middle, refuted) if verdict else (kept, middle)
    source = Source(law.source.key, f"{law.source.where}, calibrated in balls")
    return ShiftClaim(kept, refuted, "certified", source, "both ends of the dilations")


def _bracket(
    keeps: Callable[[Fraction], bool | None], sure: Fraction | None, likely: float
) -> tuple[Fraction | None, Fraction | None]:
    """Return a shift that is kept and a larger one that is refuted; None where none is known."""
    kept, refuted = sure, None
    if likely <= 0:
        return None, None
    shift = below(likely if sure is None else 2 * float(sure))
    for _ in range(_MOST_STEPS):
        verdict = keeps(shift)
        if verdict:
            kept = shift
        elif verdict is False:
            refuted = shift
        if kept is not None and (not verdict or refuted is not None):
            break
        shift = shift * 2 if verdict else shift / 2
    return kept, refuted


def _sure_shift(growth: Growth, epsilon: Real, t: Fraction) -> Fraction | None:
    """Return a shift that the scores of shift and dilation, added up, prove; or None.

    max(1, power) t + score s <= epsilon: proofs/pure-noise#2, proofs/dilated-divergences#7.
    """
    if growth.score is None or (t and growth.power is None):
        return None
    score, slope = growth.score, max(Fraction(1), growth.power or Fraction(0))
    ends = positive_ends(lambda: (ball(epsilon) - ball(slope * t)) / ball(score))
    return None if ends is None else ends[0]


def check_epsilon(epsilon: Real) -> None:
    """Raise OutOfReach for an epsilon beyond 300."""
    if not at_most(epsilon, _LARGEST_EPSILON):
        raise out_of_reach("epsilon <= 300", epsilon)


def out_of_reach(expected: str, epsilon: Real) -> OutOfReach:
    """Return the refusal of an epsilon that is not computed."""
    return OutOfReach(
        expected=expected, got=f"epsilon={shown(epsilon)}", remedy="Give a less extreme epsilon"
    )


def no_pure_room(condition: str, law: AbstractLaw, t: Fraction) -> InvalidParameter:
    """Return the refusal of a smoothing that spends the whole epsilon."""
    return no_room(condition, law, t, _REMEDY)


class Curve(NamedTuple):
    """phi*(A, B) + offset, with A the shift times ``scale`` and B = e^log_b."""

    scale: Ball
    log_b: Ball
    offset: Ball


def curves(t: Ball) -> tuple[Curve, Curve, Curve]:
    """Return shift only, reverse and forward at t: the three that can be worst.

    proofs/pure-noise#1.
    """
    unit, zero = ball(1), ball(0)
    return (
        Curve(unit, zero, zero),
        Curve(unit, t, -t),
        Curve((-t).exp(), -t, t),
    )


Supremum = Callable[[Ball, Ball], Ball]
"""phi*(A, B) of a law from A > 0 and ln B: an enclosure, without the limit at w = inf
where that is known not to exceed epsilon."""


def largest_shift(
    supremum: Supremum, epsilon: Real, t: Fraction, *, start: Fraction, bits: int
) -> tuple[Fraction, Fraction]:
    """Return (s, u): the loss is certainly at most epsilon at s, and above it at u.

    The loss is the largest of the three `curves` (proofs/pure-noise#1) and rises with s.

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
