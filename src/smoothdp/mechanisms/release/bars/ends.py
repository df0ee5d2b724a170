"""The ends of an interval: a function of what is released, in floats with roundings outward."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.queries.read_arguments import Bounds

LOG_STEP = Fraction(1, 1 << 20)
"""The step of L: the interval is wider by at most 5e-7 of itself."""

_FLOAT_ERROR = 1e-11
_LEAST_HALF = 1e-300
"""Below it floats lose digits: a half-width of less is rounded up to it."""


def ends_around(
    value: Fraction, log_half: float, *, bounds: Bounds, step: Fraction
) -> tuple[Fraction, Fraction]:
    """Return value +- e^log_half within the bounds, with half a step of both grids added.

    Args:
        value: y on its grid, not clamped. log_half: ln of the half-width by the rounded L.
        bounds: (a, b). step: that of the grid of y.

    Source: proofs/error-bars#3, proofs/quantile-bars#2.

    >>> ends_around(Fraction(5), -9e9, bounds=(Fraction(0), Fraction(9)), step=Fraction(2))
    (Fraction(...), Fraction(...))
    """
    lower, upper = bounds
    log_half += float(LOG_STEP) / 2 + _FLOAT_ERROR
    if log_half < 700:
        half = Fraction(max(math.exp(log_half) * (1 + _FLOAT_ERROR), _LEAST_HALF)) + step / 2
        # An empty intersection leaves the end that is nearest.
        return min(max(lower, value - half), upper), max(min(upper, value + half), lower)
    return lower, upper
