"""SplitSum: the total of numbers by shares that are uniform on their own, with little noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidData
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_int,
    proper_probability,
)
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.shuffle.messages import ReadMessages, read_messages
from smoothdp.shuffle.noise_shares import negative_binomial_share
from smoothdp.shuffle.protocol import read_users
from smoothdp.shuffle.split.components import LEAST_SHARES
from smoothdp.shuffle.split.noise_total import NoiseTotal
from smoothdp.shuffle.split.random_rounding import read_data, rounded_counts, rounded_total
from smoothdp.shuffle.split.split_calibration import (
    LARGEST_RESOLUTION,
    best_resolution,
    modulus_bits_for,
    noise_epsilon_of,
    read_goal,
    shares_for,
)
from smoothdp.shuffle.split.split_parameters import SplitParameters, read_between
from smoothdp.shuffle.users.honest_share import (
    DEFAULT_HONEST_SHARE,
    least_honest,
    read_honest_share,
)
from smoothdp.shuffle.users.user_data import (
    UNIT,
    read_count,
    read_pairs,
    require_n_users,
)
from smoothdp.sources import Source
from smoothdp.types import IntArray

UnitCounts = tuple[tuple[int, int], ...]
_DEFAULT_NOISE_SHARE = Fraction(19, 20)
_DEFAULT_SLOTS = 64


@dataclass(frozen=True, init=False)
class SplitSum(SplitParameters):
    """Add numbers in [0, 1], or bits, nearly as well as a trusted curator, from m shares a user.

    A user rounds R x at random to a whole number of that mean, adds a share of noise, and sends m
    numbers that are uniform modulo q and add up to it. All honest users' noise together is that of
    a discrete Laplace law of rate ``noise_epsilon`` / R, and the shuffled shares tell nearly
    nothing but their total. Every envelope has exactly m messages: one that lost a share is of no
    use, so the shuffler drops it whole and counts the others, and `analyze` refuses any other
    number of messages than m for each.

    Nothing is hidden if fewer than `honest_needed` users follow the protocol, or if the shuffler
    helps the analyser. One user who lies moves the sum to any value, unseen.

    Source: split and mix of Ishai, Kushilevitz, Ostrovsky and Sahai (2006), with the shared noise
    of Balle, Bell, Gascón and Nissim (2020); the bound of what shares reveal is proved in
    proofs/split-sums#2, #3, #4.

    Args:
        n_users: n >= 1.
        noise_epsilon: epsilon of the total alone, for neighbours that replace one user.
        resolution: R >= 1; with 1 the data are bits.
        n_shares: m, from 4 to 64.
        modulus_bits: log2 q <= 62, with q > n R.
        honest_share: in (0, 1]; noise is shared so that ceil(share n) users make all of it.
        promise: ApproxDP that releases state; checked against the profile.

    Raises:
        InvalidParameter: a parameter outside these domains, or a promise that the profile does
            not keep.
        IncompatibleClaims: a promise about other neighbours than replace_one.

    >>> from smoothdp.claims import ApproxDP
    >>> p = SplitSum.calibrate(1000, guarantee=ApproxDP(1, delta="1e-6"))
    >>> p.resolution, p.modulus_bits, p.n_shares, round(p.mse() ** 0.5, 2)
    (101, 17, 6, 1.58)
    """

    source: ClassVar[Source] = Source("balle-split-and-mix", "split and mix with shared noise")

    def __init__(
        self,
        n_users: int,
        *,
        noise_epsilon: Parameter,
        resolution: int = 1,
        n_shares: int,
        modulus_bits: int,
        honest_share: Parameter = 1,
        promise: Guarantee | None = None,
    ) -> None:
        self._set(n_users, noise_epsilon, resolution, n_shares, modulus_bits, honest_share, promise)

    @classmethod
    def calibrate(
        cls,
        n_users: int,
        *,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        noise_share: Parameter = _DEFAULT_NOISE_SHARE,
        resolution: int | None = None,
        most_slots: int = _DEFAULT_SLOTS,
    ) -> SplitSum:
        """Return the protocol with the fewest shares for which a guarantee is proved.

        Args:
            n_users: n >= 1.
            guarantee: ApproxDP with epsilon > 0 and 0 < delta < 1, replacing one record.
            honest_share: users who are sure to follow the protocol, as a share of all. Below it
                the promise fails at once: choose it low.
            noise_share: the share of epsilon that the noise of the total keeps, in (0, 1). The
                rest pays for what shares reveal; a larger one lowers the error by little, and
                steepens the fall below the honest share.
            resolution: R; 1 for bits; None: 2 or more, so that rounding adds at most 1% to the
                variance.
            most_slots: messages that a user may send.

        Raises:
            InvalidParameter: another guarantee, or more shares than ``most_slots`` are needed.
            IncompatibleClaims: neighbours other than replace_one.

        >>> from smoothdp.claims import ApproxDP
        >>> p = SplitSum.calibrate(10**6, guarantee=ApproxDP(1, delta="1e-6"), resolution=1)
        >>> p.modulus_bits, p.n_shares
        (20, 5)
        """
        n, goal = read_users(n_users), read_goal(guarantee)
        share = read_honest_share(honest_share)
        remedy = "Give the share of epsilon that the noise keeps, such as 19/20"
        kept = proper_probability(noise_share, name="noise_share", remedy=remedy)
        most = exact_int(most_slots, name="most_slots", minimum=LEAST_SHARES)
        rate = noise_epsilon_of(goal.exact_epsilon, kept)
        if resolution is None:
            levels = best_resolution(n, rate, share)
        else:
            levels = read_between(resolution, "resolution", 1, LARGEST_RESOLUTION)
        honest = least_honest(n, share)
        noise = NoiseTotal(Fraction(n, honest), rate / levels)
        bits = modulus_bits_for(n, levels, noise)
        return cls(
            n,
            noise_epsilon=rate,
            resolution=levels,
            n_shares=shares_for(honest, bits, goal, rate, most),
            modulus_bits=bits,
            honest_share=share,
            promise=goal,
        )

    # ---- the law --------------------------------------------------------------------

    def randomize(self, datum: float, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return the m shares of a user, each uniform in 0 .. q - 1, with exact random bits."""
        source = read_rng(rng)
        total = self.noisy_number(read_data([datum], self.resolution), rng=source)
        shares = [source.bits(self.modulus_bits) for _ in range(self.n_shares - 1)]
        return (*shares, (total - sum(shares)) % self.modulus)

    def noisy_number(self, units: IntArray, *, rng: Entropy | None = None) -> int:
        """Return what the shares of a user add up to, before it is taken modulo q.

        Args:
            units: an array of the one number, in multiples of 2^-62 (`check_data`).
            rng: `SystemRandom()` by default.
        """
        source = read_rng(rng)
        total = rounded_total(units, self.resolution, source)
        shape = Fraction(1, self.honest_needed)
        total += negative_binomial_share(shape, self._rate, source)
        return total - negative_binomial_share(shape, self._rate, source)

    def read(self, messages: Iterable[object]) -> ReadMessages:
        """Return the numbers modulo q among the messages; the others are counted by reason."""
        expected = self.n_users * self.n_shares
        return read_messages(
            messages,
            protocol="SplitSum",
            n_values=self.modulus,
            at_most=expected,
            expected=expected,
        )

    def estimate(self, read: ReadMessages) -> float:
        """Return the total of all shares, read near [0, n R], over R.

        Raises:
            InvalidData: other than exactly m messages for each user: a share that is missing or
                strange makes the total any number at all.
        """
        if read.rejected or read.n_missing:
            raise InvalidData(
                expected=f"exactly {self.n_shares} messages from each of {self.n_users} users",
                got=read.sentence().partition(";")[0],
                remedy=(
                    "Let the shuffler drop incomplete envelopes whole, and give n_answered, the "
                    "number of the others"
                ),
            )
        # 2^64 is a multiple of q: sums may wrap.
        return self.estimate_from_total(int(read.values.astype(np.uint64).sum(dtype=np.uint64)))

    def analyze(
        self, messages: Iterable[object], *, n_answered: int | None = None, tolerated: int = 0
    ) -> float:
        """Return the estimate from the shuffled messages of complete envelopes.

        Args:
            messages: m from each of ``n_answered`` users.
            n_answered: complete envelopes; None: all n_users. Which ones are missing must not
                depend on anybody's datum or coins.
            tolerated: how many of these users may not follow the protocol.

        Raises:
            InvalidParameter: more answered than there are users, or other numbers.
            InvalidData: another number of messages; fewer honest users than the promise needs.
        """
        used, _ = self.those_who_answered(n_answered, tolerated)
        return used.estimate(used.read(messages))

    def estimate_from_total(self, total: int) -> float:
        """Return the estimate from the total of all users' shares, which counts modulo q."""
        start = (total + self.noise_reach) % self.modulus - self.noise_reach
        return float(Fraction(start, self.resolution))

    # ---- run ------------------------------------------------------------------------

    def check_data(self, data: Iterable[float]) -> IntArray:
        """Return one number per user in multiples of 2^-62, or raise InvalidData."""
        units = read_data(data, self.resolution)
        require_n_users(units.size, self.n_users)
        return units

    def check_counts(self, counts: Any) -> UnitCounts:
        """Return (number in multiples of 2^-62, users) from a mapping or pairs (number, users).

        Of bits also the number of ones alone.

        Raises:
            InvalidData: no pairs, a number outside the domain, or another number of users.
        """
        if self.resolution == 1 and not isinstance(counts, Iterable):
            ones = read_count(counts)
            require_n_users(max(ones, self.n_users), self.n_users, is_sum=True)
            return ((UNIT, ones), (0, self.n_users - ones))
        pairs = read_pairs(counts)
        units = read_data([number for number, _ in pairs], self.resolution).tolist()
        users = [read_count(count) for _, count in pairs]
        require_n_users(sum(users), self.n_users, is_sum=True)
        return tuple(zip(units, users, strict=True))

    def _run_users(self, data: IntArray, rng: Entropy) -> float:
        return self._with_noise(rounded_total(data, self.resolution, rng), rng)

    def _run_counts(self, counts: UnitCounts, rng: Entropy) -> float:
        return self._with_noise(rounded_counts(counts, self.resolution, rng), rng)

    def _with_noise(self, total: int, rng: Entropy) -> float:
        """Return the estimate from the total of what users hold: all shares of noise at once."""
        noise = self._noise
        total += negative_binomial_share(noise.shape, noise.rate, rng)
        total -= negative_binomial_share(noise.shape, noise.rate, rng)
        return self.estimate_from_total(total)

    def _for_users(self, n_users: int) -> SplitSum:
        self._require_honest(n_users, "users who answered")
        return self._kept_by(
            SplitSum(
                n_users,
                noise_epsilon=self.noise_epsilon,
                resolution=self.resolution,
                n_shares=self.n_shares,
                modulus_bits=self.modulus_bits,
                # The same m0, so the same shares of noise.
                honest_share=Fraction(self.honest_needed, n_users),
            )
        )
