"""The float of an exact number, on the upper side."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.balls import log_bounds
from smoothdp.exact.logspace import SMALLEST_FLOAT
from smoothdp.exact.parameters import LogRatio, Real


def float_up(value: Real) -> float:
    """Return a float not below an exact number, and equal to a float that was given.

    >>> float_up(Fraction(1, 10)), Fraction(float_up(Fraction(1, 3))) > Fraction(1, 3)
    (0.1, True)
    """
    if isinstance(value, LogRatio):
        return log_bounds(value.ratio).upper
    nearest = float(value)
    if Fraction(repr(nearest)) == value or Fraction(nearest) >= value:
        return max(nearest, SMALLEST_FLOAT) if value > 0 else nearest
    return math.nextafter(nearest, math.inf)
