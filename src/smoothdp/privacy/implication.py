"""When does one claim imply another? Only what is proved, decided exactly."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.compare import at_most, normal_cdf_at_least
from smoothdp.exact.parameters.numbers import Real
from smoothdp.privacy.concentrated import ZCDP, TruncatedCDP, rho_of_pure
from smoothdp.privacy.gaussian import GaussianDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.neighbours import require_same
from smoothdp.privacy.smoothed import SmoothedDP
from smoothdp.privacy.standard import ApproxDP, PureDP


def implies(claim: Guarantee, other: Guarantee) -> bool:
    """Return True if ``claim`` is proved to imply ``other`` (see `Guarantee.implies`)."""
    require_same(claim.neighbours, other.neighbours)
    if isinstance(other, SmoothedDP):
        # Ordinary DP holds at every database, so on average over every model.
        if isinstance(claim, SmoothedDP) and claim.model != other.model:
            return False
        return _delta_at_most(claim, other.exact_epsilon, other.exact_delta)
    if isinstance(claim, SmoothedDP):
        return False
    if isinstance(other, ApproxDP):
        return _delta_at_most(claim, other.exact_epsilon, other.exact_delta)
    pure = _pure_epsilon(claim)
    if isinstance(other, PureDP):
        return pure is not None and at_most(pure, other.exact_epsilon)
    if isinstance(other, GaussianDP):
        if isinstance(claim, GaussianDP):
            return claim.exact_mu <= other.exact_mu
        # Randomised response: both corners of its curve lie on or above that of mu.
        return pure is not None and normal_cdf_at_least(other.exact_mu / 2, pure)
    if isinstance(other, ZCDP):
        rho = _rho(claim)
        return rho is not None and rho <= other.exact_rho
    if isinstance(other, TruncatedCDP):
        if isinstance(claim, TruncatedCDP):
            return claim.exact_rho <= other.exact_rho and claim.exact_omega >= other.exact_omega
        rho = _rho(claim)
        return rho is not None and rho <= other.exact_rho
    return False


def _delta_at_most(claim: Guarantee, epsilon: Real, delta: Fraction) -> bool:
    """Return whether the profile of the claim passes through (epsilon, delta) or below.

    That is enough for the whole of an approximate claim: (epsilon, delta) at one point
    implies its profile everywhere.
    """
    if isinstance(claim, ApproxDP | SmoothedDP):
        # Decided exactly where logarithms would only touch.
        if claim.exact_delta > delta:
            return False
        if at_most(claim.exact_epsilon, epsilon):
            return True
    upper = claim.log_delta_bounds(epsilon).upper
    if delta == 0:
        return upper == -math.inf
    return upper <= log_bounds(delta).lower or delta >= 1


def _pure_epsilon(claim: Guarantee) -> Real | None:
    if isinstance(claim, PureDP):
        return claim.exact_epsilon
    if isinstance(claim, ApproxDP) and claim.exact_delta == 0:
        return claim.exact_epsilon
    if isinstance(claim, GaussianDP) and claim.exact_mu == 0:
        return Fraction(0)
    if isinstance(claim, ZCDP | TruncatedCDP) and claim.exact_rho == 0:
        return Fraction(0)
    return None


def _rho(claim: Guarantee) -> Fraction | None:
    """Return the rho of zCDP that a claim implies (Proposition 10 of paper 2), if any."""
    if isinstance(claim, ZCDP):
        return claim.exact_rho
    if isinstance(claim, GaussianDP):
        return claim.exact_mu * claim.exact_mu / 2
    pure = _pure_epsilon(claim)
    return None if pure is None else rho_of_pure(pure)
