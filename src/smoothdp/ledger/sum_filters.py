"""One filter for each notion of privacy; `filters` proves them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from smoothdp.exact.balls.compare import normal_cdf_at_least
from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.exact.parameters.numbers import Real, exact_fraction
from smoothdp.ledger.amount import ZERO, Amount, square_root
from smoothdp.ledger.filters import Amounts, Filter
from smoothdp.privacy.concentrated import ZCDP, TruncatedCDP, rho_of_pure
from smoothdp.privacy.gaussian import GaussianDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.smoothed import SmoothedDP
from smoothdp.privacy.standard import ApproxDP, EpsilonDelta, PureDP
from smoothdp.sources import Source

# A pure claim beyond this is no Gaussian claim worth having.
_LARGEST_MU = 20.0


@dataclass(frozen=True)
class BasicFilter(Filter):
    """Epsilons add up and deltas add up: for pure, approximate and smoothed DP.

    Smoothed claims add up only if everything was fixed in advance: at each database the deltas
    delta(x) of fixed mechanisms add up, and so do their expectations; a mechanism that is
    chosen after an output may be one whose delta(x) is large just there.
    """

    source: ClassVar[Source] = Source("rogers-roth-ullman-vadhan", "basic composition filter")
    budget: PureDP | ApproxDP | SmoothedDP

    def costs(self, claim: Guarantee) -> Amounts | None:
        if isinstance(claim, SmoothedDP) and not self._same_model(claim):
            return None
        if isinstance(claim, PureDP | EpsilonDelta):
            delta = claim.exact_delta if isinstance(claim, EpsilonDelta) else Fraction(0)
            if delta and isinstance(self.budget, PureDP):
                return None
            return {"epsilon": Amount.of(claim.exact_epsilon), "delta": Amount(delta)}
        pure = pure_epsilon(claim)
        return None if pure is None else {"epsilon": Amount.of(pure), "delta": ZERO}

    def _same_model(self, claim: SmoothedDP) -> bool:
        if not isinstance(self.budget, SmoothedDP):
            return False
        if claim.model == self.budget.model:
            return True
        return set(claim.model.hull().vertices) == set(self.budget.model.hull().vertices)

    def spent(self, amounts: Amounts) -> Guarantee:
        delta = min(Fraction(1), _rational(amounts["delta"].upper()))
        return self._claim(amounts["epsilon"].upper(), delta)

    def left(self, amounts: Amounts) -> Guarantee:
        rest = self.remaining(amounts)
        return self._claim(rest["epsilon"].lower(), _rational(rest["delta"].lower()))

    def _claim(self, epsilon: Real, delta: Fraction) -> Guarantee:
        about = self.budget.neighbours
        if isinstance(self.budget, PureDP):
            return PureDP(epsilon, neighbours=about)
        if isinstance(self.budget, SmoothedDP):
            return SmoothedDP(epsilon, delta=delta, model=self.budget.model)
        return ApproxDP(epsilon, delta=delta, neighbours=about)


@dataclass(frozen=True)
class RhoFilter(Filter):
    """Rhos add up: for zCDP, and for truncated CDP at the budget's omega."""

    source: ClassVar[Source] = Source("feldman-zrnic", "Renyi filter, at every order")
    budget: ZCDP | TruncatedCDP

    def costs(self, claim: Guarantee) -> Amounts | None:
        if isinstance(claim, TruncatedCDP) and isinstance(self.budget, TruncatedCDP):
            reached = claim.exact_omega >= self.budget.exact_omega
            return {"rho": Amount(claim.exact_rho)} if reached else None
        rho = concentrated_rho(claim)
        return None if rho is None else {"rho": Amount(rho)}

    def spent(self, amounts: Amounts) -> Guarantee:
        return self._claim(_rational(amounts["rho"].upper()))

    def left(self, amounts: Amounts) -> Guarantee:
        return self._claim(_rational(self.remaining(amounts)["rho"].lower()))

    def _claim(self, rho: Fraction) -> Guarantee:
        about = self.budget.neighbours
        if isinstance(self.budget, TruncatedCDP):
            return TruncatedCDP(rho, omega=self.budget.exact_omega, neighbours=about)
        return ZCDP(rho, neighbours=about)


