"""Where a step on a sample asks the profile of the step on all records.

At E = e^epsilon >= 1 and rate q: E' = 1 + (E - 1) / q for removing, and
E'' = E q / r with r = 1 - E (1 - q) for adding, where r > 0. Both are at least E
(proofs/subsampled-steps#1).
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.exact.balls.balls import ball, log_bounds, precision, round_down, round_up
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real

_BITS = 192


def growth(epsilon: Real) -> Ball:
    """Return E - 1 as a ball at the present precision."""
    if isinstance(epsilon, LogRatio):
        return ball(epsilon.ratio - 1)
    return ball(epsilon).expm1()


def asked_bounds(profile: PrivacyProfile, low: Real, high: Real) -> LogBounds:
    """Bound ln delta somewhere between two epsilons >= 0: delta falls."""
    upper = profile.log_delta_bounds(low)
    lower = upper if low == high else profile.log_delta_bounds(high)
    return LogBounds(min(lower.lower, upper.upper), min(0.0, upper.upper))


def inner_epsilons(epsilon: Real, rate: Fraction) -> tuple[Real, Real]:
    """Return exact numbers around ln E', equal where E is rational.

    >>> inner_epsilons(LogRatio(Fraction(2)), Fraction(1, 10))[0]
    LogRatio(ratio=Fraction(11, 1))
    """
    if epsilon == 0:
        return Fraction(0), Fraction(0)
    if isinstance(epsilon, LogRatio):
        exact = LogRatio(1 + (epsilon.ratio - 1) / rate)
        return exact, exact
    with precision(_BITS + _size(epsilon)):
        if epsilon < 1:
            return _around((growth(epsilon) / ball(rate)).log1p())
        # Without powers beyond reach: E' = (E / q) (1 - (1 - q) / E).
        rest = (-ball(1 - rate) * (-ball(epsilon)).exp()).log1p()
        return _around(ball(epsilon) - ball(rate).log() + rest)


def log_removed(profile: PrivacyProfile, epsilon: Real, rate: Fraction) -> LogBounds:
    """Bound ln of q D(E')."""
    return asked_bounds(profile, *inner_epsilons(epsilon, rate)).shifted(log_bounds(rate))


def log_added(profile: PrivacyProfile, epsilon: Real, rate: Fraction) -> LogBounds:
    """Bound ln of r D(E q / r), r = 1 - E (1 - q); of 0 where r <= 0."""
    if rate == 1:
        return asked_bounds(profile, epsilon, epsilon)
    if at_most(LogRatio(1 / (1 - rate)), epsilon):
        return LOG_ZERO
    if isinstance(epsilon, LogRatio) or epsilon == 0:
        ratio = epsilon.ratio if isinstance(epsilon, LogRatio) else Fraction(1)
        rest = 1 - ratio * (1 - rate)
        inner = ratio * rate / rest
        at: Real = LogRatio(inner) if inner != 1 else Fraction(0)
        return asked_bounds(profile, at, at).shifted(log_bounds(rest))
    bits = _BITS + _size(epsilon)
    while True:
        with precision(bits):
            rest_ball = 1 - ball(epsilon).exp() * ball(1 - rate)
            if rest_ball > 0:
                inside = (ball(epsilon).exp() * ball(rate) / rest_ball).log()
                low, high = _around(inside)
                factor = LogBounds(round_down(rest_ball.log()), round_up(rest_ball.log()))
                break
        bits *= 2
    return asked_bounds(profile, low, high).shifted(factor)


def _size(epsilon: Fraction) -> int:
    """Return bits for E - 1 of a tiny epsilon."""
    return max(0, epsilon.denominator.bit_length() - epsilon.numerator.bit_length())


def _around(value: Ball) -> tuple[Fraction, Fraction]:
    low = max(0.0, round_down(value))
    return Fraction(low), Fraction(max(low, round_up(value)))
