"""delta(epsilon) of a release under smooth sensitivity: points from below, a cover from above.

The pairs are those of `concentrated.certificate`: dilations in [0, t], both directions, shift s
(proofs/dilated-divergences#1). The cover cuts [0, t] into intervals on each of which the bound of
`envelope` is at most the target (proofs/zcdp-certificates#10).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Literal, NamedTuple

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import Real
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.approximate.envelope import log_envelope

_SHORTEST = 10**5
_GROWTH = 4


class DilatedCopy(NamedTuple):
    """A dilation and a direction."""

    dilation: Fraction
    direction: Literal["forward", "reverse"]


def ends(smoothing: Fraction) -> tuple[DilatedCopy, ...]:
    """Return the dilations and directions that bind in every case that was tried."""
    if smoothing == 0:
        return (DilatedCopy(Fraction(0), "forward"),)
    return (
        DilatedCopy(Fraction(0), "forward"),
        DilatedCopy(smoothing, "reverse"),
        DilatedCopy(smoothing, "forward"),
    )


def log_delta_at_ends(
    law: AbstractLaw, shift: Fraction, smoothing: Fraction, epsilon: Real
) -> LogBounds:
    """Bound ln of the largest hockey stick at the ends: from below that of all dilations."""
    bounds = [
        law.log_delta_bounds(epsilon, shift=shift, dilation=d, direction=way)
        for d, way in ends(smoothing)
    ]
    return largest(bounds)


def ends_keep(
    law: AbstractLaw, shift: Fraction, smoothing: Fraction, epsilon: Real, target: LogBounds
) -> bool | None:
    """Whether the hockey sticks at the ends are surely at most a target; None if in doubt."""
    sure = True
    for d, way in ends(smoothing):
        bounds = log_envelope(
            law, shift, (d, d), epsilon, reverse=way == "reverse", target=target.lower
        )
        if bounds.lower > target.upper:
            return False
        sure = sure and bounds.upper <= target.lower
    return True if sure else None


def covered(
    law: AbstractLaw, shift: Fraction, smoothing: Fraction, epsilon: Real, target: float
) -> int | None:
    """Return the number of intervals that prove ln delta <= target for all dilations, or None."""
    if smoothing == 0:
        upper = log_delta_at_ends(law, shift, smoothing, epsilon).upper
        return 0 if upper <= target else None
    total = 0
    for reverse in (True, False):

        def holds(low: Fraction, high: Fraction, reverse: bool = reverse) -> bool:
            bounds = log_envelope(law, shift, (low, high), epsilon, reverse=reverse, target=target)
            return bounds.upper <= target

        intervals = _intervals(holds, smoothing)
        if intervals is None:
            return None
        total += intervals
    return total


def _intervals(holds: Callable[[Fraction, Fraction], bool], t: Fraction) -> int | None:
    """Cover [0, t] from t downwards with intervals that hold, while the next one can be found."""
    high, length, intervals = t, t, 0
    while high > 0:
        low = max(Fraction(0), high - length)
        if holds(low, high):
            high, intervals, length = low, intervals + 1, length * _GROWTH
        elif length * _SHORTEST < t:
            return None
        else:
            length /= _GROWTH
    return intervals


def log_delta_bounds(
    law: AbstractLaw, shift: Fraction, smoothing: Fraction, epsilon: Real, tolerance: float
) -> LogBounds:
    """Bound ln delta(epsilon): the upper side is within about ``tolerance`` if a cover allows."""
    at_ends = log_delta_at_ends(law, shift, smoothing, epsilon)
    if smoothing == 0:
        return at_ends
    target = at_ends.upper
    if target == -math.inf:
        if covered(law, shift, smoothing, epsilon, target) is not None:
            return at_ends
        target = -2000.0
    slack = tolerance
    while True:
        upper = min(0.0, target + slack)
        if upper == 0.0 or covered(law, shift, smoothing, epsilon, upper) is not None:
            return LogBounds(at_ends.lower, upper)
        slack *= 4