@dataclass(frozen=True)
class MuFilter(Filter):
    """Squares of mu add up."""

    source: ClassVar[Source] = Source("dong-roth-su", "adaptive composition")
    budget: GaussianDP

    def costs(self, claim: Guarantee) -> Amounts | None:
        if isinstance(claim, GaussianDP):
            return {"mu squared": Amount(claim.exact_mu**2)}
        pure = pure_epsilon(claim)
        mu = math.inf if pure is None else _mu_of_pure(pure)
        return None if math.isinf(mu) else {"mu squared": Amount(Fraction(mu) ** 2)}

    def spent(self, amounts: Amounts) -> Guarantee:
        square = _rational(amounts["mu squared"].upper())
        return GaussianDP(square_root(square, up=True), neighbours=self.budget.neighbours)

    def left(self, amounts: Amounts) -> Guarantee:
        square = _rational(self.remaining(amounts)["mu squared"].lower())
        return GaussianDP(square_root(square, up=False), neighbours=self.budget.neighbours)


@dataclass(frozen=True)
class ConcentratedFilter(Filter):
    """An (epsilon, delta) budget kept as approximate zCDP: many small releases cost less.

    Attributes:
        conversion: the part of delta that turns rho into epsilon; the rest is for claims that
            have a delta of their own.
    """

    source: ClassVar[Source] = Source("whitehouse-ramdas-rogers-wu", "approximate zCDP")
    budget: ApproxDP
    conversion: Fraction

    def costs(self, claim: Guarantee) -> Amounts | None:
        if isinstance(claim, ApproxDP):
            rho = rho_of_pure(claim.exact_epsilon)
            return {"rho": Amount(rho), "delta": Amount(claim.exact_delta)}
        found = concentrated_rho(claim)
        return None if found is None else {"rho": Amount(found), "delta": ZERO}

    def spent(self, amounts: Amounts) -> Guarantee:
        rho = ZCDP(_rational(amounts["rho"].upper()))
        epsilon = 0.0 if rho.exact_rho == 0 else rho.profile().epsilon(self.conversion)
        delta = self.conversion + _rational(amounts["delta"].upper())
        return ApproxDP(epsilon, delta=delta, neighbours=self.budget.neighbours)

    def left(self, amounts: Amounts) -> Guarantee:
        rho = _rational(self.remaining(amounts)["rho"].lower())
        return ZCDP(rho, neighbours=self.budget.neighbours)


def rho_within(epsilon: Real, delta: Fraction) -> Fraction:
    """Return about the largest rho with which rho-zCDP implies (epsilon, delta)-DP."""
    target = ApproxDP(epsilon, delta=delta)

    def too_much(rho: float) -> bool:
        return not ZCDP(rho).implies(target)

    first = smallest_true(too_much)
    below = math.nextafter(first, 0.0)
    return exact_fraction(below, name="rho") if 0 < below < math.inf else Fraction(0)


def pure_epsilon(claim: Guarantee) -> Real | None:
    """Return the epsilon of pure DP that a claim is; None if it is no such claim."""
    if isinstance(claim, PureDP):
        return claim.exact_epsilon
    if isinstance(claim, ApproxDP) and claim.exact_delta == 0:
        return claim.exact_epsilon
    return None


def concentrated_rho(claim: Guarantee) -> Fraction | None:
    """Return the rho of zCDP that follows from a claim; None if none does."""
    if isinstance(claim, ZCDP):
        return claim.exact_rho
    if isinstance(claim, GaussianDP):
        return claim.exact_mu**2 / 2
    pure = pure_epsilon(claim)
    return None if pure is None else rho_of_pure(pure)


@lru_cache(maxsize=256)
def _mu_of_pure(epsilon: Real) -> float:
    """Return the least mu with Phi(mu / 2) >= e^epsilon / (1 + e^epsilon), rounded up."""
    if epsilon == 0:
        return 0.0
    return smallest_true(
        lambda mu: normal_cdf_at_least(Fraction(mu) / 2, epsilon), high=_LARGEST_MU
    )


def _rational(value: Real) -> Fraction:
    """Return an amount that is no epsilon: always a rational."""
    assert isinstance(value, Fraction)
    return value
