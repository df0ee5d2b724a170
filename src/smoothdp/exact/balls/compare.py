"""Comparisons of exact numbers, and floats around a normal quantile, decided in balls."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb

from smoothdp.exact.balls.balls import ball, log_bounds, precision, round_down, round_up
from smoothdp.exact.logspace.bounds import SMALLEST_FLOAT
from smoothdp.exact.parameters.numbers import LogRatio, Real


def _compare(first: Real, second: Real) -> int:
    """Return the sign of first - second (exactly, by precision raised as needed)."""
    if first == second:
        return 0
    bits = 128
    while True:
        with precision(bits):
            gap = ball(first) - ball(second)
            if gap > 0:
                return 1
            if gap < 0:
                return -1
        bits *= 2


def at_most(first: Real, second: Real) -> bool:
    """Return whether first <= second, decided exactly."""
    return _compare(first, second) <= 0


def chord_share(first: Real, at: Real, last: Real) -> tuple[float, float]:
    """Return floats around (e^last - e^at) / (e^last - e^first), for first < last.

    >>> low, high = chord_share(Fraction(0), LogRatio(Fraction(2)), LogRatio(Fraction(3)))
    >>> low <= 0.5 <= high < 0.5 + 1e-15
    True
    """
    bits = 192
    while True:
        with precision(bits):
            # Of e^first throughout, so that nothing is large.
            whole = (ball(last) - ball(first)).expm1()
            part = (ball(at) - ball(first)).expm1()
            share = (whole - part) / whole
            if share.is_finite():
                return round_down(share), round_up(share)
        bits *= 2


def normal_cdf_at_least(x: Real, odds: Real) -> bool:
    """Return True if Phi(x) >= e^odds / (1 + e^odds) is certain."""
    with precision(256):
        phi = (-ball(x) / arb(2).sqrt()).erfc() / 2
        return bool(phi >= 1 / (1 + (-ball(odds)).exp()))


@lru_cache(maxsize=65536)
def normal_upper_quantile(log_tail: float) -> tuple[float, float]:
    """Return floats around the x with P(N(0, 1) > x) = e^log_tail < 1; inf for -inf.

    >>> [round(x, 6) for x in normal_upper_quantile(math.log(0.025))]
    [1.959964, 1.959964]
    """
    if log_tail == -math.inf:
        return math.inf, math.inf
    bits = 96
    while True:
        with precision(bits):
            x = (2 * arb(log_tail).exp()).erfcinv() * arb(2).sqrt()
            if x.is_finite() and float(x.rad()) < 1e-18 * (1 + abs(float(x))):
                return round_down(x), round_up(x)
        bits *= 2


def float_up(value: Real) -> float:
    """Return a float not below an exact number; a number read from a float gives that float.

    >>> float_up(Fraction(1, 10)), Fraction(float_up(Fraction(1, 3))) > Fraction(1, 3)
    (0.1, True)
    """
    if isinstance(value, LogRatio):
        return log_bounds(value.ratio).upper
    nearest = float(value)
    if Fraction(repr(nearest)) == value or Fraction(nearest) >= value:
        return max(nearest, SMALLEST_FLOAT) if value > 0 else nearest
    return math.nextafter(nearest, math.inf)
