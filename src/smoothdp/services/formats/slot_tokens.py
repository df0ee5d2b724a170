"""The tokens of one card: asked for slot by slot, finalized, and checked by everybody."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from smoothdp.services.formats.card import Card
from smoothdp.services.tokens.blind import Blinded, blind, finalize, verify
from smoothdp.services.tokens.issuer_key import MODULUS_BYTES, IssuerPublicKey
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.tokens.token import (
    challenge_digest,
    request_body,
    slot_nonce,
    token_coins,
    token_input,
)


@dataclass(frozen=True)
class SlotTokens:
    """What the tokens of a card are bound to: card, issuer and analyser.

    Args:
        card: with an issuer's key.
        issuer_name, origin: of the task.

    Raises:
        TokenRefused: a card without an issuer, or whose issuer's key is none.

    >>> from smoothdp.services.formats.slots import seal_slots
    >>> from smoothdp.services.tokens.issuer_key import IssuerKey
    >>> from smoothdp.services.tokens.token import parse_requests
    >>> from smoothdp.services.wire.hybrid import PrivateKey
    >>> key, issuer = PrivateKey.generate().public.to_bytes(), IssuerKey.generate()
    >>> card = Card(bytes(32), 7, key, key, issuer.public.spki)
    >>> tokens = SlotTokens(card, issuer_name="issuer.example", origin="analyzer.example")
    >>> slots = seal_slots([1, 0], card)
    >>> body = tokens.request(slots, seed=b"s" * 32)
    >>> asked = parse_requests(body, key=issuer.public, slots=2)
    >>> answer = b"".join(issuer.sign(message) for message in asked)
    >>> signatures = tokens.finalize(slots, seed=b"s" * 32, answer=answer)
    >>> tokens.verify(slots[0], signatures[0]), tokens.verify(slots[0], signatures[1])
    (True, False)
    """

    card: Card
    issuer_name: str
    origin: str

    def __post_init__(self) -> None:
        if self.card.issuer is None:
            raise TokenRefused(
                expected="a card with an issuer's key",
                got="one without",
                remedy="Tokens belong to tasks with proof=slots",
            )

    @cached_property
    def key(self) -> IssuerPublicKey:
        """The issuer's key of the card."""
        assert self.card.issuer is not None
        return self.card.issuer

    @cached_property
    def _start(self) -> tuple[bytes, bytes]:
        """What all token inputs of the card have in common, before and after the nonce."""
        digest = challenge_digest(
            issuer_name=self.issuer_name, origin=self.origin, card_digest=self.card.digest
        )
        whole = token_input(b"", digest, self.key.spki)
        return whole[:2], whole[2:]

    def message(self, slot: bytes) -> bytes:
        """Return the token input of a slot, 98 bytes."""
        before, after = self._start
        return before + slot_nonce(slot) + after

    def verify(self, slot: bytes, signature: bytes) -> bool:
        """Return whether a signature is good for this slot and card."""
        return verify(self.key, self.message(slot), signature)

    def request(self, slots: Sequence[bytes], *, seed: bytes) -> bytes:
        """Return the body that asks for tokens of these slots, in their order: 259 M bytes.

        The same slots and seed give the same bytes.

        Raises:
            TokenRefused: the issuer's key was made to mark people.
        """
        return request_body(self.key, [self._blind(slot, seed).request for slot in slots])

    def finalize(self, slots: Sequence[bytes], *, seed: bytes, answer: bytes) -> list[bytes]:
        """Return the signatures of all slots, in their order.

        Raises:
            TokenRefused: an answer of another length, or one of them is no signature: then
                none is returned.
        """
        if len(answer) != MODULUS_BYTES * len(slots):
            raise TokenRefused(
                expected=f"{len(slots)} blind signatures of {MODULUS_BYTES} bytes",
                got=f"{len(answer)} bytes",
                remedy="Send nothing, and take part in the next window",
            )
        parts = [answer[at : at + MODULUS_BYTES] for at in range(0, len(answer), MODULUS_BYTES)]
        return [
            finalize(self.key, self.message(slot), self._blind(slot, seed), part)
            for slot, part in zip(slots, parts, strict=True)
        ]

    def _blind(self, slot: bytes, seed: bytes) -> Blinded:
        salt, factor = token_coins(seed, card_digest=self.card.digest, nonce=slot_nonce(slot))
        return blind(self.key, self.message(slot), salt=salt, blind=factor)


def request_hash(body: bytes) -> bytes:
    """Return SHA-256 of a token request: what the issuer keeps, to know a repeat.

    >>> request_hash(b"").hex()[:8]
    'e3b0c442'
    """
    return hashlib.sha256(body).digest()
