"""The notions of privacy that add up, each with the numbers that a claim in it has.

A claim that is one of these, no more and no less, says so (`Guarantee.terms`). Whoever adds up
costs, calibrates noise or takes a budget asks for them and needs not know the claim's class.
What follows from a claim is another question: `Guarantee.pure_epsilon` and its siblings.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from smoothdp.claims.model.model import DataModel
from smoothdp.exact.parameters.numbers import Real


@dataclass(frozen=True, slots=True)
class EpsilonTerms:
    """(epsilon, delta)-DP: epsilons add up, and so do deltas. Pure DP has delta = 0."""

    epsilon: Real
    delta: Fraction


@dataclass(frozen=True, slots=True)
class AverageTerms:
    """(epsilon, delta) on average over a model: they add up if all is fixed in advance."""

    epsilon: Real
    delta: Fraction
    model: DataModel


@dataclass(frozen=True, slots=True)
class RhoTerms:
    """D_a <= a rho for every order 1 < a < omega (None: every order): rhos add up."""

    rho: Fraction
    omega: Fraction | None = None


@dataclass(frozen=True, slots=True)
class MuTerms:
    """No easier to attack than N(0, 1) against N(mu, 1): squares of mu add up."""

    mu: Fraction


Terms: TypeAlias = EpsilonTerms | AverageTerms | RhoTerms | MuTerms
