"""The batch that a shuffler hands over: a signed header with the hash of each part, then the parts.

    batch = u8 2 | u8 q | card digest[32] | batch id[16] | u32 users | u64 slots | u32 parts
            | SHA-256 of each part | SHA-256(marks file) | sig[64]            162 + 32 parts
    sig   = Ed25519(shuffler_sign_key, TAG("batch") | all before)
    part  = 16,384 records (slot | q * sig), the last fewer

A hash per part, instead of one over all, lets a part that was damaged on the way be refused
and sent again. Records are in uniform order over all users and slots.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from smoothdp.services.formats.reading import HASH_BYTES, VERSION, DecodeError, Reader
from smoothdp.services.formats.report import record_bytes
from smoothdp.services.formats.signing import SIGNATURE_BYTES, SigningKey, VerifyingKey

PART_RECORDS = 1 << 14
"""Records of every part but the last: 5 MB with signatures."""
BATCH_ID_BYTES = 16
_START = struct.Struct(f">BB{HASH_BYTES}s{BATCH_ID_BYTES}sIQI")


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """What is public about a batch, signed by the shuffler.

    Attributes:
        signed: whether records carry signatures.
        card_digest: 32 bytes.
        batch_id: 16 random bytes.
        users: people whose slots are in the batch.
        slots: slots of all of them.
        part_hashes: SHA-256 of each part.
        marks_sha256: SHA-256 of the marks file.
        signature: 64 bytes; empty until `sign`.

    >>> key = SigningKey.generate()
    >>> header = BatchHeader(False, bytes(32), bytes(16), 1, 1, (bytes(32),), bytes(32)).sign(key)
    >>> len(header.encode()), header.verify(key.public)
    (194, True)
    >>> BatchHeader.decode(header.encode()) == header
    True
    """

    signed: bool
    card_digest: bytes
    batch_id: bytes
    users: int
    slots: int
    part_hashes: tuple[bytes, ...]
    marks_sha256: bytes
    signature: bytes = b""

    @property
    def body(self) -> bytes:
        """All that is signed."""
        start = _START.pack(
            VERSION,
            self.signed,
            self.card_digest,
            self.batch_id,
            self.users,
            self.slots,
            len(self.part_hashes),
        )
        return start + b"".join(self.part_hashes) + self.marks_sha256

    def sign(self, key: SigningKey) -> BatchHeader:
        """Return the header with the shuffler's signature."""
        return replace(self, signature=key.sign("batch", self.body))

    def verify(self, key: VerifyingKey) -> bool:
        """Return whether the shuffler of the task signed this."""
        return key.check("batch", self.body, self.signature)

    def encode(self) -> bytes:
        """Return the header as bytes."""
        return self.body + self.signature

    @classmethod
    def decode(cls, data: bytes) -> BatchHeader:
        """Return the header of these bytes, or raise DecodeError; its signature is not verified."""
        if len(data) < _START.size:
            raise DecodeError("too short")
        version, signed, digest, batch_id, users, slots, parts = _START.unpack(data[: _START.size])
        if version != VERSION:
            raise DecodeError("another version")
        if signed > 1:
            raise DecodeError("several issuers")
        # Before anything is made of it: the number of parts is anybody's.
        if parts != n_parts(slots) or len(data) != header_bytes(parts):
            raise DecodeError("another length")
        reader = Reader(data[_START.size :])
        hashes = tuple(reader.take(HASH_BYTES) for _ in range(parts))
        marks, signature = reader.take(HASH_BYTES), reader.take(SIGNATURE_BYTES)
        return cls(bool(signed), digest, batch_id, users, slots, hashes, marks, signature)

    def part_bytes(self, part: int) -> int:
        """Return the length of a part, counted from 0."""
        records = min(self.slots, (part + 1) * PART_RECORDS) - part * PART_RECORDS
        return record_bytes(self.signed) * records


def header_bytes(parts: int) -> int:
    """Return the length of a header with so many parts.

    >>> header_bytes(1)
    194
    """
    return _START.size + HASH_BYTES * (parts + 1) + SIGNATURE_BYTES


def n_parts(slots: int) -> int:
    """Return the number of parts of so many slots.

    >>> [n_parts(slots) for slots in (1, 16384, 16385)]
    [1, 1, 2]
    """
    return -(-slots // PART_RECORDS)


def split_parts(chunks: Iterable[bytes], *, signed: bool) -> Iterator[bytes]:
    """Yield the parts of records that come in chunks of any size.

    >>> [len(part) for part in split_parts([bytes(52 * 16384), bytes(26), bytes(26)], signed=False)]
    [851968, 52]
    """
    step, rest = PART_RECORDS * record_bytes(signed), b""
    for chunk in chunks:
        data = rest + chunk if rest else chunk
        whole = len(data) - len(data) % step
        for at in range(0, whole, step):
            yield data[at : at + step]
        rest = data[whole:]
    if rest:
        yield rest
