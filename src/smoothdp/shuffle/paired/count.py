"""PairedCount: how many users hold a 1, with the error of a trusted curator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.shuffle.messages import ReadMessages
from smoothdp.shuffle.paired.design import read_clump, read_wanted, refusal
from smoothdp.shuffle.paired.exact_delta import PairedCountProfile, log_delta_of
from smoothdp.shuffle.paired.paired_protocol import PairedProtocol
from smoothdp.shuffle.paired.view_rows import FewerHonestProfile
from smoothdp.shuffle.protocol import read_failure_probability, read_users
from smoothdp.shuffle.users.honest_share import (
    DEFAULT_HONEST_SHARE,
    least_honest,
    read_honest_share,
)
from smoothdp.shuffle.users.ones import read_ones
from smoothdp.shuffle.users.user_data import read_bits, require_n_users
from smoothdp.sources import Source
from smoothdp.types import ByteArray, IntArray

DEFAULT_NOISE_SHARE = Fraction(9, 10)
MINUS, PLUS, DUMMY = 0, 1, 2
"""The messages: a sign, or nothing."""


@dataclass(frozen=True, init=False)
class PairedCount(PairedProtocol[float]):
    """Count the users who hold a 1 from signs that cancel: each sends + for 1, - for 0.

    Beside the own sign a user sends noise: rarely a sign, so that all honest users together send
    geometric numbers A of + and B of -, and rarely a clump of pairs {+, -}, which hides the signs
    and adds up to nothing. The estimate is (number of + less number of - plus the number of users)
    / 2, off by (A - B) / 2: the noise of a trusted curator.

    Every envelope holds K slots, messages and dummies in random order: without it, or if who
    answers depends on the noise that they carry, the promise is not kept.

    Args:
        n_users: n >= 1.
        noise_rate: rho, in [1e-6, 100]; p = e^-rho. About 45 hundredths of epsilon.
        clump_probability: pi in (0, 1), of a clump.
        largest_clump: k in 1..4096; a clump has j pairs with probability 1 / (j H_k).
        honest_share: the share of the users that `profile` counts on, m0 = ceil(share n).
        slots: K. None: the law without a cap, for profiles only; `randomize` refuses.
        n_honest_design: of how many users the shares make a geometric number. None: m0.
        promise: ApproxDP that releases state; checked against the exact profile.

    Raises:
        InvalidParameter: a parameter outside these domains, or a promise that is not kept.
        IncompatibleClaims: a promise about other neighbours than replace_one.

    >>> from smoothdp.claims import ApproxDP
    >>> p = PairedCount.calibrate(10**6, guarantee=ApproxDP(1, delta="1e-6"))
    >>> p.slots_per_user, round(p.messages_per_user, 4), round(p.mse() ** 0.5, 2)
    (42, 1.0029, 1.64)
    """

    source: ClassVar[Source] = Source("own", "proofs/paired-counts#3")

    def __init__(
        self,
        n_users: int,
        *,
        noise_rate: Parameter,
        clump_probability: Parameter,
        largest_clump: int,
        honest_share: Parameter = 1,
        slots: int | None = None,
        n_honest_design: int | None = None,
        promise: Guarantee | None = None,
    ) -> None:
        self._set(
            n_users,
            noise_rate,
            clump_probability,
            largest_clump,
            honest_share,
            slots,
            n_honest_design,
            promise,
        )

    @classmethod
    def calibrate(
        cls,
        n_users: int,
        *,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        noise_share: Parameter = DEFAULT_NOISE_SHARE,
        largest_clump: int | None = None,
        most_messages: Parameter = 2,
        most_slots: int = 64,
    ) -> PairedCount:
        """Return the protocol with the fewest pairs that meets a guarantee.

        Args:
            n_users: n.
            guarantee: ApproxDP with epsilon > 0 and delta > 0, replacing one record.
            honest_share: in (0, 1]. Below it the promise is lost at once: with 95 % of the
                design's honest users a delta of 1e-6 becomes about 3e-4.
            noise_share: of epsilon, used by the noise that is left in the estimate; in (0, 1). The
                rest pays for the pairs. More of it lowers the error, and makes the fall below the
                honest share steeper.
            largest_clump: k. None: the least for which few enough users send clumps.
            most_messages: messages of a user that are no dummies, on average.
            most_slots: K at most.

        Raises:
            InvalidParameter: another guarantee; nothing fits: the error says what would.

        >>> from smoothdp.claims import ApproxDP
        >>> p = PairedCount.calibrate(1000, guarantee=ApproxDP(1, delta="1e-6"))
        >>> p.largest_clump, p.slots_per_user, p.error("1/20")
        (8, 49, 3.5)
        """
        users, share = read_users(n_users), read_honest_share(honest_share)
        design = least_honest(users, share)
        wanted = read_wanted(
            log_delta_of,
            guarantee,
            n_design=design,
            n_cells=1,
            noise_share=noise_share,
            most_messages=most_messages,
            most_slots=most_slots,
        )
        largest = None if largest_clump is None else read_clump(largest_clump)
        found = wanted.found(largest)
        if found is None:
            raise refusal(wanted, largest)
        return cls(
            users,
            noise_rate=wanted.rate,
            clump_probability=found.probability,
            largest_clump=found.largest,
            honest_share=share,
            slots=found.slots,
            promise=guarantee,
        )

    @property
    def n_cells(self) -> int:
        """1."""
        return 1

    @property
    def dummy(self) -> int:
        """2."""
        return DUMMY

    def _free_profile(self, n_honest: int) -> PrivacyProfile:
        if n_honest == self.n_honest_design:
            return PairedCountProfile(
                n_honest, self.noise_rate, self.clump_probability, self.largest_clump
            )
        return FewerHonestProfile(
            n_honest,
            self.n_honest_design,
            self.noise_rate,
            self.clump_probability,
            self.largest_clump,
        )

    @property
    def influence_of_one_liar(self) -> float:
        """(K + 1) / 2: K signs of one kind, where the other was due (proofs/paired-counts#9)."""
        return (self.slots_per_user + 1) / 2

    # ---- accuracy ---------------------------------------------------------------------

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:
        """Return the least half step that the error exceeds with at most this probability.

        Of all n users who are present, and rounded up; that noise is redrawn is counted.
        """
        del simultaneous
        return self._left.reach(read_failure_probability(failure_probability)) / 2

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error, rounded up, the same for all data."""
        if values is not None:
            read_bits(values)
        return self._left.variance() / 4

    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""
        return f"count of ones among {self.n_users} users by signs, {self._noise_words()}"

    # ---- run --------------------------------------------------------------------------

    def randomize(self, datum: int, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return K messages: the sign of the bit, noise, and dummies, in random order."""
        envelope, source = self.envelope, read_rng(rng)
        own = PLUS if int(read_bits([datum])[0]) else MINUS
        return envelope.filled([own, *self.noise_messages(rng=source)], dummy=DUMMY, rng=source)

    def noise_messages(self, *, rng: Entropy | None = None) -> list[int]:
        """Return the signs that a user sends beside the own one, mostly none."""
        noise = self._fitting_noise(1, read_rng(rng))
        pairs = int(noise.sizes.sum())
        return [PLUS] * (noise.plus.size + pairs) + [MINUS] * (noise.minus.size + pairs)

    def estimate(self, read: ReadMessages) -> float:
        """Return (number of + less number of - plus the number of users) / 2."""
        return self.estimate_counts(np.bincount(read.values, minlength=DUMMY + 1)[:DUMMY])

    def estimate_counts(self, message_counts: IntArray) -> float:
        """Return the same from (number of -, number of +)."""
        minus, plus = message_counts.tolist()
        return float(plus - minus + self.n_users) / 2

    def check_data(self, data: Iterable[int]) -> ByteArray:
        """Return one bit per user, or raise InvalidData."""
        bits = read_bits(data)
        require_n_users(bits.size, self.n_users)
        return bits

    def check_counts(self, counts: Any) -> int:
        """Return the number of ones, given alone or as (zeros, ones); or raise InvalidData."""
        return read_ones(counts, self.n_users)

    def _run_users(self, data: ByteArray, rng: Entropy) -> float:
        return self._run_counts(int(data.sum(dtype=np.int64)), rng)

    def _run_counts(self, counts: int, rng: Entropy) -> float:
        noise = self._fitting_noise(self.n_users, rng)
        return counts + (noise.plus.size - noise.minus.size) / 2
