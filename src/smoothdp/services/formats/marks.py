"""The marks of a batch, a static file in which everybody looks up the own report.

mark = first 16 bytes of SHA-256(TAG("mark") | slot)
file = u8 2 | card digest[32] | u64 slots | marks ascending              41 + 16 slots
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smoothdp.services.formats.reading import HASH_BYTES, VERSION, DecodeError
from smoothdp.services.tokens.label import label

MARK_BYTES = 16
_START = struct.Struct(f">B{HASH_BYTES}sQ")
_LABEL = label("mark")


def mark_of(slot: bytes) -> bytes:
    """Return the mark of a sealed slot: a function of the ciphertext, it says nothing else.

    Marks say no more of values than the result does (proofs/marks-and-erasure#1).

    >>> mark_of(bytes(52)).hex()[:8]
    'dc2fb886'
    """
    return hashlib.sha256(_LABEL + slot).digest()[:MARK_BYTES]


def repeated_marks(marks: bytes) -> list[int]:
    """Return the places of the marks that come more than once, all of each, ascending.

    Args:
        marks: of 16 bytes, joined in any order.

    >>> repeated_marks(b"a" * 16 + b"b" * 16 + b"a" * 16)
    [0, 2]
    """
    pairs = np.frombuffer(marks, dtype=">u8").reshape(-1, 2)
    order = np.lexsort((pairs[:, 1], pairs[:, 0]))
    ordered = pairs[order]
    same = (ordered[1:] == ordered[:-1]).all(axis=1)
    twice = np.zeros(len(pairs), dtype=bool)
    twice[1:] |= same
    twice[:-1] |= same
    return [int(place) for place in np.sort(order[twice])]


@dataclass(frozen=True)
class MarksFile:
    """The marks of all slots of a batch.

    Args:
        card_digest: 32 bytes.
        marks: ascending, joined; equal ones stay.

    >>> file = MarksFile.of(bytes(32), [b"one slot", b"another"])
    >>> mark_of(b"another") in file, mark_of(b"a third") in file
    (True, False)
    >>> MarksFile.decode(file.encode()) == file
    True
    """

    card_digest: bytes
    marks: bytes

    @classmethod
    def of(cls, card_digest: bytes, slots: Iterable[bytes]) -> MarksFile:
        """Return the file of these slots, in whatever order they come."""
        return cls.sorted(card_digest, b"".join(mark_of(slot) for slot in slots))

    @classmethod
    def sorted(cls, card_digest: bytes, marks: bytes) -> MarksFile:
        """Return the file of marks that are joined in any order: 16 bytes of memory each, twice."""
        pairs = np.frombuffer(marks, dtype=">u8").reshape(-1, 2)
        return cls(card_digest, pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].tobytes())

    @property
    def slots(self) -> int:
        """How many slots the batch has."""
        return len(self.marks) // MARK_BYTES

    @cached_property
    def sha256(self) -> bytes:
        """SHA-256 of the file: in the shuffler's batch header and in the analyser's result."""
        return hashlib.sha256(self.encode()).digest()

    def __contains__(self, mark: bytes) -> bool:
        low, high = 0, self.slots
        while low < high:
            middle = (low + high) // 2
            if self.marks[middle * MARK_BYTES : (middle + 1) * MARK_BYTES] < mark:
                low = middle + 1
            else:
                high = middle
        return self.marks[low * MARK_BYTES : (low + 1) * MARK_BYTES] == mark

    def encode(self) -> bytes:
        """Return the file as bytes."""
        return _START.pack(VERSION, self.card_digest, self.slots) + self.marks

    @classmethod
    def decode(cls, data: bytes) -> MarksFile:
        """Return the file of these bytes, or raise DecodeError: too short, or not ascending."""
        if len(data) < _START.size:
            raise DecodeError("too short")
        version, card_digest, slots = _START.unpack(data[: _START.size])
        if version != VERSION:
            raise DecodeError("another version")
        marks = data[_START.size :]
        if len(marks) != MARK_BYTES * slots:
            raise DecodeError("another length")
        file = cls.sorted(card_digest, marks)
        if file.marks != marks:
            raise DecodeError("marks that do not ascend")
        return file
