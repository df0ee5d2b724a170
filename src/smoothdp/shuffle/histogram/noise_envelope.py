"""The envelope of a user whose noise messages are binomial: the fewest slots, and what they cost.

A user sends the own bin and Bin(d, gamma) noise messages. Noise of more than c messages is drawn
again, all bins together, so that K = 1 + c slots always suffice (proofs/honest-users#3).
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.exact.balls.balls import exp_bounds, log_bounds, real_bounds
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import exp_upper
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.shuffle.accounting.exchange_sum import LARGEST_TRIALS

_BELOW_FLOATS = -700.0
_ROUNDING = Fraction(1, 2**30)


def overflow_of_one(n_slots: int, n_bins: int, gamma: Fraction) -> Fraction:
    """Return a bound of the probability that the noise of one user does not fit; 0 for d + 1.

    >>> half = Fraction(1, 2)
    >>> overflow_of_one(3, 2, half), round(float(overflow_of_one(2, 2, half)), 12)
    (Fraction(0, 1), 0.25)
    """
    if n_slots > n_bins:
        return Fraction(0)
    return fraction_above(log_binomial_tail(n_slots, n_bins, gamma).upper)


def fewest_slots(n_honest: int, n_bins: int, gamma: Fraction, overflow: Fraction) -> int:
    """Return K = 1 + c, c the least with m0 P(Bin(d, gamma) > c) <= tau.

    >>> fewest_slots(900_000, 100, Fraction(1, 21_097), Fraction(1, 10**9))
    6
    """
    if n_bins > LARGEST_TRIALS:
        return n_bins + 1
    limit = log_bounds(overflow / n_honest).lower

    def fits(noise: int) -> bool:
        return log_binomial_tail(noise + 1, n_bins, gamma).upper <= limit

    return 1 + least_integer(fits, 0, n_bins)


def fraction_above(log_value: float) -> Fraction:
    """Return a rational number not below e^log_value: a power of two where floats end.

    >>> fraction_above(-1e4) > 0, float(fraction_above(-1.0)) >= math.exp(-1.0)
    (True, True)
    """
    if log_value == -math.inf:
        return Fraction(0)
    if log_value < _BELOW_FLOATS:
        return Fraction(1, 2 ** math.floor(-log_value / math.log(2) * (1 - 1e-15)))
    return Fraction(exp_upper(log_value))


def goal_before_redrawing(goal: ApproxDP, overflow: Fraction) -> ApproxDP:
    """Return what the free protocol must keep: (1 - tau) delta - e^epsilon tau, rounded down."""
    epsilon = goal.exact_epsilon
    delta = (1 - overflow) * goal.exact_delta - _growth_above(epsilon) * overflow
    return ApproxDP(epsilon, delta=delta * (1 - _ROUNDING))


def _growth_above(epsilon: Real) -> Fraction:
    growth = exp_bounds(epsilon).upper
    if math.isfinite(growth):
        return Fraction(growth)
    return Fraction(2 ** math.ceil(real_bounds(epsilon).upper / math.log(2) * (1 + 1e-15)))
