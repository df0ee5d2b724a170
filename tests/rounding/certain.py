"""Whether a number is certainly between two floats: at 300 bits, from Arb itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from flint import arb, ctx, fmpq

BITS = 300


@contextmanager
def bits(count: int = BITS) -> Iterator[None]:
    """Run the body at a working precision, and restore the one before."""
    before, ctx.prec = ctx.prec, count
    try:
        yield
    finally:
        ctx.prec = before


def exact(value: float | Fraction) -> arb:
    """Return a float or a rational as a ball."""
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    return arb(value)


def between(lower: float, truth: Callable[[], arb], upper: float) -> bool:
    """Return whether lower <= truth <= upper is certain; infinite ends hold."""
    with bits():
        value = truth()
        assert value.is_finite()
        below = lower == -math.inf or bool(exact(lower) <= value)
        above = upper == math.inf or bool(exact(upper) >= value)
        return below and above


def log_between(lower: float, truth: Fraction, upper: float) -> bool:
    """Return whether lower <= ln(truth) <= upper is certain."""
    if truth == 0:
        return lower == -math.inf
    return between(lower, lambda: exact(truth).log(), upper)


def log_of(value: arb | float | Fraction) -> Callable[[], arb]:
    """Return what computes the logarithm of a number."""
    return lambda: (value if isinstance(value, arb) else exact(value)).log()


def exp_of(value: float | Fraction) -> Callable[[], arb]:
    """Return what computes the exponential of a number."""
    return lambda: exact(value).exp()
