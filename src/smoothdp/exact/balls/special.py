"""Functions of balls that noise laws are made of, for callers that do not import flint."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeAlias, cast

from flint import acb, arb, ctx

from smoothdp.exact.balls.balls import enclose, precision
from smoothdp.exact.logspace.bounds import LogBounds

Ball: TypeAlias = arb
"""A real ball; functions that say so take complex balls as well."""

_MOST_BITS = 1 << 15
_MOST_BITS_OF_LOGARITHMS = 1 << 16
_FAR = 20_000


def per_precision(method: Callable[[Any], Ball]) -> Callable[[Any], Ball]:
    """Keep what a method returns on its object, until the working precision changes."""
    name = f"_kept{method.__name__}"

    @wraps(method)
    def kept(self: Any) -> Ball:
        entry = self.__dict__.get(name)
        if entry is None or entry[0] != ctx.prec:
            entry = self.__dict__[name] = ctx.prec, method(self)
        return entry[1]

    return kept


def number(value: float) -> Ball:
    """Return a float as a ball of radius 0."""
    return arb(value)


def interval(lower: Ball, upper: Ball) -> Ball:
    """Return a ball that contains two balls, real or complex, and everything between them."""
    return lower.union(upper)


def size(z: Ball) -> Ball:
    """Return the largest distance of a ball from 0."""
    return z.abs_upper()


def rectangle(center: Ball, width: float, height: float) -> Ball:
    """Return the complex numbers within ``width`` and ``height`` of a real ball."""
    return cast("Ball", acb(center + arb(0, width), arb(0, height)))


def complex_ball(real: Ball, imaginary: Ball) -> Ball:
    """Return the complex ball of a real and an imaginary part."""
    return cast("Ball", acb(real, imaginary))


def real(z: Ball) -> Ball:
    """Return the real range of a ball."""
    return z.real if isinstance(z, acb) else z


def lower(z: Ball) -> Ball:
    """Return the lower end of a real ball."""
    return z.lower()


def upper(z: Ball) -> Ball:
    """Return the upper end of a real ball."""
    return z.upper()


def imaginary_reach(z: Ball) -> Ball:
    """Return the largest distance of a ball from the real line."""
    return z.imag.abs_upper() if isinstance(z, acb) else arb(0)


def radius(z: Ball) -> Ball:
    """Return the radius of a real ball."""
    return z.rad()


def is_thin(z: Ball) -> bool:
    """Return whether a real ball is no wider than rounding makes it."""
    return bool(z.rad() <= (1 + abs(z.mid())) * arb(2) ** -30)


def is_sharp(z: Ball) -> bool:
    """Return whether a real ball is certainly positive, and known to a relative 2^-44."""
    return bool(z > 0) and bool(z.rad() < z.mid() * arb(2) ** -44)


def undefined() -> Ball:
    """Return a ball that says nothing."""
    return arb("nan")


def infinity() -> Ball:
    """Return +inf."""
    return arb("inf")


def log(z: Ball) -> Ball:
    """Return ln z; of a complex ball that meets (-inf, 0], where ln is not analytic, nan."""
    return z.log(analytic=True) if isinstance(z, acb) else z.log()


def sqrt(z: Ball) -> Ball:
    """Return the square root; of a complex ball that meets (-inf, 0], nan."""
    return z.sqrt(analytic=True) if isinstance(z, acb) else z.sqrt()


def pi() -> Ball:
    """Return pi at the present precision."""
    return arb.pi()


def maximum(first: Ball, second: Ball) -> Ball:
    """Return a ball around the larger of two real numbers."""
    return first.max(second)


def minimum(first: Ball, second: Ball) -> Ball:
    """Return a ball around the smaller of two real numbers."""
    return first.min(second)


def normal_tail(x: Ball) -> Ball:
    """Return P(N(0, 1) > x) for a real ball."""
    return _far_tail(x) if x > _FAR else (x / arb(2).sqrt()).erfc() / 2


def _far_tail(x: Ball) -> Ball:
    """Return it for x far above 0, where the library's erfc encloses less and less.

    By the divergent series of Mills' ratio: its error is below the first term that is left out.
    """
    total, term, turn = arb(0), arb(1), 0
    while not abs(term) < arb(2) ** -ctx.prec:
        total += term
        turn += 1
        term *= -(2 * turn - 1) / (x * x)
    total += arb(0, abs(term).abs_upper())
    return normal_log_density(x).exp() / x * total


def normal_log_density(x: Ball) -> Ball:
    """Return ln of the standard normal density."""
    return -x * x / 2 - _log_root_two_pi(ctx.prec)


@lru_cache(maxsize=64)
def _log_root_two_pi(bits: int) -> Ball:
    with precision(bits):
        return (2 * arb.pi()).log() / 2


def regularized_beta(x: Ball, a: Ball, b: Ball) -> Ball:
    """Return the regularized incomplete beta function I_x(a, b), 0 <= x <= 1."""
    return x.beta_lower(a, b, regularized=True)


def nearest(compute: Callable[[], Ball], *, bits: int = 128) -> float:
    """Return the float nearest to what ``compute`` encloses, to within one unit.

    The working precision is raised until the ball is narrow; inf beyond floats.

    >>> nearest(lambda: pi())
    3.141592653589793
    """
    while True:
        with precision(bits):
            value = compute()
            if value.is_finite() and value.rel_accuracy_bits() > 60:
                return _to_float(value)
        if bits >= _MOST_BITS:
            if value.contains(0) and value.is_finite() and value.abs_upper() < 1e-320:
                return 0.0
            raise ArithmeticError("a number could not be enclosed narrowly")
        bits *= 2


def log_probability(compute: Callable[[], Ball], *, bits: int) -> LogBounds:
    """Bound the logarithm of a probability, which ``compute`` encloses.

    The working precision is raised from ``bits`` until the ball is narrow. No bound is above 0.

    >>> log_probability(lambda: log(number(0.5)), bits=128)
    LogBounds(lower=-0.6931471805599454, upper=-0.6931471805599453)
    """
    while True:
        with precision(bits):
            value = compute()
            if value.is_finite() and (value.rel_accuracy_bits() > 60 or float(value.rad()) < 1e-17):
                bounds = enclose(value)
                return LogBounds(bounds.lower, min(0.0, bounds.upper))
        if bits >= _MOST_BITS_OF_LOGARITHMS:
            upper = enclose(value).upper if value.is_finite() else 0.0
            return LogBounds(-math.inf, min(0.0, upper))
        bits *= 2


def _to_float(value: Ball) -> float:
    try:
        return float(value.mid())
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def working_bits() -> int:
    """Return the present working precision.

    >>> with precision(128):
    ...     working_bits()
    128
    """
    return int(ctx.prec)
