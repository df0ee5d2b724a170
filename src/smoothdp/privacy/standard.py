"""Pure and approximate differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.privacy.excess import log_two_point_excess
from smoothdp.privacy.guarantee import Guarantee, float_up
from smoothdp.privacy.neighbours import Neighbours, read_neighbours
from smoothdp.privacy.profile import PrivacyProfile, read_delta, read_epsilon
from smoothdp.privacy.strength import factor_text
from smoothdp.sources import Source
from smoothdp.text import ratio_up


@dataclass(frozen=True, init=False, repr=False)
class PureDP(Guarantee):
    """epsilon-differential privacy: no probability changes by more than a factor e^epsilon.

    Its profile is that of randomised response, (e^e0 - e^e) / (1 + e^e0), which every
    pure mechanism is dominated by (Kairouz, Oh, Viswanath 2015).

    Args:
        epsilon: e0 >= 0, in nats.
        neighbours: "replace_one" (default) or "add_remove".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> PureDP(1).profile().delta(1)
    0.0
    >>> PureDP(1).profile().delta(0) >= 0.46211715
    True
    """

    source: ClassVar[Source] = Source("dwork-roth", "Definition 2.4")
    exact_epsilon: Real

    def __init__(
        self, epsilon: Parameter, *, neighbours: Neighbours | str = Neighbours.REPLACE_ONE
    ) -> None:
        object.__setattr__(self, "exact_epsilon", read_epsilon(epsilon))
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def epsilon(self) -> float:
        """Epsilon as a float, not below the exact one."""
        return float_up(self.exact_epsilon)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return log_two_point_excess(self.exact_epsilon, epsilon, Fraction(0))

    def parameters(self) -> dict[str, Real]:
        return {"epsilon": self.exact_epsilon}

    def words(self) -> str:
        return (
            "changes the probability of any output by at most a factor "
            f"{factor_text(self.exact_epsilon)}."
        )


@dataclass(frozen=True, init=False, repr=False)
class EpsilonDelta(Guarantee):
    """What claims with an epsilon and a delta share: floats, profile, parameters."""

    exact_epsilon: Real
    exact_delta: Fraction

    @property
    def epsilon(self) -> float:
        """Epsilon as a float, not below the exact one."""
        return float_up(self.exact_epsilon)

    @property
    def delta(self) -> float:
        """Delta as a float, not below the exact one; at least 5e-324 unless it is 0."""
        return float_up(self.exact_delta)

    @property
    def log_delta(self) -> float:
        """ln delta, not below the exact one."""
        return log_bounds(self.exact_delta).upper if self.exact_delta else float("-inf")

    def profile(self) -> PrivacyProfile:
        """Return the tightest proved privacy profile that follows from the claim."""
        return ClaimedProfile(self)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return log_two_point_excess(self.exact_epsilon, epsilon, self.exact_delta)

    def parameters(self) -> dict[str, Real]:
        return {"epsilon": self.exact_epsilon, "delta": self.exact_delta}


@dataclass(frozen=True, init=False, repr=False)
class ApproxDP(EpsilonDelta):
    """(epsilon, delta)-differential privacy.

    Its profile is delta + (1 - delta) (e^e0 - e^e) / (1 + e^e0) below e0 and delta beyond
    (Kairouz, Oh, Viswanath 2015).

    Args:
        epsilon: e0 >= 0, in nats.
        delta: in [0, 1]; may lie below floats, such as "1e-5000".
        neighbours: "replace_one" (default) or "add_remove".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> ApproxDP(1, delta="1e-5000").log_delta < -11512
    True
    """

    source: ClassVar[Source] = Source("dwork-roth", "Definition 2.4")

    def __init__(
        self,
        epsilon: Parameter,
        *,
        delta: Parameter,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        object.__setattr__(self, "exact_epsilon", read_epsilon(epsilon))
        object.__setattr__(self, "exact_delta", read_delta(delta))
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    def words(self) -> str:
        return (
            "changes the probability of any set of outputs by at most a factor "
            f"{factor_text(self.exact_epsilon)} plus {ratio_up(self.exact_delta)}, the share of "
            "cases in which nothing is promised."
        )


@dataclass(frozen=True, slots=True)
class ClaimedProfile(PrivacyProfile):
    """The profile of (epsilon, delta), which knows that the claim holds at delta itself.

    There ln delta is bracketed, and no float of it would do.
    """

    claim: EpsilonDelta

    @property
    def neighbours(self) -> Neighbours:
        return self.claim.neighbours

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        return self.claim.log_delta_bounds(epsilon)

    def epsilon_bounds(self, delta: Parameter) -> tuple[float, float]:
        below, above = PrivacyProfile.epsilon_bounds(self, delta)
        if read_delta(delta) >= self.claim.exact_delta:
            above = min(above, self.claim.epsilon)
        return min(below, above), above
