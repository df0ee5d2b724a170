"""The report of a client: its slots with their signatures, sealed to the window's gateway.

    report    = u8 2 | u16 M | card digest[32] | M * (slot[52] | q * sig[256])
                                                                   35 + M (52 + 256 q) bytes
    report id = SHA-256(TAG("report") | report)
    sealed    = hdr[7] | HPKE(gateway key, info = "message/vnd.esa.report request" | u8 0 | hdr,
                report)                                        55 bytes more
    hdr       = u8 window mod 256 | u16 0x0020 | u16 1 | u16 3

The seal is the encapsulation of RFC 9458 with a label of its own (section 4.6); no relay, no
sealed answer. Every seal has a fresh ephemeral key, so that two of one report share nothing.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from smoothdp.services.formats.card import Card, encapsulation_header
from smoothdp.services.formats.reading import HASH_BYTES, VERSION, DecodeError, Reader
from smoothdp.services.formats.slots import SLOT_BYTES
from smoothdp.services.tokens.issuer_key import MODULUS_BYTES
from smoothdp.services.tokens.label import label
from smoothdp.services.wire.hybrid import OVERHEAD, OpenError, PrivateKey

REPORT_MEDIA_TYPE = "application/vnd.esa.sealed-report"
_HEADER_BYTES = 7
_START = struct.Struct(f">BH{HASH_BYTES}s")
_INFO = b"message/vnd.esa.report request\x00"


def record_bytes(signed: bool) -> int:
    """Return the length of a slot with its signature, if it has one.

    >>> record_bytes(False), record_bytes(True)
    (52, 308)
    """
    return SLOT_BYTES + MODULUS_BYTES * signed


def sealed_bytes(slots: int, signed: bool) -> int:
    """Return the length of every sealed report with so many slots.

    >>> [sealed_bytes(slots, True) for slots in (1, 62, 128)]
    [398, 19186, 39514]
    """
    return _HEADER_BYTES + OVERHEAD + _START.size + slots * record_bytes(signed)


@dataclass(frozen=True)
class Report:
    """The slots of one client in one window, with a signature each or with none.

    Args:
        card_digest: 32 bytes.
        slots: of 52 bytes each, strictly ascending.
        signatures: of 256 bytes, in the order of the slots; none without an issuer.

    >>> report = Report(bytes(32), (bytes(52), bytes(51) + b"1"))
    >>> Report.decode(report.encode(), signed=False) == report
    True
    """

    card_digest: bytes
    slots: tuple[bytes, ...]
    signatures: tuple[bytes, ...] = ()

    @property
    def signed(self) -> bool:
        """Whether slots carry signatures."""
        return bool(self.signatures)

    @cached_property
    def report_id(self) -> bytes:
        """SHA-256(TAG("report") | report): a retry repeats it, another report has another."""
        return hashlib.sha256(label("report") + self.encode()).digest()

    @property
    def records(self) -> list[bytes]:
        """The slots, each with its signature if it has one, as the batch has them."""
        if not self.signed:
            return list(self.slots)
        return [a + b for a, b in zip(self.slots, self.signatures, strict=True)]

    def encode(self) -> bytes:
        """Return the report as bytes."""
        start = _START.pack(VERSION, len(self.slots), self.card_digest)
        return start + b"".join(self.records)

    @classmethod
    def decode(cls, data: bytes, *, signed: bool) -> Report:
        """Return the report of these bytes; neither card nor signatures are looked at.

        Args:
            data: what was opened.
            signed: whether the task has an issuer.

        Raises:
            DecodeError: another version or length, no slot, or slots that do not strictly
                ascend: two that are equal would be one person's second vote.
        """
        reader = Reader(data)
        reader.version()
        count, digest = reader.number(2), reader.take(HASH_BYTES)
        if count < 1:
            raise DecodeError("no slot")
        records = [reader.take(record_bytes(signed)) for _ in range(count)]
        reader.end()
        slots = tuple(record[:SLOT_BYTES] for record in records)
        if any(first >= second for first, second in pairwise(slots)):
            raise DecodeError("slots that do not ascend")
        return cls(digest, slots, tuple(r[SLOT_BYTES:] for r in records) if signed else ())


def seal_report(report: bytes, card: Card) -> bytes:
    """Return a report sealed to the card's gateway key, 55 bytes longer, fresh at each call.

    >>> key = PrivateKey.generate()
    >>> card = Card(bytes(32), 7, key.public.to_bytes(), key.public.to_bytes())
    >>> report = Report(card.digest, (bytes(52),))
    >>> sealed = seal_report(report.encode(), card)
    >>> len(sealed) == sealed_bytes(1, False), open_report(sealed, card, key) == report
    (True, True)
    """
    header = encapsulation_header(card.window)
    return header + card.gateway.seal(report, info=_INFO + header)


def open_report(sealed: bytes, card: Card, key: PrivateKey) -> Report:
    """Return the report in a sealed one.

    Its card digest is not compared with that of ``card``: the shuffler answers another one by
    404 and everything that raises here by 400.

    Args:
        sealed: from a client, of a length that fits the task.
        card: of the task and window in the address.
        key: the gateway's private key of this card.

    Raises:
        DecodeError: another key id or suite, not sealed to this key, or no report.

    >>> key = PrivateKey.generate()
    >>> card = Card(bytes(32), 7, key.public.to_bytes(), key.public.to_bytes())
    >>> open_report(bytes(100), card, key)
    Traceback (most recent call last):
    smoothdp.services.formats.reading.DecodeError: another key or suite
    """
    header = encapsulation_header(card.window)
    if not sealed.startswith(header):
        raise DecodeError("another key or suite")
    try:
        report = key.open(sealed[_HEADER_BYTES:], info=_INFO + header)
    except OpenError:
        raise DecodeError("not sealed to this key") from None
    return Report.decode(report, signed=card.signed)
