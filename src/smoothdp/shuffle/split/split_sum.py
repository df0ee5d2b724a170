"""SplitSum: the total of numbers by shares that are uniform on their own, with little noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import exp_upper
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_int,
    exact_positive,
    float_bounds,
    proper_probability,
    square_root,
)
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.random_words import random_words
from smoothdp.exact.random.samplers import binomial
from smoothdp.shuffle.envelopes import slot_bytes
from smoothdp.shuffle.messages import ReadMessages, read_messages
from smoothdp.shuffle.noise_shares import negative_binomial_share
from smoothdp.shuffle.protocol import ShuffleProtocol, read_failure_probability, read_users
from smoothdp.shuffle.split.components import LEAST_SHARES
from smoothdp.shuffle.split.noise_total import NoiseTotal
from smoothdp.shuffle.split.split_calibration import (
    LARGEST_RESOLUTION,
    MOST_MODULUS_BITS,
    MOST_SHARES,
    best_resolution,
    modulus_bits_for,
    noise_epsilon_of,
    read_goal,
    shares_for,
)
from smoothdp.shuffle.split.split_profile import SplitProfile
from smoothdp.shuffle.users.honest_share import (
    DEFAULT_HONEST_SHARE,
    honest_condition,
    least_honest,
    read_honest_share,
)
from smoothdp.shuffle.users.user_data import (
    UNIT,
    read_bits,
    read_count,
    read_units,
    require_n_users,
    whole_and_fraction,
)
from smoothdp.sources import Source
from smoothdp.types import IntArray

UnitCounts = tuple[tuple[int, int], ...]
_REST_BITS = 62
_WORDS_AT_ONCE = 1 << 20
_DEFAULT_DELTA = Fraction(1, 10**6)
_DEFAULT_NOISE_SHARE = Fraction(19, 20)
_DEFAULT_SLOTS = 64
_ROUNDING_SHARES = tuple(Fraction(1, 2**k) for k in range(1, 14))


@dataclass(frozen=True, init=False)
class SplitSum(ShuffleProtocol[float, float]):
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
    (101, 17, 6, 1.59)
    """

    source: ClassVar[Source] = Source("balle-split-and-mix", "split and mix with shared noise")
    n_users: int
    noise_epsilon: Fraction
    resolution: int
    n_shares: int
    modulus_bits: int
    honest_share: Fraction
    promise: ApproxDP | None

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
        n = read_users(n_users)
        object.__setattr__(self, "n_users", n)
        rate = exact_positive(noise_epsilon, name="noise_epsilon")
        object.__setattr__(self, "noise_epsilon", rate)
        levels = _between(resolution, "resolution", 1, LARGEST_RESOLUTION)
        object.__setattr__(self, "resolution", levels)
        shares = _between(n_shares, "n_shares", LEAST_SHARES, MOST_SHARES)
        object.__setattr__(self, "n_shares", shares)
        least_bits = (n * levels).bit_length()
        bits = _between(modulus_bits, "modulus_bits", least_bits, MOST_MODULUS_BITS)
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
            resolution: R; 1 for bits; None: rounding adds at most 1% to the variance.
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
            levels = _between(resolution, "resolution", 1, LARGEST_RESOLUTION)
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

    @property
    def modulus(self) -> int:
        """q."""
        return 1 << self.modulus_bits

    @property
    def noise_reach(self) -> int:
        """T: totals are read in [-T, q - T), right unless the noise exceeds T."""
        return (self.modulus - 1 - self.n_users * self.resolution) // 2

    @property
    def _rate(self) -> Fraction:
        return self.noise_epsilon / self.resolution

    @property
    def _noise(self) -> NoiseTotal:
        return NoiseTotal(Fraction(self.n_users, self.honest_needed), self._rate)

    def randomize(self, datum: float, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return the m shares of a user, each uniform in 0 .. q - 1, with exact random bits."""
        source = read_rng(rng)
        total = self._encoded(datum, source)
        shape = Fraction(1, self.honest_needed)
        total += negative_binomial_share(shape, self._rate, source)
        total -= negative_binomial_share(shape, self._rate, source)
        shares = [source.bits(self.modulus_bits) for _ in range(self.n_shares - 1)]
        return (*shares, (total - sum(shares)) % self.modulus)

    def _encoded(self, datum: float, rng: Entropy) -> int:
        """Return R x, rounded at random to a whole number of that mean."""
        if self.resolution == 1:
            return int(read_bits([datum])[0])
        whole, fraction = whole_and_fraction(read_units([datum]), self.resolution)
        return int(whole[0]) + (rng.bits(_REST_BITS) < int(fraction[0]))

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
        return self._read_total(int(read.values.astype(np.uint64).sum(dtype=np.uint64)))

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
        used, _ = self._those_who_answered(n_answered, tolerated)
        return used.estimate(used.read(messages))

    def _read_total(self, total: int) -> float:
        start = (total + self.noise_reach) % self.modulus - self.noise_reach
        return float(Fraction(start, self.resolution))

    # ---- run ------------------------------------------------------------------------

    def check_data(self, data: Iterable[float]) -> IntArray:
        """Return one number per user in multiples of 2^-62, or raise InvalidData."""
        if self.resolution == 1:
            bits = read_bits(data)
            require_n_users(bits.size, self.n_users)
            return bits.astype(np.int64) * UNIT
        units = read_units(data)
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
        rows = counts.items() if isinstance(counts, Mapping) else counts
        pairs = list(rows) if isinstance(rows, Iterable) else None
        if pairs is None or any(
            not isinstance(pair, tuple | list) or len(pair) != 2 for pair in pairs
        ):
            raise InvalidData(
                expected="counts as {number: users}",
                got="something else",
                remedy="Count users per number",
            )
        numbers = [number for number, _ in pairs]
        if self.resolution == 1:
            units = [int(bit) * UNIT for bit in read_bits(numbers).tolist()]
        else:
            units = read_units(numbers).tolist()
        users = [read_count(count) for _, count in pairs]
        require_n_users(sum(users), self.n_users, is_sum=True)
        return tuple(zip(units, users, strict=True))

    def _run_users(self, data: IntArray, rng: Entropy) -> float:
        total = 0
        for start in range(0, data.size, _WORDS_AT_ONCE):
            part = data[start : start + _WORDS_AT_ONCE]
            whole, fraction = whole_and_fraction(part, self.resolution)
            words = random_words(whole.size, rng) >> np.uint64(64 - _REST_BITS)
            total += int(whole.sum()) + int(np.count_nonzero(words < fraction.astype(np.uint64)))
        return self._with_noise(total, rng)

    def _run_counts(self, counts: UnitCounts, rng: Entropy) -> float:
        total = 0
        for unit, users in counts:
            whole, fraction = divmod(unit * self.resolution, UNIT)
            total += users * whole + binomial(users, Fraction(fraction, UNIT), rng)
        return self._with_noise(total, rng)

    def _with_noise(self, total: int, rng: Entropy) -> float:
        """Return the estimate from the total of what users hold: all shares of noise at once."""
        noise = self._noise
        total += negative_binomial_share(noise.shape, noise.rate, rng)
        total -= negative_binomial_share(noise.shape, noise.rate, rng)
        return self._read_total(total)

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
        """The guarantee of the calibration; else (epsilon, 1e-6)-DP with a proved epsilon."""
        if self.promise is not None:
            return self.promise
        return ApproxDP(self.profile().epsilon(_DEFAULT_DELTA), delta=_DEFAULT_DELTA)

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

    # ---- error ----------------------------------------------------------------------

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:  # noqa: ARG002
        """Return a bound that |estimate - truth| exceeds with at most this probability.

        Noise and random rounding each take a part of the probability, by a quantile of the
        noise and Hoeffding's bound; rounded up. A total that is read wrongly is in it, as that
        takes noise above T.
        """
        failure = read_failure_probability(failure_probability)
        if self.resolution == 1:
            return float_bounds(self._shown(*self._noise.quantiles([failure])))[1]
        reaches = self._noise.quantiles([failure * (1 - part) for part in _ROUNDING_SHARES])
        return min(
            float_bounds(self._shown(reach) + self._rounding(failure * part))[1]
            for reach, part in zip(reaches, _ROUNDING_SHARES, strict=True)
        )

    def _shown(self, reach: int) -> Fraction:
        """Return an error of the noise in units of the data; beyond T any total may be read."""
        units = reach if reach <= self.noise_reach else self.modulus
        return Fraction(units, self.resolution)

    def _rounding(self, failure: Fraction) -> Fraction:
        """Return sqrt(n ln(2 / failure) / 2) / R, rounded up."""
        square = self.n_users * Fraction(log_bounds(2 / failure).upper) / 2
        return square_root(square, up=True) / self.resolution

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error, rounded up: noise, rounding, and totals read wrongly.

        The second is sum f (1 - f) / R^2 over f = frac(R x), the third at most
        P(|A - B| > T) (q / R)^2.

        Args:
            values: true numbers in [0, 1], any number of them; None: the worst, n / (4 R^2).
        """
        levels = self.resolution
        if levels == 1:
            rounding = Fraction(0)
        elif values is None:
            rounding = Fraction(self.n_users, 4)
        else:
            fraction = whole_and_fraction(read_units(values), levels)[1]
            spread = sum(r * (UNIT - r) for r in fraction[fraction > 0].tolist())
            rounding = Fraction(spread, UNIT**2)
        wrong = Fraction(exp_upper(self._noise.log_tail(self.noise_reach)))
        total = self._noise.variance + rounding + wrong * self.modulus**2
        return float_bounds(total / levels**2)[1]

    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""
        what = "bits" if self.resolution == 1 else f"numbers in steps of 1/{self.resolution:,}"
        return (
            f"SplitSum: {what} of {self.n_users} users, each split into {self.n_shares} numbers "
            f"modulo 2^{self.modulus_bits}, with noise of epsilon {float(self.noise_epsilon):.6g} "
            f"on the total, shuffled, {honest_condition(self.n_users, self.honest_needed)}"
        )


def _between(value: object, name: str, least: int, most: int) -> int:
    """Return a whole number in a range, or raise InvalidParameter."""
    number = exact_int(value, name=name, minimum=least)
    if number > most:
        raise InvalidParameter(
            expected=f"{name} up to {most}",
            got=f"{name}={number}",
            remedy=f"Lower {name}",
        )
    return number
