"""The hockey stick of a Laplace shift, by balls."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from flint import arb

from smoothdp.exact.balls import ball
from smoothdp.exact.curves import _refined, at_most
from smoothdp.exact.logspace import LOG_ZERO, LogBounds
from smoothdp.exact.parameters import Real


@lru_cache(maxsize=4096)
def log_laplace_excess(ratio: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of 1 - e^((epsilon - a) / 2) for 0 <= epsilon < a = ratio, and of 0 beyond.

    >>> log_laplace_excess(Fraction(1), Fraction(1))
    LogBounds(lower=-inf, upper=-inf)
    """
    if at_most(ratio, epsilon):
        return LOG_ZERO

    def compute() -> arb:
        return (-((ball(epsilon) - ball(ratio)) / 2).expm1()).log()

    return _refined(compute, 128)
