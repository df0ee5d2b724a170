"""Protocols that hide a user with a probability below 1, so that their guarantees need a delta."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from smoothdp.claims.domains import read_delta
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.parameters.numbers import Parameter, float_bounds
from smoothdp.shuffle.accounting.exchange_profile import slack_mu, stated_guarantee
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.calibration import is_kept
from smoothdp.shuffle.protocol import Datum, Estimate, ShuffleProtocol
from smoothdp.shuffle.users.honesty import (
    MessagesOfOne,
    most_honest_despite,
    most_honest_users,
    most_messages_of,
)


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
        return least_integer(
            lambda m: is_kept(promise, self.profile(n_honest=m)), 1, self.honest_assumed
        )

    @property
    @abstractmethod
    def most_messages(self) -> int:
        """Messages that one user sends at most, all of which may be of one bin."""

    @property
    def messages_allowed(self) -> int:
        """As `most_messages`."""
        return self.most_messages

    @property
    def influence_of_one_liar(self) -> float:
        """All messages that a user may send, for one bin.

        If the shuffler lets each user send no more than `messages_allowed`. An estimate of up to
        `hidden_up_to` and as much more may appear or disappear besides.
        """
        return float(self.most_messages)

    @abstractmethod
    def _messages_of_one(self) -> MessagesOfOne:
        """Return the most that an honest user sends: messages for sure, and noise bits."""

    def honest_at_most(self, n_messages: int) -> int:
        """Return how many users can be honest at most if there are so many messages in all.

        Each sends some messages for sure and, for each noise bit, one more with a probability.
        Wrong with probability below 1e-12.
        """
        return most_honest_users(n_messages, self.n_users, **self._messages_of_one())

    def surplus(self, n_messages: int) -> int:
        """Return how many messages are more than n_users honest users send; 0 if none."""
        likely = most_messages_of(self.n_users, **self._messages_of_one())
        return max(0, math.ceil(n_messages - likely))

    def honest_despite(self, n_messages: int) -> int:
        """Return how many users can be honest at most if there are so many messages in all."""
        return most_honest_despite(
            n_messages, self.n_users, allowed=self.messages_allowed, **self._messages_of_one()
        )

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
