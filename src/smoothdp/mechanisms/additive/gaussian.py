"""The Gaussian mechanism: what a release costs, and an exact way to make one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.label import Label
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.release import Release, library_version
from smoothdp.composition.laws.guarantees import gaussian_laws
from smoothdp.composition.laws.law import LossLaws
from smoothdp.exact.parameters.numbers import Parameter, exact_positive, exact_text
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.additive.real_draws import NORMAL, noisy_number
from smoothdp.sources import Source


@dataclass(frozen=True, init=False)
class GaussianMechanism:
    """A vector with l2-sensitivity ``sensitivity`` plus N(0, sigma^2) in each coordinate.

    It is mu-Gaussian DP with mu = sensitivity / sigma, exactly: its profile is that of the
    claim, attained. `release` draws one coordinate exactly: noise from floating-point samplers
    does not have this profile.

    Source: Balle, Wang, Improving the Gaussian Mechanism (2018), Theorem 8.

    Args:
        sigma: standard deviation, > 0.
        sensitivity: largest l2-distance between the values of neighbours, > 0.
        neighbours: "replace_one" (default), "add_remove" or "zero_out".

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

    def describe(self) -> str:
        """Return the mechanism in words."""
        return f"normal noise of standard deviation {exact_text(self.exact_sigma)}"

    def release(
        self, value: Rational | float, *, label: object = None, rng: Entropy | None = None
    ) -> Release[float]:
        """Return the number with noise, correctly rounded to a public grid, and the guarantee.

        The step of the grid is a power of two, about 2^-30 of the noise: it depends on the noise
        alone. The rounding is a function of the ideal output, so the guarantee is its.

        Args:
            value: a finite number, which neighbours move by the sensitivity at most. A float
                counts as the binary fraction that it is.
            label: a name, or a `smoothdp.claims.label.Label` with purpose and who.
            rng: `SystemRandom()` (default), or `SeededRandom`, marked not private.

        Raises:
            InvalidData: no finite number; the message does not show it.
        """
        named, source = Label.read(label), read_rng(rng)
        noisy = noisy_number(value, NORMAL, scale=self.exact_sigma, rng=source)
        common = (self.describe(), source.is_private, library_version(), (self.source,))
        return Release(noisy, self.guarantee, *common, label=named)
