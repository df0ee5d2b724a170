"""The discrete Gaussian mechanism: a whole number plus normal-like noise on the whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.release import Release, library_version
from smoothdp.exact.parameters.numbers import Parameter, exact_int, exact_positive, exact_text
from smoothdp.exact.random.discrete_gaussian import discrete_gaussian
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.additive.discrete_laplace import read_private_integer
from smoothdp.sources import Source


@dataclass(frozen=True, init=False)
class DiscreteGaussianMechanism:
    """A whole number of sensitivity D, plus z with weight e^(-z^2 / (2 sigma^2)).

    It is zCDP with rho = D^2 / (2 sigma^2). It is not Gaussian DP with mu = D / sigma: its
    trade-off curve is another one.

    Source: Canonne, Kamath, Steinke (2020), Theorem 14.

    Args:
        sigma_squared: > 0, slightly above the variance.
        sensitivity: D, a whole number of at least 1: how far neighbours can be apart.
        neighbours: "replace_one" (default) or "add_remove".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> DiscreteGaussianMechanism(8).guarantee
    ZCDP(rho=1/16, neighbours='replace_one')
    """

    source: ClassVar[Source] = Source("canonne-kamath-steinke", "Theorem 14")
    exact_sigma_squared: Fraction
    sensitivity: int
    neighbours: Neighbours

    def __init__(
        self,
        sigma_squared: Parameter,
        sensitivity: int = 1,
        *,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        object.__setattr__(
            self, "exact_sigma_squared", exact_positive(sigma_squared, name="sigma_squared")
        )
        object.__setattr__(
            self, "sensitivity", exact_int(sensitivity, name="sensitivity", minimum=1)
        )
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def guarantee(self) -> ZCDP:
        """The claim that the mechanism meets."""
        rho = Fraction(self.sensitivity**2) / (2 * self.exact_sigma_squared)
        return ZCDP(rho, neighbours=self.neighbours)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release."""
        return self.guarantee.profile()

    def describe(self) -> str:
        """Return the mechanism in words."""
        return f"discrete Gaussian noise of variance {exact_text(self.exact_sigma_squared)}"

    def release(self, value: int, *, rng: Entropy | None = None) -> Release[int]:
        """Return the number with noise, and the guarantee.

        Args:
            value: a whole number, which neighbours move by the sensitivity at most.
            rng: `SystemRandom()` (default), or `SeededRandom`, marked not private.
        """
        source = read_rng(rng)
        noisy = read_private_integer(value) + discrete_gaussian(self.exact_sigma_squared, source)
        common = (self.describe(), source.is_private, library_version(), (self.source,))
        return Release(noisy, self.guarantee, *common)
