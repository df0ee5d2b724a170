"""The batch that a shuffler hands over: a header with the hash of each part, then the parts.

    header = u8 version | u8 inner key | task id[32] | batch id[16] | u32 window
             | u32 users | u64 slots | u32 parts | SHA-256 of each part[32 * parts]

A hash per part, instead of one over all, lets a part that was damaged on the way be refused
and sent again.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from smoothdp.services.wire.envelope import SLOT_BYTES, VERSION, DecodeError

PART_SLOTS = 1 << 16
"""Slots of every part but the last: 3.4 MB."""
MOST_SLOTS_OF_BATCH = 100_000_000
"""Slots that a window may hold, and a batch: 5.2 GB, read 32 times when it is sealed."""
_START = struct.Struct(">BB32s16sIIQI")
_HASH = 32


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """What is public about a batch: task, window, size, and the hashes of its bytes."""

    key_id: int
    task_id: bytes
    batch_id: bytes
    window: int
    users: int
    slots: int
    part_hashes: tuple[bytes, ...]

    def encode(self) -> bytes:
        """Return the header as bytes."""
        start = _START.pack(
            VERSION,
            self.key_id,
            self.task_id,
            self.batch_id,
            self.window,
            self.users,
            self.slots,
            len(self.part_hashes),
        )
        return start + b"".join(self.part_hashes)

    @classmethod
    def decode(cls, data: bytes) -> BatchHeader:
        """Return the header, or raise DecodeError."""
        if len(data) < _START.size:
            raise DecodeError("shorter than a batch header")
        version, key_id, task_id, batch_id, window, users, slots, parts = _START.unpack(
            data[: _START.size]
        )
        if version != VERSION:
            raise DecodeError("another version")
        if len(data) != _START.size + _HASH * parts or parts != n_parts(slots):
            raise DecodeError("another length")
        hashes = tuple(data[at : at + _HASH] for at in range(_START.size, len(data), _HASH))
        return cls(key_id, task_id, batch_id, window, users, slots, hashes)

    def part_bytes(self, part: int) -> int:
        """Return the length of a part."""
        return SLOT_BYTES * (min(self.slots, (part + 1) * PART_SLOTS) - part * PART_SLOTS)


def n_parts(slots: int) -> int:
    """Return the number of parts of so many slots."""
    return -(-slots // PART_SLOTS)


def split_parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts of slots that come in chunks of any size."""
    step, rest = PART_SLOTS * SLOT_BYTES, b""
    for chunk in chunks:
        data = rest + chunk if rest else chunk
        whole = len(data) - len(data) % step
        for at in range(0, whole, step):
            yield data[at : at + step]
        rest = data[whole:]
    if rest:
        yield rest
