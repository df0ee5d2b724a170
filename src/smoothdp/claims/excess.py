"""What one notion of privacy costs in another, rounded up."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from smoothdp.exact.balls import log_bounds
from smoothdp.exact.bisection import smallest_true
from smoothdp.exact.curves import normal_cdf_at_least
from smoothdp.exact.parameters import Real

# Beyond it no pure claim is told from none at the precision of `normal_cdf_at_least`.
_LARGEST_MU = 64.0


def rho_of_pure(epsilon: Real) -> Fraction:
    """Return epsilon^2 / 2, exactly for a rational epsilon and rounded up otherwise."""
    if isinstance(epsilon, Fraction):
        return epsilon * epsilon / 2
    upper = Fraction(log_bounds(epsilon.ratio).upper)
    return upper * upper / 2


@lru_cache(maxsize=256)
def mu_of_pure(epsilon: Real) -> Fraction | None:
    """Return the least mu with Phi(mu / 2) >= e^epsilon / (1 + e^epsilon), rounded up.

    Randomised response of that epsilon is then no easier to attack than N(0, 1) against
    N(mu, 1): both corners of its trade-off curve lie on or above that of mu. None where no mu
    is certain: for epsilons above 176.

    >>> mu_of_pure(Fraction(0))
    Fraction(0, 1)
    >>> 1.23 < mu_of_pure(Fraction(1)) < 1.24
    True
    """
    if epsilon == 0:
        return Fraction(0)
    mu = smallest_true(lambda mu: normal_cdf_at_least(Fraction(mu) / 2, epsilon), high=_LARGEST_MU)
    return None if math.isinf(mu) else Fraction(mu)
