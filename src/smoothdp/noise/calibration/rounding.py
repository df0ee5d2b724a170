"""Shifts as short decimals: easy to print, quick to compute with."""

from __future__ import annotations

import math
from fractions import Fraction

_DIGITS = 12


def below(value: float) -> Fraction:
    """Return a rational of 12 decimal digits, not above a positive float.

    >>> below(0.1234567890123456)
    Fraction(30864197253, 250000000000)
    """
    exponent = _DIGITS - 1 - math.floor(math.log10(value))
    scale = Fraction(10) ** exponent
    return Fraction(math.floor(Fraction(value) * scale)) / scale
