"""What tells collections apart: the name that noise is derived from, and the mark of the data.

Two collections whose noise is derived from one name have one noise: the difference of their
results is then the difference of the data, exactly. So the name holds whatever a result depends
on: protocol, parameters, column, window, and a mark of every row. `docs/decisions/
0007-noise-of-a-collection.md` has the reasons.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothdp.engines.job import Partition
from smoothdp.engines.keyed_random import check_key, user_bytes
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.exact.parameters.numbers import exact_int
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
from smoothdp.shuffle.histogram.zero_preserving import require_explicit
from smoothdp.shuffle.split.random_rounding import read_data
from smoothdp.shuffle.users.user_data import read_bits, read_units
from smoothdp.types import IntArray, WordArray

Binned = LowCommunicationHistogram | Histogram | PairedHistogram
OfBits = BooleanSum | ZeroPreservingCount | PairedCount
Summed = OfBits | RealSum | Binned
"""Protocols whose messages are few kinds, to be counted."""
Collected = Summed | SplitSum | PrefixTree
MOST_CHECKED = 1 << 24
"""Users whose names one machine compares."""
OTHER = -1
"""The symbols of a string that is none of a tree's."""
_LAST_WINDOW = (1 << 64) - 1
_MARK_BYTES = 32
_ROWS, _USERS, _NOISE = b"smoothdp data", b"smoothdp users", b"smoothdp noise"


def job_name(protocol: Collected, *, column: str, window: int) -> bytes:
    """Return what is known of a collection before its data: who asks what, how, and when.

    Raises:
        InvalidParameter: another protocol, or one without envelopes; no name of a column; a window
            outside 0, ..., 2^64 - 1.

    >>> protocol = BooleanSum(9, expected_random_users=3)
    >>> job_name(protocol, column="tea", window=1) == job_name(protocol, column="te", window=1)
    False
    """
    if not isinstance(protocol, Collected):
        raise InvalidParameter(
            expected="a PairedCount, PairedHistogram, SplitSum, PrefixTree, ZeroPreservingCount, "
            "BooleanSum, RealSum, LowCommunicationHistogram or Histogram",
            got=type(protocol).__name__,
            remedy="Build one with its calibrate, such as LowCommunicationHistogram.calibrate",
        )
    if isinstance(protocol, PairedCount | PairedHistogram):
        protocol.envelope  # noqa: B018 - refuses one made by hand, whose noise has no cap
    if not isinstance(column, str) or not column.strip():
        raise InvalidParameter(
            expected="column, the name of what is collected",
            got=f"column={column!r}"[:80],
            remedy="Name the column: two columns under one name would share their noise",
        )
    number = exact_int(window, name="window", minimum=0)
    if number > _LAST_WINDOW:
        raise InvalidParameter(
            expected=f"window of at most {_LAST_WINDOW}",
            got=f"window={number}",
            remedy="Give the number of a window of the task",
        )
    # The promise, its conditions and what calibration keeps do not change what is sent.
    parameters = [
        f"{one.name}={getattr(protocol, one.name)}"
        for one in fields(protocol)
        if one.name not in ("promise", "honest_share") and not one.name.startswith("_")
    ]
    if isinstance(protocol, SplitSum):
        # Of m0 users the noise is made: here honest_share does change what is sent.
        parameters.append(f"honest_needed={protocol.honest_needed}")
    return joined([type(protocol).__qualname__, *parameters, column, f"window={number}"])


def noise_name(job: bytes, data_mark: int, *, key: bytes) -> bytes:
    """Return the name of a collection that noise is derived from: 32 bytes, one for these data."""
    whole = hashlib.blake2b(key=check_key(key), digest_size=_MARK_BYTES, person=_NOISE)
    whole.update(data_mark.to_bytes(_MARK_BYTES, "little") + job)
    return whole.digest()


def joined(words: Sequence[str]) -> bytes:
    """Return words with their lengths: no two lists of words have the same bytes."""
    coded = [word.encode("utf-8", "surrogatepass") for word in words]
    return b"".join(len(word).to_bytes(8, "little") + word for word in coded)


