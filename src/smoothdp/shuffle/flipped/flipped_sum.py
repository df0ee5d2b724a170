"""What the Boolean and the real sum share: bits flipped with one probability, and their total."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from smoothdp.claims.domains import read_delta
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_fraction,
    exact_int,
    float_bounds,
    positive_probability,
)
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.random_words import WORD_BITS
from smoothdp.exact.random.samplers import binomial
from smoothdp.shuffle.accounting.flip_curve import type_two_errors
from smoothdp.shuffle.accounting.flip_error import deviation
from smoothdp.shuffle.accounting.flip_mu import exact_mu
from smoothdp.shuffle.accounting.flip_profile import FlipProfile
from smoothdp.shuffle.accounting.flip_promise import check_kind, false_promise, is_certified, keeps
from smoothdp.shuffle.messages import ReadMessages, read_messages
from smoothdp.shuffle.protocol import ShuffleProtocol, read_failure_probability
from smoothdp.shuffle.users.honest_share import read_honest_share
from smoothdp.types import FloatArray

Datum = TypeVar("Datum")
DEFAULT_DELTA = Fraction(1, 10**6)
MOST_BITS = 1 << 16


@dataclass(frozen=True, init=False)
class FlippedSum(ShuffleProtocol[Datum, float], Generic[Datum]):
    """Each user sends ``n_bits`` bits; each is flipped with probability q, on its own.

    The analyser sees the shuffled bits, so their total only. "Random with probability
    lambda / n" and "flipped with probability lambda / 2n" are the same law; q is lambda / 2n
    rounded up to a multiple of 2^-64, everywhere: in what is sent, in the accounting, and in
    the estimate.
    """

    rounds: ClassVar[bool] = False
    """Whether a user may hold a fraction, which random rounding codes as bits."""
    n_users: int
    expected_random_users: Fraction
    n_bits: int
    promise: Guarantee | None
    honest_share: Fraction
    _met: EpsilonTerms | None = field(default=None, init=False, repr=False, compare=False)

    def _set(
        self,
        n_users: int,
        expected_random_users: Parameter,
        n_bits: int,
        promise: Guarantee | None,
        honest_share: Parameter,
    ) -> None:
        """Fill the fields, or raise InvalidParameter."""
        random_users = exact_fraction(expected_random_users, name="expected_random_users")
        bits = read_n_bits(n_bits)
        if not 0 < random_users < n_users or flip_word(random_users, n_users) >= 1 << 63:
            raise InvalidParameter(
                expected=f"0 < expected_random_users < n_users={n_users}",
                got=f"expected_random_users={expected_random_users}",
                remedy="Give the expected number of users whose bit is random",
            )
        object.__setattr__(self, "n_users", n_users)
        object.__setattr__(self, "expected_random_users", random_users)
        object.__setattr__(self, "n_bits", bits)
        object.__setattr__(self, "honest_share", read_honest_share(honest_share))
        object.__setattr__(self, "promise", None)
        object.__setattr__(self, "_met", None)
        if promise is None:
            return
        check_kind(promise)
        profile = self.profile()
        if is_certified(profile, promise):
            self._calibrated_for(promise)
        elif keeps(profile, promise):
            object.__setattr__(self, "promise", promise)
        else:
            raise false_promise(profile, promise)

    def _calibrated_for(self, guarantee: Guarantee) -> None:
        """Keep a guarantee that was proved for this lambda: the profile starts from it."""
        object.__setattr__(self, "promise", guarantee)
        terms = guarantee.terms()
        if isinstance(terms, EpsilonTerms) and terms.delta > 0:
            object.__setattr__(self, "_met", terms)

    # ---- the law --------------------------------------------------------------------

    @cached_property
    def threshold(self) -> int:
        """The number below which a uniform 64-bit word flips a bit."""
        return flip_word(self.expected_random_users, self.n_users)

    @cached_property
    def flip_probability(self) -> Fraction:
        """The probability q that a bit is flipped: lambda / 2n, rounded up to 64 bits."""
        return Fraction(self.threshold, 1 << WORD_BITS)

    def _flip(self, bit: int, rng: Entropy) -> int:
        return bit ^ (rng.bits(WORD_BITS) < self.threshold)

    def read(self, messages: Iterable[object]) -> ReadMessages:
        """Return the bits among the messages; the others are counted by reason."""
        expected = self.n_users * self.n_bits
        return read_messages(
            messages,
            protocol=type(self).__name__,
            n_values=2,
            at_most=expected,
            expected=expected,
        )

    def estimate(
        self, read: ReadMessages, *, n_answered: int | None = None, tolerated: int = 0
    ) -> float:
        """Return (total - m q) / (r (1 - 2q)) from m bits: unbiased for those who answered.

        Raises:
            InvalidData: fewer honest users than the promise needs have answered.
        """
        used, silent = self.those_who_answered(n_answered, tolerated)
        self._check_honest(used, int(read.values.size), silent, warned=True, counted=False)
        return self.estimate_from_total(int(read.values.sum()), n_messages=read.values.size)

    def estimate_from_total(self, total: int, *, n_messages: int | None = None) -> float:
        """Return the estimate from the number of ones among the messages."""
        q = self.flip_probability
        m = self.n_users * self.n_bits if n_messages is None else n_messages
        return float((total - m * q) / (self.n_bits * (1 - 2 * q)))

    def _draw_total(self, n_ones: int, rng: Entropy) -> int:
        """Return the number of reported ones, n_ones of all bits being ones, exactly in law."""
        q = self.flip_probability
        n_zeros = self.n_users * self.n_bits - n_ones
        return n_ones - binomial(n_ones, q, rng) + binomial(n_zeros, q, rng)

    # ---- privacy --------------------------------------------------------------------

    def profile(self, *, n_honest: int | None = None) -> FlipProfile:
        """Return the exact profile of the total, the worst over the other users' data.

        Args:
            n_honest: users who follow the protocol, the protected one included. What the
                others send is known to the analyser, or missing, and hides nothing. None:
                `honest_assumed`.
        """
        return self._profile(self._honest(n_honest))

    def replayed_profile(self, copies: int, *, n_honest: int | None = None) -> FlipProfile:
        """Return the profile if each message of the protected user is counted ``copies`` times.

        Replaying other users' messages instead is no worse than leaving those users out:
        ``profile(n_honest=n_honest - replayed)``.
        """
        times = exact_int(copies, name="copies", minimum=1)
        return self._profile(self._honest(n_honest), copies=times)

    def _profile(self, honest: int, copies: int = 1) -> FlipProfile:
        # Fewer honest users, and replays, are other laws.
        met = self._met if honest == self.honest_assumed and copies == 1 else None
        return FlipProfile(
            self.flip_probability, self.n_bits, (honest - 1) * self.n_bits, copies=copies, met=met
        )

    def honest_curve(
        self, *, epsilon: Parameter, shares: Sequence[Parameter]
    ) -> list[tuple[int, float]]:
        """Return (n_honest, delta(epsilon)) for shares of honest users in (0, 1]."""
        curve = []
        remedy = "Give shares of honest users above 0, at most 1, such as 0.8"
        for share in shares:
            exact_share = positive_probability(share, name="share", remedy=remedy)
            honest = max(1, math.floor(exact_share * self.n_users))
            curve.append((honest, self.profile(n_honest=honest).delta(epsilon)))
        return curve

    def type_two_error(self, alpha: ArrayLike, *, n_honest: int | None = None) -> FloatArray:
        """Return the least type II error at each alpha over all data, never above the truth.

        Exact up to 2,000 bits of the others. The error is not convex in alpha; ``tradeoff`` is the
        convex curve below this error.
        """
        alphas = np.atleast_1d(np.asarray(alpha, dtype=np.float64))
        if not ((alphas >= 0) & (alphas <= 1)).all():
            raise InvalidParameter(
                expected="alphas in [0, 1]",
                got=f"{alpha!r}",
                remedy="Give probabilities of a type I error",
            )
        others = (self._honest(n_honest) - 1) * self.n_bits
        return type_two_errors(alphas, self.flip_probability, self.n_bits, others)

    def gaussian_mu(self, delta: Parameter = 0) -> float:
        """Return the smallest mu of Gaussian DP, rounded up.

        With delta > 0: the smallest mu with delta(e) <= max(delta_mu(e), delta) for all e. mu
        is finite at delta = 0 as well, unlike the mu of the claimed curve (Corollary 3.2).
        """
        if read_delta(delta) == 0:
            return self.gaussian_mu_bounds()[1]
        return self.tradeoff().gaussian_mu(delta)

    def gaussian_mu_bounds(self) -> tuple[float, float]:
        """Return floats (lower, upper) around the smallest mu of Gaussian DP."""
        others = (self.honest_assumed - 1) * self.n_bits
        return exact_mu(self.flip_probability, self.n_bits, others)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The guarantee of the calibration; else (epsilon, 1e-6)-DP with the exact epsilon."""
        if self.promise is not None:
            return self.promise
        return ApproxDP(self.profile().epsilon(DEFAULT_DELTA), delta=DEFAULT_DELTA)

    # ---- users who stay away, are silent or lie --------------------------------------

    @cached_property
    def honest_needed(self) -> int:
        """The fewest honest users with whom the promise is kept; 1 without a promise."""
        promise = self.promise
        if promise is None:
            return 1
        return least_integer(lambda m: keeps(self._profile(m), promise), 1, self.honest_assumed)

    @property
    def influence_of_one_liar(self) -> float:
        """1 / (1 - 2q), rounded up: of r chosen bits, if the shuffler takes no more of a user."""
        return float_up(1 / (1 - 2 * self.flip_probability))

    @property
    def messages_allowed(self) -> int:
        """r."""
        return self.n_bits

    def honest_at_most(self, n_messages: int) -> int:
        """Return how many users can be honest at most: r messages each."""
        return min(self.n_users, n_messages // self.n_bits)

    def _silence(self, n_silent: int) -> str:
        who = "One who sends nothing is" if n_silent == 1 else f"{n_silent} who send nothing are"
        return f"{who} left out of the sum."

    # ---- error ----------------------------------------------------------------------

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:  # noqa: ARG002
        """Return a bound that |estimate - truth| exceeds with at most this probability.

        For every data set, random flips and random rounding together, rounded up: exact for a
        Boolean sum of up to 300 users, nearly so for numbers in one bit each, Chernoff's bound
        otherwise. ``simultaneous`` changes nothing: there is one estimate.
        """
        return self._deviation(failure_probability, rounds=self.rounds)

    def _deviation(self, failure_probability: Parameter, *, rounds: bool) -> float:
        failure = read_failure_probability(failure_probability)
        reach = deviation(failure, self.flip_probability, self.n_users, self.n_bits, rounds=rounds)
        gain = float_bounds(self.n_bits * (1 - 2 * self.flip_probability))[0]
        return math.nextafter(reach / gain * (1 + 1e-15), math.inf)

    def noise_error(self, failure_probability: Parameter) -> float:
        """Return `error` for users who hold 0 or 1: random flips alone, nothing is rounded."""
        return self._deviation(failure_probability, rounds=False)

    def noise_mse(self) -> Fraction:
        """Return n q (1 - q) / (r (1 - 2q)^2), the part of the error that hides the users."""
        q = self.flip_probability
        return self.n_users * q * (1 - q) / (self.n_bits * (1 - 2 * q) ** 2)

    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""
        bits = "one bit" if self.n_bits == 1 else f"{self.n_bits} bits"
        return (
            f"{type(self).__name__}: {bits} from each of {self.n_users} users, each flipped with "
            f"probability {float(self.flip_probability):.6g}, shuffled"
        )


def flip_word(expected_random_users: Fraction, n_users: int) -> int:
    """Return ceil(2^64 lambda / 2n): more flips than asked for, never fewer."""
    return math.ceil(expected_random_users / (2 * n_users) * (1 << WORD_BITS))


def float_up(value: Fraction) -> float:
    """Return a float not below a rational number."""
    return float_bounds(value)[1]


def read_n_bits(n_bits: object) -> int:
    """Return a number of messages per user, or raise InvalidParameter."""
    bits = exact_int(n_bits, name="n_bits", minimum=1)
    if bits > MOST_BITS:
        raise InvalidParameter(
            expected=f"n_bits up to {MOST_BITS}",
            got=f"n_bits={bits}",
            remedy="Lower n_bits: best_n_bits() says from where on more messages gain little",
        )
    return bits
