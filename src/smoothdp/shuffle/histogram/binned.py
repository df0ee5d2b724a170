"""What both histograms share: messages that name bins, and the data behind them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.approximate_only import ApproximateOnly
from smoothdp.shuffle.histogram.estimate import HistogramEstimate, require_bin
from smoothdp.shuffle.histogram.reading import Tally, tally_counts, tally_data
from smoothdp.shuffle.messages import ReadMessages, read_messages

IntArray = NDArray[np.int64]


class BinnedProtocol(ApproximateOnly[int, HistogramEstimate]):
    """A user sends the bin they are in, and bins that noise adds: at most d + 1 messages."""

    n_bins: int

    @abstractmethod
    def estimate_counts(self, message_counts: IntArray) -> HistogramEstimate:
        """Return the estimate from the number of messages of each bin, an array of d."""

    @property
    def most_messages(self) -> int:
        """d + 1: messages that one user sends at most.

        A malicious user may send them all for one bin, and so move it by d + 1.
        """
        return self.n_bins + 1

    def read(self, messages: Iterable[object]) -> ReadMessages:
        """Return the messages 0..d-1, at most d + 1 a user; the others are counted."""
        zp.require_explicit(self.n_bins, "messages")
        most = self.most_messages * self.n_users
        return read_messages(
            messages, protocol=type(self).__name__, n_values=self.n_bins, at_most=most
        )

    def estimate(self, read: ReadMessages) -> HistogramEstimate:
        """Return the estimate from messages that were read."""
        return self.estimate_counts(np.bincount(read.values, minlength=self.n_bins))

    def check_data(self, data: Iterable[int]) -> Tally:
        """Return the true counts of one value per user."""
        return tally_data(data, n_users=self.n_users, n_bins=self.n_bins)

    def check_counts(self, counts: Any) -> Tally:
        """Return true counts given over all bins, or as bin -> count."""
        return tally_counts(counts, n_users=self.n_users, n_bins=self.n_bins)

    def _true_counts(self, values: Any) -> list[int]:
        """Return true counts of one or more bins, each in 0..n."""
        return [require_bin(count, self.n_users + 1) for count in np.atleast_1d(values).tolist()]


def add_true(seen: IntArray, tally: Tally) -> IntArray:
    """Add the users' own messages to those of the noise, in place, and return the sum."""
    if tally:
        seen[np.array(list(tally))] += np.array(list(tally.values()))
    return seen
