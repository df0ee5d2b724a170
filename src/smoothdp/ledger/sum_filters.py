"""One filter for each notion of privacy; `filters` holds the proofs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.excess import log_gaussian_square_excess, mu_of_pure, rho_of_pure
from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.model.model import DataModel
from smoothdp.claims.terms import AverageTerms, EpsilonTerms, RhoTerms
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.exact.parameters.numbers import Real, exact_fraction, square_root
from smoothdp.ledger.amount import ZERO, Amount
from smoothdp.ledger.filters import Amounts, Filter
from smoothdp.sources import Source


@dataclass(frozen=True)
class BasicFilter(Filter):
    """Epsilons add up and deltas add up: for pure, approximate and smoothed DP.

    Smoothed claims add up only if everything was fixed in advance: at each database the deltas
    delta(x) of fixed mechanisms add up, and so do their expectations; a mechanism that is
    chosen after an output may be one whose delta(x) is large just there.
    """

    source: ClassVar[Source] = Source("rogers-roth-ullman-vadhan", "basic composition filter")

    def costs(self, claim: Guarantee) -> Amounts | None:
        match claim.terms():
            case EpsilonTerms(epsilon, delta):
                return self._epsilon_delta(epsilon, delta)
            case AverageTerms(epsilon, delta, model) if self._is_over(model):
                return self._epsilon_delta(epsilon, delta)
        pure = claim.pure_epsilon()
        return None if pure is None else self._epsilon_delta(pure, Fraction(0))

    def _epsilon_delta(self, epsilon: Real, delta: Fraction) -> Amounts | None:
        """Return the costs of (epsilon, delta), which a budget of pure DP has not for delta > 0."""
        if delta and "delta" not in self.budget.parameters():
            return None
        return {"epsilon": Amount.of(epsilon), "delta": Amount(delta)}

    def _is_over(self, model: DataModel) -> bool:
        terms = self.budget.terms()
        return isinstance(terms, AverageTerms) and terms.model.same_hull(model)

    def spent(self, amounts: Amounts) -> Guarantee:
        delta = min(Fraction(1), _rational(amounts["delta"].upper()))
        return self._claim(amounts["epsilon"].upper(), delta)

    def left(self, amounts: Amounts) -> Guarantee:
        rest = self.remaining(amounts)
        return self._claim(rest["epsilon"].lower(), _rational(rest["delta"].lower()))

    def _claim(self, epsilon: Real, delta: Fraction) -> Guarantee:
        if "delta" in self.budget.parameters():
            return self.budget.changed(epsilon=epsilon, delta=delta)
        return self.budget.changed(epsilon=epsilon)


@dataclass(frozen=True)
class RhoFilter(Filter):
    """Rhos add up: for zCDP, and for truncated CDP at the budget's omega."""

    source: ClassVar[Source] = Source("feldman-zrnic", "Renyi filter, at every order")

    def costs(self, claim: Guarantee) -> Amounts | None:
        terms = self.budget.terms()
        omega = terms.omega if isinstance(terms, RhoTerms) else None
        rho = claim.concentrated_rho() if omega is None else claim.rho_below(omega)
        return None if rho is None else {"rho": Amount(rho)}

    def spent(self, amounts: Amounts) -> Guarantee:
        return self.budget.changed(rho=_rational(amounts["rho"].upper()))

    def left(self, amounts: Amounts) -> Guarantee:
        return self.budget.changed(rho=_rational(self.remaining(amounts)["rho"].lower()))


@dataclass(frozen=True)
class MuFilter(Filter):
    """Squares of mu add up."""

    source: ClassVar[Source] = Source("dong-roth-su", "adaptive composition")

    def costs(self, claim: Guarantee) -> Amounts | None:
        mu = claim.gaussian_mu()
        return None if mu is None else {"mu squared": Amount(mu**2)}

    def spent(self, amounts: Amounts) -> Guarantee:
        square = _rational(amounts["mu squared"].upper())
        return self.budget.changed(mu=square_root(square, up=True))

    def left(self, amounts: Amounts) -> Guarantee:
        square = _rational(self.remaining(amounts)["mu squared"].lower())
        return self.budget.changed(mu=square_root(square, up=False))


