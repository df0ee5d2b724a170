"""delta(x) of the majority winner between two candidates, without replacement.

Move one vote from candidate 0 to candidate 1. The winner changes only if that vote is drawn
and decides: with d = (T/n) P(the other T - 1 votes drawn lack exactly this one),

    P(0 wins before) - P(0 wins after) = d,

so the two directions give (d - (e^epsilon - 1) P(0 wins after))_+ and
(d - (e^epsilon - 1) P(1 wins before))_+: no difference of two near probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.balls.balls import log_bounds, real_bounds
from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    LOG_ZERO,
    LogBounds,
    log_difference_lower,
    log_difference_upper,
)
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.points import hypergeometric_point
from smoothdp.exact.probabilities.tails import log_hypergeometric_tail

_EXPONENTIAL = 40.0  # beyond, e^x - 1 is e^x to less than a rounding


class _Move(NamedTuple):
    """ln of d, and of the probability that the loser of the vote wins all the same."""

    decides: LogBounds
    loser_wins: tuple[LogBounds, LogBounds]


@dataclass(frozen=True)
class MajorityProfile(PrivacyProfile):
    """delta_epsilon(x) of the majority winner of a sample; ties go to candidate 0.

    ``cap`` bounds ln of the probability of being drawn, which no delta exceeds.
    """

    counts: tuple[int, ...]
    n_draws: int
    cap: LogBounds

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    @cached_property
    def moves(self) -> tuple[_Move, ...]:
        """A vote of 0 moved to 1, and a vote of 1 moved to 0 (which is the reverse of one)."""
        first, second = self.counts
        before = [(first, second)] if first else []
        if second:
            before.append((first + 1, second - 1))
        return tuple(_move(a, b, self.n_draws) for a, b in before)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta_epsilon(x): the larger over both moves and directions."""
        growth = log_expm1(epsilon)
        lower = upper = -math.inf
        for decides, wins in self.moves:
            for win in wins:
                cost = win.shifted(growth)
                lower = max(lower, log_difference_lower(decides.lower, cost.upper))
                upper = max(upper, log_difference_upper(decides.upper, cost.lower))
        return LogBounds(min(lower, self.cap.upper), min(upper, self.cap.upper))


def _move(first: int, second: int, n_draws: int) -> _Move:
    """Return the effect of moving a vote of 0 to 1, for first >= 1."""
    needed = (n_draws + 1) // 2  # votes for 0 with which 0 wins
    others = n_draws - needed
    decides = LOG_ZERO
    if needed - 1 <= first - 1 and others <= second:
        decides = hypergeometric_point(needed - 1, n_draws - 1, first - 1, second).shifted(
            log_bounds(Fraction(n_draws, first + second))
        )
    return _Move(
        decides,
        (
            log_hypergeometric_tail(needed, n_draws, first - 1, second + 1),
            log_hypergeometric_tail(others + 1, n_draws, second, first),
        ),
    )


def log_expm1(epsilon: Real) -> LogBounds:
    """Bound ln(e^epsilon - 1) for an exact epsilon >= 0.

    >>> log_expm1(Fraction(0))
    LogBounds(lower=-inf, upper=-inf)
    """
    low, high = real_bounds(epsilon)
    return LogBounds(_log_expm1(low, -1), _log_expm1(high, 1))


def _log_expm1(value: float, direction: int) -> float:
    """Return ln(e^value - 1), moved in a direction by more than its rounding."""
    if value <= 0.0:
        return -math.inf
    log_value = value if value > _EXPONENTIAL else math.log(math.expm1(value))
    return log_value + direction * 4 * LIBM_ERROR * (1 + abs(log_value))
