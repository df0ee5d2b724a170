"""Group privacy of a whole profile."""

from __future__ import annotations

import math
from dataclasses import dataclass

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real, exact_int, exact_real


@dataclass(frozen=True)
class GroupProfile(PrivacyProfile):
    """The profile that follows for databases that differ in k records.

    (e, d)-DP for one record is (k e, d (1 + e^e + ... + e^((k-1) e)))-DP for k (Dwork, Roth,
    Theorem 2.2 and its proof), so delta_k(e) <= delta(e / k) (e^e - 1) / (e^(e/k) - 1). An upper
    bound: nothing is claimed from below but what one record already loses.
    """

    single: PrivacyProfile
    n_records: int

    @property
    def neighbours(self) -> Neighbours:
        return self.single.neighbours

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        k = self.n_records
        share = _share_below(epsilon, k)
        one = self.single.log_delta_bounds(share).upper
        if one == -math.inf:
            return LOG_ZERO
        with precision(128):
            part = ball(share)
            growth = (k * part).expm1() / part.expm1() if part > 0 else ball(k)
            log_growth = enclose(growth.log()).upper
        upper = min(0.0, math.nextafter(one + log_growth, math.inf))
        return LogBounds(min(upper, self.single.log_delta_bounds(epsilon).lower), upper)


def _share_below(epsilon: Real, k: int) -> Real:
    """Return epsilon / k, or a float just below it: then the claim is at a smaller epsilon."""
    if isinstance(epsilon, LogRatio):
        return exact_real(max(0.0, math.nextafter(float(epsilon) / k, 0.0) * (1 - 1e-15)), name="e")
    return epsilon / k


def group_profile(profile: PrivacyProfile, *, n_records: int) -> PrivacyProfile:
    """Return the profile for databases that differ in n_records records.

    >>> from smoothdp.claims import PureDP
    >>> group_profile(PureDP(1).profile(), n_records=2).delta(2)
    0.0
    """
    k = exact_int(n_records, name="n_records", minimum=1)
    return profile if k == 1 else GroupProfile(profile, k)
