"""Noise on the whole numbers for a given guarantee."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms, MuTerms, RhoTerms
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import LogRatio, square_root
from smoothdp.exact.probabilities.discrete_gaussian_mu import sigma_squared_of_mu
from smoothdp.mechanisms.additive.discrete_gaussian import DiscreteGaussianMechanism
from smoothdp.mechanisms.additive.discrete_laplace import DiscreteLaplaceMechanism
from smoothdp.mechanisms.additive.whole_laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    WholeLaw,
)

IntegerNoise = DiscreteLaplaceMechanism | DiscreteGaussianMechanism


def integer_noise(guarantee: Guarantee, *, sensitivity: int = 1) -> IntegerNoise:
    """Return the noise that a guarantee pays for: Laplace for an epsilon, else Gaussian.

    Raises:
        InvalidParameter: a guarantee that allows no loss.
        IncompatibleClaims: a claim of another kind.

    >>> from smoothdp.claims import PureDP
    >>> integer_noise(PureDP("0.1", neighbours="add_remove")).exact_scale
    Fraction(10, 1)
    """
    law = whole_law(guarantee, total=sensitivity, square=sensitivity**2)
    about = guarantee.neighbours
    if isinstance(law, DiscreteLaplaceLaw):
        return DiscreteLaplaceMechanism(law.scale, sensitivity, neighbours=about)
    assert isinstance(law, DiscreteGaussianLaw)
    return DiscreteGaussianMechanism(law.sigma_squared, sensitivity, neighbours=about)


def whole_law(guarantee: Guarantee, *, total: int, square: int) -> WholeLaw:
    """Return the law of the noise on each of several whole numbers.

    Discrete Laplace of scale total / epsilon, discrete Gaussian of sigma^2 = square / (2 rho), or
    for mu the discrete Gaussian that is mu / sqrt(square)-Gaussian DP for one step: by its own
    curve, with more noise than sqrt(square) / mu (proofs/gaussian-dp#6).

    Args:
        guarantee: what the noise is to keep.
        total: how far neighbours are apart at most, summed over the numbers.
        square: the squares of these distances, summed.

    Raises:
        InvalidParameter: a guarantee that allows no loss.
        IncompatibleClaims: a claim of another kind.

    >>> from smoothdp.claims import ZCDP
    >>> whole_law(ZCDP("1/8"), total=2, square=2)
    DiscreteGaussianLaw(sigma_squared=Fraction(8, 1))
    """
    terms = guarantee.terms()
    if isinstance(terms, EpsilonTerms):
        epsilon = terms.epsilon
        if isinstance(epsilon, LogRatio):
            epsilon = Fraction(log_bounds(epsilon.ratio).lower)
        _check_positive(epsilon, guarantee)
        return DiscreteLaplaceLaw(total / epsilon)
    if isinstance(terms, RhoTerms):
        _check_positive(terms.rho, guarantee)
        return DiscreteGaussianLaw(Fraction(square) / (2 * terms.rho))
    if isinstance(terms, MuTerms):
        _check_positive(terms.mu, guarantee)
        step = terms.mu * square_root(Fraction(1, square), up=False)
        return DiscreteGaussianLaw(sigma_squared_of_mu(step))
    raise IncompatibleClaims(
        expected="PureDP, ApproxDP, ZCDP, TruncatedCDP or GaussianDP for noise on whole numbers",
        got=f"{guarantee!r}",
        remedy="Give one of these",
    )


def _check_positive(amount: Fraction, guarantee: Guarantee) -> None:
    if amount <= 0:
        raise InvalidParameter(
            expected="a guarantee that allows some loss",
            got=f"{guarantee!r}",
            remedy="Raise its epsilon, rho or mu",
        )
