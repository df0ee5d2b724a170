"""Where the expectation of g comes from: the counts at which probability times g is largest.

Only a guess of where to put knots: whatever it says, the bounds hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from smoothdp.smoothed.brackets.two_counts import TwoCounts
from smoothdp.smoothed.brackets.weights import PairLaw

_GOLDEN = (math.sqrt(5) - 1) / 2
_ROUNDS = 2
_REACH = 3.6


def knots_near_saddle(law: PairLaw, values: TwoCounts, gap: float) -> tuple[list[int], list[int]]:
    """Return knots for both counts, so close that g falls by about ``gap`` from one to the next."""
    n = law.n_records
    spread = [math.sqrt(float(n * p * (1 - p))) + 1 for p in (law.first, law.second)]
    mean = [float(n * p) for p in (law.first, law.second)]

    def height(x: float, y: float) -> float:
        a, b = int(x), int(y)
        if a + b > n:
            return -math.inf
        return law.log_rough(a, b) + values.at(a, b).upper

    place = [mean[0], mean[1]]
    place[0] = _highest(lambda x: height(x, place[1]), 1.0, mean[0] + 2 * spread[0], spread[0])
    for _ in range(_ROUNDS):
        for axis in (1, 0):
            least = max(1.0, place[axis] - 6 * spread[axis])
            most = min(float(n), place[axis] + 6 * spread[axis])

            def along(value: float, axis: int = axis) -> float:
                return height(value, place[1]) if axis == 0 else height(place[0], value)

            place[axis] = _highest(along, least, most, spread[axis])
    knots = []
    for axis in (0, 1):
        step = max(1, int(spread[axis] / 4))
        here, other = int(place[axis]), int(place[1 - axis])
        low, high = max(2, here - step), here + step
        fall = 0.0
        if high + other <= n and min(low, other) >= 2:
            fall = values.at(low, other).upper - values.at(high, other).upper
        slope = max(0.0, fall) / max(1, high - low)
        width = min(spread[axis], gap / slope) if slope > 0 else spread[axis]
        knots.append(_spaced(here, max(width, spread[axis] / 80, 1.0), spread[axis], n))
    return knots[0], knots[1]


def _spaced(centre: int, width: float, spread: float, n: int) -> list[int]:
    """Return knots around a centre, farther apart where probabilities are small."""
    result = {centre}
    for sign in (-1, 1):
        away, step = 0.0, width
        while away < _REACH * spread:
            away += step
            if away > 1.5 * spread:
                step *= 1.25
            result.add(min(n, max(-1, centre + sign * int(away))))
    return sorted(result)


def _highest(height: Callable[[float], float], low: float, high: float, spread: float) -> float:
    """Return about where a function with one peak is largest, by golden section."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = height(left), height(right)
    while high - low > max(1.0, 0.7 * spread):
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = height(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = height(left)
    return (low + high) / 2
