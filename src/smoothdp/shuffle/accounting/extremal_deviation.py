"""How far a total of reports of any means in [q, 1 - q] strays from its mean: identical is worst.

For t >= 1, P(|T - E T| > t) of independent reports is largest where all have one mean
(Hoeffding 1956, Theorem 5; proofs/flipped-bits#9). What is left is a maximum over that mean,
which is certified interval by interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bisection import narrowed
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.exact.probabilities.tails import log_binomial_tail

MOST_USERS = 10**7
"""Beyond, the intervals are too many."""
_FEW_USERS = 10**5
_ROOM = {True: 2e-3, False: 8e-3}
_TRIES = 4
_GUESSES = 8


def extremal_deviation(failure: Fraction, flip: Fraction, n_users: int) -> float:
    """Return D that |T - E T| exceeds with at most this probability; inf if none was certified.

    The least D for the worst mean, and little more, so that few intervals are enough.

    Args:
        failure: in (0, 1).
        flip: q in (0, 1/2): every report has a mean in [q, 1 - q].
        n_users: n up to `MOST_USERS`, one report each.
    """
    goal, half = log_bounds(failure).lower, Fraction(1, 2)
    least, most = flip * n_users, half * n_users

    def outside(low: Fraction, high: Fraction, distance: Fraction) -> float:
        """Bound ln P(|T - n p| > distance) for every p between low / n and high / n."""
        above = math.floor(low + distance) + 1
        below = math.ceil(high - distance) - 1
        return log_sum_upper(
            log_binomial_tail(above, n_users, high / n_users).upper,
            log_binomial_tail(n_users - below, n_users, 1 - low / n_users).upper,
        )

    # Binary fractions, so that intervals have short ends.
    means = [least + (most - least) * Fraction(k, _GUESSES) for k in range(_GUESSES + 1)]

    def enough_at_some(distance: float) -> bool:
        return all(outside(mean, mean, Fraction(distance)) <= goal for mean in means)

    root = narrowed(enough_at_some, 1.0, float(n_users) + 1.0, relative=1e-4)[1]
    room = _ROOM[n_users <= _FEW_USERS]
    for _ in range(_TRIES):
        distance = max(1.0, root * (1 + room))
        if _is_certified(outside, least, most, Fraction(distance), goal):
            return distance
        # With few users the worst mean may be far from those that were tried.
        room *= 4
    return math.inf


def _is_certified(
    outside: Callable[[Fraction, Fraction, Fraction], float],
    least: Fraction,
    most: Fraction,
    distance: Fraction,
    goal: float,
) -> bool:
    """Whether the probability is certainly at most e^goal for every n p in [least, most].

    From the least on, each interval as wide as it may be; 1/2 is enough, by symmetry.
    """
    low, width = least, Fraction(max(1, math.isqrt(math.ceil(most))), 64)
    shortest = width / 4096
    while low < most:
        high = min(most, low + width)
        if outside(low, high, distance) <= goal:
            low, width = high, width * 2
        elif width > shortest:
            width /= 2
        else:
            return False
    return True
