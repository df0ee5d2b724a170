"""What both histograms share: messages that name bins, and the data behind them."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from smoothdp.claims.label import Label
from smoothdp.claims.release import Release
from smoothdp.errors import InvalidData
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.approximate_only import ApproximateOnly
from smoothdp.shuffle.histogram.estimate import HistogramEstimate, require_bin
from smoothdp.shuffle.histogram.true_counts import Tally, tally_counts, tally_data
from smoothdp.shuffle.messages import TOO_MANY, ReadMessages, read_messages
from smoothdp.shuffle.users.honesty import MessagesOfOne
from smoothdp.types import IntArray


class BinnedProtocol(ApproximateOnly[int, HistogramEstimate]):
    """A user sends a message of their own bin, and of bins that noise adds: at most d + 1.

    Envelopes are filled with dummies, the message d, so that their size tells nothing.
    """

    n_bins: int
    catch_all: bool = False
    """Whether the last bin is that of all values outside the others, so that none is refused."""

    def bin_of(self, datum: object) -> int:
        """Return the bin of a datum, or raise InvalidData if there is none for it."""
        return require_bin(datum, self.n_bins, catch_all=self.catch_all)

    def release(
        self,
        data: Iterable[int] | None = None,
        *,
        counts: Any = None,
        tolerated: int = 0,
        label: object = None,
        rng: Entropy | None = None,
    ) -> Release[HistogramEstimate]:
        """Run the protocol and return the estimate with its guarantee; see `ShuffleProtocol`.

        Args:
            data, counts, label, rng: as there.
            tolerated: how many users may send nothing, which the estimate allows for, as `analyze`
                does; with more than none all bins are drawn.

        Raises:
            InvalidParameter, InvalidData: as there, and as `analyze`. Nothing is released then.
            OutOfReach: some are tolerated, and there are more bins than can be drawn.
        """
        _, silent = self.those_who_answered(None, tolerated)
        if not silent or (data is None) == (counts is None):
            return super().release(data, counts=counts, label=label, rng=rng)
        named, source = Label.read(label), read_rng(rng)
        tally = self.check_counts(counts) if data is None else self.check_data(data)
        seen = self.shuffled_counts(tally, rng=source)
        value = self.estimate_counts(seen, tolerated=silent)
        return self._release(value, is_private=source.is_private, label=named)

    @abstractmethod
    def shuffled_counts(self, counts: Any, *, rng: Entropy | None = None) -> IntArray:
        """Draw what the analyser sees, the messages of each bin, without a draw per user."""

    def estimate_counts(
        self,
        message_counts: IntArray,
        *,
        n_answered: int | None = None,
        tolerated: int = 0,
        warn: bool = True,
    ) -> HistogramEstimate:
        """Return the estimate from the number of messages of each bin, an array of d.

        Args:
            message_counts: one whole number per bin; one more, if there is one, counts dummies.
            n_answered, tolerated: as `analyze` has them.
            warn: False for a caller who says by `honest_at_most` and `surplus` how many messages
                are missing, and how many are too many.

        Raises:
            InvalidParameter: numbers of users outside their domains.
            InvalidData: fewer honest users than the promise needs have answered, or sent what
                they should; another number of bins.

        Warns:
            PrivacyWarning: more users than are tolerated sent no noise.
        """
        used, silent = self.those_who_answered(n_answered, tolerated)
        if message_counts.shape not in ((self.n_bins,), (self.n_bins + 1,)):
            raise InvalidData(
                expected=f"the messages of each of {self.n_bins} bins",
                got=f"an array of shape {message_counts.shape}",
                remedy="Count the messages by bin, with 0 for none",
            )
        message_counts = message_counts[: self.n_bins]
        self._check_honest(
            used, int(message_counts.sum()), silent, warned=not warn, counted=n_answered is not None
        )
        return used._estimated(message_counts, silent)

    @abstractmethod
    def _estimated(self, message_counts: IntArray, tolerated: int) -> HistogramEstimate:
        """Return the estimate for the messages of n_users, so many of them silent at most."""

    @property
    @abstractmethod
    def noise_mass(self) -> Fraction:
        """gamma: with this probability a noise bit is what is rare, sent or omitted."""

    @abstractmethod
    def printed_error(self, error: float, estimate: HistogramEstimate) -> tuple[float, float]:
        """Return the error of counts as floats, and what of it is left to round them further."""

    @property
    @abstractmethod
    def noise_share(self) -> Fraction:
        """The probability that a user's noise message is sent, for each bin."""

    @property
    def most_messages(self) -> int:
        """d + 1: messages that one user sends at most.

        A malicious user may send all of them for one bin, and so move its estimate by d + 1.
        """
        return self.n_bins + 1

    @property
    def message_bits(self) -> int:
        """Bits of a message: one of d bins, or a dummy."""
        return self.n_bins.bit_length()

    def read(self, messages: Iterable[object]) -> ReadMessages:
        """Return the messages 0..d-1, at most K a user, without dummies; the others are counted."""
        zp.require_explicit(self.n_bins, "messages")
        read = read_messages(
            messages, protocol=type(self).__name__, n_values=self.n_bins + 1, at_most=sys.maxsize
        )
        values, rejected = read.values[read.values < self.n_bins], dict(read.rejected)
        most = self.most_messages * self.n_users
        if values.size > most:
            rejected[TOO_MANY] = int(values.size) - most
        return ReadMessages(values[:most], rejected, 0)

    def estimate(
        self, read: ReadMessages, *, n_answered: int | None = None, tolerated: int = 0
    ) -> HistogramEstimate:
        """Return the estimate from messages that were read; see `estimate_counts`."""
        counts = np.bincount(read.values, minlength=self.n_bins)
        return self.estimate_counts(counts, n_answered=n_answered, tolerated=tolerated)

    def _estimate_read(self, read: ReadMessages, tolerated: int) -> HistogramEstimate:
        return self._estimated(np.bincount(read.values, minlength=self.n_bins), tolerated)

    def _messages_of_one(self) -> MessagesOfOne:
        return {"sure": 1, "noise_bits": self.n_bins, "probability": float(self.noise_share)}

    def check_data(self, data: Iterable[int]) -> Tally:
        """Return the true counts of one value per user."""
        return tally_data(data, n_users=self.n_users, n_bins=self.n_bins, catch_all=self.catch_all)

    def check_counts(self, counts: Any) -> Tally:
        """Return true counts given over all bins, or as bin -> count."""
        return tally_counts(counts, n_users=self.n_users, n_bins=self.n_bins)

    def _true_counts(self, values: Any) -> list[int]:
        """Return true counts of one or more bins, each in 0..n."""
        return [require_bin(count, self.n_users + 1) for count in np.atleast_1d(values).tolist()]


def add_true(message_counts: IntArray, tally: Tally) -> IntArray:
    """Add the users' own messages to those of the noise, in place, and return the sum."""
    if tally:
        message_counts[np.array(list(tally))] += np.array(list(tally.values()))
    return message_counts
