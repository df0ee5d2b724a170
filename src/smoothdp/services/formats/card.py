"""The card of a window: every key that a client uses in it, signed by both services.

    card       = u8 2 | task id[32] | u32 window | vec(vec(key config[41])) | inner key[32]
                 | u8 q | q * vec(SPKI[342])                                  115 + 344 q bytes
    key config = u8 window mod 256 | u16 0x0020 | gateway key[32] | u16 4 | u16 1 | u16 3
                 (RFC 9458, section 3.1: X25519; HKDF-SHA256 with ChaCha20-Poly1305)
    digest     = SHA-256(card)
    sent       = card | sigA[64] | sigS[64], each Ed25519 of TAG("card") | card

q is 1 with an issuer, else 0.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from functools import cached_property

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services.formats.reading import HASH_BYTES, VERSION, DecodeError, Reader, vec
from smoothdp.services.formats.signing import SIGNATURE_BYTES, SigningKey
from smoothdp.services.formats.task import Task
from smoothdp.services.tokens.issuer_key import SPKI_BYTES, IssuerPublicKey
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.wire.hybrid import KEY_BYTES, PublicKey

LAST_WINDOW = (1 << 32) - 1
_KEM, _KDF, _AEAD = 0x0020, 1, 3
_CONFIG = struct.Struct(f">BH{KEY_BYTES}sHHH")


class CardRefused(InvalidData):
    """A card that a client does not take: nothing is sealed to it, nothing sent."""


@dataclass(frozen=True)
class Card:
    """The keys of one task and window.

    Args:
        task_id: 32 bytes.
        window: its number, from 0 to 2^32 - 1.
        gateway_key: the shuffler's, 32 bytes, that reports are sealed to.
        inner_key: the analyser's, 32 bytes, that slots are sealed to.
        issuer_spki: the issuer's key, 342 bytes; None without an issuer.

    Raises:
        InvalidParameter: another length, or a window outside its domain.

    >>> from smoothdp.services.wire.hybrid import PrivateKey
    >>> key = PrivateKey.generate().public.to_bytes()
    >>> card = Card(bytes(32), 20414, key, key)
    >>> len(card.encode()), Card.decode(card.encode()) == card
    (115, True)
    """

    task_id: bytes
    window: int
    gateway_key: bytes
    inner_key: bytes
    issuer_spki: bytes | None = None

    def __post_init__(self) -> None:
        lengths = [
            ("task_id", self.task_id, HASH_BYTES),
            ("gateway_key", self.gateway_key, KEY_BYTES),
            ("inner_key", self.inner_key, KEY_BYTES),
        ]
        if self.issuer_spki is not None:
            lengths.append(("issuer_spki", self.issuer_spki, SPKI_BYTES))
        for name, value, length in lengths:
            if not isinstance(value, bytes) or len(value) != length:
                raise InvalidParameter(
                    expected=f"{name} of {length} bytes",
                    got="something else",
                    remedy="Make the card from keys of this window",
                )
        if type(self.window) is not int or not 0 <= self.window <= LAST_WINDOW:
            raise InvalidParameter(
                expected="a window from 0 to 2^32 - 1",
                got=f"window={self.window!r}",
                remedy="Count windows from the start of 1970",
            )

    @property
    def signed(self) -> bool:
        """Whether slots carry signatures: q = 1."""
        return self.issuer_spki is not None

    @cached_property
    def gateway(self) -> PublicKey:
        """The key that reports are sealed to; InvalidParameter if it hides nothing."""
        return PublicKey.from_bytes(self.gateway_key)

    @cached_property
    def inner(self) -> PublicKey:
        """The key that slots are sealed to; InvalidParameter if it hides nothing."""
        return PublicKey.from_bytes(self.inner_key)

    @cached_property
    def issuer(self) -> IssuerPublicKey | None:
        """The key that tokens are checked with, or None; TokenRefused if it is no such key."""
        return None if self.issuer_spki is None else IssuerPublicKey.from_spki(self.issuer_spki)

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the card: bound into every slot, token, report and batch."""
        return hashlib.sha256(self.encode()).digest()

    def encode(self) -> bytes:
        """Return the card as bytes."""
        config = key_config(self.window, self.gateway_key)
        start = struct.pack(">B32sI", VERSION, self.task_id, self.window)
        keys = [] if self.issuer_spki is None else [vec(self.issuer_spki)]
        return start + vec(vec(config)) + self.inner_key + bytes([len(keys)]) + b"".join(keys)

    @classmethod
    def decode(cls, data: bytes) -> Card:
        """Return the card of these bytes and no others, or raise DecodeError.

        One key configuration, with the suite and key id above. Whether its keys are good is
        for `check_card`.
        """
        reader = Reader(data)
        reader.version()
        task_id, window = reader.take(HASH_BYTES), reader.number(4)
        config = Reader(Reader(reader.vec()).vec())
        config.take(3)
        gateway_key, inner_key = config.take(KEY_BYTES), reader.take(KEY_BYTES)
        spki = reader.vec() if reader.number(1) else None
        try:
            card = cls(task_id, window, gateway_key, inner_key, spki)
        except InvalidParameter:
            raise DecodeError("another length inside") from None
        # What was skipped or left over above: each of these has one value.
        if card.encode() != data:
            raise DecodeError("another key configuration")
        return card


