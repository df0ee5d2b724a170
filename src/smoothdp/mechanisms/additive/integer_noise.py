"""Noise on the whole numbers for a given guarantee."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms, RhoTerms
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.mechanisms.additive.discrete_gaussian import DiscreteGaussianMechanism
from smoothdp.mechanisms.additive.discrete_laplace import DiscreteLaplaceMechanism

IntegerNoise = DiscreteLaplaceMechanism | DiscreteGaussianMechanism


def integer_noise(guarantee: Guarantee, *, sensitivity: int = 1) -> IntegerNoise:
    """Return the noise that a guarantee pays for: Laplace for an epsilon, Gaussian for a rho.

    Raises:
        InvalidParameter: a guarantee that allows no loss.
        IncompatibleClaims: a claim of another kind.

    >>> from smoothdp.claims import PureDP
    >>> integer_noise(PureDP("0.1", neighbours="add_remove")).exact_scale
    Fraction(10, 1)
    """
    terms = guarantee.terms()
    if isinstance(terms, EpsilonTerms):
        epsilon = terms.epsilon
        if isinstance(epsilon, LogRatio):
            epsilon = Fraction(log_bounds(epsilon.ratio).lower)
        _check_positive(epsilon, guarantee)
        scale = sensitivity / epsilon
        return DiscreteLaplaceMechanism(scale, sensitivity, neighbours=guarantee.neighbours)
    if isinstance(terms, RhoTerms):
        _check_positive(terms.rho, guarantee)
        variance = Fraction(sensitivity**2) / (2 * terms.rho)
        return DiscreteGaussianMechanism(variance, sensitivity, neighbours=guarantee.neighbours)
    raise IncompatibleClaims(
        expected="PureDP, ApproxDP, ZCDP or TruncatedCDP for noise on whole numbers",
        got=f"{guarantee!r}",
        remedy="Give one of these",
    )


def noise_deviation(noise: IntegerNoise) -> float:
    """Return about the standard deviation of the noise: to choose by, not to promise.

    >>> from smoothdp.claims import PureDP
    >>> round(noise_deviation(integer_noise(PureDP(1))), 4)
    1.357
    """
    if isinstance(noise, DiscreteGaussianMechanism):
        return math.sqrt(noise.exact_sigma_squared)
    half = 1 / (2 * float(noise.exact_scale))
    return 1 / (math.sqrt(2) * math.sinh(half)) if half < 300 else 0.0


def _check_positive(amount: Fraction, guarantee: Guarantee) -> None:
    if amount <= 0:
        raise InvalidParameter(
            expected="a guarantee that allows some loss",
            got=f"{guarantee!r}",
            remedy="Raise its epsilon or rho",
        )
