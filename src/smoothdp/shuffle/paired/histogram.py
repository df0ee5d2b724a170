"""PairedHistogram: every bin counted with cancelling pairs, with half the error of rare noise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_int
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.binned import add_true
from smoothdp.shuffle.histogram.estimate import HistogramEstimate, require_bin
from smoothdp.shuffle.histogram.true_counts import Tally, tally_counts, tally_data
from smoothdp.shuffle.messages import ReadMessages
from smoothdp.shuffle.paired.accuracy import SignBars
from smoothdp.shuffle.paired.design import read_clump, read_wanted, refusal
from smoothdp.shuffle.paired.moved_user import PairedHistogramProfile, log_moved_delta
from smoothdp.shuffle.paired.paired_protocol import PairedProtocol
from smoothdp.shuffle.protocol import read_failure_probability, read_users
from smoothdp.shuffle.users.honest_share import (
    DEFAULT_HONEST_SHARE,
    least_honest,
    read_honest_share,
)
from smoothdp.sources import Source
from smoothdp.types import IntArray

DEFAULT_NOISE_SHARE = Fraction(8, 10)


@dataclass(frozen=True, init=False)
class PairedHistogram(PairedProtocol[HistogramEstimate]):
    """Count the users in each of d bins from signs that cancel, nothing hidden.

    A user sends + of the own bin, and for every bin the rare noise of `PairedCount`; all of it
    travels in one envelope of K slots. The estimate of a bin is its + less its -. The error is
    about half that of `LowCommunicationHistogram`, for 7 to 10 times the slots, and one user who
    lies moves a bin by K + 1.

    Args:
        n_users: n >= 1.
        n_bins: d >= 2; for one bin, `PairedCount`.
        noise_rate: rho of a bin; 2 rho is below epsilon, 8 tenths of it by default.
        clump_probability, largest_clump, honest_share, slots, n_honest_design, promise: as in
            `PairedCount`; the clump is that of a user in one bin.
        post_threshold: estimates up to it are reported as 0. None: nothing is hidden.
        catch_all: whether the last bin is that of all values outside the others.

    Raises:
        InvalidParameter: a parameter outside these domains, or a promise that is not kept.
        IncompatibleClaims: a promise about other neighbours than replace_one.

    >>> from smoothdp.claims import ApproxDP
    >>> p = PairedHistogram.calibrate(
    ...     10**6, n_bins=100, guarantee=ApproxDP(1, delta="1e-6"), largest_clump=8)
    >>> p.slots_per_user, round(p.messages_per_user, 3), round(p.mse() ** 0.5, 2)
    (62, 1.032, 3.7)
    """

    source: ClassVar[Source] = Source("own", "proofs/paired-counts#4")
    n_bins: int
    post_threshold: int | None
    catch_all: bool

    def __init__(
        self,
        n_users: int,
        *,
        n_bins: int,
        noise_rate: Parameter,
        clump_probability: Parameter,
        largest_clump: int,
        honest_share: Parameter = 1,
        slots: int | None = None,
        n_honest_design: int | None = None,
        post_threshold: int | None = None,
        promise: Guarantee | None = None,
        catch_all: bool = False,
    ) -> None:
        object.__setattr__(self, "n_bins", _read_bins(n_bins))
        least = None
        if post_threshold is not None:
            least = exact_int(post_threshold, name="post_threshold", minimum=0)
        object.__setattr__(self, "post_threshold", least)
        object.__setattr__(self, "catch_all", bool(catch_all))
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
        n_bins: int,
        guarantee: Guarantee,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        noise_share: Parameter = DEFAULT_NOISE_SHARE,
        largest_clump: int | None = None,
        most_messages: Parameter = 2,
        most_slots: int = 64,
        post_threshold: int | None = None,
        catch_all: bool = False,
    ) -> PairedHistogram:
        """Return the protocol with the fewest pairs that meets a guarantee.

        Args:
            n_users, guarantee, honest_share, largest_clump, most_messages, most_slots: as in
                `PairedCount.calibrate`.
            n_bins, post_threshold, catch_all: as in the constructor.
            noise_share: 2 rho / epsilon, in (0, 1): of two bins that change together.

        Raises:
            InvalidParameter: another guarantee; nothing fits: the error says what would.

        >>> from smoothdp.claims import ApproxDP
        >>> p = PairedHistogram.calibrate(10**6, n_bins=200, guarantee=ApproxDP(1, delta="1e-6"))
        >>> p.largest_clump, p.slots_per_user
        (1, 60)
        """
        users, share = read_users(n_users), read_honest_share(honest_share)
        bins = _read_bins(n_bins)
        wanted = read_wanted(
            log_moved_delta,
            guarantee,
            n_design=least_honest(users, share),
            n_cells=bins,
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
            n_bins=bins,
            noise_rate=wanted.rate,
            clump_probability=found.probability,
            largest_clump=found.largest,
            honest_share=share,
            slots=found.slots,
            post_threshold=post_threshold,
            promise=guarantee,
            catch_all=catch_all,
        )

    @property
    def n_cells(self) -> int:
        """d."""
        return self.n_bins

    @property
    def dummy(self) -> int:
        """2 d; 2 j is - of bin j, and 2 j + 1 is +."""
        return 2 * self.n_bins

    def _free_profile(self, n_honest: int) -> PrivacyProfile:
        return PairedHistogramProfile(
            n_honest,
            self.n_honest_design,
            self.noise_rate,
            self.clump_probability,
            self.largest_clump,
        )

    @property
    def influence_of_one_liar(self) -> float:
        """K + 1: K signs - of a bin, where one + was due."""
        return float(self.slots_per_user + 1)

    @property
    def hidden_up_to(self) -> float:
        """The post_threshold; 0 where nothing is hidden."""
        return float(self.post_threshold or 0)

    # ---- accuracy ---------------------------------------------------------------------

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:
        """Return an error of a bin, or of all at once, exceeded at most so often; rounded up.

        Exact but for the redrawing of noise, if nothing is hidden.
        """
        failure = read_failure_probability(failure_probability)
        bins = self.n_bins if simultaneous else 1
        return self._left.reach(failure, n_bins=bins) + self.hidden_up_to

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error of a bin, rounded up; for all data.

        With a post_threshold t, a bin that is hidden has at most t more users than its noise hides.
        """
        if values is not None:
            for value in np.atleast_1d(values).tolist():
                require_bin(value, self.n_users + 1)
        spread, hidden = self._left.variance(), self.hidden_up_to
        if hidden == 0.0:
            return spread
        return float((hidden + spread**0.5) ** 2 * (1 + 1e-12))

    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""
        return (
            f"histogram of {self.n_users} users over {self.n_bins} bins by signs, each bin with "
            f"{self._noise_words()}"
        )

    # ---- run --------------------------------------------------------------------------

    def randomize(self, datum: int, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return K messages: + of the user's bin, noise of all bins, and dummies."""
        envelope, source = self.envelope, read_rng(rng)
        own = 2 * self.bin_of(datum) + 1
        return envelope.filled(
            [own, *self.noise_messages(rng=source)], dummy=self.dummy, rng=source
        )

    def bin_of(self, datum: object) -> int:
        """Return the bin of a datum, or raise InvalidData if there is none for it."""
        return require_bin(datum, self.n_bins, catch_all=self.catch_all)

    def noise_messages(self, *, rng: Entropy | None = None) -> list[int]:
        """Return the signs of all bins that a user sends beside the own one."""
        noise = self._fitting_noise(1, read_rng(rng))
        pairs = np.repeat(noise.clumps, noise.sizes)
        plus = 2 * np.concatenate([noise.plus, pairs]) + 1
        minus = 2 * np.concatenate([noise.minus, pairs])
        return [*plus.tolist(), *minus.tolist()]

    def estimate(self, read: ReadMessages) -> HistogramEstimate:
        """Return + less - of every bin."""
        return self.estimate_counts(
            np.bincount(read.values, minlength=self.dummy + 1)[: self.dummy]
        )

    def estimate_counts(self, message_counts: IntArray) -> HistogramEstimate:
        """Return the same from the number of - and of + of every bin, 2 d numbers in turn."""
        return self._estimated((message_counts[1::2] - message_counts[::2]).astype(np.int64))

    def _estimated(self, values: IntArray) -> HistogramEstimate:
        hidden = self.post_threshold
        listed = np.flatnonzero(values if hidden is None else values > hidden)
        counts = dict(zip(listed.tolist(), values[listed].astype(float).tolist(), strict=True))
        law = SignBars(self._left, self.n_users, self.n_bins, hidden or 0)
        return HistogramEstimate(self.n_bins, counts, law=law)

    def check_data(self, data: Iterable[int]) -> Tally:
        """Return the true counts of one value per user."""
        return tally_data(data, n_users=self.n_users, n_bins=self.n_bins, catch_all=self.catch_all)

    def check_counts(self, counts: Any) -> Tally:
        """Return true counts given over all bins, or as bin -> count."""
        return tally_counts(counts, n_users=self.n_users, n_bins=self.n_bins)

    def _run_users(self, data: Tally, rng: Entropy) -> HistogramEstimate:
        return self._run_counts(data, rng)

    def _run_counts(self, counts: Tally, rng: Entropy) -> HistogramEstimate:
        noise = self._fitting_noise(self.n_users, rng)
        d = self.n_bins
        left = np.bincount(noise.plus % d, minlength=d) - np.bincount(noise.minus % d, minlength=d)
        return self._estimated(add_true(left.astype(np.int64), counts))

    def _arguments_for(self, n_users: int) -> dict[str, Any]:
        names = ("n_bins", "post_threshold", "catch_all")
        more = {name: getattr(self, name) for name in names}
        return super()._arguments_for(n_users) | more


def _read_bins(n_bins: object) -> int:
    bins = zp.read_bins(n_bins)
    if bins < 2 or bins > zp.LARGEST_EXPLICIT:
        raise InvalidParameter(
            expected=f"n_bins from 2 to {zp.LARGEST_EXPLICIT}",
            got=f"n_bins={bins}",
            remedy="For one bin use PairedCount; for more, LowCommunicationHistogram",
        )
    return bins
