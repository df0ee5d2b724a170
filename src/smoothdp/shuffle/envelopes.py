"""Envelopes of one size: what a user sends is padded, and noise that does not fit is redrawn.

The number of messages of one user would show what noise they drew, and so would the size or the
time of an envelope. So every envelope holds exactly K slots, messages and dummies in random
order, and an honest user redraws the noise, by a rule that looks at noise alone, until it fits
(proofs/paired-counts#8).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds, real_bounds
from smoothdp.exact.logspace.bounds import (
    LOG_ZERO,
    LogBounds,
    log_difference_lower,
    log_difference_upper,
    log_sum_upper,
)
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.random_words import uniform_order

_SEAL_BYTES = 48
_LEAST_BODY = 4
_SHARE_OF_DELTA = 1000
_HALVINGS = 24
_NEVER = -math.inf


def slot_bytes(message_bits: int) -> int:
    """Return the bytes of a slot that is sealed for the analyser alone.

    >>> slot_bytes(32), slot_bytes(37)
    (52, 53)
    """
    return _SEAL_BYTES + max(_LEAST_BODY, -(-message_bits // 8))


@dataclass(frozen=True, slots=True)
class Envelope:
    """K slots for the messages of one user, noise that fills all of them included.

    Attributes:
        slots: K.
        overflow: tau, in [0, 1): at least m0 times the probability that the noise of one user
            does not fit, m0 the number of honest users that the promise needs.
    """

    slots: int
    overflow: Fraction

    def __post_init__(self) -> None:
        if not (self.slots >= 1 and 0 <= self.overflow < 1):
            raise InvalidParameter(
                expected="at least one slot, and an overflow in [0, 1)",
                got=f"slots={self.slots}, overflow={self.overflow}",
                remedy="Let calibrate() choose the envelope",
            )

    def filled(self, messages: Sequence[int], *, dummy: int, rng: Entropy) -> tuple[int, ...]:
        """Return exactly K slots: the messages and dummies, in uniformly random order."""
        assert len(messages) <= self.slots
        padded = [*messages, *[dummy] * (self.slots - len(messages))]
        return tuple(padded[place] for place in uniform_order(self.slots, rng).tolist())

    def profile(self, free: PrivacyProfile) -> PrivacyProfile:
        """Return a profile of the protocol whose users redraw, from that of the free one."""
        return free if self.overflow == 0 else RedrawnProfile(free, self.overflow)


def default_overflow(log_delta: LogBounds, epsilon: Real) -> Fraction:
    """Return tau = min(delta / 1000, delta / (100 e^epsilon)), to 20 bits below.

    >>> round(float(default_overflow(LogBounds(-13.8155, -13.8155), Fraction(1))), 11)
    1e-09
    """
    share = max(math.log(_SHARE_OF_DELTA), math.log(100) + real_bounds(epsilon).upper)
    bits = (share - log_delta.lower) / math.log(2)
    whole = math.ceil(bits)
    return Fraction(math.floor(2.0 ** (20 + whole - bits)), 2 ** (20 + whole))


def delta_before_redrawing(delta: Fraction, epsilon: Real, overflow: Fraction) -> LogBounds:
    """Return bounds of ln((1 - tau) delta - e^epsilon tau): what the free protocol may have.

    -inf if nothing is left. The lower bound is safe to calibrate for.
    """
    if overflow == 0:
        return log_bounds(delta)
    goal = log_bounds((1 - overflow) * delta)
    lost = real_bounds(epsilon).shifted(log_bounds(overflow))
    if goal.lower <= lost.upper:
        return LOG_ZERO
    return LogBounds(
        log_difference_lower(goal.lower, lost.upper), log_difference_upper(goal.upper, lost.lower)
    )


@dataclass(frozen=True)
class RedrawnProfile(PrivacyProfile):
    """The profile of a protocol whose users redraw noise that does not fit.

    Both worlds are conditioned on one event of noise alone, of probability at least 1 - tau, so
    delta' (epsilon) <= (delta(epsilon) + e^epsilon tau) / (1 - tau), and not below
    delta(epsilon) - tau. The first bound rises again where e^epsilon tau outweighs delta, while
    delta' falls: the least value at any smaller epsilon is a bound.
    """

    free: PrivacyProfile
    overflow: Fraction

    @property
    def neighbours(self) -> Neighbours:
        """Those of the free protocol."""
        return self.free.neighbours

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta', at epsilon itself and where the two parts of the bound are equal."""
        free = self.free.log_delta_bounds(epsilon)
        lost = log_bounds(self.overflow)
        lower = log_difference_lower(free.lower, lost.upper) if free.lower > lost.upper else _NEVER
        upper = self._upper(epsilon, free)
        if real_bounds(epsilon).upper + lost.upper > free.upper:
            smaller = self._balanced(real_bounds(epsilon).lower)
            upper = min(upper, self._upper(smaller, self.free.log_delta_bounds(smaller)))
        return LogBounds(lower, min(0.0, upper))

    def _balanced(self, largest: float) -> Fraction:
        """Return an epsilon up to the largest where delta is about e^epsilon tau: any is safe."""
        low, high = 0.0, max(0.0, largest)
        lost = log_bounds(self.overflow).upper
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            falls = self.free.log_delta_bounds(Fraction(middle)).upper > middle + lost
            low, high = (middle, high) if falls else (low, middle)
        return Fraction(high)

    def _upper(self, epsilon: Real, free: LogBounds) -> float:
        lost = real_bounds(epsilon).upper + log_bounds(self.overflow).upper
        total = log_sum_upper(free.upper, math.nextafter(lost, math.inf))
        return math.nextafter(total - log_bounds(1 - self.overflow).lower, math.inf)
