"""The hockey stick of a Gaussian shift seen with probability q, in closed form, by balls."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb

from smoothdp.exact.balls import ball, enclose, precision
from smoothdp.exact.curves import _refined
from smoothdp.exact.logspace import LOG_ZERO, LogBounds
from smoothdp.exact.parameters import LogRatio, Real


def _upper_tail(x: arb) -> arb:
    return (x / arb(2).sqrt()).erfc() / 2


def _excess(epsilon: Real) -> arb:
    """Enclose e^epsilon - 1."""
    if isinstance(epsilon, LogRatio):
        return ball(epsilon.ratio - 1)
    return ball(epsilon).expm1()


@lru_cache(maxsize=4096)
def log_mixture_excess(rate: Fraction, mu: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of the hockey stick of (1 - q) N(0, 1) + q N(mu, 1) over N(0, 1), epsilon >= 0.

    It is q times that of N(mu, 1) over N(0, 1) at ln(1 + (e^epsilon - 1) / q).
    """

    def compute() -> arb:
        inner, shift = (_excess(epsilon) / ball(rate)).log1p(), ball(mu)
        first = _upper_tail(inner / shift - shift / 2)
        value = first - inner.exp() * _upper_tail(inner / shift + shift / 2)
        return (ball(rate) * value).log()

    return _refined(compute, 192)


@lru_cache(maxsize=256)
def log_mass_at_zero(rate: Fraction, mu: Fraction) -> LogBounds:
    """Bound ln of 1 - P(y > mu/2) - Q(y > mu/2), P the mixture and Q = N(0, 1)."""
    with precision(192):
        q, shift = ball(rate), ball(mu)
        value = 1 - (2 - q) * _upper_tail(shift / 2) - q * _upper_tail(-shift / 2)
        return enclose(value.log()) if value > 0 else LOG_ZERO
