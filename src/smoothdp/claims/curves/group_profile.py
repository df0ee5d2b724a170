"""Group privacy of a whole profile."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.balls.balls import ball, enclose, precision, real_bounds
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds, log_sum_upper
from smoothdp.exact.parameters.numbers import LogRatio, Real, exact_int, exact_real

_SEARCHED = 24
_GOLDEN = 0.6180339887498949
# Chains of more steps than this are of equal parts.
_LONGEST = 64
_LEAST = 1e-300


@dataclass(frozen=True)
class GroupProfile(PrivacyProfile):
    """The profile that follows for databases that differ in k records.

    Along a path of k steps, each delta(e) for one record, for all parts e_1 + .. + e_k = e

        delta_k(e) <= sum_i delta(e_i) exp(e_(i+1) + .. + e_k)

    (proofs/gaussian-dp#7). Equal parts are (e, d)-DP to (k e, d (1 + e^e + ... + e^((k-1) e)))-DP
    (Dwork, Roth, Theorem 2.2 and its proof); parts that fall by equal steps are never worse, and
    for Gaussian noise the best: they give k mu. An upper bound: nothing is claimed from below but
    what one record already loses.
    """

    single: PrivacyProfile
    n_records: int
    _falls: dict[int, float] = field(default_factory=dict, repr=False, compare=False)

    @property
    def neighbours(self) -> Neighbours:
        return self.single.neighbours

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        k = self.n_records
        share = _share_below(epsilon, k)
        if self.single.log_delta_bounds(share).upper == -math.inf:
            return LOG_ZERO
        upper = self._chained(share, 0.0)
        if isinstance(share, Fraction) and share > _LEAST and k <= _LONGEST:
            upper = min(upper, self._chained(share, self._fall(share)))
        return LogBounds(min(upper, self.single.log_delta_bounds(epsilon).lower), upper)

    def _chained(self, share: Real, fall: float) -> float:
        """Return the bound for parts around a share of epsilon, each smaller by ``fall`` shares
        than the one before, at most so that the last is 0."""
        k = self.n_records
        if not fall:
            one = self.single.log_delta_bounds(share).upper
            with precision(128):
                each = ball(share)
                growth = (k * each).expm1() / each.expm1() if each > 0 else ball(k)
                log_growth = enclose(growth.log()).upper
            return min(0.0, math.nextafter(one + log_growth, math.inf))
        assert isinstance(share, Fraction)
        step = Fraction(fall) * share
        total, rest = -math.inf, Fraction(0)
        for place in range(k):
            part = share - step * (Fraction(k - 1, 2) - place)
            one = self.single.log_delta_bounds(part).upper
            if one > -math.inf:
                after = real_bounds(rest).upper
                total = log_sum_upper(total, math.nextafter(one + after, math.inf))
            rest += part
        return min(0.0, total)

    def _fall(self, share: Fraction) -> float:
        """Return about the best fall, for shares of about the same size: a golden section."""
        rank = round(4 * math.log2(share))
        if rank not in self._falls:
            middle = Fraction(2.0 ** (rank / 4))
            low, high = 0.0, 2.0 / (self.n_records - 1)
            inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
            values = [self._chained(middle, fall) for fall in inner]
            for _ in range(_SEARCHED):
                if values[0] <= values[1]:
                    high, inner[1], values[1] = inner[1], inner[0], values[0]
                    inner[0] = high - _GOLDEN * (high - low)
                    values[0] = self._chained(middle, inner[0])
                else:
                    low, inner[0], values[0] = inner[0], inner[1], values[1]
                    inner[1] = low + _GOLDEN * (high - low)
                    values[1] = self._chained(middle, inner[1])
            self._falls[rank] = inner[0] * float(middle)
        # What is kept is the fall itself: a share of this one, and no further than to 0.
        return min(self._falls[rank] / float(share), 2.0 / (self.n_records - 1) * (1 - 1e-12))


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
