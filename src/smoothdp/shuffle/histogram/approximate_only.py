"""Protocols that hide a user with a probability below 1, so that their guarantees need a delta."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from smoothdp.claims.curves.profile import read_delta
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.exact.bisection import least_integer
from smoothdp.exact.parameters import Parameter, float_bounds
from smoothdp.shuffle.accounting.exchange_profile import slack_mu, stated_guarantee
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.calibration import is_kept
from smoothdp.shuffle.protocol import Datum, Estimate, ShuffleProtocol


class ApproximateOnly(ShuffleProtocol[Datum, Estimate]):
    """What a count with noise bits that may all be missing can promise."""

    promise: ApproxDP | None

    @cached_property
    def guarantee(self) -> Guarantee:
        """The promise; else (epsilon, 1e-6)-DP with the exact epsilon if there is one."""
        return stated_guarantee(self.profile(), self.promise)

    @cached_property
    def honest_needed(self) -> int:
        """The fewest honest users with whom the promise is kept; 1 without a promise."""
        promise = self.promise
        if promise is None:
            return 1
        return least_integer(lambda m: is_kept(promise, self.profile(n_honest=m)), 1, self.n_users)

    def gaussian_mu(self, delta: Parameter = 0) -> float:
        """Return mu of Gaussian DP, rounded up; with delta > 0, where delta(e) exceeds it.

        inf at delta = 0: with a positive probability nothing hides a user.
        """
        return slack_mu(self.profile(), read_delta(delta))

    def collusion_sentence(self) -> str:
        """Return what is left if the shuffler and the analyser work together."""
        return zp.collusion_sentence(self.local_profile().log_delta(10**6))


class OmittedNoise(ApproximateOnly[Datum, Estimate]):
    """Noise messages that honest users send but for an omission: no more than n are shown as 0."""

    omission_probability: Fraction
    counted: ClassVar[str]
    """What silent users lower, in words."""

    @property
    def hidden_up_to(self) -> float:
        """n gamma, rounded up: M <= n is reported as 0."""
        return float_bounds(self.n_users * self.omission_probability)[1]

    def _read_tolerated(self, tolerated: int) -> int:
        return zp.read_tolerated(tolerated, self.n_users, self.omission_probability)

    def _silence(self, n_silent: int) -> str:
        kept = self.n_users - n_silent >= self.honest_needed
        allowed = n_silent <= self.n_users * self.omission_probability
        return zp.silence_sentence(self.counted, n_silent, can_be=kept, can_tolerate=allowed)
