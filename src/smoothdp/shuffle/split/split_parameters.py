"""The parameters of a split sum, and what follows from them: privacy, error, size, liars."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_int, exact_positive
from smoothdp.shuffle.envelopes import slot_bytes
from smoothdp.shuffle.protocol import ShuffleProtocol, read_failure_probability, read_users
from smoothdp.shuffle.split.components import LEAST_SHARES
from smoothdp.shuffle.split.noise_total import NoiseTotal
from smoothdp.shuffle.split.split_accuracy import SplitAccuracy
from smoothdp.shuffle.split.split_calibration import (
    LARGEST_RESOLUTION,
    MOST_MODULUS_BITS,
    MOST_SHARES,
    read_goal,
)
from smoothdp.shuffle.split.split_profile import BEST_SLACK, SplitProfile
from smoothdp.shuffle.users.honest_share import (
    honest_condition,
    least_honest,
    read_honest_share,
)
from smoothdp.shuffle.users.user_data import read_units

_DEFAULT_DELTA = Fraction(1, 10**6)


@dataclass(frozen=True, init=False)
class SplitParameters(ShuffleProtocol[float, float]):
    """What is known of a split sum before any data: see `SplitSum`."""

    n_users: int
    noise_epsilon: Fraction
    resolution: int
    n_shares: int
    modulus_bits: int
    honest_share: Fraction
    promise: ApproxDP | None

    def _set(
        self,
        n_users: int,
        noise_epsilon: Parameter,
        resolution: int,
        n_shares: int,
        modulus_bits: int,
        honest_share: Parameter,
        promise: Guarantee | None,
    ) -> None:
        """Fill the fields, or raise InvalidParameter."""
        n = read_users(n_users)
        object.__setattr__(self, "n_users", n)
        rate = exact_positive(noise_epsilon, name="noise_epsilon")
        object.__setattr__(self, "noise_epsilon", rate)
        levels = read_between(resolution, "resolution", 1, LARGEST_RESOLUTION)
        object.__setattr__(self, "resolution", levels)
        shares = read_between(n_shares, "n_shares", LEAST_SHARES, MOST_SHARES)
        object.__setattr__(self, "n_shares", shares)
        least_bits = (n * levels).bit_length()
        bits = read_between(modulus_bits, "modulus_bits", least_bits, MOST_MODULUS_BITS)
        object.__setattr__(self, "modulus_bits", bits)
        object.__setattr__(self, "honest_share", read_honest_share(honest_share))
        object.__setattr__(self, "promise", None)
        if promise is not None:
            object.__setattr__(self, "promise", self._checked(promise))

    def _checked(self, promise: Guarantee) -> ApproxDP:
        goal, profile = read_goal(promise), self.profile()
        if not profile.keeps(goal.exact_epsilon, goal.exact_delta):
            raise InvalidParameter(
                expected=f"a promise that the profile keeps, delta of at least "
                f"{profile.delta(goal.exact_epsilon):.6g} at epsilon={goal.epsilon:.6g}",
                got=f"{goal!r}",
                remedy="Use SplitSum.calibrate, which finds the shares for it",
            )
        return goal

    # ---- the law --------------------------------------------------------------------

    @property
    def modulus(self) -> int:
        """q."""
        return 1 << self.modulus_bits

    @property
    def noise_reach(self) -> int:
        """T: totals are read in [-T, q - T), right unless the noise exceeds T."""
        return self._accuracy.noise_reach

    @property
    def _rate(self) -> Fraction:
        return self.noise_epsilon / self.resolution

    @property
    def _noise(self) -> NoiseTotal:
        return NoiseTotal(Fraction(self.n_users, self.honest_needed), self._rate)

    # ---- privacy --------------------------------------------------------------------

    def profile(self, *, n_honest: int | None = None) -> SplitProfile:
        """Return a proved bound of the profile of what the analyser sees.

        Args:
            n_honest: users who follow the protocol, the protected one included; None: the
                `honest_needed`, on which the promise rests. A few percent fewer, and little is
                hidden.
        """
        honest = self.honest_needed if n_honest is None else self._honest(n_honest)
        return SplitProfile(
            n_honest=honest,
            n_designed=self.honest_needed,
            noise_epsilon=self.noise_epsilon,
            resolution=self.resolution,
            n_shares=self.n_shares,
            modulus_bits=self.modulus_bits,
        )

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee of the calibration; else (epsilon, 1e-6)-DP with a proved epsilon.

        With too few shares for 1e-6: the least delta that is proved for any epsilon.
        """
        if self.promise is not None:
            return self.promise
        profile = self.profile()
        epsilon = profile.epsilon(_DEFAULT_DELTA)
        if epsilon < math.inf:
            return ApproxDP(epsilon, delta=_DEFAULT_DELTA)
        best = self.noise_epsilon + BEST_SLACK
        return ApproxDP(best, delta=Fraction(profile.delta(best)))

    # ---- users who stay away, are silent or lie --------------------------------------

    @property
    def honest_needed(self) -> int:
        """m0 = ceil(honest_share n): the users whose shares of noise make all of it."""
        return least_honest(self.n_users, self.honest_share)

    @property
    def influence_of_one_liar(self) -> float:
        """inf: one share that does not belong moves the sum anywhere in Z_q, unseen."""
        return math.inf

    def liars_sentence(self, n_liars: int = 1) -> str:
        """Return what so many users who send anything, or nothing, can do.

        Raises:
            InvalidParameter: not a number from 1 to n_users - 1: one user is left to protect.
        """
        general = super().liars_sentence(n_liars)
        who = "One user who sends" if n_liars == 1 else f"{n_liars} users who send"
        return (
            f"{who} any {self.n_shares} numbers can move the sum to any value, and nothing shows "
            "it: use RealSum or PairedCount where a client may be hostile. They add"
            + general.rpartition("They add")[2]
        )

    @property
    def messages_allowed(self) -> int:
        """m."""
        return self.n_shares

    @property
    def messages_per_user(self) -> float:
        """m: every message is real."""
        return float(self.n_shares)

    @property
    def slots_per_user(self) -> int:
        """m: envelopes have no dummies."""
        return self.n_shares

    @property
    def bytes_per_user(self) -> int:
        """Bytes of an envelope whose slots are sealed for the analyser alone."""
        return self.n_shares * slot_bytes(self.modulus_bits)

    def honest_at_most(self, n_messages: int) -> int:
        """Return how many users can be honest at most: m messages each."""
        return min(self.n_users, n_messages // self.n_shares)

    # ---- error ----------------------------------------------------------------------

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:  # noqa: ARG002
        """Return a bound that |estimate - truth| exceeds with at most this probability.

        Noise and random rounding each take a part of the probability, by a quantile of the
        noise and Hoeffding's bound; rounded up. A total that is read wrongly is in it, as that
        takes noise above T.
        """
        failure = read_failure_probability(failure_probability)
        return self._accuracy.error(failure)

    @property
    def _accuracy(self) -> SplitAccuracy:
        return SplitAccuracy(self._noise, self.n_users, self.resolution, self.modulus)

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error, rounded up: noise, rounding, and totals read wrongly.

        The second is sum f (1 - f) / R^2 over f = frac(R x), the third at most
        P(|A - B| > T) (q / R)^2.

        Args:
            values: true numbers in [0, 1], any number of them; None: the worst, n / (4 R^2).
        """
        return self._accuracy.mse(None if values is None else read_units(values))

    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""
        what = "bits" if self.resolution == 1 else f"numbers in steps of 1/{self.resolution:,}"
        return (
            f"SplitSum: {what} of {self.n_users} users, each split into {self.n_shares} numbers "
            f"modulo 2^{self.modulus_bits}, with noise of epsilon {float(self.noise_epsilon):.6g} "
            f"on the total, shuffled, {honest_condition(self.n_users, self.honest_needed)}"
        )


def read_between(value: object, name: str, least: int, most: int) -> int:
    """Return a whole number in a range, or raise InvalidParameter."""
    number = exact_int(value, name=name, minimum=least)
    if number > most:
        raise InvalidParameter(
            expected=f"{name} up to {most}",
            got=f"{name}={number}",
            remedy=f"Lower {name}",
        )
    return number
