"""RealSum: the total of numbers in [0, 1] (Algorithms 2 and 3 of paper 5)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_int, proper_probability
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.random_words import random_words
from smoothdp.exact.random.samplers import binomial
from smoothdp.shuffle.flipped.flip_calibration import calibrated_random_users
from smoothdp.shuffle.flipped.flipped_sum import MOST_BITS, FlippedSum, float_up, read_n_bits
from smoothdp.shuffle.goals import Method
from smoothdp.shuffle.protocol import read_users
from smoothdp.shuffle.users.honest_share import DEFAULT_HONEST_SHARE
from smoothdp.shuffle.users.user_data import (
    UNIT,
    read_count,
    read_pairs,
    read_units,
    require_n_users,
    whole_and_fraction,
)
from smoothdp.sources import Source
from smoothdp.types import IntArray

UnitCounts = tuple[tuple[int, int], ...]
_WORDS_AT_ONCE = 1 << 20
_REST_BITS = 62
# By default r is the least power of two from sqrt(n) / 4 on, where rounding adds 4 to the variance
# at most, but between these; and none with a total so wide that calibrating it takes too long.
_DEFAULT_MOST_BITS = (64, 1024)
_MOST_SPREAD = 5000.0


@dataclass(frozen=True, init=False)
class RealSum(FlippedSum[float]):
    """Add numbers in [0, 1]: each user codes x by r bits with mean x and sends them flipped.

    floor(r x) bits are 1, one more with the probability that is left over; every bit is then
    treated as in `BooleanSum`. The shuffler mixes all bits of all users, so the analyser sees
    their total only, and no composition over bits is needed. Numbers are read to the nearest
    multiple of 2^-62. Repeating a Boolean is this protocol with data in {0, 1}: at fixed
    privacy the error falls with r.

    Source: paper 5, Algorithms 2 and 3.

    Args:
        n_users: n >= 1.
        expected_random_users: lambda in (0, n).
        n_bits: r, messages per user, 1 <= r <= 65,536.
        promise: PureDP, ApproxDP or GaussianDP that releases state; checked against the exact
            profile, and kept by `calibrate`.
        honest_share: the share of the users that `profile` counts on, in (0, 1].

    Raises:
        InvalidParameter: a parameter outside these domains, or a promise that the exact profile
            does not keep.
        IncompatibleClaims: a promise about other neighbours than replace_one.

    >>> protocol = RealSum(100, expected_random_users=58, n_bits=10)
    >>> round(protocol.profile().delta("0.4"), 6)
    0.01475
    """

    source: ClassVar[Source] = Source("chen-long", "Algorithms 2 and 3")
    rounds: ClassVar[bool] = True

    def __init__(
        self,
        n_users: int,
        *,
        expected_random_users: Parameter,
        n_bits: int,
        promise: Guarantee | None = None,
        honest_share: Parameter = 1,
    ) -> None:
        self._set(read_users(n_users), expected_random_users, n_bits, promise, honest_share)

    @classmethod
    def calibrate(
        cls,
        n_users: int,
        *,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        n_bits: int | None = None,
        method: Method = "exact",
    ) -> RealSum:
        """Return the protocol with the fewest random users that meets a guarantee.

        Args:
            n_users: n >= 1.
            guarantee: PureDP, ApproxDP or GaussianDP, replacing one record.
            honest_share: the share of the users whose noise is counted on, in (0, 1].
            n_bits: r; None for `best_n_bits`: up to about sqrt(n) / 4, between 64 and 1,024.
            method: "exact"; "paper" needs n_bits = 1 (see `BooleanSum.calibrate`).

        Raises:
            InvalidParameter: another guarantee, or none can meet it.
        """
        n = read_users(n_users)
        if n_bits is None:
            n_bits = cls.best_n_bits(n, guarantee=guarantee, honest_share=honest_share)
        bits = read_n_bits(n_bits)
        users = calibrated_random_users(
            n, n_bits=bits, guarantee=guarantee, honest_share=honest_share, method=method
        )
        protocol = cls(n, expected_random_users=users, n_bits=bits, honest_share=honest_share)
        protocol._calibrated_for(guarantee)
        return protocol

    @classmethod
    def best_n_bits(
        cls,
        n_users: int,
        *,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        least_gain: Parameter = "1/10",
        data: Literal["real", "boolean"] = "real",
        at_most: int | None = None,
    ) -> int:
        """Return the r from which doubling lowers the mean squared error by less than a share.

        The error at fixed privacy falls with r, towards that of Gaussian noise, and so does the
        error of rounding, sqrt(n) / 2r at most; the messages grow with r. Powers of two are
        tried. For 336,776 users, all honest, and (1, 1e-6) the root of the mean squared error is
        18.6, 10.0, 6.2, 4.8 and 4.4 users at r = 16, 32, 64, 128 and 256, against 4.2 in the
        limit. By default r ends at the least power of two from sqrt(n) / 4 on, or at 64 if that is
        more, or 1,024 if less; and before where the total of the bits has a standard deviation
        above 5,000, as a calibration takes long there.

        Args:
            n_users: n.
            guarantee: the target.
            honest_share: the share of the users whose noise is counted on, in (0, 1].
            least_gain: the share, in (0, 1).
            data: "real", or "boolean": repeats of a bit, where nothing is rounded.
            at_most: the largest r, from 1 to 65,536; None for the default.

        Raises:
            InvalidParameter: an argument outside these domains, or a guarantee that cannot be
                met with so few users.
        """
        if data not in ("real", "boolean"):
            raise InvalidParameter(
                expected='data "real" or "boolean"',
                got=f"data={data!r}",
                remedy='Use data="boolean" if every number is 0 or 1, else data="real"',
            )
        remedy = 'Give the share of the error that twice the bits must save, such as "1/10"'
        share = proper_probability(least_gain, name="least_gain", remedy=remedy)
        n = read_users(n_users)
        most = _default_most(n)
        if at_most is not None:
            most = min(MOST_BITS, exact_int(at_most, name="at_most", minimum=1))
        values = [0] if data == "boolean" else None

        def design(n_bits: int) -> RealSum:
            users = calibrated_random_users(
                n,
                n_bits=n_bits,
                guarantee=guarantee,
                honest_share=honest_share,
                certified=False,
            )
            return cls(n, expected_random_users=users, n_bits=n_bits)

        best = design(1)
        while 2 * best.n_bits <= most:
            double = design(2 * best.n_bits)
            if at_most is None and double._spread > _MOST_SPREAD:
                break
            if double.mse(values) > best.mse(values) * float(1 - share):
                break
            best = double
        return best.n_bits

    @property
    def _spread(self) -> float:
        """Return about the standard deviation of the total of all bits."""
        q = float(self.flip_probability)
        return math.sqrt(self.n_users * self.n_bits * q * (1 - q))

    # ---- run ------------------------------------------------------------------------

    def encode(self, datum: float, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return the r bits that code a number, with exact random bits (Algorithm 2)."""
        source = read_rng(rng)
        whole, fraction = whole_and_fraction(read_units([datum]), self.n_bits)
        ones = int(whole[0]) + (source.bits(_REST_BITS) < int(fraction[0]))
        return (1,) * ones + (0,) * (self.n_bits - ones)

    def _for_users(self, n_users: int) -> RealSum:
        # The same lambda / n, so the same q.
        users = self.expected_random_users * n_users / self.n_users
        share = self._share_among(n_users)
        return self._kept_by(
            RealSum(n_users, expected_random_users=users, n_bits=self.n_bits, honest_share=share)
        )

    def randomize(self, datum: float, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return the r messages of a user, bits, with exact random bits."""
        source = read_rng(rng)
        return tuple(self._flip(bit, source) for bit in self.encode(datum, rng=source))

    def check_data(self, data: Iterable[float]) -> IntArray:
        """Return one number per user in multiples of 2^-62, or raise InvalidData."""
        units = read_units(data)
        require_n_users(units.size, self.n_users)
        return units

    def check_counts(self, counts: Any) -> UnitCounts:
        """Return (number in multiples of 2^-62, users) from a mapping or pairs (number, users).

        Raises:
            InvalidData: no pairs, a number outside [0, 1], or another number of users.
        """
        pairs = read_pairs(counts)
        units = read_units([number for number, _ in pairs])
        users = [read_count(count) for _, count in pairs]
        require_n_users(sum(users), self.n_users, is_sum=True)
        return tuple(zip(units.tolist(), users, strict=True))

    def _run_users(self, data: IntArray, rng: Entropy) -> float:
        total, at_once = 0, max(1, _WORDS_AT_ONCE // self.n_bits)
        positions = np.arange(self.n_bits)
        for start in range(0, data.size, at_once):
            whole, fraction = whole_and_fraction(data[start : start + at_once], self.n_bits)
            up = (random_words(whole.size, rng) >> np.uint64(64 - _REST_BITS)) < fraction.astype(
                np.uint64
            )
            bits = positions < (whole + up)[:, None]
            words = random_words(bits.size, rng).reshape(bits.shape)
            total += int(np.count_nonzero(bits ^ (words < np.uint64(self.threshold))))
        return self.estimate_from_total(total)

    def _run_counts(self, counts: UnitCounts, rng: Entropy) -> float:
        n_ones = 0
        for unit, users in counts:
            whole, fraction = (
                int(units[0]) for units in whole_and_fraction(np.array([unit]), self.n_bits)
            )
            n_ones += users * whole + binomial(users, Fraction(fraction, UNIT), rng)
        return self.estimate_from_total(self._draw_total(n_ones, rng))

    # ---- error ----------------------------------------------------------------------

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error, rounded up: noise, and rounding to r bits.

        The second is sum f (1 - f) / r^2 over f = frac(r x).

        Args:
            values: true numbers in [0, 1], any number of them; None: the worst, n / (4 r^2).
        """
        if values is None:
            rounding = Fraction(self.n_users, 4 * self.n_bits**2)
        else:
            fraction = whole_and_fraction(read_units(values), self.n_bits)[1]
            spread = sum(r * (UNIT - r) for r in fraction[fraction > 0].tolist())
            rounding = Fraction(spread, UNIT**2 * self.n_bits**2)
        return float_up(self.noise_mse() + rounding)


def _default_most(n_users: int) -> int:
    least, most = _DEFAULT_MOST_BITS
    wanted = math.isqrt(n_users // 16)
    return min(most, max(least, 1 << max(0, wanted - 1).bit_length()))
