"""The hockey stick of a Gaussian shift given by its square: compositions add squares."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from flint import arb

from smoothdp.exact.balls import ball, precision, round_up
from smoothdp.exact.curves import _FAR, _refined
from smoothdp.exact.logspace import LogBounds
from smoothdp.exact.parameters import Real


@lru_cache(maxsize=4096)
def log_gaussian_square_excess(square: Fraction, epsilon: Real) -> LogBounds:
    """Bound ln of Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m), m = sqrt(square) > 0, any e.

    >>> bounds = log_gaussian_square_excess(Fraction(1), Fraction(1))
    >>> round(math.exp(bounds.upper), 6)
    0.126937
    """

    def tail(x: arb) -> arb:
        return (x / arb(2).sqrt()).erfc() / 2

    with precision(128):
        shift = ball(square).sqrt()
        distance = ball(epsilon) / shift - shift / 2
        if distance > _FAR:
            # At most P(N(0, 1) > x) <= e^(-x^2 / 2).
            return LogBounds(-math.inf, round_up(-distance * distance / 2))

    def compute() -> arb:
        shift, target = ball(square).sqrt(), ball(epsilon)
        first = tail(target / shift - shift / 2)
        return (first - target.exp() * tail(target / shift + shift / 2)).log()

    return _refined(compute, 192)
