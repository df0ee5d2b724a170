"""From a privacy profile to the trade-off function that it proves."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

from smoothdp.exact.logspace import LIBM_ERROR
from smoothdp.privacy.tradeoff import TradeoffFunction

if TYPE_CHECKING:
    from smoothdp.privacy.profile import PrivacyProfile

_UP = 1 + 4 * LIBM_ERROR
# e^700 is still a float.
_LARGEST_EPSILON = 700.0
_LEAST_DELTA = "1e-15"


def curve_of_profile(profile: PrivacyProfile, *, n_lines: int = 200) -> TradeoffFunction:
    """Return the curve above which every mechanism with this profile lies.

    power(alpha) <= delta(e) + e^e alpha, and <= (1 - e^-e) + e^-e (delta(e) + alpha) for
    every e >= 0, since the profile covers both directions (Dong, Roth, Su 2022, Proposition
    2.12): the least of these lines, at n_lines epsilons.
    """
    last = profile.epsilon(0)
    if math.isinf(last):
        last = profile.epsilon(_LEAST_DELTA)
    last = min(last, _LARGEST_EPSILON)
    lines = [(0.0, 1.0)]
    for place in range(n_lines):
        epsilon = last * place / (n_lines - 1)
        delta = profile.delta(epsilon)
        fall = math.exp(-epsilon)
        lines.append((math.exp(epsilon) * _UP, delta))
        lines.append((fall * _UP, (-math.expm1(-epsilon) + fall * delta) * _UP))
    kept: list[tuple[float, float]] = []
    for slope, height in sorted(lines, key=lambda line: (-line[0], line[1])):
        if kept and slope == kept[-1][0]:
            continue
        while kept and height <= kept[-1][1]:
            kept.pop()
        while len(kept) >= 2 and _meet(kept[-2], (slope, height)) <= _meet(kept[-2], kept[-1]):
            kept.pop()
        kept.append((slope, height))
    alphas, powers = [0.0], [min(1.0, kept[0][1])]
    for left, right in pairwise(kept):
        alpha = _meet(left, right)
        if alphas[-1] < alpha < 1:
            # Above both lines, wherever rounding has put their meeting point.
            power = max(line[1] + line[0] * alpha for line in (left, right)) * _UP
            alphas.append(alpha)
            powers.append(max(powers[-1], min(1.0, power)))
    return TradeoffFunction(alphas, powers)


def _meet(steep: tuple[float, float], flat: tuple[float, float]) -> float:
    """Return where two lines (slope, height at 0) cross, about."""
    return (flat[1] - steep[1]) / (steep[0] - flat[0])
