"""D(A, B) from above in a moment, where it is far below anything of interest.

A walk takes the longer the deeper it goes; which side of a target a hockey stick is on is often
clear from an exponential moment (proofs/boundary-walk#8).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.parameters.numbers import Real

_STEPS = 24
_GOLDEN = (math.sqrt(5) - 1) / 2
_WIDEST = math.log(16.0)
_LARGEST = 300.0


def log_far_above(count_a: int, count_b: int, others: int, n_draws: int, epsilon: Real) -> float:
    """Return a float not below ln D(count_a, count_b), without replacement; 0 if that is all.

    min over s of ln (M / (l e s)) + ln E e^(s z), for l lost or T drawn records with replacement
    (proofs/boundary-walk#8). Any s > 0 is proved: it is chosen in floats.

    Domain: count_a >= 1, count_b >= 0, others >= 0, 1 <= n_draws < n.
    """
    total = count_a + count_b + others + 1
    lost = total - n_draws
    level = float(epsilon)
    if not 0.0 < level < _LARGEST:
        return 0.0
    growth = math.exp(level)
    few_lost = lost <= n_draws
    size = lost if few_lost else n_draws
    rise, fall = 1.0 / (count_b + 1), growth / count_a
    if not few_lost:
        rise, fall = fall, rise
    up, down = (count_b + 1, count_a) if few_lost else (count_a, count_b + 1)

    def height(s: float) -> float:
        mean = (up * math.expm1(s * rise) + down * math.expm1(-s * fall)) / total
        start = 0.0 if few_lost else -s * math.expm1(level)
        return start + size * math.log1p(mean) - math.log(s)

    # At the point that is best for normal laws, or near it.
    away = -math.expm1(level) * lost / total
    middle = math.log(-away * total / (size * (up * rise * rise + down * fall * fall)))
    try:
        s = math.exp(_least(height, middle - _WIDEST, middle + _WIDEST))
    except (OverflowError, ValueError):
        return 0.0
    with precision(192):
        chosen, power = ball(Fraction(s)), ball(epsilon).exp()
        in_b, in_a = chosen / (count_b + 1), chosen * power / count_a
        if few_lost:
            moment = (count_b + 1) * in_b.expm1() + count_a * (-in_a).expm1()
            start = ball(0)
        else:
            moment = count_a * in_a.expm1() + (count_b + 1) * (-in_b).expm1()
            start = chosen * (1 - power)
        bound = round_up(
            ball(Fraction(total, lost)).log() - chosen.log() - 1
            + start + size * (moment / total).log1p()
        )  # fmt: skip
    return 0.0 if math.isnan(bound) else min(0.0, bound)


def _least(height: Callable[[float], float], low: float, high: float) -> float:
    """Return about where a function of s is least, in ln s, by golden section."""

    def at(point: float) -> float:
        return height(math.exp(point))

    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = at(left), at(right)
    for _ in range(_STEPS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = at(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = at(right)
    return (low + high) / 2
