"""Counting users with a bit so that no user with it gives exactly 0: paper 3, section 3.1."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.samplers import bernoulli, binomial
from smoothdp.shuffle.accounting.exchange_profile import CountProfile
from smoothdp.shuffle.envelopes import Envelope
from smoothdp.shuffle.goals import Method
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.accuracy import mean_squared_error, worst_case_error
from smoothdp.shuffle.histogram.approximate_only import OmittedNoise
from smoothdp.shuffle.histogram.calibration import (
    read_goal,
    read_promise,
    smallest_omission,
    smallest_users,
)
from smoothdp.shuffle.histogram.true_counts import tally_data
from smoothdp.shuffle.messages import TOO_MANY, ReadMessages, read_messages
from smoothdp.shuffle.protocol import read_failure_probability
from smoothdp.shuffle.users.honest_share import DEFAULT_HONEST_SHARE, read_honest_share
from smoothdp.shuffle.users.honesty import MessagesOfOne, most_honest_users
from smoothdp.sources import Source

_NAME = "ZeroPreservingCount"


@dataclass(frozen=True, init=False)
class ZeroPreservingCount(OmittedNoise[int, float]):
    """Count the users whose bit is 1; if there are none the result is exactly 0.

    A user with bit x sends x + z messages, all equal, z = 1 except with the omission
    probability gamma, and dummies up to two slots, always. From M messages the estimate is
    M - n (1 - gamma) if M > n, else 0. It is a count; paper 3 has it divided by n.

    Source: Balcer, Cheu, Separating Local and Shuffled Differential Privacy via Histograms,
    section 3.1.

    Args:
        n_users: n, public; 1 <= n <= 2^31 - 2.
        omission_probability: gamma = 1 - p of the paper, in (0, 1/2].
        promise: the guarantee that releases state; checked, and kept by `calibrate`.
        honest_share: the share of the users that `profile` counts on, in (0, 1].

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> from smoothdp.claims import ApproxDP
    >>> goal = ApproxDP(1, delta="1e-6")
    >>> p = ZeroPreservingCount.calibrate(10_000, guarantee=goal, honest_share=1)
    >>> round(float(10_000 * p.omission_probability), 1)
    34.1
    >>> p.release(counts=0).value
    0.0
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.1, Theorem 3.1")
    counted: ClassVar[str] = "the count"
    n_users: int
    omission_probability: Fraction
    promise: ApproxDP | None
    honest_share: Fraction

    def __init__(
        self,
        n_users: int,
        *,
        omission_probability: Parameter,
        promise: Guarantee | None = None,
        honest_share: Parameter = 1,
    ) -> None:
        object.__setattr__(self, "n_users", zp.read_zero_preserving_users(n_users))
        object.__setattr__(self, "omission_probability", zp.read_omission(omission_probability))
        object.__setattr__(self, "honest_share", read_honest_share(honest_share))
        object.__setattr__(self, "promise", read_promise(promise, self.profile()))

    @classmethod
    def calibrate(
        cls,
        n_users: int,
        *,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        method: Method = "exact",
    ) -> ZeroPreservingCount:
        """Return the protocol with the least noise found for (epsilon, delta)-DP.

        Args:
            guarantee: ApproxDP with 0 < delta < 1.
            honest_share: the share of the users whose noise is counted on, in (0, 1].
            method: "exact" for any epsilon >= 0, or "paper": 50 ln(2/delta) / (epsilon^2 n).

        Raises:
            InvalidParameter: too few users (the error says how many are needed), a guarantee
                of another kind; with "paper", epsilon above 1.
        """
        goal = read_goal(guarantee, method)
        n, honest = zp.read_zero_preserving_users(n_users), read_honest_share(honest_share)
        gamma = smallest_omission(_log_delta, n, goal, share=1, method=method, honest_share=honest)
        return cls(n, omission_probability=gamma, promise=goal, honest_share=honest)

    @staticmethod
    def smallest_n_users(
        *,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        method: Method = "exact",
    ) -> int:
        """Return the least number of users with which a guarantee can be met."""
        goal, honest = read_goal(guarantee, method), read_honest_share(honest_share)
        return smallest_users(_log_delta, goal, share=1, method=method, honest_share=honest)

    # ---- privacy ----------------------------------------------------------------------

    def profile(self, *, n_honest: int | None = None) -> PrivacyProfile:
        """Return the exact privacy profile, the same for all data of the other users."""
        return CountProfile(self._honest(n_honest), self.omission_probability)

    @property
    def messages_per_user(self) -> float:
        """Messages that a user sends on average if all bits are 1: 2 - gamma."""
        return float(2 - self.omission_probability)

    @property
    def most_messages(self) -> int:
        """Messages that one user sends at most: a malicious user can move the count by as much."""
        return 2

    # ---- accuracy ---------------------------------------------------------------------

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:
        """Return the exact worst-case error of the count, a whole number of users.

        The least A >= n gamma that the error exceeds with at most the failure probability,
        whatever the data. There is one count, so ``simultaneous`` changes nothing.
        """
        del simultaneous
        failure = read_failure_probability(failure_probability)
        return float(worst_case_error(self.n_users, self.omission_probability, failure))

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error at a true count, or its largest, rounded up."""
        count = None if values is None else self.check_counts(values)
        return mean_squared_error(self.n_users, self.omission_probability, count)

    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""
        return (
            f"zero-preserving count of {self.n_users} users through a shuffler, noise bits "
            f"omitted with probability {shown(self.omission_probability)}, envelopes of 2 slots"
        )

    # ---- run --------------------------------------------------------------------------

    def randomize(self, datum: int, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return two slots: x + z messages 1, and dummies 0, so that their number tells nothing."""
        source = read_rng(rng)
        bit = self._read_bit(datum)
        sent = [1] * (bit + (not bernoulli(self.omission_probability, source)))
        return Envelope(self.most_messages, Fraction(0)).filled(sent, dummy=0, rng=source)

    def read(self, messages: Iterable[object]) -> ReadMessages:
        """Return the messages 1, at most two a user, without dummies; the others are counted."""
        read = read_messages(messages, protocol=_NAME, n_values=2, at_most=sys.maxsize)
        ones, rejected = read.values[read.values == 1], dict(read.rejected)
        most = self.most_messages * self.n_users
        if ones.size > most:
            rejected[TOO_MANY] = int(ones.size) - most
        return ReadMessages(ones[:most], rejected, 0)

    def estimate(
        self, read: ReadMessages, *, n_answered: int | None = None, tolerated: int = 0
    ) -> float:
        """Return M - n (1 - gamma) if M > n - tolerated, else 0; n users answered.

        Raises:
            InvalidParameter: numbers of users outside their domains.
            InvalidData: fewer honest users than the promise needs have answered.
        """
        used, silent = self.those_who_answered(n_answered, tolerated)
        self._check_honest(
            used, int(read.values.size), silent, warned=False, counted=n_answered is not None
        )
        return used._estimate_read(read, silent)

    def _estimate_read(self, read: ReadMessages, tolerated: int) -> float:
        return self._estimate(int(read.values.size) - self.n_users, tolerated)

    def estimate_from_total(self, total: int) -> float:
        """Return the estimate from the number of messages of n users, none of them silent."""
        return self._estimate(total - self.n_users)

    def _for_users(self, n_users: int) -> ZeroPreservingCount:
        gamma, share = self.omission_probability, self._share_among(n_users)
        return self._kept_by(
            ZeroPreservingCount(n_users, omission_probability=gamma, honest_share=share)
        )

    def honest_at_most(self, n_messages: int) -> int:
        """Return how many users can be honest at most: each sends noise but for an omission."""
        least: MessagesOfOne = {**self._messages_of_one(), "sure": 0}
        return most_honest_users(n_messages, self.n_users, **least)

    def _messages_of_one(self) -> MessagesOfOne:
        # A user whose bit is 1.
        return {"sure": 1, "noise_bits": 1, "probability": float(1 - self.omission_probability)}

    def check_data(self, data: Iterable[int]) -> int:
        """Return how many of the bits, one per user, are 1."""
        return tally_data(data, n_users=self.n_users, n_bins=2).get(1, 0)

    def check_counts(self, counts: Any) -> int:
        """Return a true count in 0..n, or raise InvalidData."""
        try:
            count = exact_int(counts, name="the true count", minimum=0)
        except InvalidParameter:
            count = -1
        if count < 0:
            raise InvalidData(
                expected="the true count as a whole number >= 0",
                got="another value",
                remedy="Give the number of users whose bit is 1",
            )
        if count > self.n_users:
            raise InvalidData(
                expected=f"a count of at most n_users={self.n_users}",
                got="more",
                remedy="Count each user whose bit is 1 once",
            )
        return count

    def _run_users(self, data: Any, rng: Entropy) -> float:
        missing = int(zp.bernoulli_array(self.omission_probability, self.n_users, rng).sum())
        return self._estimate(int(data) - missing)

    def _run_counts(self, counts: Any, rng: Entropy) -> float:
        return self._estimate(counts - binomial(self.n_users, self.omission_probability, rng))

    def _estimate(self, excess: int, tolerated: int = 0) -> float:
        if excess <= -tolerated:
            return 0.0
        return float(excess + self.n_users * self.omission_probability)

    @staticmethod
    def _read_bit(datum: object) -> int:
        if isinstance(datum, bool | np.bool_) or datum in (0, 1):
            return int(datum)
        raise InvalidData(
            expected="a bit, 0 or 1", got="another value", remedy="Code the answer as 0 or 1"
        )


def _log_delta(n: int, gamma: Fraction, epsilon: Real) -> Any:
    return CountProfile(n, gamma).log_delta_bounds(epsilon)
