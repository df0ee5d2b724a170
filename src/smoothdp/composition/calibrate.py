"""`calibrate`: the noise, number of steps or share of a budget that meets a target, and no more.

Any list of items with one free number: the safe value is certified to meet the target, and a value
beside it is certified to miss it. Neither rests on the profile being monotone in the number.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, TypeAlias, cast

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.domains import read_delta, read_epsilon
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.composition.bracketing import Bracket, bracket_real, bracket_whole
from smoothdp.composition.compose import compose
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.errors import IncompatibleClaims, InvalidParameter, OutOfReach
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.sources import Source
from smoothdp.text import number_down, number_up

_DIGITS, _MOST_DIGITS = 4, 17

Target: TypeAlias = "Guarantee | tuple[Parameter, Parameter]"
Number: TypeAlias = "int | float"


class Calibrated:
    """A number that meets a target, beside one that does not; made by `calibrate`.

    The refuted number misses the target for what the items promise, their dominating pairs. Where
    an item's profile is only a bound (its documentation says so), the mechanism itself may still
    meet the target there.

    >>> import smoothdp as sd
    >>> found = calibrate(sd.LaplaceMechanism, sd.PureDP("0.5"))
    >>> round(found.value, 9), found.refuted < 2 <= found.value
    (2.0, True)
    """

    source: ClassVar[Source] = Source("zhu-dong-wang", "Theorem 10, for the composition")

    def __init__(self, safe: Judged, refuted: Judged | None) -> None:
        self._safe, self._refuted = safe, refuted

    @property
    def value(self) -> Number:
        """The safe number: delta of its items is at most the target's, certified."""
        return self._safe.number

    @property
    def refuted(self) -> Number | None:
        """The nearest number certified to miss the target; None if none was found."""
        return None if self._refuted is None else self._refuted.number

    @property
    def epsilon(self) -> float:
        """The target's epsilon."""
        return float(self._safe.goal.epsilon)

    @property
    def delta(self) -> float:
        """The target's delta."""
        return float(self._safe.goal.delta)

    @property
    def item(self) -> Any:
        """What ``make(value)`` returned."""
        return self._safe.item

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of these items together."""
        return self._safe.profile

    @property
    def bounds(self) -> tuple[float, float]:
        """Floats (lower, upper) around delta(epsilon) at the value."""
        return self._safe.bounds()

    @property
    def refuted_bounds(self) -> tuple[float, float] | None:
        """The same at the refuted number."""
        return None if self._refuted is None else self._refuted.bounds()

    @property
    def distance(self) -> float:
        """How far the refuted number is, relative to the value; inf without one."""
        if self.refuted is None or not self.value:
            return math.inf
        return abs(self.refuted - self.value) / abs(self.value)

    def sentence(self) -> str:
        """Return what was certified, in words."""
        most, least = self._told_apart()
        met = (
            f"{self.value!r} meets (epsilon={self.epsilon:g}, delta={self.delta:g}): delta is at "
            f"most {most}"
        )
        if self.refuted_bounds is None:
            return f"{met}. No number was certified to miss it."
        return (
            f"{met}; {self.refuted!r} misses it, by what the items promise: delta is at least "
            f"{least}."
        )

    def _told_apart(self) -> tuple[str, str]:
        """Return both deltas, each rounded outward, with digits enough to tell one from the other.

        The target lies between them: what meets it is printed as at most that, the other above.
        """
        # Floats around delta may lie beyond the target, which is decided exactly.
        goal = self._safe.goal.delta
        above = min(Fraction(self.bounds[1]), goal)
        most = number_up(above)
        if self.refuted_bounds is None:
            return most, ""
        below = max(Fraction(self.refuted_bounds[0]), goal)
        least = number_down(below)
        for digits in range(_DIGITS + 1, _MOST_DIGITS + 1):
            if Fraction(most) < Fraction(least):
                break
            most, least = number_up(above, digits), number_down(below, digits)
        return most, least

    def __repr__(self) -> str:
        return f"Calibrated(value={self.value!r}, refuted={self.refuted!r})"


def calibrate(
    make: Callable[[Any], Any],
    target: Target,
    *,
    low: Number | None = None,
    high: Number | None = None,
) -> Calibrated:
    """Return the number at which items just meet a target: sigma, steps, rate, scale, epsilon.

    delta_upper(epsilon) at the value returned is at most the target's delta, and delta_lower at
    the refuted number beside it exceeds it, both certified. Which side is safe is found out. Where
    both ``low`` and ``high`` are whole numbers, whole numbers are tried, and the refuted one is
    the neighbour of the value. That everything beyond the refuted number misses the target
    as well holds where delta is monotone in the number, as it is in noise, steps, scales and
    epsilons.

    Args:
        make: from a number to an item of `compose`, or a list of items; called some dozens of
            times. What it raises passes through; but without ``low`` and ``high`` a number that is
            refused, or OutOfReach, ends the search on its side: it counts as neither safe nor
            refuted.
        target: `ApproxDP`, `PureDP`, or (epsilon, delta).
        low, high: the range to look in; both or neither. None: all positive numbers.

    Raises:
        InvalidParameter: a target of another kind; low >= high; one of them alone, or not finite.
        IncompatibleClaims: a guarantee for other neighbours than the items'; smoothed claims.
        OutOfReach: no number that was tried in the range is certain to meet the target; or items
            that are out of reach at a number that had to be tried, which is named.

    >>> import smoothdp as sd
    >>> steps = lambda sigma: [(sd.GaussianMechanism(sigma), 100)]
    >>> found = calibrate(steps, sd.ApproxDP(1, delta="1e-6"))
    >>> round(found.value, 6), found.bounds[1] <= 1e-6 < found.refuted_bounds[0]
    (42.246789, True)
    >>> calibrate(lambda k: [(sd.LaplaceMechanism(50), k)], (1, "1e-6"), low=1, high=10_000).value
    144
    """
    goal = Goal.read(target)
    whole = _is_whole(low) and _is_whole(high)
    named = (low, high) != (None, None)
    if named and not (_is_finite(low) and _is_finite(high) and low < high):  # type: ignore[operator]
        raise InvalidParameter(
            expected="finite numbers low < high, or neither",
            got=f"low={low!r}, high={high!r}",
            remedy="Give the range to look in by both, or leave both out",
        )

    def judge(number: Number) -> Judged:
        try:
            item = make(number)
            profile = compose(item if isinstance(item, list) else [item])
            goal.require(profile)
            return Judged(number, item, profile, goal)
        except OutOfReach as error:
            raise OutOfReach(
                expected="items that can be certified at every number that is tried",
                got=f"{number!r}, of which: {error}",
                remedy="Give low= and high= between which all of them can",
            ) from error

    if whole:
        found = bracket_whole(judge, int(cast("int", low)), int(cast("int", high)))
    else:
        found = bracket_real(judge, None if low is None else (float(low), float(high or 0.0)))
    return _calibrated(found, goal, low, high)


def _calibrated(found: Bracket[Judged], goal: Goal, low: object, high: object) -> Calibrated:
    if found.safe is None:
        where = "that was tried" if low is None else f"that was tried in [{low}, {high}]"
        best = found.nearest
        raise OutOfReach(
            expected=f"a number that meets epsilon={goal.epsilon}, delta={goal.delta}",
            got=f"none {where}; delta is at most {number_up(best.bounds()[1])} at {best.number!r}",
            remedy="Widen low and high, or raise epsilon or delta",
        )
    return Calibrated(found.safe, found.refuted)


@dataclass(frozen=True, slots=True)
class Goal:
    """(epsilon, delta), exactly, and the neighbours of a guarantee."""

    epsilon: Any
    delta: Fraction
    neighbours: Neighbours | None

    @classmethod
    def read(cls, target: Target) -> Goal:
        """Return the target, or raise InvalidParameter."""
        if isinstance(target, tuple) and len(target) == 2:
            return cls(read_epsilon(target[0]), read_delta(target[1]), None)
        terms = target.terms() if isinstance(target, Guarantee) else None
        if not isinstance(terms, EpsilonTerms):
            raise InvalidParameter(
                expected="ApproxDP, PureDP or (epsilon, delta) as target",
                got=f"{target!r}",
                remedy="Say at which epsilon the delta is to be met: (1, 1e-6)",
            )
        assert isinstance(target, Guarantee)
        return cls(terms.epsilon, terms.delta, target.neighbours)

    def require(self, profile: PrivacyProfile) -> None:
        """Refuse items of other neighbours than the target's, and claims on average."""
        if isinstance(profile, ComposedProfile) and profile.model is not None:
            raise IncompatibleClaims(
                expected="items that hold for every database",
                got="a smoothed claim, which holds on average over its model",
                remedy="Design its sampling instead: smoothdp.design, or smoothed_delta",
            )
        if self.neighbours not in (None, profile.neighbours):
            about = profile.neighbours.value
            raise IncompatibleClaims(
                expected=f"a target about the neighbours of the items, {about}",
                got=f"a target about {self.neighbours.value}",
                remedy=f'Write the target with neighbours="{about}", or as (epsilon, delta)',
            )


