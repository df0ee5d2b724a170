"""The Laplace mechanism, for the accountant: what a release costs, without a release."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.composition.laws.law import LossLaws, known
from smoothdp.exact.balls import real_bounds
from smoothdp.exact.laplace_excess import log_laplace_excess
from smoothdp.exact.logspace import LogBounds
from smoothdp.exact.parameters import Parameter, Real, exact_positive
from smoothdp.mechanisms.additive.laplace_law import LaplaceLaw
from smoothdp.sources import Source


@dataclass(frozen=True, init=False)
class LaplaceMechanism:
    """A number with sensitivity ``sensitivity`` plus Laplace noise of scale ``scale``.

    With a = sensitivity / scale it is a-DP, and its profile 1 - e^((e - a) / 2) for e <= a is
    strictly below that of the claim. This class says what such a release costs; it draws
    nothing, for noise from floating-point samplers does not have this profile.

    Source: Dwork, Roth, Definition 3.3 and Theorem 3.6.

    Args:
        scale: b > 0 of the density e^(-|x| / b) / (2b).
        sensitivity: largest distance between the values of neighbours, > 0.
        neighbours: "replace_one" (default) or "add_remove".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(LaplaceMechanism(2).profile().delta("0.1"), 6)
    0.181269
    >>> LaplaceMechanism(2).profile().delta("0.5")
    0.0
    """

    source: ClassVar[Source] = Source("dwork-roth", "Theorem 3.6")
    exact_scale: Fraction
    exact_sensitivity: Fraction
    neighbours: Neighbours

    def __init__(
        self,
        scale: Parameter,
        sensitivity: Parameter = 1,
        *,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        object.__setattr__(self, "exact_scale", exact_positive(scale, name="scale"))
        object.__setattr__(
            self, "exact_sensitivity", exact_positive(sensitivity, name="sensitivity")
        )
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def ratio(self) -> Fraction:
        """Return a = sensitivity / scale."""
        return self.exact_sensitivity / self.exact_scale

    @property
    def guarantee(self) -> PureDP:
        """The claim that the mechanism meets: a-DP."""
        return PureDP(self.ratio, neighbours=self.neighbours)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return log_laplace_excess(self.ratio, epsilon)

    def loss_laws(self) -> LossLaws:
        """Return the law of the privacy loss of one release, for composition."""
        low, high = real_bounds(self.ratio)
        law = LaplaceLaw(high, math.nextafter(high - low, 1.0), self.ratio)
        return LossLaws(self.neighbours, known(law))
