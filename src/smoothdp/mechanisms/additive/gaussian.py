"""The Gaussian mechanism, for the accountant: what a release costs, without a release."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.composition.laws.guarantees import gaussian_laws
from smoothdp.composition.laws.law import LossLaws
from smoothdp.exact.parameters.numbers import Parameter, exact_positive
from smoothdp.sources import Source


@dataclass(frozen=True, init=False)
class GaussianMechanism:
    """A vector with l2-sensitivity ``sensitivity`` plus N(0, sigma^2) in each coordinate.

    It is mu-Gaussian DP with mu = sensitivity / sigma, exactly: its profile is that of the
    claim, attained. This class says what such a release costs; it draws nothing, for noise
    from floating-point samplers does not have this profile.

    Source: Balle, Wang, Improving the Gaussian Mechanism (2018), Theorem 8.

    Args:
        sigma: standard deviation, > 0.
        sensitivity: largest l2-distance between the values of neighbours, > 0.
        neighbours: "replace_one" (default) or "add_remove".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(GaussianMechanism(2).profile().delta(1), 6)
    0.00683
    """

    source: ClassVar[Source] = Source("balle-wang", "Theorem 8")
    exact_sigma: Fraction
    exact_sensitivity: Fraction
    neighbours: Neighbours

    def __init__(
        self,
        sigma: Parameter,
        sensitivity: Parameter = 1,
        *,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        object.__setattr__(self, "exact_sigma", exact_positive(sigma, name="sigma"))
        object.__setattr__(
            self, "exact_sensitivity", exact_positive(sensitivity, name="sensitivity")
        )
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def guarantee(self) -> GaussianDP:
        """The claim that the mechanism meets: mu-Gaussian DP."""
        mu = self.exact_sensitivity / self.exact_sigma
        return GaussianDP(mu, neighbours=self.neighbours)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release."""
        return self.guarantee.profile()

    def loss_laws(self) -> LossLaws:
        """Return the law of the privacy loss of one release, for composition."""
        return gaussian_laws((self.exact_sensitivity / self.exact_sigma) ** 2, self.neighbours)
