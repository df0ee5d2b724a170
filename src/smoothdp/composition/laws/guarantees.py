"""The laws of the worst mechanism that meets a claim."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.terms import AverageTerms, EpsilonTerms, MuTerms
from smoothdp.composition.laws.atoms import AtomsLaw, TwoPointLaw
from smoothdp.composition.laws.law import GaussianLaw, LossBracket, LossLaws, Slack, known
from smoothdp.exact.balls.balls import log_bounds, real_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, LOG_ZERO, UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import Real


def two_point_law(epsilon: Real, delta: Fraction) -> AtomsLaw:
    """Return the law of the pair that dominates every (epsilon, delta)-DP mechanism.

    With probability delta the loss is infinite, else it is epsilon with probability
    e^epsilon / (1 + e^epsilon) and -epsilon else (Kairouz, Oh, Viswanath 2015;
    proofs/optimal-composition#1, #2, #3). Rounding:
    epsilon is off by u epsilon; log1p and exp by 4 ulp each.
    """
    if delta == 1:
        return AtomsLaw(np.array([]), np.array([]), log_bounds(delta))
    e = real_bounds(epsilon).upper
    rest = math.log1p(math.exp(-e))
    spare = 0.5 * sum(log_bounds(1 - delta)) if delta else 0.0
    masses = np.array([spare - rest, spare - rest - e])
    slack = Slack(6 * LIBM_ERROR + 4 * UNIT_ROUNDOFF * (e + abs(spare) + 1), 4 * UNIT_ROUNDOFF * e)
    infinite = log_bounds(delta) if delta else LOG_ZERO
    if e == 0.0:
        masses, losses = np.array([spare]), np.array([0.0])
    else:
        losses = np.array([e, -e])
    return TwoPointLaw(masses, losses, infinite, slack, epsilon=epsilon, delta=delta)


def guarantee_laws(claim: Guarantee) -> LossLaws | None:
    """Return the laws of a pure, approximate or Gaussian claim; None where no one pair is worst.

    Of a claim on average those of its epsilon alone: its delta is added up by itself
    (proofs/composition-at-a-database#5).
    """
    match claim.terms():
        case MuTerms(mu):
            return gaussian_laws(mu**2, claim.neighbours)
        case EpsilonTerms(epsilon, delta):
            return LossLaws(claim.neighbours, known(two_point_law(epsilon, delta)))
        case AverageTerms(epsilon):
            return LossLaws(claim.neighbours, known(two_point_law(epsilon, Fraction(0))))
    return None


def gaussian_laws(square: Fraction, neighbours: Neighbours) -> LossLaws:
    """Return the laws of a Gaussian shift with mu^2 = square: its own mirror image."""
    law = GaussianLaw(square)
    return LossLaws(neighbours, LossBracket(law, law))
