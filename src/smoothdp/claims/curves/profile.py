"""The privacy profile: delta as a function of epsilon, the worse of both directions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.curves.profile_curve import curve_of_profile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.domains import read_delta, read_epsilon
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_real
from smoothdp.text import html_card, upper_text

LARGEST_SEARCHED = 1e15
"""No epsilon is looked for beyond this one."""


class PrivacyProfile(ABC):
    """delta(epsilon) for epsilon >= 0: the least delta for which (epsilon, delta) holds.

    Both directions are covered: M(x) against M(x') and M(x') against M(x). Every number is
    an upper bound; `delta_bounds` and `epsilon_bounds` give both sides. Logarithms reach where
    floats end.
    """

    @property
    @abstractmethod
    def neighbours(self) -> Neighbours:
        """The neighbour relation that the profile is about."""

    @abstractmethod
    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta(epsilon) for an exact epsilon >= 0."""

    def delta(self, epsilon: Parameter) -> float:
        """Return delta(epsilon), a float not below the truth; 0 only if it is proved 0."""
        return self.delta_bounds(epsilon)[1]

    def delta_bounds(self, epsilon: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around delta(epsilon)."""
        lower, upper = self.log_delta_bounds(read_epsilon(epsilon)).linear()
        return lower, min(1.0, upper)

    def advantage_bound(self) -> float:
        """Return a float not below delta(0), what an observer's guess gains, quickly.

        It is what sentences state, and at most about 1e-3 of itself above ``delta(0)``.
        """
        return self.delta(0)

    def log_delta(self, epsilon: Parameter) -> float:
        """Return ln delta(epsilon), not below the truth, at most 0."""
        return min(0.0, self.log_delta_bounds(read_epsilon(epsilon)).upper)

    def _repr_html_(self) -> str:
        """Return some points of the profile for a notebook."""
        points = [
            (f"delta at epsilon {epsilon}", f"at most {upper_text(self.log_delta(epsilon))}")
            for epsilon in ("0.1", "0.5", "1", "2", "4")
        ]
        return html_card(f"{type(self).__name__}, {self.neighbours.value}", points)

    def epsilon(self, delta: Parameter) -> float:
        """Return the smallest float epsilon at which delta(epsilon) <= delta is certain.

        ``delta`` is in [0, 1] and may lie below floats, such as "1e-5000". The result is
        never below the truth; inf if no epsilon up to 1e15 is certain.
        """
        return self.epsilon_bounds(delta)[1]

    def epsilon_bounds(self, delta: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around the epsilon that belongs to delta."""
        target = read_delta(delta)
        goal = log_bounds(target) if target else LogBounds(-math.inf, -math.inf)

        # Both searches begin alike: what was computed is kept until both are done.
        known: dict[float, LogBounds] = {}

        def bounds(epsilon: float) -> LogBounds:
            if epsilon not in known:
                known[epsilon] = self.log_delta_bounds(exact_real(epsilon, name="epsilon"))
            return known[epsilon]

        def certain(epsilon: float) -> bool:
            return bounds(epsilon).upper <= goal.lower

        def possible(epsilon: float) -> bool:
            return bounds(epsilon).lower <= goal.upper

        above = smallest_true(certain, high=LARGEST_SEARCHED)
        below = smallest_true(possible, high=LARGEST_SEARCHED)
        if below == math.inf:
            return LARGEST_SEARCHED, above
        return (below if below == 0.0 else math.nextafter(below, 0.0)), above

    def keeps(self, epsilon: Real, delta: Fraction) -> bool:
        """Return whether delta(epsilon) <= delta is certain, for exact epsilon and delta.

        One point is enough for (epsilon, delta)-DP, whose whole profile follows from it.
        """
        upper = self.log_delta_bounds(epsilon).upper
        return upper == -math.inf if delta == 0 else upper <= log_bounds(delta).lower

    def tradeoff(self) -> TradeoffFunction:
        """Return a trade-off function that never overstates the type II error.

        It is the largest curve that these epsilons allow: the maximum of the supporting
        lines 1 - delta(e) - e^e alpha and their mirror images, at 200 epsilons from 0 to
        where delta is 0, or 1e-15 if it never is (Dong, Roth, Su 2022, Proposition 2.12).
        """
        return curve_of_profile(self)


@dataclass(frozen=True)
class FunctionProfile(PrivacyProfile):
    """A profile given as a function from an exact epsilon to bounds of ln delta."""

    bounds: Callable[[Real], LogBounds]
    about: Neighbours

    @property
    def neighbours(self) -> Neighbours:
        return self.about

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return self.bounds(epsilon)
