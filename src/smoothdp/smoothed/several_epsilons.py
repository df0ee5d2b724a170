"""The epsilon that belongs to a delta: a few evaluations, and chords between them.

Smoothed delta is convex and falls in e^epsilon, so between two epsilons it is at most the chord
through proved upper bounds (proofs/boundary-walk#7).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from smoothdp.errors import OutOfReach

_FIRST, _LARGEST = 0.25, 300.0
_MOST_KNOTS = 16
_CLOSE = 1e-3


def least_epsilon(
    log_upper: Callable[[float], float], log_target: float, known: tuple[float, float]
) -> float:
    """Return an epsilon at which a bound is proved to be at most the target.

    Args:
        log_upper: ln of an upper bound of smoothed delta at an epsilon.
        log_target: ln of the target.
        known: an epsilon and ln of the bound there.

    Raises:
        OutOfReach: the bound is above the target at every epsilon up to 300.
    """
    low, at_low = 0.0, log_upper(0.0)
    if at_low <= log_target:
        return 0.0
    high, at_high = known
    if high <= 0:
        high = _FIRST
        at_high = log_upper(high)
    while at_high > log_target:
        if high >= _LARGEST:
            raise OutOfReach(
                expected=f"a delta that some epsilon up to {_LARGEST:.0f} has",
                got=f"{math.exp(max(-700.0, log_target)):.3g}, and at the last still "
                f"{math.exp(max(-700.0, at_high)):.3g}",
                remedy="Give a larger delta, or draw fewer records",
            )
        low, at_low = high, at_high
        high = min(_LARGEST, 2 * high)
        at_high = log_upper(high)
    for _ in range(_MOST_KNOTS):
        if high - low < _CLOSE * high:
            break
        # ln of the bound is nearly straight in epsilon; never nearer to an end than a tenth.
        share = (at_low - log_target) / (at_low - at_high) if at_high > -math.inf else 0.5
        middle = low + min(0.9, max(0.1, share + 0.02)) * (high - low)
        value = log_upper(middle)
        if value <= log_target:
            high, at_high = middle, value
        else:
            low, at_low = middle, value
    chord = _chord(low, at_low, high, at_high, log_target)
    return chord if chord < high and log_upper(chord) <= log_target else high


def _chord(low: float, at_low: float, high: float, at_high: float, log_target: float) -> float:
    """Return about where the chord in e^epsilon meets the target."""
    above, below = math.expm1(at_low - log_target), -math.expm1(at_high - log_target)
    if not math.isfinite(above) or above + below <= 0:
        return high
    return high + math.log1p(-below / (above + below) * -math.expm1(low - high))
