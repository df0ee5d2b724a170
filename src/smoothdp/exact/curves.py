"""Special functions that privacy profiles are made of, by balls, as bounded logarithms."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from flint import arb

from smoothdp.exact.balls import ball, enclose, precision, round_down, round_up
from smoothdp.exact.logspace import LOG_ZERO, LogBounds
from smoothdp.exact.parameters import LogRatio, Real

_MOST_BITS = 1 << 16
# Beyond this many standard deviations a bound is as good as the value.
_FAR = 1e6


def _refined(compute: Callable[[], arb], bits: int) -> LogBounds:
    """Return ln of a positive ball, raising the precision until it is sharp."""
    while True:
        with precision(bits):
            log_value = compute()
            if log_value.is_finite() and (
                log_value.rel_accuracy_bits() > 60 or float(log_value.rad()) < 1e-17
            ):
                bounds = enclose(log_value)
                return LogBounds(bounds.lower, min(0.0, bounds.upper))
        if bits >= _MOST_BITS:
            return LogBounds(-math.inf, 0.0 if not log_value.is_finite() else bounds_up(log_value))
        bits *= 2


def bounds_up(value: arb) -> float:
    """Return a float not below the ball, at most 0."""
    return min(0.0, enclose(value).upper)


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


@lru_cache(maxsize=4096)
def log_two_point_excess(limit: Real, epsilon: Real, floor: Fraction) -> LogBounds:
    """Bound ln of floor + (1 - floor) max(0, e^limit - e^epsilon) / (1 + e^limit).

    >>> log_two_point_excess(Fraction(1), Fraction(2), Fraction(0))
    LogBounds(lower=-inf, upper=-inf)
    """
    if floor == 1:
        return LogBounds(0.0, 0.0)
    if at_most(limit, epsilon):
        if floor == 0:
            return LOG_ZERO
        return _refined(lambda: ball(LogRatio(floor)), 128)

    def compute() -> arb:
        top, here = ball(limit), ball(epsilon)
        share = -(here - top).expm1() / (1 + (-top).exp())
        return (ball(floor) + (1 - ball(floor)) * share).log()

    return _refined(compute, 128)


@lru_cache(maxsize=4096)
def log_gaussian_excess(mu: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), mu > 0.

    Exact at any depth: the working precision follows the cancellation.
    """

    def phi(x: arb) -> arb:
        return (-x / arb(2).sqrt()).erfc() / 2

    with precision(128):
        distance = ball(epsilon) / ball(mu) - ball(mu) / 2
        if distance > _FAR:
            # At most P(N(0, 1) > x) <= e^(-x^2 / 2).
            return LogBounds(-math.inf, round_up(-distance * distance / 2))

    def compute() -> arb:
        shift, target = ball(mu), ball(epsilon)
        first = phi(shift / 2 - target / shift)
        return (first - target.exp() * phi(-shift / 2 - target / shift)).log()

    return _refined(compute, 192)


@lru_cache(maxsize=4096)
def log_order_bound(rho: Fraction, order: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of exp((a - 1)(a rho - epsilon)) / (a - 1) (1 - 1/a)^a, for a = order > 1."""

    def compute() -> arb:
        a = ball(order)
        power = (a - 1) * (a * ball(rho) - ball(epsilon))
        return power - (a - 1).log() + a * (1 - 1 / a).log()

    with precision(192):
        return enclose(compute())


@lru_cache(maxsize=4096)
def log_distance_bound(rho: Fraction) -> LogBounds:
    """Bound ln of min(sqrt(rho / 2), sqrt(1 - e^-rho)), a bound of total variation."""

    def compute() -> arb:
        r = ball(rho)
        return (r / 2).min(-(-r).expm1()).log() / 2

    return _refined(compute, 128)


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
