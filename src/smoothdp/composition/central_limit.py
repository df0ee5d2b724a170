"""The central-limit estimate of a composition: quick, and no bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.composition.composed_profile import ComposedProfile
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.sources import Source

# Moments under P itself, to within 1e-6 of the tilt.
_TILT = 2.0**-20


@dataclass(frozen=True, slots=True)
class CentralLimitEstimate:
    """About mu-Gaussian DP, as many small losses add up: an estimate, never a guarantee.

    Attributes:
        mu: 2 x the sum of the means of the losses over their standard deviation.

    Example:
        >>> round(CentralLimitEstimate(1.0).delta(0), 6)
        0.382925
    """

    source: ClassVar[Source] = Source("dong-roth-su", "Theorem 3.4")
    label: ClassVar[str] = "estimate"
    mu: float

    def delta(self, epsilon: Parameter) -> float:
        """Return about delta(epsilon)."""
        return GaussianDP(self.mu).profile().delta(epsilon)

    def epsilon(self, delta: Parameter) -> float:
        """Return about epsilon(delta)."""
        return GaussianDP(self.mu).profile().epsilon(delta)


def central_limit_estimate(composed: ComposedProfile) -> CentralLimitEstimate:
    """Return the central-limit estimate of a composition.

    Raises:
        InvalidParameter: items that are a single claim, or that have no loss to speak of.

    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.composition import compose
    >>> many = compose([(PureDP("0.01"), 10_000)])
    >>> round(central_limit_estimate(many).mu, 3)
    1.0
    """
    mus = []
    for side in composed.accountant.sides(0):
        moments = side.upper.product.moments(_TILT)
        if not moments.variance > 0:
            raise InvalidParameter(
                expected="losses that vary",
                got="none",
                remedy="Read the composed profile, which is exact where no loss varies",
            )
        mus.append(2 * moments.mean / math.sqrt(moments.variance))
    return CentralLimitEstimate(max(mus))
