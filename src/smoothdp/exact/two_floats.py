"""An exponential as the sum of two floats."""

from __future__ import annotations

from flint import arb

from smoothdp.exact.balls import ball, precision
from smoothdp.exact.double_double import split_rational
from smoothdp.exact.parameters import LogRatio, Real


def exp_split(value: Real) -> tuple[float, float]:
    """Return floats (high, low) with |e^value - high - low| <= 2^-100 e^value < 1e280.

    >>> from fractions import Fraction
    >>> exp_split(LogRatio(Fraction(3)))
    (3.0, 0.0)
    """
    if isinstance(value, LogRatio):
        return split_rational(value.ratio)
    with precision(256):
        number = ball(value).exp()
        high = float(number.mid())
        return high, float((number - arb(high)).mid())
