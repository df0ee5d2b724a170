"""Protocols that hide a user with a probability below 1, so that their guarantees need a delta."""

from __future__ import annotations

from functools import cached_property

from smoothdp.exact.parameters import Parameter
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.profile import read_delta
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.profiles import slack_mu, stated_guarantee
from smoothdp.shuffle.protocol import Datum, Estimate, ShuffleProtocol


class ApproximateOnly(ShuffleProtocol[Datum, Estimate]):
    """What counting with noise bits that may all be missing promises, and what it cannot."""

    promise: Guarantee | None

    @cached_property
    def guarantee(self) -> Guarantee:
        """What was promised; else (epsilon, 1e-6)-DP with the exact epsilon if there is one."""
        return stated_guarantee(self.profile(), self.promise)

    def gaussian_mu(self, delta: Parameter = 0) -> float:
        """Return mu of Gaussian DP, rounded up; with delta > 0, where delta(e) exceeds it.

        inf at delta = 0: with a positive probability nothing hides a user.
        """
        return slack_mu(self.profile(), read_delta(delta))

    def collusion_sentence(self) -> str:
        """Return what is left if the shuffler and the analyser work together."""
        return zp.collusion_sentence(self.local_profile().log_delta(10**6))
