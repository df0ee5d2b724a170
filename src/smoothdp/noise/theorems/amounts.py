"""How much loss a guarantee allows, in the two currencies of the papers' statements."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms, RhoTerms
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import LogRatio, Real


class Amount(NamedTuple):
    """A privacy loss epsilon, computed at the present precision, and how it follows."""

    epsilon: Callable[[], Ball]
    route: str


def pure_amount(guarantee: Guarantee) -> Amount | None:
    """Return the epsilon for which epsilon-DP implies the guarantee; None if none is known.

    zCDP and truncated CDP: epsilon^2 / 2 = rho (paper 2, Proposition 10). What allows no loss at
    all, in whatever notion, is 0-DP.
    """
    match guarantee.terms():
        case EpsilonTerms(epsilon):
            return Amount(lambda: ball(epsilon), "")
        case RhoTerms(rho):
            return _root(rho, " through Proposition 10")
    return _nothing(guarantee)


def theorem_31_amount(guarantee: Guarantee) -> Amount | None:
    """Return the x that Theorem 31 of paper 2 may bound: D_a <= min(x, a x^2 / 2).

    As `pure_amount`; beyond rho = 2 it is x = rho, the other side of the minimum.
    """
    match guarantee.terms():
        case RhoTerms(rho) if rho > 2:
            return Amount(lambda: ball(rho), "")
    return pure_amount(guarantee)


def concentrated_amount(guarantee: Guarantee) -> Amount | None:
    """Return the epsilon for which epsilon^2/2-zCDP implies the guarantee; None if none does.

    (epsilon, delta)-DP: rho + 2 sqrt(rho ln(1/delta)) = epsilon (paper 2, Lemma 9).
    """
    match guarantee.terms():
        case EpsilonTerms(epsilon, delta) if 0 < delta < 1:
            return Amount(lambda: _lemma_9(epsilon, delta), " through Lemma 9")
        case RhoTerms(rho):
            return _root(rho, "")
    return _nothing(guarantee)


def pure_amount_reaches(guarantee: Guarantee, needed: Fraction) -> bool:
    """Return whether the epsilon of `pure_amount` is at least ``needed``, decided exactly."""
    match guarantee.terms():
        case EpsilonTerms(epsilon):
            return at_most(needed, epsilon)
        case RhoTerms(rho):
            return needed**2 <= 2 * rho
    return needed == 0 and guarantee.pure_epsilon() == 0


def _root(rho: Fraction, route: str) -> Amount:
    return Amount(lambda: special.sqrt(2 * ball(rho)), route)


def _nothing(guarantee: Guarantee) -> Amount | None:
    """Return 0 for a claim that allows no loss, which every other claim follows from."""
    return Amount(lambda: ball(0), "") if guarantee.pure_epsilon() == 0 else None


def _lemma_9(epsilon: Real, delta: Fraction) -> Ball:
    # sqrt(rho) = sqrt(L + epsilon) - sqrt(L), without the difference.
    log_inverse = -ball(LogRatio(delta))
    amount = ball(epsilon)
    roots = special.sqrt(log_inverse + amount) + special.sqrt(log_inverse)
    return special.sqrt(special.number(2.0)) * amount / roots
