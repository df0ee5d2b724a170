"""Randomise and count: what the analyser of a shuffle protocol would see of a column."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add
from typing import Any, Literal

import numpy as np

from smoothdp.engines.collection import (
    Binned,
    Marked,
    MarkRows,
    Summed,
    job_name,
    noise_name,
    read_rows,
    require_distinct,
)
from smoothdp.engines.job import Job, Partition, Run
from smoothdp.engines.keyed_random import KeyedRandom, check_key, keyed_words
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.shuffle import BooleanSum
from smoothdp.types import IntArray

Users = Literal["check", "unique"]


@dataclass(frozen=True, slots=True, eq=False)
class RandomizedCounts:
    """How many users there were, and how often each message came: an array by its value."""

    n_users: int
    messages: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class _Randomized:
    """Counts of messages, and the mark of the rows that they were made of."""

    messages: IntArray
    rows: Marked

    def __add__(self, other: _Randomized) -> _Randomized:
        return _Randomized(self.messages + other.messages, self.rows + other.rows)


@dataclass(frozen=True)
class _Randomize:
    marks: MarkRows
    collection: bytes

    def __call__(self, columns: Partition) -> _Randomized:
        users, data = columns
        protocol, key = self.marks.protocol, self.marks.key
        rows = read_rows(protocol, data)
        marked = self.marks.mark(users.tolist(), rows)
        if isinstance(protocol, BooleanSum):
            words = keyed_words(users.tolist(), key=key, collection=self.collection)
            ones = int(np.count_nonzero(rows ^ (words < np.uint64(protocol.threshold))))
            return _Randomized(np.array([len(rows) - ones, ones]), marked)
        counts = np.zeros(n_values(protocol), dtype=np.int64)
        for user, datum in zip(users.tolist(), data.tolist(), strict=True):
            rng = KeyedRandom(key, collection=self.collection, user=user)
            for message in protocol.randomize(datum, rng=rng):
                if message < counts.size:  # what is beyond fills the envelope
                    counts[message] += 1
        return _Randomized(counts, marked)


def randomized_counts(
    run: Run,
    protocol: Summed,
    *,
    key: bytes,
    column: str,
    window: int,
    users: Users = "check",
) -> RandomizedCounts:
    """Return the counts of all users' messages, each randomised once: (user, datum) per row.

    The bits are derived from the key, the protocol with its parameters, the column, the window,
    all rows, and the user. So work that an engine repeats changes nothing, and of two
    collections that differ in any of these the noise is independent. Each is a collection of its
    own: its guarantee is to be charged again. The same job on the same data gives the same counts,
    which is for retries: of two collections under the same names it would show whether the data
    are equal, so give another window. Give the counts to ``protocol.estimate_from_total`` (the
    ones) or ``estimate_counts``.

    Args:
        run: over the columns user and datum, whose rows do not change while it runs.
        protocol: for exactly this number of users.
        key: 32 secret bytes (`keyed_random.new_key`); destroy it when the counts are final.
        column: the name of what is collected, such as the column's and the table's.
        window: a whole number >= 0: which collection of this column it is.
        users: "check" that no user has two rows, whose noise would be shared, for at most 2^24
            users; or "unique": the caller knows.

    Raises:
        InvalidData: a datum outside the protocol's domain, another number of users, a user with
            two rows, or rows that changed between two passes.
        InvalidParameter: no key of 32 bytes, no column, or a window outside 0, ..., 2^64 - 1.
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
    name = job_name(protocol, column=column, window=window)
    with_users = require_users(users) == "check"
    secret = check_key(key)
    marked = run(Job(MarkRows(protocol, secret, name, with_users), add))
    if marked.n_users != protocol.n_users:
        raise InvalidData(
            expected=f"data of n_users={protocol.n_users} users",
            got=f"{marked.n_users}",
            remedy="Build the protocol for this number of users",
        )
    require_distinct(marked.users)
    collection = noise_name(name, marked.data_mark, key=secret)
    marks = MarkRows(protocol, secret, name, with_users=False)
    counts = run(Job(_Randomize(marks, collection), add))
    if counts.rows.data_mark != marked.data_mark:
        # Noise that is not that of these rows: nothing of it leaves.
        raise InvalidData(
            expected="the same rows in every pass",
            got="others in the second",
            remedy="Write the rows down once, such as to Parquet, and count from there",
        )
    return RandomizedCounts(marked.n_users, counts.messages)


def require_users(users: Users) -> Users:
    """Return "check" or "unique", or raise InvalidParameter."""
    if users not in ("check", "unique"):
        raise InvalidParameter(
            expected="users='check' or users='unique'",
            got=f"users={users!r}",
            remedy="Leave users out to check that no user has two rows",
        )
    return users


def n_values(protocol: Any) -> int:
    """Return the size of a protocol's alphabet."""
    return protocol.n_bins if isinstance(protocol, Binned) else 2