@dataclass(frozen=True)
class ConcentratedFilter(Filter):
    """An (epsilon, delta) budget kept as approximate zCDP: many small releases cost less.

    Attributes:
        conversion: the part of delta that turns rho into epsilon; the rest is for claims that
            have a delta of their own.
    """

    source: ClassVar[Source] = Source("whitehouse-ramdas-rogers-wu", "approximate zCDP")
    conversion: Fraction

    def costs(self, claim: Guarantee) -> Amounts | None:
        terms = claim.terms()
        if isinstance(terms, EpsilonTerms):
            return {"rho": Amount(rho_of_pure(terms.epsilon)), "delta": Amount(terms.delta)}
        rho = claim.concentrated_rho()
        return None if rho is None else {"rho": Amount(rho), "delta": ZERO}

    def spent(self, amounts: Amounts) -> Guarantee:
        rho = ZCDP(_rational(amounts["rho"].upper()))
        epsilon = 0.0 if rho.exact_rho == 0 else rho.profile().epsilon(self.conversion)
        delta = self.conversion + _rational(amounts["delta"].upper())
        return ApproxDP(epsilon, delta=delta, neighbours=self.budget.neighbours)

    def left(self, amounts: Amounts) -> Guarantee:
        rho = _rational(self.remaining(amounts)["rho"].lower())
        return ZCDP(rho, neighbours=self.budget.neighbours)


@dataclass(frozen=True)
class GaussianFilter(Filter):
    """An (epsilon, delta) budget kept as Gaussian DP with a delta beside it.

    Squares of mu add up, and deltas of claims that have their own: an (epsilon, delta) claim is
    a mixture, with weight 1 - delta, of what randomised response with that epsilon dominates,
    and so of Gaussian DP. In the end (epsilon, d + (1 - d) delta_mu(epsilon))-DP holds
    (proofs/privacy-filters#2).

    Attributes:
        conversion: delta_mu(epsilon) at the limit of mu; the rest is for claims that have a delta
            of their own.
    """

    source: ClassVar[Source] = Source("dong-roth-su", "adaptive composition, as a filter")
    conversion: Fraction

    def costs(self, claim: Guarantee) -> Amounts | None:
        terms = claim.terms()
        if isinstance(terms, EpsilonTerms):
            mu = mu_of_pure(terms.epsilon)
            return (
                None if mu is None else {"mu squared": Amount(mu**2), "delta": Amount(terms.delta)}
            )
        mu = claim.gaussian_mu()
        return None if mu is None else {"mu squared": Amount(mu**2), "delta": ZERO}

    def spent(self, amounts: Amounts) -> Guarantee:
        square = _rational(amounts["mu squared"].upper())
        own = _rational(amounts["delta"].upper())
        mu = GaussianDP(square_root(square, up=True))
        epsilon = 0.0 if square == 0 else mu.profile().epsilon(self.conversion)
        delta = own + (1 - own) * self.conversion
        return ApproxDP(epsilon, delta=delta, neighbours=self.budget.neighbours)

    def left(self, amounts: Amounts) -> Guarantee:
        square = _rational(self.remaining(amounts)["mu squared"].lower())
        return GaussianDP(square_root(square, up=False), neighbours=self.budget.neighbours)


def mu_squared_within(epsilon: Real, delta: Fraction) -> Fraction:
    """Return about the largest mu^2 whose Gaussian DP implies (epsilon, delta)-DP, never more.

    >>> float(mu_squared_within(Fraction(1), Fraction(1, 10**6))) // 1e-4
    560.0
    """
    goal = log_bounds(delta).lower

    def too_much(square: float) -> bool:
        return log_gaussian_square_excess(Fraction(square), epsilon).upper > goal

    below = math.nextafter(smallest_true(too_much, low=5e-324), 0.0)
    return Fraction(below) if 0 < below < math.inf else Fraction(0)


def rho_within(epsilon: Real, delta: Fraction) -> Fraction:
    """Return about the largest rho with which rho-zCDP implies (epsilon, delta)-DP."""
    target = ApproxDP(epsilon, delta=delta)

    def too_much(rho: float) -> bool:
        return not ZCDP(rho).implies(target)

    first = smallest_true(too_much)
    below = math.nextafter(first, 0.0)
    return exact_fraction(below, name="rho") if 0 < below < math.inf else Fraction(0)


def _rational(value: Real) -> Fraction:
    """Return an amount that is no epsilon: always a rational."""
    assert isinstance(value, Fraction)
    return value
