"""Pure and approximate differential privacy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.domains import read_delta, read_epsilon
from smoothdp.claims.excess import log_two_point_excess
from smoothdp.claims.guarantees.guarantee import Guarantee, factor_text, times
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.exact.balls.balls import ball, log_bounds, precision, round_up
from smoothdp.exact.balls.compare import at_most, float_up
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.sources import Source
from smoothdp.text import ratio_up

# Beyond this much, a delta bound says nothing, and floats may overflow.
_VACUOUS = 2


@dataclass(frozen=True, init=False, repr=False)
class PureDP(Guarantee):
    """epsilon-differential privacy: no probability changes by more than a factor e^epsilon.

    Its profile is that of randomised response, (e^e0 - e^e) / (1 + e^e0), which every
    pure mechanism is dominated by (Kairouz, Oh, Viswanath 2015).

    Args:
        epsilon: e0 >= 0, in nats.
        neighbours: "replace_one" (default), "add_remove" or "zero_out".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> PureDP(1).profile().delta(1)
    0.0
    >>> PureDP(1).profile().delta(0) >= 0.46211715
    True
    """

    source: ClassVar[Source] = Source("dwork-roth", "Definition 2.4")
    parameter_names: ClassVar[tuple[str, ...]] = ("epsilon",)
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

    def terms(self) -> EpsilonTerms:
        return EpsilonTerms(self.exact_epsilon, Fraction(0))

    def pure_epsilon(self) -> Real:
        return self.exact_epsilon

    def follows_from(self, other: Guarantee) -> bool:
        pure = other.pure_epsilon()
        return pure is not None and at_most(pure, self.exact_epsilon)

    def _for_group(self, k: int) -> PureDP:
        return self.changed(epsilon=times(self.exact_epsilon, k))

    def words(self) -> str:
        return (
            "changes the probability of any output by at most a factor "
            f"{factor_text(self.exact_epsilon)}."
        )


@dataclass(frozen=True, init=False, repr=False)
class EpsilonDelta(Guarantee):
    """What claims with an epsilon and a delta share: floats, profile, parameters."""

    parameter_names: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
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

    def delta_at_most(self, epsilon: Real, delta: Fraction) -> bool:
        # Decided exactly where logarithms would only touch.
        if self.exact_delta > delta:
            return False
        return at_most(self.exact_epsilon, epsilon) or super().delta_at_most(epsilon, delta)


@dataclass(frozen=True, init=False, repr=False)
class ApproxDP(EpsilonDelta):
    """(epsilon, delta)-differential privacy.

    Its profile is delta + (1 - delta) (e^e0 - e^e) / (1 + e^e0) below e0 and delta beyond
    (Kairouz, Oh, Viswanath 2015).

    Args:
        epsilon: e0 >= 0, in nats.
        delta: in [0, 1]; may lie below floats, such as "1e-5000".
        neighbours: "replace_one" (default), "add_remove" or "zero_out".

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

    def terms(self) -> EpsilonTerms:
        return EpsilonTerms(self.exact_epsilon, self.exact_delta)

    def pure_epsilon(self) -> Real | None:
        return None if self.exact_delta else self.exact_epsilon

    def follows_from(self, other: Guarantee) -> bool:
        # (epsilon, 1) says nothing, and so follows from a claim on average too.
        if self.exact_delta == 1:
            return True
        return not other.is_average and other.delta_at_most(self.exact_epsilon, self.exact_delta)

    def _for_group(self, k: int) -> ApproxDP:
        """Return (k epsilon, delta (1 + e^epsilon + ... + e^((k-1) epsilon))), rounded up."""
        epsilon, delta = self.exact_epsilon, self.exact_delta
        return self.changed(epsilon=times(epsilon, k), delta=_group_delta(epsilon, delta, k))

    def words(self) -> str:
        return (
            "changes the probability of any set of outputs by at most a factor "
            f"{factor_text(self.exact_epsilon)} plus {ratio_up(self.exact_delta)}, the share of "
            "cases in which nothing is promised."
        )


def _group_delta(epsilon: Real, delta: Fraction, k: int) -> Fraction:
    """Return delta (e^(k epsilon) - 1) / (e^epsilon - 1), rounded up, at most 1."""
    if delta == 0 or epsilon == 0:
        return min(Fraction(1), k * delta)
    with precision(128):
        one = ball(epsilon)
        factor = (k * one).expm1() / one.expm1()
        if not factor < _VACUOUS / ball(delta):
            return Fraction(1)
        return min(Fraction(1), delta * Fraction(round_up(factor)))


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

    def keeps(self, epsilon: Real, delta: Fraction) -> bool:
        """Return whether delta(epsilon) <= delta is certain: at the claim itself it is."""
        if self.claim.exact_delta <= delta and at_most(self.claim.exact_epsilon, epsilon):
            return True
        return PrivacyProfile.keeps(self, epsilon, delta)

    def epsilon_bounds(self, delta: Parameter) -> tuple[float, float]:
        below, above = PrivacyProfile.epsilon_bounds(self, delta)
        if read_delta(delta) >= self.claim.exact_delta:
            above = min(above, self.claim.epsilon)
        return min(below, above), above
