"""The privacy profile of a split sum: how private the total is, and how well shares hide the rest.

Given the total, the shuffled shares are nearly uniform: chi-squared beside uniform lists is at most
x. The totals of neighbours are (c, d(c))-close. Then for every c < epsilon, with D = epsilon - c,

    delta(epsilon) <= d(c) + x (1 + e^D)^2 / (4 (e^D - 1))          (proofs/split-sums#4).

With all honest users that the noise is made for, d(c) = 0 from c = the noise's epsilon on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.balls.balls import ball, log_bounds, precision, real_bounds, round_up
from smoothdp.exact.logspace.bounds import LogBounds, log_difference_lower, log_sum_upper
from smoothdp.exact.parameters.numbers import Real
from smoothdp.shuffle.split.components import log_chi_squared
from smoothdp.shuffle.split.noise_total import (
    HalfLaw,
    NoiseTotal,
    laplace_excess,
    laplace_excess_bounds,
    log_discrete_laplace_tail,
)

_LEAST_BEYOND = 1e-24
BEST_SLACK = Fraction(109861228866811, 10**14)
"""ln 3, rounded up: where (1 + e^D)^2 / (4 (e^D - 1)) is least."""
_SLACKS = tuple(BEST_SLACK / 2**k for k in range(0, 60, 3))
_FINER = (Fraction(1, 2), Fraction(2))


def log_slack_factor(epsilon: Real, used: Fraction) -> float:
    """Return ln((1 + e^D)^2 / (4 (e^D - 1))) with D = epsilon - used, rounded up; inf if D <= 0.

    >>> round(math.exp(log_slack_factor(Fraction(1), Fraction(19, 20))), 6)
    20.516984
    """
    with precision(192):
        slack = ball(epsilon) - ball(used)
        if not slack > 0:
            return math.inf
        return round_up(2 * (1 + slack.exp()).log() - slack.expm1().log() - ball(4).log())


@dataclass(frozen=True)
class SplitProfile(PrivacyProfile):
    """Bounds of delta of a split sum: from above by total and shares, from below by the total.

    The lower bound is 0 unless exactly the users that the noise is made for are honest.

    Attributes:
        n_honest: users who follow the protocol, the protected one included.
        n_designed: users whose shares of noise together are geometric.
        noise_epsilon: of the total, if all of these are honest.
        resolution: R, by which one user may change the total.
        n_shares, modulus_bits: m and log2 q.
    """

    n_honest: int
    n_designed: int
    noise_epsilon: Fraction
    resolution: int
    n_shares: int
    modulus_bits: int

    @property
    def neighbours(self) -> Neighbours:
        """Replacing one user's number: who answers is public."""
        return Neighbours.REPLACE_ONE

    @cached_property
    def log_chi_squared(self) -> float:
        """ln of chi-squared of the shuffled shares beside uniform lists, rounded up.

        With more honest users than the noise is made for also that of these: the view of more
        follows from the view of fewer.
        """
        designed = min(self.n_honest, self.n_designed)
        return min(
            log_chi_squared(honest, self.n_shares, self.modulus_bits)
            for honest in {designed, self.n_honest}
        )

    @cached_property
    def _law(self) -> HalfLaw:
        shape = Fraction(self.n_honest, self.n_designed)
        noise = NoiseTotal(shape, self.noise_epsilon / self.resolution)
        return noise.law(_LEAST_BEYOND, at_least=self.resolution + 2)

    def total_excess(self, threshold: Fraction) -> float:
        """Return d(c), the hockey stick of neighbouring totals at e^c, rounded up."""
        if self.n_honest >= self.n_designed:
            rate = self.noise_epsilon / self.resolution
            return laplace_excess(self.resolution, rate, threshold)
        try:
            return self._law.excess(self.resolution, threshold)
        except OverflowError:
            return 1.0

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln delta: from above at the best of several c."""
        best = 0.0
        if self.n_honest >= self.n_designed:
            # Where delta does not grow with epsilon, the least value counts.
            cap = self.noise_epsilon + BEST_SLACK
            nearer: Real = cap if real_bounds(epsilon).lower >= cap else epsilon
            best = min(best, self._log_bound(nearer, self.noise_epsilon))
        if self.log_chi_squared < 0.0 and best > -math.inf:
            best = self._searched(Fraction(real_bounds(epsilon).lower), epsilon, best)
        return LogBounds(min(best, self._log_lower(epsilon)), best)

    def _log_lower(self, epsilon: Real) -> float:
        """Return ln(g - (1 + e^epsilon) P(|A - B| > q / 2 - R - 1)), rounded down.

        g is the hockey stick of the totals as whole numbers (proofs/split-sums#8).
        """
        highest = real_bounds(epsilon).upper
        room = (1 << self.modulus_bits) // 2 - self.resolution - 1
        if self.n_honest != self.n_designed or room < 0 or highest > self.noise_epsilon:
            return -math.inf
        rate = self.noise_epsilon / self.resolution
        excess = laplace_excess_bounds(self.resolution, rate, Fraction(highest))[0]
        lost = log_discrete_laplace_tail(room, rate).upper
        lost = math.nextafter(lost + log_sum_upper(0.0, highest), math.inf)
        if excess == 0.0:
            return -math.inf
        found = log_bounds(Fraction(excess)).lower
        return log_difference_lower(found, lost) if found > lost else -math.inf

    def _searched(self, largest: Fraction, epsilon: Real, best: float) -> float:
        """Return the least bound over slacks D, finer around the best: every one is safe."""
        tried = {slack: self._log_bound(epsilon, largest - slack) for slack in _SLACKS}
        for factor in _FINER:
            start = min(tried, key=tried.__getitem__)
            tried[start * factor] = self._log_bound(epsilon, largest - start * factor)
        return min(best, *tried.values())

    def _log_bound(self, epsilon: Real, used: Fraction) -> float:
        """Return ln(d(c) + x (1 + e^D)^2 / (4 (e^D - 1))) at c = used, rounded up."""
        left = -math.inf
        if not (self.n_honest >= self.n_designed and used >= self.noise_epsilon):
            excess = self.total_excess(used)
            left = log_bounds(Fraction(excess)).upper if excess > 0.0 else -math.inf
        if self.log_chi_squared == -math.inf:
            # The shares of one user tell nothing but their total: D = 0 is allowed, D < 0 is not.
            return left if real_bounds(epsilon).lower >= used else 0.0
        right = math.nextafter(self.log_chi_squared + log_slack_factor(epsilon, used), math.inf)
        return log_sum_upper(left, right)
