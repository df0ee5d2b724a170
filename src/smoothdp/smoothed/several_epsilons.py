"""The epsilon that belongs to a delta: a few values that are kept, and one at the answer.

Smoothed delta is convex and falls in e^epsilon, so between two epsilons it is at most the chord
through proved upper bounds (proofs/boundary-walk#7).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate, pairwise

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import ball, precision, round_up

_FIRST, _LARGEST = 0.25, 300.0
_STEPS = 4
"""Knots from 0 to the first epsilon, and as many to twice it: nine; then one at each doubling."""
_MARGIN = 0.02
"""How far below the target, in ln, the answer is asked: brackets are no smooth curve."""


def least_epsilon(
    log_upper: Callable[[float], float],
    log_target: float,
    known: tuple[float, float],
    knots: dict[float, float],
) -> float:
    """Return an epsilon at which a bound is proved to be at most the target.

    Nine evaluations that ``knots`` keeps, more where the target is deep; with these one more.

    Args:
        log_upper: ln of an upper bound of smoothed delta at an epsilon.
        log_target: ln of the target.
        known: an epsilon and ln of the bound there.
        knots: epsilons and ln of the bound there, of this or earlier calls; more are added.

    Raises:
        OutOfReach: the bound is above the target at every epsilon up to 300.
    """
    if not knots:
        first = known[0] if known[0] > 1e-6 else _FIRST
        for step in range(2 * _STEPS + 1):
            knots[first * step / _STEPS] = log_upper(first * step / _STEPS)
    top = max(knots)
    while knots[top] > log_target and top < _LARGEST:
        top = min(_LARGEST, 2 * top)
        knots[top] = log_upper(top)
    points = dict(sorted((knots | {known[0]: min(known[1], knots.get(known[0], 0.0))}).items()))
    # What holds at one epsilon holds at larger ones.
    epsilons, logs = list(points), list(accumulate(points.values(), min))
    place = next((k for k, value in enumerate(logs) if value <= log_target), None)
    if place is None:
        raise OutOfReach(
            expected=f"a delta that some epsilon up to {_LARGEST:.0f} has",
            got=f"{math.exp(max(-700.0, log_target)):.3g}, and at the last still "
            f"{math.exp(max(-700.0, logs[-1])):.3g}",
            remedy="Give a larger delta, or draw fewer records",
        )
    if place == 0:
        return epsilons[0]
    low, high = ((epsilons[k], logs[k]) for k in (place - 1, place))
    asked = _where(epsilons, logs, place, log_target - _MARGIN)
    value = log_upper(asked)
    if value > log_target:
        return _chord((asked, min(value, low[1])), high, log_target)
    return min(asked, _chord(low, (asked, value), log_target))


def _where(epsilons: list[float], logs: list[float], place: int, goal: float) -> float:
    """Return about where the curve through four knots meets the goal, between two of them."""
    low, high = epsilons[place - 1], epsilons[place]
    near = [k for k in range(place - 2, place + 2) if 0 <= k < len(logs) and logs[k] > -math.inf]
    falling = all(logs[a] > logs[b] + 1e-9 for a, b in pairwise(near))
    guess = (low + high) / 2
    if place in near and len(near) > 1:
        # Straight between the two, as a fallback; then epsilon as a polynomial in ln delta.
        drop = logs[place - 1] - logs[place]
        guess = low + (high - low) * (logs[place - 1] - goal) / drop if drop > 0 else high
        if falling:
            curved = sum(
                epsilons[k]
                * math.prod((goal - logs[i]) / (logs[k] - logs[i]) for i in near if i != k)
                for k in near
            )
            guess = curved if low < curved < high else guess
    return min(max(guess, low + 1e-3 * (high - low)), high)


def _chord(low: tuple[float, float], high: tuple[float, float], log_target: float) -> float:
    """Return a float not below where the chord in e^epsilon meets the target, at most ``high``.

    Both ends are (epsilon, ln of the bound): above the target, and at most the target.
    """
    with precision(128):
        goal = ball(Fraction(log_target))
        above = (ball(Fraction(low[1])) - goal).exp() - 1
        below = ball(1)
        if high[1] > -math.inf:
            below -= (ball(Fraction(high[1])) - goal).exp()
        first, last = (ball(Fraction(end)).exp() for end in (low[0], high[0]))
        found = round_up((last - below / (above + below) * (last - first)).log())
    return found if found < high[0] else high[0]