def read_rows(protocol: Collected, data: NDArray[Any]) -> IntArray:
    """Return data as the protocol takes them: bits, multiples of 2^-62, bins, or rows of symbols.

    A string that is none of a tree's has the symbols -1.

    Raises:
        InvalidData: a datum outside the protocol's domain, and no bin that catches all.
        OutOfReach: a histogram, or a level of a tree, of more bins than can be listed.
    """
    if isinstance(protocol, OfBits):
        return read_bits(data).astype(np.int64)
    if isinstance(protocol, RealSum):
        return read_units(data)
    if isinstance(protocol, SplitSum):
        return read_data(data, protocol.resolution)
    if isinstance(protocol, PrefixTree):
        require_explicit(protocol.most_bins, "the messages of a level")
        other = (OTHER,) * protocol.n_levels
        strings = [protocol.symbols_of(string) or other for string in data.tolist()]
        return np.array(strings, dtype=np.int64).reshape(-1, protocol.n_levels)
    require_explicit(protocol.n_bins, "the messages of a user")
    bins = [protocol.bin_of(_whole(datum)) for datum in data.tolist()]
    return np.array(bins, dtype=np.int64)


def _whole(datum: Any) -> Any:
    """Return a whole number for a float that is one.

    An array of whole numbers becomes one of floats where a neighbour is missing: without this
    the bin of a user would depend on who else is in the partition.
    """
    return int(datum) if isinstance(datum, float) and datum.is_integer() else datum


@dataclass(frozen=True, slots=True, eq=False)
class Marked:
    """How many rows there were, the mark of all of them, and a mark of each user if asked for."""

    n_users: int
    data_mark: int
    users: WordArray

    def __add__(self, other: Marked) -> Marked:
        n_users = self.n_users + other.n_users
        mark = (self.data_mark + other.data_mark) % (1 << 8 * _MARK_BYTES)
        if len(self.users) + len(other.users) > MOST_CHECKED:
            raise _too_many()
        return Marked(n_users, mark, np.concatenate([self.users, other.users]))


@dataclass(frozen=True)
class MarkRows:
    """Mark rows of user and datum: the sum of their keyed hashes, the same in any order and split.

    Who has no key can find no other data with the same mark, but by a chance of 2^-256.
    """

    protocol: Collected
    key: bytes
    job: bytes
    with_users: bool

    def __call__(self, columns: Partition) -> Marked:
        users, data = columns
        return self.mark(users.tolist(), read_rows(self.protocol, data))

    def mark(self, users: Sequence[Any], rows: IntArray) -> Marked:
        """Return the mark of rows that were read."""
        if self.with_users and len(users) > MOST_CHECKED:
            raise _too_many()
        base = hashlib.blake2b(key=self.key, digest_size=_MARK_BYTES, person=_ROWS)
        base.update(self.job)
        names = hashlib.blake2b(key=self.key, digest_size=8, person=_USERS)
        digests, marks = bytearray(), bytearray()
        # One number a user, or the symbols of a string, as many for every user.
        coded, size = rows.astype("<i8").tobytes(), 8 * int(np.prod(rows.shape[1:]))
        for index, user in enumerate(users):
            name, one = user_bytes(user), base.copy()
            one.update(coded[size * index : size * (index + 1)] + name)
            digests += one.digest()
            if self.with_users:
                own = names.copy()
                own.update(name)
                marks += own.digest()
        limbs = np.frombuffer(bytes(digests), dtype="<u4").reshape(-1, _MARK_BYTES // 4)
        sums = limbs.sum(axis=0, dtype=np.uint64).tolist()
        total = sum(limb << (32 * index) for index, limb in enumerate(sums))
        own_marks = np.frombuffer(bytes(marks), dtype="<u8").astype(np.uint64)
        return Marked(len(users), total % (1 << 8 * _MARK_BYTES), own_marks)


def require_distinct(users: WordArray) -> None:
    """Raise InvalidData if a user has two rows: counted twice, one would lose more than promised.

    Two users are taken for one with probability below 10^-5 at the most users that are checked.
    """
    ordered = np.sort(users)
    if (ordered[1:] == ordered[:-1]).any():
        raise InvalidData(
            expected="one row per user",
            got="a user with two",
            remedy="Aggregate each user's rows first",
        )


def _too_many() -> OutOfReach:
    return OutOfReach(
        expected=f"at most {MOST_CHECKED} users to check that none has two rows",
        got="more",
        remedy="Check the users where the data are, and say users='unique'",
    )
