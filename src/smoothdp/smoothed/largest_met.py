"""The largest number of draws that meets a target, where a bracket says met, missed or neither."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from smoothdp.smoothed.largest_expectation import SmoothedDelta

_MOST = 14
_NEAR = 1.0
_ASIDE = 0.45
"""A little more than half of the gap in ln of a bracket: how far beside the target to ask."""


@dataclass
class Search:
    """What is known of the numbers of draws between two ends, the first of which meets the target.

    Args:
        at: smoothed delta for a number of draws; it grows with them.
        log_target: ln of the target.
        met: a number that meets it. high: one more than the last number in question.
    """

    at: Callable[[int], SmoothedDelta]
    log_target: float
    met: int
    high: int
    _points: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.unknown = self.missed = self.high

    @property
    def undecided(self) -> range:
        """The numbers beyond ``met`` that are not known to miss the target."""
        return range(self.met + 1, self.missed)

    def ask(self, n_draws: int) -> float:
        """Evaluate, and return the middle of the bracket in ln."""
        found = self.at(n_draws)
        if found.log_delta <= self.log_target:
            self.met = max(self.met, n_draws)
        else:
            self.unknown = min(self.unknown, n_draws)
            if found.log_lower > self.log_target:
                self.missed = min(self.missed, n_draws)
        middle = found.log_delta
        if found.log_lower > -math.inf:
            middle = (found.log_lower + found.log_delta) / 2
        self._points.append((n_draws, middle))
        return middle

    def bisect(self) -> None:
        """Decide every number that can be decided."""
        while self.unknown - self.met > 1:
            self.ask((self.met + self.unknown) // 2)
        low = self.unknown - 1 if self.missed == self.unknown else self.unknown
        while self.missed - low > 1:
            middle = (low + self.missed) // 2
            self.ask(middle)
            if self.missed != middle:
                low = middle

    def by_lines(self) -> None:
        """Decide all but the numbers near the target, in a few evaluations.

        ln delta is nearly straight in the number of draws: it is asked where the line through two
        known points meets the target, and then a little to either side of it.
        """
        self._points += [(self.high, 0.0)]
        middle = self.ask(self.met)
        left, aside = _MOST, [_ASIDE, _ASIDE]
        while abs(middle - self.log_target) > _NEAR and left and self.undecided:
            middle = self.ask(self._where(self.log_target, self.met, self.missed))
            left -= 1
        for side in (0, 1):
            while left and self.undecided:
                sign = -1 if side == 0 else 1
                goal = self.log_target + sign * aside[side]
                before = (self.met, self.missed)[side]
                place = self._where(goal, self.met, self.missed)
                self.ask(place)
                left -= 1
                if (self.met, self.missed)[side] != before:
                    break
                aside[side] += _ASIDE / 2

    def _where(self, goal: float, low: int, high: int) -> int:
        """Return the number at which the line through the nearest two points meets the goal."""
        finite = [point for point in self._points if math.isfinite(point[1])]
        near = sorted(finite, key=lambda point: abs(point[1] - goal))
        place = (low + high) // 2
        for first, second in ((near[0], other) for other in near[1:]):
            if first[1] != second[1]:
                slope = (second[0] - first[0]) / (second[1] - first[1])
                place = first[0] + int((goal - first[1]) * slope)
                break
        return min(high - 1, max(low + 1, place))
