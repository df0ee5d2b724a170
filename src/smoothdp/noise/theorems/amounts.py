"""How much loss a guarantee allows, in the two currencies of the papers' statements."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.privacy.concentrated import ZCDP, TruncatedCDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.standard import ApproxDP, PureDP


class Amount(NamedTuple):
    """A privacy loss epsilon, computed at the present precision, and how it follows."""

    epsilon: Callable[[], Ball]
    route: str


def pure_amount(guarantee: Guarantee) -> Amount | None:
    """Return the epsilon for which epsilon-DP implies the guarantee; None if none is known.

    zCDP and truncated CDP: epsilon^2 / 2 = rho (paper 2, Proposition 10).
    """
    if isinstance(guarantee, PureDP | ApproxDP):
        exact = guarantee.exact_epsilon
        return Amount(lambda: ball(exact), "")
    return _root_of_rho(guarantee, " through Proposition 10")


def theorem_31_amount(guarantee: Guarantee) -> Amount | None:
    """Return the x that Theorem 31 of paper 2 may bound: D_a <= min(x, a x^2 / 2).

    As `pure_amount`; beyond rho = 2 it is x = rho, the other side of the minimum.
    """
    if isinstance(guarantee, ZCDP | TruncatedCDP) and guarantee.exact_rho > 2:
        rho = guarantee.exact_rho
        return Amount(lambda: ball(rho), "")
    return pure_amount(guarantee)


def concentrated_amount(guarantee: Guarantee) -> Amount | None:
    """Return the epsilon for which epsilon^2/2-zCDP implies the guarantee; None if none does.

    (epsilon, delta)-DP: rho + 2 sqrt(rho ln(1/delta)) = epsilon (paper 2, Lemma 9).
    """
    if isinstance(guarantee, ApproxDP) and 0 < guarantee.exact_delta < 1:
        return Amount(
            lambda: _lemma_9(guarantee.exact_epsilon, guarantee.exact_delta), " through Lemma 9"
        )
    return _root_of_rho(guarantee, "")


def pure_amount_reaches(guarantee: Guarantee, needed: Fraction) -> bool:
    """Return whether the epsilon of `pure_amount` is at least ``needed``, decided exactly."""
    if isinstance(guarantee, PureDP | ApproxDP):
        return at_most(needed, guarantee.exact_epsilon)
    if isinstance(guarantee, ZCDP | TruncatedCDP):
        return needed**2 <= 2 * guarantee.exact_rho
    return False


def _root_of_rho(guarantee: Guarantee, route: str) -> Amount | None:
    if isinstance(guarantee, ZCDP | TruncatedCDP):
        rho = guarantee.exact_rho
        return Amount(lambda: special.sqrt(2 * ball(rho)), route)
    return None


def _lemma_9(epsilon: Real, delta: Fraction) -> Ball:
    # sqrt(rho) = sqrt(L + epsilon) - sqrt(L), without the difference.
    log_inverse = -ball(LogRatio(delta))
    amount = ball(epsilon)
    roots = special.sqrt(log_inverse + amount) + special.sqrt(log_inverse)
    return special.sqrt(special.number(2.0)) * amount / roots