def key_config(window: int, gateway_key: bytes) -> bytes:
    """Return the key configuration of RFC 9458, section 3.1, 41 bytes.

    >>> key_config(0x01FF, bytes(32)).hex()[:6], len(key_config(7, bytes(32)))
    ('ff0020', 41)
    """
    return _CONFIG.pack(window % 256, _KEM, gateway_key, 4, _KDF, _AEAD)


def encapsulation_header(window: int) -> bytes:
    """Return what a sealed report begins with (RFC 9458, section 4.1): key id and suite, 7 bytes.

    >>> encapsulation_header(7).hex()
    '07002000010003'
    """
    return struct.pack(">BHHH", window % 256, _KEM, _KDF, _AEAD)


@dataclass(frozen=True)
class SignedCard:
    """A card with the signatures of the analyser and the shuffler, as it is handed out.

    >>> from smoothdp.services.wire.hybrid import PrivateKey
    >>> key = PrivateKey.generate().public.to_bytes()
    >>> card, signer = Card(bytes(32), 20414, key, key), SigningKey.generate()
    >>> signed = SignedCard(card, sign_card(card, signer), sign_card(card, signer))
    >>> SignedCard.decode(signed.encode()) == signed
    True
    """

    card: Card
    analyzer_signature: bytes
    shuffler_signature: bytes

    def encode(self) -> bytes:
        """Return card and signatures as bytes."""
        return self.card.encode() + self.analyzer_signature + self.shuffler_signature

    @classmethod
    def decode(cls, data: bytes) -> SignedCard:
        """Return the signed card of these bytes, or raise DecodeError; nothing is verified."""
        if len(data) < 2 * SIGNATURE_BYTES:
            raise DecodeError("too short")
        card, signatures = data[: -2 * SIGNATURE_BYTES], data[-2 * SIGNATURE_BYTES :]
        return cls(Card.decode(card), signatures[:SIGNATURE_BYTES], signatures[SIGNATURE_BYTES:])


def sign_card(card: Card, key: SigningKey) -> bytes:
    """Return a service's signature of TAG("card") | card, 64 bytes.

    >>> from smoothdp.services.wire.hybrid import PrivateKey
    >>> key = PrivateKey.generate().public.to_bytes()
    >>> len(sign_card(Card(bytes(32), 7, key, key), SigningKey.generate()))
    64
    """
    return key.sign("card", card.encode())


def check_card(signed: SignedCard, *, task: Task, window: int) -> Card:
    """Return the card if it has all that a client must see before it seals anything.

    Both signatures under the keys of the task; its task and window; keys that give no zero
    shared secret; an issuer's key, if and only if the task has tokens, with the RSASSA-PSS
    prefix, an odd modulus of 2,048 bits and e = 65537. Version, key configuration, suite and
    key id were checked when it was decoded. What only the client knows it checks itself: that
    ``window`` is one of `Task.windows_near`, and that no other card is stored for it.

    Args:
        signed: as it was decoded.
        task: what the client agreed to.
        window: the one to take part in.

    Raises:
        CardRefused: one of these is missing; the error says which.

    >>> from smoothdp.services.formats.design.task_request import create_task
    >>> from smoothdp.services.wire.hybrid import PrivateKey
    >>> analyzer, shuffler = SigningKey.generate(), SigningKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=200,
    ...     analyzer_sign_key=analyzer.public, shuffler_sign_key=shuffler.public, issuer=None,
    ...     origin="analyzer.example", proof="none")
    >>> key = PrivateKey.generate().public.to_bytes()
    >>> card = Card(task.task_id, 20414, key, key)
    >>> signed = SignedCard(card, sign_card(card, analyzer), sign_card(card, shuffler))
    >>> check_card(signed, task=task, window=20414) == card
    True
    >>> check_card(signed, task=task, window=20415)
    Traceback (most recent call last):
    smoothdp.services.formats.card.CardRefused: Expected the card of window 20415; got that of \
window 20414. Ask for the card again, and tell who runs the services if this lasts.
    """
    card, body = signed.card, signed.card.encode()
    if not task.analyzer_key.check("card", body, signed.analyzer_signature):
        raise _refused("a card that the task's analyser signed", "another signature")
    if not task.shuffler_key.check("card", body, signed.shuffler_signature):
        raise _refused("a card that the task's shuffler signed", "another signature")
    if card.task_id != task.task_id:
        raise _refused("a card of this task", "that of another one")
    if card.window != window:
        raise _refused(f"the card of window {window}", f"that of window {card.window}")
    if card.signed != task.signed:
        what = "an issuer's key" if card.signed else "none"
        raise _refused(f"a card for proof={task.proof}", what)
    try:
        # Whoever reads these meets the checks of the keys.
        _ = card.gateway, card.inner, card.issuer
    except (InvalidParameter, TokenRefused) as error:
        raise _refused(error.expected, error.got) from None
    return card


def _refused(expected: str, got: str) -> CardRefused:
    return CardRefused(
        expected=expected,
        got=got,
        remedy="Ask for the card again, and tell who runs the services if this lasts",
    )
