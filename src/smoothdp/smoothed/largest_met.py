"""The largest number of draws that meets a target, where a bracket says met, missed or neither."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from smoothdp.smoothed.largest_expectation import SmoothedDelta

_MOST = 12
_CLOSE = 0.02


class Found(NamedTuple):
    """The largest number that is known to meet the target, and those that are left open."""

    met: int
    undecided: range


def search(
    at: Callable[[int], SmoothedDelta],
    ends: tuple[int, int],
    log_target: float,
    *,
    high_misses: bool,
    to_the_last: bool,
) -> Found:
    """Search between two ends, the first of which meets the target.

    ln delta is nearly straight in the number lost, so it is asked next where the line through the
    nearest two values meets the target.

    Args:
        at: smoothed delta for a number of draws; it grows with them.
        ends: a number that meets the target, and one that is not known to.
        log_target: ln of the target. high_misses: whether the second end is proved to miss it.
        to_the_last: go on until not one number is left that could be decided; else until the
            open ones are few beside the number lost.
    """
    met, high = ends
    missed, unknown = high, high
    at_met, at_high = at(met).log_delta, 0.0
    decided = high_misses
    for _ in range(10**6 if to_the_last else _MOST):
        if unknown - met <= 1:
            break
        wide = unknown - met > _CLOSE * (high - met + 1)
        if not (to_the_last or wide):
            break
        middle = _between(met, unknown, at_met, at_high, log_target, bisect=to_the_last)
        tried = at(middle)
        if tried.log_delta <= log_target:
            met, at_met = middle, tried.log_delta
        else:
            unknown = middle
            at_high = tried.log_delta
            if tried.log_lower > log_target:
                missed, decided = middle, True
    # Beyond what is not known to meet the target, the least number that is known to miss it.
    low = unknown
    for _ in range(10**6 if to_the_last else _MOST // 2):
        if missed - low <= (1 if to_the_last else max(1, int(_CLOSE * (high - met + 1)))):
            break
        middle = (low + missed) // 2
        if at(middle).log_lower > log_target:
            missed, decided = middle, True
        else:
            low = middle
    return Found(met, range(met + 1, missed if decided else high + 1))


def _between(
    low: int, high: int, at_low: float, at_high: float, log_target: float, *, bisect: bool
) -> int:
    """Return where to ask next: strictly between, by the line through the ends."""
    middle = (low + high) // 2
    if not bisect and math.isfinite(at_low) and at_low < log_target < at_high:
        share = (log_target - at_low) / (at_high - at_low)
        middle = low + int(min(0.97, max(0.03, share - 0.01)) * (high - low))
    return min(high - 1, max(low + 1, middle))
