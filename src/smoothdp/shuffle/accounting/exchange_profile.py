"""What the analyser learns about one user, exactly, whatever the other users' data are.

The messages of one kind are counted: s + Y, s the true count and Y the noise bits of the
honest users, binomial. Other users' data only shift the counts, which are known shifts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.profile_curve import curve_of_profile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds, exp_upper
from smoothdp.exact.logspace.log_sums import largest
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.shuffle.accounting.exchange_sum import log_exchange_sum
from smoothdp.shuffle.accounting.shift_sum import log_shift_sum

# A curve is computed atom by atom up to this many, else from the profile.
_MOST_ATOMS = 150_000
# Windows leave out less than e^-this on each side.
_DEPTH = 70.0
_LINES = 400
_DEFAULT_DELTA = "1e-6"


@dataclass(frozen=True, slots=True)
class CountProfile(PrivacyProfile):
    """Y against Y + 1, both ways: one bit is replaced.

    Attributes:
        n_honest: users whose noise counts. omission_probability: that of a missing noise bit.
    """

    n_honest: int
    omission_probability: Fraction

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        gamma = self.omission_probability
        return largest([log_shift_sum(self.n_honest, p, epsilon) for p in (gamma, 1 - gamma)])


@dataclass(frozen=True, slots=True)
class ExchangeProfile(PrivacyProfile):
    """(Y + 1, Y') against (Y, Y' + 1): one user moves from one bin to another.

    The likelihood ratio a (N - b) / ((N - a) b) does not depend on the noise level, and the
    two directions are mirror images. With one bin nothing can be replaced: delta is 0.
    """

    n_honest: int
    omission_probability: Fraction
    n_bins: int

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        if self.n_bins == 1:
            return LOG_ZERO
        return log_exchange_sum(self.n_honest, self.omission_probability, epsilon)

    def tradeoff(self) -> TradeoffFunction:
        """Return the trade-off function, exact where the atoms are few enough to list.

        Up to 150,000 pairs of counts in windows that leave out less than 1e-29; the mass left
        out is given to the attacker. Beyond, the curve that the profile allows.
        """
        if self.n_bins == 1:
            return TradeoffFunction([0.0], [0.0])
        atoms = _exchange_atoms(self.n_honest, self.omission_probability)
        if atoms is None:
            return PrivacyProfile.tradeoff(self)
        return TradeoffFunction.from_atoms(atoms)


def stated_guarantee(profile: PrivacyProfile, promise: Guarantee | None) -> Guarantee:
    """Return what was promised; else (epsilon, 1e-6)-DP with the exact epsilon.

    Where no epsilon has delta = 1e-6, (1, delta)-DP with the exact delta.
    """
    if promise is not None:
        return promise
    epsilon = profile.epsilon(_DEFAULT_DELTA)
    if math.isfinite(epsilon):
        return ApproxDP(epsilon, delta=_DEFAULT_DELTA)
    return ApproxDP(1, delta=min(Fraction(1), Fraction(profile.delta(1))))


def slack_mu(profile: PrivacyProfile, slack: Fraction) -> float:
    """Return mu, rounded up, with delta(e) <= max(delta_mu(e), slack) for all e >= 0.

    inf for slack 0: with a positive probability nothing hides a user, so no mu exists. From
    400 supporting lines of the profile: above the least mu by about 1e-5 of it.
    """
    if profile.delta(0) == 0.0:
        return 0.0
    if slack == 0:
        return math.inf
    return curve_of_profile(profile, n_lines=_LINES).gaussian_mu(slack)


def _exchange_atoms(n: int, p: Fraction) -> Atoms | None:
    """Return ln P(a - 1) P(b) and ln P(a) P(b - 1), equal losses joined; None if too many."""
    spread = math.sqrt(n * p * (1 - p))
    reach = math.ceil(spread * math.sqrt(2 * _DEPTH) + _DEPTH)
    centre = round(n * p)
    first, last = max(0, centre - reach), min(n, centre + reach)
    if (last - first + 2) ** 2 > _MOST_ATOMS:
        return None
    window = log_binomial_pmf(np.arange(first - 1, last + 2), n, p)
    logs = window.log_values.copy()
    logs[0] = logs[-1] = -np.inf
    at_count, below_count = logs[1:], logs[:-1]
    log_p = np.add.outer(below_count, at_count).ravel()
    log_q = np.add.outer(at_count, below_count).ravel()
    error = 2 * float(window.error.max()) + 2.0**-50 * (2 * _DEPTH + 10)
    outside = -np.inf
    if first > 0 or last < n:
        above = log_binomial_tail(last + 1, n, p).upper
        below = log_binomial_tail(n - first + 1, n, 1 - p).upper
        # Either of two counts may fall outside.
        outside = math.log(2 * (exp_upper(above) + exp_upper(below))) + 1e-9
    atoms = Atoms(log_p, log_q, error).alive().joined()
    return Atoms(
        np.append(atoms.log_p, [outside, -np.inf]),
        np.append(atoms.log_q, [-np.inf, outside]),
        atoms.error,
    ).alive()
