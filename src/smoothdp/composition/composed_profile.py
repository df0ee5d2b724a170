"""The result of composition: a privacy profile with bounds, at any depth."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import LARGEST_SEARCHED, PrivacyProfile
from smoothdp.claims.domains import read_delta
from smoothdp.claims.model.model import DataModel
from smoothdp.claims.neighbours import Neighbours
from smoothdp.composition.accountant import Accountant
from smoothdp.composition.epsilon_ends import ends_beside, ends_near
from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.compare import float_up
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_real
from smoothdp.sources import Source

_FARTHEST = 1e15
# Bounds of ln delta of this sharpness move epsilon by about as much.
_CLOSE = 2e-15


def epsilon_root(log_delta: Callable[[Real], float], goal: float, *, side: int) -> float:
    """Return an epsilon with log_delta(epsilon) <= goal (side 1), or one >= goal (side -1).

    ``log_delta`` falls, about; its tail is nearly straight. Secants in epsilon, each followed by
    a step past the root, until the bracket is a few units wide; then its safe end. Side 1: inf
    if even 1e15 is not enough; side -1: 0 if delta is below the goal already at 0.

    >>> from fractions import Fraction
    >>> round(epsilon_root(lambda e: -float(e), -2.0, side=1), 12)
    2.0
    """

    def value(epsilon: float) -> float:
        excess = log_delta(exact_real(epsilon, name="epsilon")) - goal
        return max(excess, -1e6)

    low, at_low = 0.0, value(0.0)
    if at_low <= 0:
        return 0.0
    high = 1.0
    at_high = value(high)
    while at_high > 0:
        low, at_low = high, at_high
        if high >= _FARTHEST:
            return math.inf if side > 0 else _FARTHEST
        high *= 4.0
        at_high = value(high)
    for _ in range(100):
        before = high - low
        slope = (at_low - at_high) / before
        middle = _within(low, high, low + at_low / slope)
        # The secant point, then one just beyond the root as seen from there: so both ends close in.
        for _ in range(2):
            excess = value(middle)
            if excess > 0:
                low, at_low = middle, excess
            else:
                high, at_high = middle, excess
            width = high - low
            if width <= max(4 * math.ulp(high), _CLOSE * high):
                return high if side > 0 else low
            step = max(2 * abs(excess) / slope, _CLOSE * high / 4)
            middle = _within(low, high, middle + math.copysign(step, excess))
        if high - low > 0.5 * before:
            # Where delta drops to 0 the tail is not straight, and secants crawl.
            middle = 0.5 * (low + high)
            excess = value(middle)
            if excess > 0:
                low, at_low = middle, excess
            else:
                high, at_high = middle, excess
    return high if side > 0 else low


def _within(low: float, high: float, value: float) -> float:
    """Return a value inside the bracket, its middle if the value is not."""
    return value if low < value < high else 0.5 * (low + high)


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
    _cache: dict[Real, LogBounds] = field(default_factory=dict, repr=False)

    @property
    def neighbours(self) -> Neighbours:
        return self.accountant.neighbours

    @property
    def route(self) -> str:
        """The method behind the numbers: "closed form", "exact grouping", "contour", ..."""
        return self.accountant.route

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta(epsilon).

        Raises:
            OutOfReach: a tolerance that was asked for and cannot be met here.
        """
        bounds = self._bounds(epsilon)
        if self.tolerance is not None and bounds.upper > -math.inf:
            width = bounds.upper - bounds.lower
            if not width <= math.log1p(float(self.tolerance)):
                reached = math.expm1(width) if width < 700 else math.inf
                raise OutOfReach(
                    expected=f"a relative bracket of delta of {float(self.tolerance):g}",
                    got=f"{reached:.2g} at epsilon={float(epsilon):g}",
                    remedy="Raise tolerance, or leave tolerance out for the narrowest bracket",
                )
        return bounds

    def _bounds(self, epsilon: Real) -> LogBounds:
        bounds = self._cache.get(epsilon)
        if bounds is None:
            bounds = self.accountant.log_bounds(epsilon)
            bounds = LogBounds(min(bounds.lower, bounds.upper), min(0.0, bounds.upper))
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            self._cache[epsilon] = bounds
        return bounds

    def epsilon_bounds(self, delta: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around the epsilon that belongs to delta.

        The upper one is certain, and close to the least that is: within a few units, or a
        hundredth of the width of the bracket.
        """
        target = read_delta(delta)
        if target == 0 and self.accountant.single is None and self.accountant.never_zero:
            return LARGEST_SEARCHED, math.inf
        if target == 0 or target == 1:
            below, above = super().epsilon_bounds(delta)
        else:
            goal = log_bounds(target)
            below, above = self._ends(goal)
        # Where delta is the sum of the deltas itself, no logarithm says that it is reached.
        basic = self.accountant.basic
        if basic is not None and target >= basic[1]:
            above = min(above, float_up(basic[0]))
        return min(below, above), above

    def _ends(self, goal: LogBounds) -> tuple[float, float]:
        """Return both ends, around a guess, or by search from 0 on."""
        below = above = None
        for guess, near in self.accountant.likely_epsilons(goal.lower):
            if math.isfinite(near):
                below, above = ends_beside(self._bounds, goal, guess, self.accountant.near)
            if near and (above is None or below is None):
                below, above = ends_near(self._bounds, goal, guess, near=near)
            if above is not None:
                break
        if above is None:
            above = epsilon_root(lambda e: self._bounds(e).upper, goal.lower, side=1)
        if below is None:
            below = epsilon_root(lambda e: self._bounds(e).lower, goal.upper, side=-1)
        return below, above
