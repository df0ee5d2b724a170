"""The envelope of one client and window: fixed structures, the same length for every value.

    header   = u8 version | u8 outer key | u16 slots | task id[32] | u32 window        40
    inner    = sealed to the analyser: u32 value                                       52
    outer    = sealed to the shuffler: report id[16] | inner * slots           64 + 52 M
    envelope = header | outer                                                 104 + 52 M

Numbers are big-endian. The header is bound into the outer layer and (task, window) into
the inner ones through ``info``, so none of them can be moved elsewhere.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from smoothdp.services.wire.hybrid import OVERHEAD, OpenError, PrivateKey, PublicKey

VERSION = 1
HEADER_BYTES = 40
REPORT_ID_BYTES = 16
SLOT_BYTES = 4 + OVERHEAD
DUMMY = 0xFFFFFFFF
INVALID, REPEATED = -1, -2
"""Tallied instead of a value: a slot that does not open or means nothing; a copy of another."""

_HEADER = struct.Struct(">BBH32sI")
_VALUE = struct.Struct(">I")
_INNER, _OUTER = b"esa/1 inner", b"esa/1 outer"


class DecodeError(Exception):
    """Bytes that are no envelope, batch or message of this format."""


def envelope_bytes(slots: int) -> int:
    """Return the length of every envelope with so many slots.

    >>> [envelope_bytes(slots) for slots in (1, 8, 101)]
    [156, 520, 5356]
    """
    return HEADER_BYTES + REPORT_ID_BYTES + OVERHEAD + SLOT_BYTES * slots


@dataclass(frozen=True, slots=True)
class Header:
    """What the shuffler reads before it decrypts anything."""

    key_id: int
    slots: int
    task_id: bytes
    window: int

    def encode(self) -> bytes:
        """Return 40 bytes."""
        return _HEADER.pack(VERSION, self.key_id, self.slots, self.task_id, self.window)

    @classmethod
    def of(cls, envelope: bytes) -> Header:
        """Return the header of an envelope of the right length, or raise DecodeError."""
        if len(envelope) < HEADER_BYTES:
            raise DecodeError("shorter than a header")
        version, key_id, slots, task_id, window = _HEADER.unpack(envelope[:HEADER_BYTES])
        if version != VERSION:
            raise DecodeError("another version")
        if slots < 1 or len(envelope) != envelope_bytes(slots):
            raise DecodeError("another length")
        return cls(key_id, slots, task_id, window)


def inner_info(task_id: bytes, window: int) -> bytes:
    """Return what the messages of a task and window are bound to."""
    return _INNER + task_id + _VALUE.pack(window)


def seal_values(
    values: Sequence[int], *, key: PublicKey, task_id: bytes, window: int
) -> list[bytes]:
    """Return one inner ciphertext of 52 bytes per value or dummy."""
    info = inner_info(task_id, window)
    return [key.seal(_VALUE.pack(value), info=info) for value in values]


def split_slots(joined: bytes) -> list[bytes]:
    """Return the slots of joined ones; a rest that is no slot comes last, to be refused."""
    return [joined[at : at + SLOT_BYTES] for at in range(0, len(joined), SLOT_BYTES)]


def seal_envelope(
    header: Header, report_id: bytes, slots: Sequence[bytes], *, key: PublicKey
) -> bytes:
    """Return the envelope of sealed slots."""
    start = header.encode()
    if len(report_id) != REPORT_ID_BYTES or len(slots) != header.slots:
        raise DecodeError("another number of slots than the header says")
    return start + key.seal(report_id + b"".join(slots), info=_OUTER + start)


def open_envelope(envelope: bytes, *, key: PrivateKey) -> tuple[bytes, bytes]:
    """Return (report id, slots of 52 bytes joined), or raise DecodeError."""
    header = Header.of(envelope)
    start = envelope[:HEADER_BYTES]
    try:
        bundle = key.open(envelope[HEADER_BYTES:], info=_OUTER + start)
    except OpenError:
        raise DecodeError("not sealed to this key and header") from None
    if len(bundle) != REPORT_ID_BYTES + SLOT_BYTES * header.slots:
        raise DecodeError("another length inside")
    return bundle[:REPORT_ID_BYTES], bundle[REPORT_ID_BYTES:]


def open_slot(slot: bytes, *, key: PrivateKey, info: bytes) -> int:
    """Return the value or dummy in an inner ciphertext, or raise DecodeError."""
    try:
        plaintext = key.open(slot, info=info)
    except OpenError:
        raise DecodeError("not sealed to this key, task and window") from None
    if len(plaintext) != _VALUE.size:
        raise DecodeError("another length inside")
    return int(_VALUE.unpack(plaintext)[0])


def envelope_id(envelope: bytes) -> bytes:
    """Return SHA-256 of the envelope: sound as a replay mark, sealing is not malleable."""
    return hashlib.sha256(envelope).digest()
