"""A profile that is costly to ask, at a few epsilons, joined safely between them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real, float_of

# Interpolation: exponentials, differences, a quotient and two products of positive floats.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class ChordProfile(PrivacyProfile):
    """An upper bound of a privacy profile from its values at a few epsilons.

    delta is convex in e^epsilon (a largest value of p - e^epsilon q, or the expectation of
    such), so that its chord lies above it; beyond the last epsilon delta does not rise. There
    is no lower bound.

    Attributes:
        points: (epsilon, ln of an upper bound of delta there), epsilon rising from 0.
    """

    points: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, log_delta: Callable[[float], float], epsilons: Sequence[float]) -> ChordProfile:
        """Ask for ln delta at rising epsilons, of which the first is 0."""
        return cls(tuple((epsilon, min(0.0, log_delta(epsilon))) for epsilon in epsilons))

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        place = float_of(epsilon)
        for (left, before), (right, after) in pairwise(self.points):
            if left <= place < right:
                return LogBounds(-math.inf, _chord(place, (left, before), (right, after)))
        return LogBounds(-math.inf, self.points[-1][1])


def _chord(place: float, near: tuple[float, float], far: tuple[float, float]) -> float:
    """Return ln of the chord in e^epsilon, rounded up: the shares lie in [0, 1]."""
    (left, before), (right, after) = near, far
    share = math.expm1(place - left) / math.expm1(right - left)
    top = max(before, after)
    if top == -math.inf:
        return top
    mixed = (1 - share) * math.exp(before - top) + share * math.exp(after - top)
    # 1 - share is rounded by a unit, which the larger end bounds.
    return min(0.0, top + math.log(mixed + _ROUNDING) + _ROUNDING)
