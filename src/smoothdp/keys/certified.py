"""Numbers computed in balls, as precisely as a float tells them, and whole numbers decided so."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from smoothdp.claims.domains import read_epsilon, read_inner_probability
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import enclose, log_bounds, precision, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.logspace.bounds import LOG_ONE, LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, float_bounds, sign

_ENOUGH_BITS = 60
_LAST_BITS = 1 << 13


class Probability(NamedTuple):
    """A probability: a float that is not below it, and floats around its logarithm."""

    upper: float
    log: LogBounds


ZERO = Probability(0.0, LOG_ZERO)
ONE = Probability(1.0, LOG_ONE)


def probability(make: Callable[[], Ball]) -> Probability:
    """Return a positive probability; ``make`` encloses it at the present precision."""
    bits = 128
    while True:
        with precision(bits):
            value = make()
            if value.rel_accuracy_bits() >= _ENOUGH_BITS:
                low, high = enclose(value.log())
                return Probability(
                    min(1.0, round_up(value)), LogBounds(min(low, 0.0), min(high, 0.0))
                )
            if bits >= _LAST_BITS:
                # Below all exponents that balls have: known from above only.
                most = round_up(value.upper().log())
                return Probability(min(1.0, round_up(value)), LogBounds(-math.inf, min(most, 0.0)))
        bits *= 2


def exact_probability(value: Fraction) -> Probability:
    """Return a rational probability in (0, 1]."""
    return Probability(float_bounds(value)[1], log_bounds(value))


def ceiling(make: Callable[[], Ball], *, holds: Callable[[int], bool]) -> int:
    """Return the least whole number that is not below a number.

    Args:
        make: encloses the number at the present precision.
        holds: whether a whole number is not below it, exactly: asked only where the number is a
            whole one or next to it.
    """
    bits = 128
    while True:
        with precision(bits):
            value = make()
            lower, upper = value.lower().ceil(), value.upper().ceil()
            first, last = lower.unique_fmpz(), upper.unique_fmpz()
        if first is not None and last is not None:
            if first == last:
                return int(first)
            if bits >= _LAST_BITS and last - first == 1:
                return int(first) if holds(int(first)) else int(last)
        bits *= 2


def read_rate(epsilon: Parameter) -> Real:
    """Return an exact epsilon > 0, at least 1e-300 and at most 1e300."""
    exact = read_epsilon(epsilon)
    small = sign(exact) == 0 or (isinstance(exact, Fraction) and exact < Fraction(1, 10**300))
    if small:
        raise InvalidParameter(
            expected="epsilon above 0", got=f"epsilon={epsilon}", remedy="Give one such as 0.1"
        )
    return exact


def read_delta_inside(delta: Parameter) -> Fraction:
    """Return an exact delta in (0, 1)."""
    return read_inner_probability(delta)


def ratio_power(epsilon: LogRatio, exponent: int) -> Fraction:
    """Return e^(-exponent epsilon), exactly."""
    return epsilon.ratio ** (-exponent)
