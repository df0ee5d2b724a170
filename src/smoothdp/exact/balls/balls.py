"""Ball arithmetic: the slow second route, and the arbiter of the fast one.

This is the only folder that imports flint. flint's working precision is one setting
for the whole process, so it is only ever changed inside `precision`, which holds a
lock: two threads cannot change each other's precision.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx, fmpq, fmpz

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real

_BEYOND_FLOATS = 710
"""e to this is above the largest float."""
_FINE = 1 << 900
"""Ratios of whole numbers up to here are no larger than floats."""

_PRECISION_LOCK = threading.RLock()

# A process is forked only while no other thread is inside `precision`: the child must not
# inherit a lock that nobody frees, nor a precision that nobody restores.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_PRECISION_LOCK.acquire,
        after_in_parent=_PRECISION_LOCK.release,
        after_in_child=_PRECISION_LOCK.release,
    )


class precision:  # noqa: N801 - reads as a verb phrase in `with precision(128):`
    """Run the body at ``bits`` of working precision, alone, and restore it after.

    >>> with precision(128):
    ...     third = arb(1) / 3
    """

    __slots__ = ("_before", "_bits")

    def __init__(self, bits: int) -> None:
        self._bits = bits

    def __enter__(self) -> None:
        _PRECISION_LOCK.acquire()
        self._before = ctx.prec
        ctx.prec = self._bits

    def __exit__(self, *exc: object) -> None:
        ctx.prec = self._before
        _PRECISION_LOCK.release()


def ball(value: Real | int) -> arb:
    """Enclose an exact number at the present precision."""
    if isinstance(value, LogRatio):
        numerator, denominator = value.ratio.numerator, value.ratio.denominator
        if 2 * numerator > denominator and 2 * denominator > numerator:
            # ln(1 + x) keeps the relative accuracy of ratios close to 1.
            return arb(fmpq(numerator - denominator, denominator)).log1p()
        return arb(fmpz(numerator)).log() - arb(fmpz(denominator)).log()
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(fmpz(value))


def round_down(value: arb) -> float:
    """Return a float not above any point of the ball (nan if the ball is not finite)."""
    lower = value.lower()
    as_float = float(lower)
    return as_float if arb(as_float) <= lower else math.nextafter(as_float, -math.inf)


def round_up(value: arb) -> float:
    """Return a float not below any point of the ball (nan if the ball is not finite)."""
    upper = value.upper()
    as_float = float(upper)
    return as_float if arb(as_float) >= upper else math.nextafter(as_float, math.inf)


def decimal_up(value: arb, *, digits: int) -> Fraction:
    """Return a decimal of so many digits, or one more, that is not below a number above 0.

    >>> decimal_up(ball(Fraction(2, 3)), digits=3)
    Fraction(6667, 10000)
    """
    whole, exponent = value.upper().man_exp()
    upper = Fraction(int(whole)) * Fraction(2) ** int(exponent)
    size = upper.numerator.bit_length() - upper.denominator.bit_length()
    unit = Fraction(10) ** (digits - math.floor(size * math.log10(2)))
    return math.ceil(upper * unit) / unit


def enclose(value: arb) -> LogBounds:
    """Return the ball as a pair of floats, rounded outwards."""
    return LogBounds(round_down(value), round_up(value))


@lru_cache(maxsize=65536)
def log_factorial(n: int, bits: int = 128) -> arb:
    """Enclose ln n!."""
    with precision(bits):
        return arb(n + 1).lgamma()


@lru_cache(maxsize=4096)
def log_bounds(value: Fraction) -> LogBounds:
    """Return floats around ln(value), for a rational value > 0 of any size."""
    with precision(128):
        return enclose(ball(LogRatio(value)))


def real_bounds(value: Real) -> LogBounds:
    """Return floats around an exact number, equal if it is a float."""
    if isinstance(value, LogRatio):
        return log_bounds(value.ratio)
    if value.denominator <= _FINE and abs(value.numerator) <= _FINE:
        near = float(value)
        if near.as_integer_ratio() == (value.numerator, value.denominator):
            return LogBounds(near, near)
    with precision(64):
        return enclose(ball(value))


def exp_bounds(value: Real) -> LogBounds:
    """Return floats around e^value, neighbours at most."""
    if isinstance(value, LogRatio):
        return real_bounds(value.ratio)
    if value > _BEYOND_FLOATS:
        # A ball of so large a power has no bounds at all.
        return LogBounds(sys.float_info.max, math.inf)
    with precision(128):
        return enclose(ball(value).exp())


def divergence_above(q: Fraction, p: Fraction, limit: Fraction) -> bool:
    """Whether KL of Bernoulli(q) from Bernoulli(p) is certainly above a limit; 0 <= q < 1.

    >>> divergence_above(Fraction(1, 10), Fraction(1, 2), Fraction(1, 10))
    True
    """
    if p in (0, 1):
        return q != p
    with precision(192):
        total = arb(0)
        for share, chance in ((q, p), (1 - q, 1 - p)):
            if share:
                total += ball(share) * ball(LogRatio(share / chance))
        return bool(total > ball(limit))


def _to_fixed(value: arb, bits: int) -> tuple[int, int]:
    """Return integers (lower, upper) with lower <= value * 2^bits <= upper."""
    return whole_ends(value * arb(fmpz(1) << bits))


def whole_ends(value: arb) -> tuple[int, int]:
    """Return whole numbers around a ball.

    >>> whole_ends(arb(5) / 2)
    (2, 3)
    """
    return _whole(value.lower().floor()), _whole(value.upper().ceil())


def _whole(value: arb) -> int:
    number = value.unique_fmpz()
    if number is None:
        raise ArithmeticError("the working precision is too low for a whole number")
    return int(number)


@lru_cache(maxsize=1024)
def expm1_fixed(value: Real, bits: int) -> tuple[int, int]:
    """Return integers around (e^value - 1) * 2^bits; equal to within a few units.

    >>> expm1_fixed(LogRatio(Fraction(3)), 4)
    (32, 32)
    """
    if isinstance(value, LogRatio):
        excess = value.ratio - 1
        scaled = excess * (1 << bits)
        return math.floor(scaled), math.ceil(scaled)
    magnitude = max(0, math.ceil(float(value) / math.log(2)))
    with precision(bits + magnitude + 32):
        return _to_fixed(ball(value).expm1(), bits)


@lru_cache(maxsize=1024)
def real_fixed(value: Real, bits: int) -> tuple[int, int]:
    """Return integers around value * 2^bits; equal to within a few units."""
    if isinstance(value, Fraction):
        scaled = value * (1 << bits)
        return math.floor(scaled), math.ceil(scaled)
    with precision(bits + 64):
        return _to_fixed(ball(value), bits)
