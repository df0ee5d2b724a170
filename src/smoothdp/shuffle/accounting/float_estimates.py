"""Estimates as floats, with errors that count in how the floats were rounded."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from smoothdp.exact.parameters.numbers import float_bounds


def scaled_estimate(
    value: float,
    reach: float,
    *,
    factor: Fraction,
    offset: Fraction = Fraction(0),
    more: Fraction = Fraction(0),
) -> tuple[float, float]:
    """Return offset + factor * value and its error, rounded up: of all roundings to floats too.

    ``value`` is a float next to a sum that is wrong by ``reach``, ``more`` what the data's own
    rounding moves the result by.

    >>> scaled_estimate(3.0, 1.0, factor=Fraction(1), offset=Fraction(10**16))
    (1.0000000000000004e+16, 2.0000000000000004)
    """
    exact = offset + factor * Fraction(value)
    try:
        found = float(exact)
    except OverflowError:
        return math.copysign(math.inf, exact), math.inf
    off = abs(Fraction(found) - exact) + factor * (Fraction(reach) + half_unit(value)) + more
    return found, float_bounds(off)[1]


def error_of_counts(error: float, hidden: Fraction, counts: Iterable[float]) -> tuple[float, float]:
    """Return the error of counts as floats, and what of it is left to round them further.

    A count other than 0 is s - W + n gamma of whole numbers. So it is off by n gamma at most, or
    by a whole number less n gamma, and by less than the whole number ``error``.

    Args:
        error: of the counts as they are, a whole number >= n gamma.
        hidden: n gamma.
        counts: the counts as floats, sums of two that were rounded.

    >>> error_of_counts(67.0, Fraction(427468, 10000), [4993.75])[0]
    67.0
    >>> error_of_counts(67.0, Fraction(42), [4993.0])[0] > 67
    True
    """
    widest = max(map(abs, counts), default=0.0)
    off = half_unit(float(hidden)) + half_unit(widest)
    spare = max(Fraction(0), min(hidden % 1, Fraction(error) - hidden)) - off
    found = float_bounds(Fraction(error) + max(Fraction(0), -spare))[1]
    return found, float_bounds(max(Fraction(0), spare))[0]


def half_unit(value: float) -> Fraction:
    """Return how far a float may be from the number that it was rounded from.

    >>> half_unit(1e16)
    Fraction(1, 1)
    """
    return Fraction(math.ulp(value)) / 2


def misplaced(low: Fraction, high: Fraction, width: float) -> Fraction:
    """Return how far a value may be from where its place in [0, 1] has it, rounded up.

    Clipping to the floats next to the bounds, the difference and the quotient of floats, and
    places that are read to multiples of 2^-62.
    """
    exact = high - low
    clipped = max(abs(Fraction(float(low)) - low), abs(Fraction(float(high)) - high))
    share = abs(exact / Fraction(width) - 1) + Fraction(1, 1 << 51) + Fraction(1, 1 << 62)
    return 2 * clipped + exact * share
