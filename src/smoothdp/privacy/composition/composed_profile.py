"""The result of composition: a privacy profile with bounds, at any depth."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from smoothdp.errors import OutOfReach, explain
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.privacy.composition.accountant import Accountant
from smoothdp.privacy.composition.root import epsilon_root
from smoothdp.privacy.model import DataModel
from smoothdp.privacy.neighbours import Neighbours
from smoothdp.privacy.profile import LARGEST_SEARCHED, PrivacyProfile, read_delta
from smoothdp.sources import Source

_MOST_CACHED = 4096


@dataclass(frozen=True, eq=False)
class ComposedProfile(PrivacyProfile):
    """delta(epsilon) of everything released together, between certified bounds.

    Attributes:
        accountant: the laws and the methods.
        tolerance: the relative width of the bracket of delta that was asked for, if any.
        model: the model of the smoothed claims among the items: the profile is then that of
            smoothed DP over it. None for ordinary DP.

    >>> import smoothdp as sd
    >>> steps = sd.compose([(sd.LaplaceMechanism(20), 100)])
    >>> lower, upper = steps.epsilon_bounds("1e-6")
    >>> upper - lower < 1e-6, round(upper, 4), steps.route
    (True, 2.1933, 'contour')
    """

    source: ClassVar[Source] = Source("zhu-dong-wang", "Theorem 10")
    accountant: Accountant
    tolerance: Fraction | None = None
    model: DataModel | None = None
    _found: dict[Real, LogBounds] = field(default_factory=dict, repr=False)

    @property
    def neighbours(self) -> Neighbours:
        return self.accountant.neighbours

    @property
    def route(self) -> str:
        """How the numbers come about: "closed form", "exact grouping", "contour", ..."""
        return self.accountant.route

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta(epsilon).

        Raises:
            OutOfReach: a tolerance that was asked for and cannot be met here.
        """
        found = self._bounds(epsilon)
        if self.tolerance is not None and found.upper > -math.inf:
            width = found.upper - found.lower
            if not width <= math.log1p(float(self.tolerance)):
                reached = math.expm1(width) if width < 700 else math.inf
                raise OutOfReach(
                    explain(
                        f"a relative bracket of delta of {float(self.tolerance):g}",
                        f"{reached:.2g} at epsilon={float(epsilon):g}",
                        "Raise the tolerance, or leave it out to get the bracket that there is",
                    )
                )
        return found

    def _bounds(self, epsilon: Real) -> LogBounds:
        found = self._found.get(epsilon)
        if found is None:
            found = self.accountant.log_bounds(epsilon)
            found = LogBounds(min(found.lower, found.upper), min(0.0, found.upper))
            if len(self._found) >= _MOST_CACHED:
                self._found.clear()
            self._found[epsilon] = found
        return found

    def epsilon_bounds(self, delta: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around the epsilon that belongs to delta.

        The upper one is certain, and within a few units of the least that is.
        """
        target = read_delta(delta)
        if target == 0 and self.accountant.single is None and self.accountant.never_zero:
            return LARGEST_SEARCHED, math.inf
        if target == 0 or target == 1:
            return super().epsilon_bounds(delta)
        goal = log_bounds(target)
        above = epsilon_root(lambda e: self._bounds(e).upper, goal.lower, side=1)
        below = epsilon_root(lambda e: self._bounds(e).lower, goal.upper, side=-1)
        return min(below, above), above
