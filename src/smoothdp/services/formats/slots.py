"""The sealed slots of a report: one value or dummy each, to the analyser's key of the window.

    slot = HPKE(inner key, info = TAG("inner") | card digest, u32 value)                 52 bytes

A seal cannot be moved to another task or window: the digest of the card is in ``info``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from smoothdp.services.formats.card import Card
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.tokens.label import label
from smoothdp.services.wire.hybrid import OVERHEAD, OpenError, PrivateKey

SLOT_BYTES = 4 + OVERHEAD
_VALUE = struct.Struct(">I")


def seal_slots(values: Iterable[int], card: Card) -> list[bytes]:
    """Return a slot of 52 bytes for each value or dummy, ascending by bytes.

    The ciphertexts are as good as random, so their order says nothing of the values.

    Args:
        values: messages of the protocol and dummies, all M of them, from 0 to 2^32 - 1.
        card: checked.

    >>> from smoothdp.services.formats.design.values import DUMMY
    >>> from smoothdp.services.wire.hybrid import PrivateKey
    >>> inner, gateway = PrivateKey.generate(), PrivateKey.generate()
    >>> card = Card(bytes(32), 7, gateway.public.to_bytes(), inner.public.to_bytes())
    >>> slots = seal_slots([1, 0, DUMMY], card)
    >>> sorted(open_slot(slot, card, inner) for slot in slots) == [0, 1, DUMMY]
    True
    """
    info, key = slot_info(card), card.inner
    return sorted(key.seal(_VALUE.pack(value), info=info) for value in values)


def open_slot(slot: bytes, card: Card, key: PrivateKey) -> int:
    """Return the value or dummy in a slot.

    Raises:
        DecodeError: not sealed to this key and card, or of another length.

    >>> from smoothdp.services.wire.hybrid import PrivateKey
    >>> key = PrivateKey.generate()
    >>> card = Card(bytes(32), 7, key.public.to_bytes(), key.public.to_bytes())
    >>> open_slot(seal_slots([5], card)[0], card, key)
    5
    """
    try:
        plaintext = key.open(slot, info=slot_info(card))
    except OpenError:
        raise DecodeError("not sealed to this key and card") from None
    if len(plaintext) != _VALUE.size:
        raise DecodeError("another length inside")
    return int(_VALUE.unpack(plaintext)[0])


def slot_info(card: Card) -> bytes:
    """Return what the slots of a card are bound to."""
    return label("inner") + card.digest
