"""A uniform order of more slots than memory holds.

Every slot draws a bucket, uniformly and independently, from the operating system. Then bucket
after bucket is collected in one pass over the slots, put in a uniform order, and let out.

The order of all slots is exactly uniform. Rename the slots by any permutation: independent
draws of equal law have the same joint law under the new names, and so have the orders inside
the buckets, so the order that comes out has the same law as before. A law on orders that no
renaming changes gives every order the same probability, 1/n!.

Nothing is written but the result: there are no intermediate files to destroy. Memory holds one
bucket and a byte per slot; the slots are read once per bucket.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.random.entropy import SystemRandom
from smoothdp.services.formats.slots import SLOT_BYTES
from smoothdp.shuffle import UniformShuffler
from smoothdp.types import ByteArray

BYTES_AT_ONCE = 208_000_000
"""Bytes of one bucket, on average, of which sealing holds about three copies."""
_MOST_BUCKETS = 256

Read = Callable[[], Iterable[bytes]]
"""Yields all slots in pieces, joined; the same at every call."""


def mixed(
    read: Read, count: int, *, at_once: int | None = None, width: int = SLOT_BYTES
) -> Iterator[bytes]:
    """Yield ``count`` slots of so many bytes in a uniform order, in pieces.

    Raises:
        OutOfReach: more than 256 times ``at_once`` slots.

    >>> slots = [bytes([slot]) * 52 for slot in range(9)]
    >>> order = b"".join(mixed(lambda: slots, 9, at_once=3))
    >>> sorted(order[::52]) == list(range(9))
    True
    """
    if at_once is None:
        at_once = BYTES_AT_ONCE // width
    bits = max(0, (-(-count // at_once) - 1).bit_length())
    if 1 << bits > _MOST_BUCKETS:
        raise OutOfReach(
            expected=f"at most {_MOST_BUCKETS * at_once} slots",
            got=f"{count}",
            remedy="Make a task with shorter windows, so that each has fewer slots",
        )
    buckets = _drawn(count, bits)
    for bucket in range(1 << bits):
        yield _shuffled(_collected(read, buckets, bucket, width))


def _drawn(count: int, bits: int) -> ByteArray:
    """Return independent uniform numbers of so many bits."""
    if not bits:
        return np.zeros(count, dtype=np.uint8)
    return np.right_shift(np.frombuffer(os.urandom(count), np.uint8), np.uint8(8 - bits))


def _collected(read: Read, buckets: ByteArray, bucket: int, width: int) -> ByteArray:
    """Return the slots of a bucket, one a row, in the order in which they are read."""
    table = np.empty((int(np.count_nonzero(buckets == bucket)), width), dtype=np.uint8)
    first = filled = 0
    for chunk in read():
        rows = np.frombuffer(chunk, dtype=np.uint8).reshape(-1, width)
        chosen = rows[buckets[first : first + len(rows)] == bucket]
        table[filled : filled + len(chosen)] = chosen
        first, filled = first + len(rows), filled + len(chosen)
    if first != len(buckets) or filled != len(table):
        raise ValueError("another number of slots than was said")
    return table


def _shuffled(table: ByteArray) -> bytes:
    order = np.arange(table.shape[0], dtype=np.int64)
    return table[UniformShuffler().shuffle_array(order, rng=SystemRandom())].tobytes()
