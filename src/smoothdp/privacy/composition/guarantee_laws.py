"""The laws of the worst mechanism that meets a claim."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.exact.balls.balls import log_bounds, real_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, LOG_ZERO, UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import Real
from smoothdp.privacy.composition.atoms_law import AtomsLaw, TwoPointLaw
from smoothdp.privacy.composition.laws import GaussianLaw, LossBracket, LossLaws, Slack, known
from smoothdp.privacy.gaussian import GaussianDP
from smoothdp.privacy.neighbours import Neighbours
from smoothdp.privacy.standard import ApproxDP, PureDP


def two_point_law(epsilon: Real, delta: Fraction) -> AtomsLaw:
    """Return the law of the pair that dominates every (epsilon, delta)-DP mechanism.

    With probability delta the loss is infinite, else it is epsilon with probability
    e^epsilon / (1 + e^epsilon) and -epsilon else (Kairouz, Oh, Viswanath 2015). Rounding:
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


def guarantee_laws(claim: PureDP | ApproxDP | GaussianDP) -> LossLaws:
    """Return the laws of a pure, approximate or Gaussian claim."""
    if isinstance(claim, GaussianDP):
        return gaussian_laws(claim.exact_mu**2, claim.neighbours)
    delta = claim.exact_delta if isinstance(claim, ApproxDP) else Fraction(0)
    return LossLaws(claim.neighbours, known(two_point_law(claim.exact_epsilon, delta)))


def gaussian_laws(square: Fraction, neighbours: Neighbours) -> LossLaws:
    """Return the laws of a Gaussian shift with mu^2 = square: its own mirror image."""
    law = GaussianLaw(square)
    return LossLaws(neighbours, LossBracket(law, law))
