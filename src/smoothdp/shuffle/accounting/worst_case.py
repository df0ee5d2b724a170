"""The worst case over the other users' data, certified by branch and bound.

The others hold N bits, k of them ones. What an observer learns with k1 ones and N - k2 zeros is
never less than with k ones and N - k zeros for any k in [k1, k2], because adding flipped bits to
the total is data processing. The flip probability stays that of the protocol: recomputing it for
fewer users breaks the bound (proofs/flipped-bits#5, #6).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

from smoothdp.exact.logspace.bounds import LogBounds

Value = Callable[[int, int], LogBounds]
"""From (zeros, ones) of the others to bounds of a figure that data processing lowers."""

MOST_PARTS = 20_000


def worst_case(
    value: Value, n_others: int, *, tolerance: float, most_parts: int = MOST_PARTS
) -> LogBounds:
    """Bound the largest value(N - k, k) over k = 0 .. N.

    Stops where the bounds are within ``tolerance`` of each other, at one k alone, or after
    ``most_parts``; the upper bound holds in every case.

    >>> import math
    >>> from fractions import Fraction
    >>> from smoothdp.shuffle.accounting.flipped_bits import log_flip_delta
    >>> def log_delta(zeros, ones):
    ...     return log_flip_delta(zeros, ones, Fraction(29, 100), 1, Fraction("0.2778"))
    >>> round(math.exp(worst_case(log_delta, 99, tolerance=0).upper), 10)
    0.000102343
    """
    lower = max(value(n_others, 0).lower, value(0, n_others).lower)
    ranges = [(-value(0, 0).upper, 0, n_others)]
    for _ in range(most_parts):
        upper, first, last = ranges[0]
        if first == last or -upper - lower <= tolerance:
            break
        heapq.heappop(ranges)
        middle = (first + last) // 2
        for least, most in ((first, middle), (middle + 1, last)):
            bounds = value(n_others - most, least)
            if least == most:
                lower = max(lower, bounds.lower)
            heapq.heappush(ranges, (-min(bounds.upper, -upper), least, most))
    return LogBounds(lower, max(lower, -ranges[0][0]))


def violation(
    value: Value,
    n_others: int,
    *,
    limit: float,
    most_parts: int = MOST_PARTS,
    most_ones: int | None = None,
    growth: int | None = None,
) -> tuple[int, bool] | None:
    """Return a k with value(N - k, k) not certainly at most ``limit``; None if there is none.

    k is any number of ones up to ``most_ones``, or up to N. ``growth``: how many times as wide the
    range after one within the limit is tried first, for values whose bounds say no more than that.

    Ranges of k are laid side by side from 0 on, each as wide as its bound allows. The flag says
    whether the value at k is certainly above the limit; the flag is False as well where
    ``most_parts`` did not decide.
    """
    n_values = (n_others if most_ones is None else most_ones) + 1
    first, width, n_parts = 0, n_values, 0
    bound_before: tuple[int, float] | None = None
    while first < n_values:
        width = min(width, n_values - first)
        bounds = value(n_others - first - width + 1, first)
        is_within = bounds.upper <= limit
        if not is_within and width == 1:
            return first, bounds.lower > limit
        n_parts += 1
        if n_parts > 2 * most_parts:
            return first, False
        tried, tried_bound = width, (width, bounds.upper)
        width = _next_width(tried_bound, bound_before, limit)
        # Only what was computed decides; the width is a guess of what will do.
        if is_within:
            first += tried
            width = growth * tried if growth else min(max(width, tried + tried // 4 + 1), 4 * tried)
        else:
            width = max(1, min(max(width, tried // 8), tried - tried // 8 - 1))
        bound_before = tried_bound
    return None


def _next_width(
    tried: tuple[int, float], before_that: tuple[int, float] | None, limit: float
) -> int:
    """Return the width at which the line through two (width, bound) meets the limit, or less."""
    width, upper = tried
    if before_that is None or before_that[0] == width or not math.isfinite(upper - before_that[1]):
        return 2 * width if upper <= limit else width // 2
    slope = (upper - before_that[1]) / (width - before_that[0])
    if slope <= 0.0:
        return 2 * width if upper <= limit else width // 2
    return int(min(4.0 * width, max(0.0, 0.95 * (width + (limit - upper) / slope))))
