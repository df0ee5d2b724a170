"""The epsilon at which a decreasing bound of ln delta passes a goal, on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable

from smoothdp.exact.parameters.numbers import Real, exact_real

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
        found = log_delta(exact_real(epsilon, name="epsilon")) - goal
        return max(found, -1e6)

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
            found = value(middle)
            if found > 0:
                low, at_low = middle, found
            else:
                high, at_high = middle, found
            width = high - low
            if width <= max(4 * math.ulp(high), _CLOSE * high):
                return high if side > 0 else low
            step = max(2 * abs(found) / slope, _CLOSE * high / 4)
            middle = _within(low, high, middle + math.copysign(step, found))
        if high - low > 0.5 * before:
            # Where delta drops to 0 the tail is not straight, and secants crawl.
            middle = 0.5 * (low + high)
            found = value(middle)
            if found > 0:
                low, at_low = middle, found
            else:
                high, at_high = middle, found
    return high if side > 0 else low


def _within(low: float, high: float, value: float) -> float:
    """Return a value inside the bracket, its middle if the value is not."""
    return value if low < value < high else 0.5 * (low + high)
