"""A profile between a few epsilons at which it is known: chords above, tangents below.

delta is convex and falls in E = e^epsilon (proofs/boundary-walk#7), whatever the mechanism, so a
few costly values bound it everywhere between them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import NamedTuple

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.compare import at_most, chord_share
from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    LogBounds,
    log_difference_lower,
    log_sum_upper,
)
from smoothdp.exact.parameters.numbers import Parameter, Real


class Knot(NamedTuple):
    """An epsilon at which ln delta is known, and its bounds."""

    epsilon: Real
    logs: LogBounds


@dataclass(frozen=True)
class ChordProfile(PrivacyProfile):
    """What some known values of a profile prove of it, at every epsilon.

    Between two knots delta is at most the chord in E; it is at least what the chords on either
    side lead to, and at least delta at the next knot. Below the first knot 1 is the upper bound,
    beyond the last one its value.

    Args:
        knots: at least one, in rising order of epsilon.
        about: the neighbour relation.

    >>> import smoothdp as sd
    >>> exact = sd.SamplingHistogram(60, n_draws=30).at([10, 20, 30])
    >>> chords = ChordProfile.of(exact, ["0", "0.5", "1"])
    >>> exact.delta("0.7") < chords.delta("0.7") < exact.delta("0.5")
    True
    """

    knots: tuple[Knot, ...]
    about: Neighbours

    @classmethod
    def of(cls, profile: PrivacyProfile, epsilons: Iterable[Parameter]) -> ChordProfile:
        """Ask a profile at these epsilons, once each.

        Raises:
            InvalidParameter: no epsilon, or one that is not a number >= 0.
        """
        exact = [read_epsilon(epsilon) for epsilon in epsilons]
        if not exact:
            raise InvalidParameter(
                expected="at least one epsilon", got="none", remedy="Give epsilons, such as [0, 1]"
            )
        ordered = sorted(exact, key=cmp_to_key(_order))
        distinct = [e for place, e in enumerate(ordered) if place == 0 or e != ordered[place - 1]]
        knots = tuple(Knot(e, profile.log_delta_bounds(e)) for e in distinct)
        return cls(knots, profile.neighbours)

    @property
    def neighbours(self) -> Neighbours:
        return self.about

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta(epsilon) by the knots alone (proofs/boundary-walk#7)."""
        place = sum(1 for knot in self.knots if at_most(knot.epsilon, epsilon))
        if place and self.knots[place - 1].epsilon == epsilon:
            return self.knots[place - 1].logs
        before, after = self.knots[:place], self.knots[place:]
        upper = before[-1].logs.upper if before else 0.0
        if before and after:
            upper = min(upper, _chord(before[-1], after[0], epsilon))
        lower = after[0].logs.lower if after else -math.inf
        if len(before) >= 2:
            lower = max(lower, _beyond(before[-2], before[-1], epsilon))
        if len(after) >= 2:
            lower = max(lower, _beyond(after[1], after[0], epsilon))
        return LogBounds(min(lower, upper), upper)


def _order(first: Real, second: Real) -> int:
    return 0 if first == second else -1 if at_most(first, second) else 1


def _chord(first: Knot, last: Knot, epsilon: Real) -> float:
    """Return a float not below ln of the chord at epsilon."""
    # The value at first is the larger one: its share is rounded up.
    _, share = chord_share(first.epsilon, epsilon, last.epsilon)
    if first.logs.upper < last.logs.upper:
        return last.logs.upper
    return log_sum_upper(
        _scaled(first.logs.upper, min(1.0, share), 1),
        _scaled(last.logs.upper, 1.0 - max(0.0, share) + 2.0**-52, 1),
    )


def _beyond(far: Knot, near: Knot, epsilon: Real) -> float:
    """Return a float not above ln of (1 + r) near - r far, the chord led on to epsilon."""
    # r = (E - E_near) / (E_near - E_far), the same from the left and from the right.
    low, high = chord_share(far.epsilon, epsilon, near.epsilon)
    least, most = max(0.0, -high), max(0.0, -low)
    return log_difference_lower(
        _scaled(near.logs.lower, 1.0 + least, -1), _scaled(far.logs.upper, most, 1)
    )


def _scaled(log_value: float, factor: float, side: int) -> float:
    """Return ln of factor times e^log_value, rounded to one side."""
    if factor <= 0.0 or log_value == -math.inf:
        return -math.inf
    value = math.log(factor)
    slack = LIBM_ERROR * (abs(value) + 1.0) + 2.0**-52 * abs(log_value)
    return log_value + value + side * slack
