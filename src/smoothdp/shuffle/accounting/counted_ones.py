"""How far a total of flipped bits strays from its mean, for every number of ones among them.

With K ones among N bits the total less K is X_K = Bin(N - K, q) - Bin(K, q), of mean (N - 2 K) q.
X_K falls in K: each further one trades a bit that may be added for one that may be taken away. So
for K in [k, l], and a distance D,

    P(X_K > (N - 2 K) q + D) <= P(X_k > (N - 2 l) q + D),
    P(X_K < (N - 2 K) q - D) <= P(X_l < (N - 2 k) q - D),

and intervals of K certify a D for all of them (proofs/flipped-bits#10).
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bisection import narrowed
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.shuffle.accounting.flipped_bits import log_flip_tail

_ROOM = 1e-3
_TRIES = 5
_GUESSES = 8
_MOST_INTERVALS = 600
MOST_VARIANCE = 500.0
"""Beyond, the intervals are too many, and Chernoff's bound is close."""


def counted_deviation(failure: Fraction, flip: Fraction, n_bits: int) -> float:
    """Return D that the total leaves its mean by more than, at most that often; inf if none.

    Not the least for the worst number of ones, but at most some thousandths above it.

    Args:
        failure: in (0, 1).
        flip: q in (0, 1/2).
        n_bits: N, all bits of all users.

    >>> round(counted_deviation(Fraction(1, 20), Fraction(1, 100), 1000), 1)
    6.5
    """
    goal = log_bounds(failure).lower
    half = n_bits // 2  # N - K ones mirror K ones.
    ones = sorted({half * step // _GUESSES for step in range(_GUESSES + 1)})

    def enough_at_some(distance: float) -> bool:
        return all(_outside(k, k, Fraction(distance), flip, n_bits) <= goal for k in ones)

    root = narrowed(enough_at_some, 0.0, float(n_bits) + 1.0, relative=1e-5)[1]
    room = _ROOM
    for _ in range(_TRIES):
        distance = root * (1 + room)
        if _is_certified(Fraction(distance), flip, n_bits, goal):
            return distance
        room *= 4
    return math.inf


def _outside(first: int, last: int, distance: Fraction, flip: Fraction, n_bits: int) -> float:
    """Bound ln P(|total - mean| > distance) for every number of ones from first to last."""
    above = (n_bits - 2 * last) * flip + distance + first
    below = (n_bits - 2 * first) * flip - distance + last
    return log_sum_upper(
        log_flip_tail(first, n_bits - first, flip, n_bits - math.floor(above) - 1).upper,
        log_flip_tail(n_bits - last, last, flip, math.ceil(below) - 1).upper,
    )


def _is_certified(distance: Fraction, flip: Fraction, n_bits: int, goal: float) -> bool:
    """Whether the probability is certainly at most e^goal for 0 to half of the bits being ones."""
    low, half, width = 0, n_bits // 2, max(1, n_bits // 64)
    for _ in range(_MOST_INTERVALS):
        high = min(half, low + width - 1)
        if _outside(low, high, distance, flip, n_bits) <= goal:
            if high == half:
                return True
            low, width = high + 1, 2 * width
        elif width == 1:
            return False
        else:
            width = max(1, width // 2)
    return False