class Judged:
    """One number, tried: whether delta is certainly at most the target's, or certainly above."""

    __slots__ = ("doubt", "excess", "goal", "is_refuted", "is_safe", "item", "number", "profile")

    def __init__(self, number: Number, item: Any, profile: PrivacyProfile, goal: Goal) -> None:
        self.number, self.item, self.profile, self.goal = number, item, profile, goal
        self.is_safe = profile.keeps(goal.epsilon, goal.delta)
        found = profile.log_delta_bounds(goal.epsilon)
        if not goal.delta:
            # No logarithm says how far delta is from 0: the epsilon of pure privacy does.
            self.is_refuted = found.lower > -math.inf
            self.excess = profile.epsilon(0) - float(goal.epsilon)
            self.doubt = self.excess, self.excess
            return
        wanted = log_bounds(goal.delta)
        self.is_refuted = found.lower > wanted.upper
        middle = found.upper if found.lower == -math.inf else 0.5 * (found.lower + found.upper)
        self.excess = middle - wanted.lower
        self.doubt = found.lower - wanted.upper, found.upper - wanted.lower

    def bounds(self) -> tuple[float, float]:
        """Return floats around delta."""
        lower, upper = self.profile.log_delta_bounds(self.goal.epsilon).linear()
        return lower, min(1.0, upper)


def _is_whole(number: object) -> bool:
    return isinstance(number, numbers.Integral) and not isinstance(number, bool)


def _is_finite(number: object) -> bool:
    real = isinstance(number, numbers.Real) and not isinstance(number, bool)
    return real and math.isfinite(cast("float", number))
