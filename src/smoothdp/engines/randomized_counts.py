"""Randomise and count: what the analyser of a shuffle protocol would see of a column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np

from smoothdp.engines.collecting.marked_rows import MarkedRows, Users, marked_rows
from smoothdp.engines.collection import Binned, Marked, MarkRows, Summed, read_rows
from smoothdp.engines.job import Job, Partition, Run
from smoothdp.engines.keyed_random import KeyedRandom, keyed_words
from smoothdp.errors import InvalidParameter
from smoothdp.shuffle import (
    BooleanSum,
    Histogram,
    LowCommunicationHistogram,
    PairedCount,
    PairedHistogram,
    PrefixTree,
    RealSum,
    SplitSum,
    ZeroPreservingCount,
)
from smoothdp.types import IntArray

OwnAndNoise = Histogram | LowCommunicationHistogram | PairedCount | PairedHistogram
"""Protocols whose users send one message of their own, and noise whatever they hold."""


@dataclass(frozen=True, slots=True, eq=False)
class RandomizedCounts:
    """How many users there were, and how often each message came: an array by its value."""

    n_users: int
    messages: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class MarkedCounts:
    """Counts of messages, and the mark of the rows that they were made of."""

    messages: IntArray
    rows: Marked

    def __add__(self, other: MarkedCounts) -> MarkedCounts:
        return MarkedCounts(self.messages + other.messages, self.rows + other.rows)


@dataclass(frozen=True)
class _Randomize:
    protocol: Summed
    marks: MarkRows
    collection: bytes

    def __call__(self, columns: Partition) -> MarkedCounts:
        users, data = columns
        protocol, key, names = self.protocol, self.marks.key, users.tolist()
        rows = read_rows(protocol, data)
        marked = self.marks.mark(names, rows)
        if isinstance(protocol, BooleanSum):
            words = keyed_words(names, key=key, collection=self.collection)
            ones = int(np.count_nonzero(rows ^ (words < np.uint64(protocol.threshold))))
            return MarkedCounts(np.array([len(rows) - ones, ones]), marked)
        size = n_values(protocol)
        if isinstance(protocol, OwnAndNoise):
            own = 2 * rows + 1 if isinstance(protocol, PairedHistogram) else rows
            counts = np.bincount(own, minlength=size)
            add_noise(counts, protocol, names, key=key, collection=self.collection)
            return MarkedCounts(counts, marked)
        counts = np.zeros(size, dtype=np.int64)
        dummy = 0 if isinstance(protocol, ZeroPreservingCount) else None
        read = data.tolist() if isinstance(protocol, RealSum) else rows.tolist()
        for user, datum in zip(names, read, strict=True):
            rng = KeyedRandom(key, collection=self.collection, user=user)
            for message in protocol.randomize(datum, rng=rng):
                counts[message] += message != dummy
        return MarkedCounts(counts, marked)


def add_noise(
    counts: IntArray, protocol: OwnAndNoise, users: Sequence[Any], *, key: bytes, collection: bytes
) -> None:
    """Add the noise messages of users to counts by value, in place.

    From the same bits as `randomize`, which draws the noise first: what it draws after that is
    the order of an envelope and its dummies, which no count depends on.
    """
    for user in users:
        rng = KeyedRandom(key, collection=collection, user=user)
        for message in protocol.noise_messages(rng=rng):
            counts[message] += 1


def randomized_counts(
    run: Run,
    protocol: Summed,
    *,
    key: bytes,
    column: str,
    window: int,
    users: Users = "check",
    n_answered: int | None = None,
) -> RandomizedCounts:
    """Return the counts of all users' messages, each randomised once: (user, datum) per row.

    The bits are derived from the key, the protocol with its parameters, the column, the window,
    all rows, and the user. So work that an engine repeats changes nothing, and of two
    collections that differ in any of these the noise is independent. Each is a collection of its
    own: its guarantee is to be charged again. The same job on the same data gives the same counts,
    which is for retries: of two collections under the same names it would show whether the data
    are equal, so give another window. `collect` makes a release of them; or give the counts to
    ``protocol.estimate_counts`` of a histogram or `PairedCount`, and the ones to
    ``protocol.estimate_from_total`` of the others.

    Args:
        run: over the columns user and datum, whose rows do not change while it runs.
        protocol: for exactly this number of users, but for those who did not answer. Messages of
            a `PairedCount` are - and +, those of a `PairedHistogram` - and + of bin after bin;
            dummies are not counted.
        key: 32 secret bytes (`keyed_random.new_key`); destroy it when the counts are final.
        column: the name of what is collected, such as the column's and the table's.
        window: a whole number >= 0: which collection of this column it is.
        users: "check" that no user has two rows, whose noise would be shared, for at most 2^24
            users; or "unique": the caller knows.
        n_answered: rows there are, if some of the n_users stayed away, which must not depend on
            what anybody holds. Estimate by ``protocol.answered(n_answered)`` then. None: all.

    Raises:
        InvalidData: a datum outside the protocol's domain, another number of users, fewer than
            the promise needs, a user with two rows, or rows that changed between two passes.
        InvalidParameter: a protocol whose messages are not counted by value, as of `SplitSum` and
            `PrefixTree`; no key of 32 bytes, no column, a window outside 0, ..., 2^64 - 1.
        OutOfReach: more users than can be checked.

    >>> from smoothdp.engines import run_here
    >>> from smoothdp.engines.keyed_random import new_key
    >>> key, protocol = new_key(), BooleanSum(4, expected_random_users=1)
    >>> run = run_here([[np.arange(4), np.array([0, 1, 1, 0])]])
    >>> counts = randomized_counts(run, protocol, key=key, column="tea", window=2026)
    >>> again = randomized_counts(run, protocol, key=key, column="tea", window=2026)
    >>> counts.n_users, bool((counts.messages == again.messages).all())
    (4, True)
    """
    if isinstance(protocol, SplitSum | PrefixTree):
        raise InvalidParameter(
            expected="a protocol whose messages are counted by value",
            got=type(protocol).__name__,
            remedy="Use smoothdp.engines.collect, which takes every protocol",
        )
    rows = marked_rows(
        run, protocol, key=key, column=column, window=window, users=users, n_answered=n_answered
    )
    return RandomizedCounts(rows.protocol.n_users, counted_messages(run, rows))


def counted_messages(run: Run, rows: MarkedRows[Summed]) -> IntArray:
    """Return the counts of all users' messages, by the second pass over marked rows."""
    found: MarkedCounts = run(Job(_Randomize(rows.protocol, rows.marks, rows.noise_name()), add))
    rows.require_same(found.rows.data_mark)
    return found.messages


def n_values(protocol: Summed) -> int:
    """Return the size of a protocol's alphabet, dummies left out."""
    if isinstance(protocol, PairedHistogram):
        return 2 * protocol.n_bins
    return protocol.n_bins if isinstance(protocol, Binned) else 2
