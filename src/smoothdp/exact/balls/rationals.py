"""From balls to rational numbers around them, and to sums of two floats."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.logspace.double_double import split_rational
from smoothdp.exact.parameters.numbers import LogRatio, Real

_DIGITS = 64
_ACCURATE = 60
_MOST_BITS = 1 << 13


def fraction_ends(value: arb) -> tuple[Fraction, Fraction]:
    """Return rational numbers around a finite ball, rounded outwards to 64 binary digits.

    >>> low, high = fraction_ends(arb(2).sqrt())
    >>> low**2 < 2 < high**2 and high - low < Fraction(1, 10**14)
    True
    """
    return _rounded(value.lower(), -1), _rounded(value.upper(), 1)


def positive_ends(
    compute: Callable[[], arb], *, bits: int = 128
) -> tuple[Fraction, Fraction] | None:
    """Return positive rationals around what ``compute`` encloses, 60 binary digits apart.

    The working precision is raised until the ball is narrow. None if the number is not
    above 0, or cannot be told from 0 with 8,192 bits.

    >>> positive_ends(lambda: arb(2) - 3) is None
    True
    """
    while True:
        with precision(bits):
            value = compute()
            if value <= 0:
                return None
            if value.is_finite() and value > 0 and value.rel_accuracy_bits() >= _ACCURATE:
                return fraction_ends(value)
        if bits >= _MOST_BITS:
            return None
        bits *= 2


def exp_split(value: Real) -> tuple[float, float]:
    """Return floats (high, low) with |e^value - high - low| <= 2^-100 e^value < 1e280.

    >>> exp_split(LogRatio(Fraction(3)))
    (3.0, 0.0)
    """
    if isinstance(value, LogRatio):
        return split_rational(value.ratio)
    with precision(256):
        number = ball(value).exp()
        high = float(number.mid())
        return high, float((number - arb(high)).mid())


def _rounded(point: arb, side: int) -> Fraction:
    """Return a ball of radius 0 to 64 binary digits, rounded down or up."""
    mantissa, exponent = (int(part) for part in point.man_exp())
    excess = abs(mantissa).bit_length() - _DIGITS
    if excess > 0:
        mantissa = mantissa >> excess if side < 0 else -(-mantissa >> excess)
        exponent += excess
    return mantissa * Fraction(2) ** exponent
