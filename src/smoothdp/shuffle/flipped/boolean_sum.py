"""BooleanSum: how many users hold a 1 (Algorithm 1 of paper 5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.random_words import random_words
from smoothdp.shuffle.flipped.flip_calibration import calibrated_random_users
from smoothdp.shuffle.flipped.flipped_sum import FlippedSum, float_up
from smoothdp.shuffle.goals import Method
from smoothdp.shuffle.protocol import read_users
from smoothdp.shuffle.users.honest_share import DEFAULT_HONEST_SHARE
from smoothdp.shuffle.users.ones import read_ones
from smoothdp.shuffle.users.user_data import read_bits, require_n_users
from smoothdp.sources import Source
from smoothdp.types import ByteArray

_AT_ONCE = 1 << 18


@dataclass(frozen=True, init=False)
class BooleanSum(FlippedSum[int]):
    """Count the users who hold a 1: each sends the bit, or with probability lambda/n a coin.

    Estimate (total - lambda/2) n / (n - lambda), unbiased; its error does not depend on the
    data. Privacy is exact: `profile` is the worst over the other users' data.

    Source: paper 5, Algorithm 1 (Cheu et al. 2019). Its Theorem 2 is false as printed, and
    nothing here rests on it.

    Args:
        n_users: n >= 1.
        expected_random_users: lambda in (0, n).
        promise: PureDP, ApproxDP or GaussianDP that releases state; checked against the exact
            profile, and kept by `calibrate`.
        honest_share: the share of the users that `profile` counts on, in (0, 1].

    Raises:
        InvalidParameter: a parameter outside these domains, or a promise that the exact profile
            does not keep.
        IncompatibleClaims: a promise about other neighbours than replace_one.

    >>> protocol = BooleanSum(100, expected_random_users=58)
    >>> round(protocol.profile().delta("0.3"), 10)
    5.32237e-05
    """

    source: ClassVar[Source] = Source("chen-long", "Algorithm 1")
    n_bits: int = field(init=False)
    """1."""

    def __init__(
        self,
        n_users: int,
        *,
        expected_random_users: Parameter,
        promise: Guarantee | None = None,
        honest_share: Parameter = 1,
    ) -> None:
        self._set(read_users(n_users), expected_random_users, 1, promise, honest_share)

    @classmethod
    def calibrate(
        cls,
        n_users: int,
        *,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        method: Method = "exact",
    ) -> BooleanSum:
        """Return the protocol with the fewest random users that meets a guarantee.

        Args:
            n_users: n >= 1.
            guarantee: PureDP, ApproxDP or GaussianDP, replacing one record.
            honest_share: the share of the users whose noise is counted on, in (0, 1].
            method: "exact", or "paper": lambda of Cheu et al. 2019, which paper 5 starts from
                (its own theorem is false); checked against the exact profile.

        Raises:
            InvalidParameter: another guarantee, or none can meet it with so few users: the
                error says the smallest n.

        >>> from smoothdp.claims.guarantees.standard import ApproxDP
        >>> goal = ApproxDP(1, delta="1e-6")
        >>> protocol = BooleanSum.calibrate(1000, guarantee=goal, honest_share=1)
        >>> round(float(protocol.expected_random_users), 2)
        61.48
        """
        n = read_users(n_users)
        users = calibrated_random_users(
            n, n_bits=1, guarantee=guarantee, honest_share=honest_share, method=method
        )
        protocol = cls(n, expected_random_users=users, honest_share=honest_share)
        protocol._calibrated_for(guarantee)
        return protocol

    def _for_users(self, n_users: int) -> BooleanSum:
        # The same lambda / n, so the same q.
        users = self.expected_random_users * n_users / self.n_users
        share = self._share_among(n_users)
        return self._kept_by(BooleanSum(n_users, expected_random_users=users, honest_share=share))

    def randomize(self, datum: int, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return the one message of a user, a bit, with exact random bits."""
        bit = int(read_bits([datum])[0])
        return (self._flip(bit, read_rng(rng)),)

    def randomize_all(self, data: Iterable[int], *, rng: Entropy | None = None) -> ByteArray:
        """Return the bit of every user, an array: the same law as `randomize` one by one."""
        source = read_rng(rng)
        bits = self.check_data(data)
        chunks = [
            self._flip_array(bits[start : start + _AT_ONCE], source)
            for start in range(0, bits.size, _AT_ONCE)
        ]
        return np.concatenate(chunks)

    def check_data(self, data: Iterable[int]) -> ByteArray:
        """Return one bit per user, or raise InvalidData."""
        bits = read_bits(data)
        require_n_users(bits.size, self.n_users)
        return bits

    def check_counts(self, counts: Any) -> int:
        """Return the number of ones, given alone or as (zeros, ones); or raise InvalidData."""
        return read_ones(counts, self.n_users)

    def _run_users(self, data: ByteArray, rng: Entropy) -> float:
        total = 0
        for start in range(0, data.size, _AT_ONCE):
            chunk = data[start : start + _AT_ONCE]
            total += int(np.count_nonzero(self._flip_array(chunk, rng)))
        return self.estimate_from_total(total)

    def _flip_array(self, bits: ByteArray, rng: Entropy) -> ByteArray:
        flips = random_words(bits.size, rng) < np.uint64(self.threshold)
        return np.bitwise_xor(bits, flips.view(np.uint8))

    def _run_counts(self, counts: int, rng: Entropy) -> float:
        return self.estimate_from_total(self._draw_total(counts, rng))

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error, rounded up, the same for all true values."""
        if values is not None:
            read_bits(values)
        return float_up(self.noise_mse())
