"""Histograms over domains of any size whose empty bins are exactly 0: paper 3, section 3.2."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.logspace.bounds import exp_upper
from smoothdp.exact.parameters.numbers import Parameter, Real, float_bounds
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.exact.random.binomial_table import binomial_draws
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.shuffle.accounting.exchange_profile import ExchangeProfile
from smoothdp.shuffle.accounting.float_estimates import error_of_counts
from smoothdp.shuffle.envelopes import Envelope
from smoothdp.shuffle.goals import Method
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.accuracy import mean_squared_error, worst_case_error
from smoothdp.shuffle.histogram.approximate_only import OmittedNoise
from smoothdp.shuffle.histogram.bars import OmittedBits
from smoothdp.shuffle.histogram.binned import BinnedProtocol, add_true
from smoothdp.shuffle.histogram.calibration import (
    read_goal,
    read_promise,
    smallest_omission,
    smallest_users,
)
from smoothdp.shuffle.histogram.estimate import HistogramEstimate
from smoothdp.shuffle.histogram.true_counts import Tally
from smoothdp.shuffle.protocol import read_failure_probability
from smoothdp.shuffle.users.honest_share import DEFAULT_HONEST_SHARE, read_honest_share
from smoothdp.sources import Source
from smoothdp.types import IntArray

_BITS_AT_ONCE = 1 << 20


@dataclass(frozen=True, init=False)
class Histogram(OmittedNoise[int, HistogramEstimate], BinnedProtocol):
    """Count the users in each of d bins; a bin that nobody is in is exactly 0.

    A user in bin j sends the message j, and for every bin one message more except with the
    omission probability gamma. Dummies fill the envelope up to d + 1 slots, always: all noise fits
    (tau = 0), so that none is drawn again. A bin with M messages is estimated as M - n (1 - gamma)
    if M > n, else 0. The error does not depend on the size of the domain, and empty bins cost
    nothing to compute: `release` and `simulate` work for domains of any size. Estimates are
    counts; paper 3 has them divided by n.

    Source: Balcer, Cheu, Separating Local and Shuffled Differential Privacy via Histograms,
    section 3.2; accounting exact, not by composition of two bins.

    Args:
        n_users: n, public; 1 <= n <= 2^31 - 2.
        n_bins: d >= 1; values are 0..d-1.
        omission_probability: gamma = 1 - p of the paper, in (0, 1/2].
        promise: the guarantee that releases state; checked, and kept by `calibrate`.
        honest_share: the share of the users that `profile` counts on, in (0, 1].
        catch_all: whether the last bin takes every value that is not one of the others, so that
            no user is refused for what they hold.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> from smoothdp.claims import ApproxDP
    >>> goal = ApproxDP(1, delta="1e-6")
    >>> p = Histogram.calibrate(10_000, n_bins=10**18, guarantee=goal, honest_share=1)
    >>> round(float(10_000 * p.omission_probability), 4)
    42.7468
    >>> p.error("0.05", simultaneous=True)
    67.0
    >>> sorted(p.release(counts={5: 4000, 10**17: 6000}).value.support)
    [5, 100000000000000000]
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.2, Theorem 3.2")
    counted: ClassVar[str] = "every bin"
    n_users: int
    n_bins: int
    omission_probability: Fraction
    promise: ApproxDP | None
    honest_share: Fraction
    catch_all: bool

    def __init__(
        self,
        n_users: int,
        *,
        n_bins: int,
        omission_probability: Parameter,
        promise: Guarantee | None = None,
        honest_share: Parameter = 1,
        catch_all: bool = False,
    ) -> None:
        object.__setattr__(self, "n_users", zp.read_zero_preserving_users(n_users))
        object.__setattr__(self, "n_bins", zp.read_bins(n_bins))
        object.__setattr__(self, "omission_probability", zp.read_omission(omission_probability))
        object.__setattr__(self, "honest_share", read_honest_share(honest_share))
        object.__setattr__(self, "catch_all", bool(catch_all))
        object.__setattr__(self, "promise", read_promise(promise, self.profile()))

    @classmethod
    def calibrate(
        cls,
        n_users: int,
        *,
        n_bins: int,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        method: Method = "exact",
        catch_all: bool = False,
    ) -> Histogram:
        """Return the protocol with the least noise found for (epsilon, delta)-DP.

        Args:
            n_bins: the size of the domain.
            guarantee: ApproxDP with 0 < delta < 1, of the whole histogram.
            honest_share: the share of the users whose noise is counted on, in (0, 1].
            method: "exact" for any epsilon >= 0; or "paper", half of epsilon and delta for
                each of the two bins that change: 50 ln(4/delta) / ((epsilon/2)^2 n).
            catch_all: as in the constructor.

        Raises:
            InvalidParameter: too few users (the error says how many are needed), a guarantee
                of another kind; with "paper", epsilon above 2.
        """
        goal = read_goal(guarantee, method)
        n, bins = zp.read_zero_preserving_users(n_users), zp.read_bins(n_bins)
        honest = read_honest_share(honest_share)
        gamma = smallest_omission(
            log_exchange_delta, n, goal, share=2, method=method, honest_share=honest
        )
        return cls(
            n,
            n_bins=bins,
            omission_probability=gamma,
            promise=goal,
            honest_share=honest,
            catch_all=catch_all,
        )

    @staticmethod
    def smallest_n_users(
        *,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        method: Method = "exact",
    ) -> int:
        """Return the least number of users with which a guarantee can be met.

        >>> from smoothdp.claims import ApproxDP
        >>> goal = ApproxDP(1, delta="1e-6")
        >>> [Histogram.smallest_n_users(guarantee=goal, honest_share=s) for s in (1, "9/10")]
        [148, 164]
        """
        goal, honest = read_goal(guarantee, method), read_honest_share(honest_share)
        return smallest_users(log_exchange_delta, goal, share=2, method=method, honest_share=honest)

    # ---- privacy ----------------------------------------------------------------------

    def profile(self, *, n_honest: int | None = None) -> ExchangeProfile:
        """Return the exact privacy profile, the same for all data of the other users."""
        return ExchangeProfile(self._honest(n_honest), self.omission_probability, self.n_bins)

    @property
    def messages_per_user(self) -> float:
        """Messages that a user sends on average, dummies left out: 1 + d (1 - gamma)."""
        return float(1 + self.n_bins * (1 - self.omission_probability))

    @property
    def mean_messages(self) -> float:
        """As `messages_per_user`."""
        return self.messages_per_user

    # ---- accuracy ---------------------------------------------------------------------

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:
        """Return the exact worst-case error of a bin's count, a whole number of users.

        The least A >= n gamma that the error of a given bin exceeds with at most the failure
        probability, whatever the data: attained. With ``simultaneous`` for the largest error
        of all bins: proved, and attained unless all d bins can fail.
        """
        failure = read_failure_probability(failure_probability)
        bins = self.n_bins if simultaneous else 1
        return float(
            worst_case_error(self.n_users, self.omission_probability, failure, n_bins=bins)
        )

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error of a bin, rounded up.

        Args:
            values: true counts of one or more bins, over which the mean is taken; None for
                the largest over all counts. Counts near n gamma are worst: they are reported
                as 0 half of the time.
        """
        n, gamma = self.n_users, self.omission_probability
        if values is None:
            return mean_squared_error(n, gamma, None)
        counts = self._true_counts(values)
        known = {count: mean_squared_error(n, gamma, count) for count in set(counts)}
        return sum(known[count] for count in counts) / max(1, len(counts))

    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""
        return (
            f"zero-preserving histogram of {self.n_users} users over {self.n_bins} bins through "
            f"a shuffler, noise bits omitted with probability "
            f"{shown(self.omission_probability)}, envelopes of {self.most_messages} slots"
        )

    # ---- run --------------------------------------------------------------------------

    def randomize(self, datum: int, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return d + 1 slots in random order: the user's bin, noise, and dummies.

        Every bin whose noise bit is not omitted is sent, and for each that is a dummy, the message
        d: how many are omitted would tell what part of the noise is the user's.
        """
        source = read_rng(rng)
        bin_index = self.bin_of(datum)
        zp.require_explicit(self.n_bins, "the messages of a user")
        sent = [bin_index, *self.noise_messages(rng=source)]
        # All noise fits: none is drawn again.
        envelope = Envelope(self.most_messages, Fraction(0))
        return envelope.filled(sent, dummy=self.n_bins, rng=source)

    def noise_messages(self, *, rng: Entropy | None = None) -> list[int]:
        """Return the bins whose noise bit is not omitted, whatever the user holds."""
        omitted = zp.bernoulli_array(self.omission_probability, self.n_bins, read_rng(rng))
        return [int(index) for index in np.flatnonzero(~omitted)]

    def _estimated(self, message_counts: IntArray, tolerated: int) -> HistogramEstimate:
        """Return M - n (1 - gamma) for bins with M > n - tolerated, else 0.

        Of n users m <= tolerated <= n gamma are silent. A bin with s true records of the others
        has s - m - W above n, W ~ Bin(n - m, gamma): for A >= n gamma its error exceeds A only if
        W > A, as without silent users, so `error` holds for all m. An empty bin is listed only
        if W < tolerated - m.
        """
        listed_bins = np.flatnonzero(message_counts > self.n_users - tolerated)
        excess = message_counts[listed_bins] - self.n_users
        return self._listed(listed_bins, excess, tolerated)

    @property
    def noise_mass(self) -> Fraction:
        """gamma, of noise that is omitted."""
        return self.omission_probability

    def printed_error(self, error: float, estimate: HistogramEstimate) -> tuple[float, float]:
        """Return the error of counts as floats, and what of it is left to round them further."""
        return error_of_counts(error, self.n_users * self.noise_mass, estimate.counts.values())

    @property
    def noise_share(self) -> Fraction:
        """1 - gamma."""
        return 1 - self.omission_probability

    def _for_users(self, n_users: int) -> Histogram:
        return self._kept_by(
            Histogram(
                n_users,
                n_bins=self.n_bins,
                omission_probability=self.omission_probability,
                honest_share=self._share_among(n_users),
                catch_all=self.catch_all,
            )
        )

    def false_bin_probability(self, tolerated: int) -> float:
        """Return a bound, rounded up, that any empty bin is listed with so many tolerated.

        d P(Bin(n, gamma) < tolerated): 0 for none, and small for a few.

        >>> p = Histogram(10_000, n_bins=100, omission_probability="0.0043")
        >>> p.false_bin_probability(0), p.false_bin_probability(18) < 1e-3
        (0.0, True)
        """
        silent = self._read_tolerated(tolerated)
        if silent == 0:
            return 0.0
        tail = log_binomial_tail(
            self.n_users - silent + 1, self.n_users, 1 - self.omission_probability
        ).upper
        return min(1.0, float_bounds(self.n_bins * Fraction(exp_upper(tail)))[1])

    def shuffled_counts(self, counts: Any, *, rng: Entropy | None = None) -> IntArray:
        """Draw what the analyser sees, the messages of each bin, without a draw per user.

        For all d bins, the empty ones too; an array of d whole numbers, at most 1e7 bins.
        """
        tally = self.check_counts(counts)
        zp.require_explicit(self.n_bins, "the shuffled counts")
        source = read_rng(rng)
        missing = binomial_draws(self.n_users, self.omission_probability, self.n_bins, source)
        return add_true(self.n_users - missing, tally)

    def count_messages(self, data: Iterable[int], *, rng: Entropy | None = None) -> IntArray:
        """Randomise all users at once and return the messages of each bin, an array of d.

        A noise bit is drawn for every user and bin: the same law as `shuffled_counts`.
        """
        tally = self.check_data(data)
        zp.require_explicit(self.n_bins, "a noise bit of every user")
        source = read_rng(rng)
        message_counts = add_true(np.full(self.n_bins, self.n_users), tally)
        step = max(1, _BITS_AT_ONCE // self.n_bins)
        for start in range(0, self.n_users, step):
            users = min(step, self.n_users - start)
            omitted = zp.bernoulli_array(self.omission_probability, users * self.n_bins, source)
            message_counts -= np.count_nonzero(omitted.reshape(users, self.n_bins), axis=0)
        return message_counts

    def _run_users(self, data: Tally, rng: Entropy) -> HistogramEstimate:
        # The sum of the users' noise bits is binomial; bins without users stay 0 anyway.
        return self._run_counts(data, rng)

    def _run_counts(self, counts: Tally, rng: Entropy) -> HistogramEstimate:
        # Bin numbers may exceed 64 bits.
        dtype = np.int64 if self.n_bins < 1 << 62 else object
        bins = np.array(list(counts), dtype=dtype)
        true = np.array(list(counts.values()), dtype=np.int64)
        missing = binomial_draws(self.n_users, self.omission_probability, true.size, rng)
        is_listed = true > missing
        return self._listed(bins[is_listed], (true - missing)[is_listed])

    def _listed(
        self, bins: NDArray[Any], excess: IntArray, tolerated: int = 0
    ) -> HistogramEstimate:
        values = excess + float(self.n_users * self.omission_probability)
        law = OmittedBits(self.n_users, self.n_bins, self.omission_probability, tolerated)
        counts = dict(zip(bins.tolist(), values.tolist(), strict=True))
        return HistogramEstimate(self.n_bins, counts, law=law)


def log_exchange_delta(n: int, gamma: Fraction, epsilon: Real) -> Any:
    """Bound ln delta of a histogram of two or more bins."""
    return ExchangeProfile(n, gamma, 2).log_delta_bounds(epsilon)
