"""Randomise and count: what the analyser of a shuffle protocol would see of a column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothdp.engines.job import Job, Partition, Run
from smoothdp.engines.keyed_random import KeyedRandom, check_key, keyed_words
from smoothdp.errors import InvalidData, InvalidParameter, explain
from smoothdp.exact.parameters import exact_int
from smoothdp.shuffle import BooleanSum, Histogram, RealSum
from smoothdp.shuffle.user_data import read_bits

IntArray = NDArray[np.int64]
_LAST_WINDOW = (1 << 64) - 1


@dataclass(frozen=True, slots=True, eq=False)
class RandomizedCounts:
    """How many users there were, and how often each message came: an array by its value."""

    n_users: int
    messages: IntArray


@dataclass(frozen=True)
class _Randomize:
    protocol: BooleanSum | RealSum | Histogram
    key: bytes
    window: int

    def __call__(self, columns: Partition) -> RandomizedCounts:
        users, data = columns
        if isinstance(self.protocol, BooleanSum):
            bits = read_bits(data)
            words = keyed_words(users.tolist(), key=self.key, window=self.window)
            ones = int(np.count_nonzero(bits ^ (words < np.uint64(self.protocol.threshold))))
            return RandomizedCounts(len(bits), np.array([len(bits) - ones, ones]))
        counts = np.zeros(n_values(self.protocol), dtype=np.int64)
        for user, datum in zip(users.tolist(), data.tolist(), strict=True):
            rng = KeyedRandom(self.key, window=self.window, user=user)
            for message in self.protocol.randomize(datum, rng=rng):
                counts[message] += 1
        return RandomizedCounts(len(data), counts)


def randomized_counts(
    run: Run, protocol: BooleanSum | RealSum | Histogram, *, key: bytes, window: int = 0
) -> RandomizedCounts:
    """Return the counts of all users' messages, each randomised once: (user, datum) per row.

    The same key, window and user always give the same messages, so work that an engine
    repeats changes nothing. Give the counts to ``protocol.estimate_from_total`` (the ones) or
    ``estimate_counts``. One row per user: two rows of one user would share their noise.

    Args:
        run: over the columns user and datum.
        protocol: for exactly this number of users.
        key: 32 secret bytes (`keyed_random.new_key`); destroy it when the counts are final.
        window: a whole number >= 0.

    Raises:
        InvalidData: a datum outside the protocol's domain, or another number of users.
        InvalidParameter: no key of 32 bytes, or a window outside 0, ..., 2^64 - 1.
    """
    number = exact_int(window, name="window", minimum=0)
    if number > _LAST_WINDOW:
        raise InvalidParameter(
            explain(f"window of at most {_LAST_WINDOW}", f"window={number}", "Lower window")
        )
    job = Job(_Randomize(protocol, check_key(key), number), add)
    found = run(job)
    if found.n_users != protocol.n_users:
        raise InvalidData(
            explain(
                f"data of n_users={protocol.n_users} users",
                f"{found.n_users}",
                "Build the protocol for this number",
            )
        )
    return found


def n_values(protocol: Any) -> int:
    """Return the size of a protocol's alphabet."""
    return protocol.n_bins if isinstance(protocol, Histogram) else 2


def add(a: RandomizedCounts, b: RandomizedCounts) -> RandomizedCounts:
    """Return the counts of both parts."""
    return RandomizedCounts(a.n_users + b.n_users, a.messages + b.messages)
