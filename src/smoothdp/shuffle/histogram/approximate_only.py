"""Protocols that hide a user with a probability below 1, so that their guarantees need a delta."""

from __future__ import annotations

from functools import cached_property
from typing import Self

from smoothdp.claims.domains import read_delta
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.shuffle.accounting.exchange_profile import slack_mu, stated_guarantee
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.calibration import is_kept
from smoothdp.shuffle.protocol import Datum, Estimate, ShuffleProtocol


class ApproximateOnly(ShuffleProtocol[Datum, Estimate]):
    """What counting with noise bits that may all be missing promises, and what it cannot."""

    promise: ApproxDP | None

    @cached_property
    def guarantee(self) -> Guarantee:
        """What was promised; else (epsilon, 1e-6)-DP with the exact epsilon if there is one."""
        return stated_guarantee(self.profile(), self.promise)

    @cached_property
    def honest_needed(self) -> int:
        """The fewest honest users with whom the promise is kept; 1 without a promise."""
        promise = self.promise
        if promise is None:
            return 1
        return least_integer(lambda m: is_kept(promise, self.profile(n_honest=m)), 1, self.n_users)

    def _kept_by(self, fewer: Self) -> Self:
        """Return the protocol for fewer users, with the promise if they keep it."""
        if self.promise is not None and fewer.n_users >= self.honest_needed:
            object.__setattr__(fewer, "promise", self.promise)
        return fewer

    def gaussian_mu(self, delta: Parameter = 0) -> float:
        """Return mu of Gaussian DP, rounded up; with delta > 0, where delta(e) exceeds it.

        inf at delta = 0: with a positive probability nothing hides a user.
        """
        return slack_mu(self.profile(), read_delta(delta))

    def collusion_sentence(self) -> str:
        """Return what is left if the shuffler and the analyser work together."""
        return zp.collusion_sentence(self.local_profile().log_delta(10**6))
