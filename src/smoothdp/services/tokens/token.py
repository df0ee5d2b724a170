"""A token of RFC 9578, type 2, for each slot of a report: what is signed, asked for and answered.

    nonce       = SHA-256(TAG("slot") | slot)
    challenge   = u16 2 | vec(issuer name) | u8 32 | context[32] | vec(origin)        RFC 9577
    context     = SHA-256(TAG("token") | card digest)
    token input = u16 2 | nonce[32] | SHA-256(challenge) | SHA-256(SPKI)              98 bytes
    request     = u16 2 | u8 last byte of SHA-256(SPKI) | blinded[256]                259 bytes

Numbers are big-endian, vec(x) is u16 length, x. With challenge, key and nonce put back, a
signature is a token of 354 bytes: token input | signature.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from smoothdp.services.tokens.issuer_key import MODULUS_BYTES, IssuerPublicKey
from smoothdp.services.tokens.label import label
from smoothdp.services.tokens.pss import SALT_BYTES
from smoothdp.services.tokens.refusals import TokenRefused

TOKEN_TYPE = 2
"""Publicly verifiable tokens, blind RSA of 2,048 bits (RFC 9578, section 8.2.2)."""
REQUEST_BYTES = 3 + MODULUS_BYTES
SEED_BYTES = 32
BLIND_BYTES = MODULUS_BYTES + 16
_TYPE = struct.pack(">H", TOKEN_TYPE)


def slot_nonce(slot: bytes) -> bytes:
    """Return the nonce of a sealed slot, its hash: a token is good for these bytes alone.

    >>> slot_nonce(bytes(52)).hex()[:8]
    '0b04c4a4'
    """
    return hashlib.sha256(label("slot") + slot).digest()


def challenge(issuer_name: str, context: bytes, origin: str) -> bytes:
    """Return the TokenChallenge of RFC 9577, section 2.1.1.

    Args:
        issuer_name, origin: ASCII text, of 1 to 65,535 and up to 65,535 characters.
        context: the redemption context, empty or 32 bytes.

    >>> challenge("issuer.example", b"", "").hex()
    '0002000e6973737565722e6578616d706c65000000'
    """
    name, site = issuer_name.encode("ascii"), origin.encode("ascii")
    return (
        _TYPE + struct.pack(">H", len(name)) + name
        + struct.pack(">B", len(context)) + context
        + struct.pack(">H", len(site)) + site
    )  # fmt: skip


def challenge_digest(*, issuer_name: str, origin: str, card_digest: bytes) -> bytes:
    """Return SHA-256 of the challenge of a card: a token is good for one task and window alone.

    >>> len(challenge_digest(issuer_name="i.example", origin="a.example", card_digest=bytes(32)))
    32
    """
    context = hashlib.sha256(label("token") + card_digest).digest()
    return hashlib.sha256(challenge(issuer_name, context, origin)).digest()


def token_input(nonce: bytes, challenge: bytes, spki: bytes) -> bytes:
    """Return what is signed: type, nonce, digest of the challenge and of the key, 98 bytes.

    Source: RFC 9578, section 6.1.

    Args:
        nonce: 32 bytes.
        challenge: SHA-256 of the challenge, see `challenge_digest`.
        spki: the issuer's key.

    >>> len(token_input(bytes(32), bytes(32), b"key"))
    98
    """
    return _TYPE + nonce + challenge + hashlib.sha256(spki).digest()


def token_coins(seed: bytes, *, card_digest: bytes, nonce: bytes) -> tuple[bytes, bytes]:
    """Return the salt of 48 bytes and the blinding of 272 of a slot, from a window's seed.

    HKDF-Expand(seed, TAG("salt" or "blind") | card digest | u8 0 | nonce), RFC 5869, so that a
    retry after a crash repeats the same request.

    >>> salt, blind = token_coins(b"s" * 32, card_digest=bytes(32), nonce=bytes(32))
    >>> len(salt), len(blind)
    (48, 272)
    """
    rest = card_digest + b"\x00" + nonce
    return (
        _expand(seed, label("salt") + rest, SALT_BYTES),
        _expand(seed, label("blind") + rest, BLIND_BYTES),
    )


def request_body(key: IssuerPublicKey, blinded: Sequence[bytes]) -> bytes:
    """Return the requests of all slots joined, 259 bytes each (RFC 9578, section 6.1).

    >>> from smoothdp.services.tokens.issuer_key import IssuerKey
    >>> key = IssuerKey.generate().public
    >>> body = request_body(key, [bytes(256), bytes(255) + b"7"])
    >>> len(body), [message[-1] for message in parse_requests(body, key=key, slots=2)]
    (518, [0, 55])
    """
    start = _TYPE + key_byte(key)
    return b"".join(start + message for message in blinded)


def parse_requests(body: bytes, *, key: IssuerPublicKey, slots: int) -> list[bytes]:
    """Return the blinded messages of a body, all of them checked before any is signed.

    Args:
        body: from a client.
        key: of the task and window in the address, never found by the key byte.
        slots: M of the task.

    Raises:
        TokenRefused: another length than 259 M, another type or key byte, or a number that is
            not below n.
    """
    if len(body) != REQUEST_BYTES * slots:
        raise _refused(f"{slots} requests of {REQUEST_BYTES} bytes", f"{len(body)} bytes")
    start = _TYPE + key_byte(key)
    requests = [body[at : at + REQUEST_BYTES] for at in range(0, len(body), REQUEST_BYTES)]
    messages = [request[len(start) :] for request in requests]
    if any(not request.startswith(start) for request in requests):
        raise _refused("requests of type 2 for the key of this window", "another type or key")
    if any(int.from_bytes(message, "big") >= key.n for message in messages):
        raise _refused("blinded messages below the modulus", "a larger number")
    return messages


def key_byte(key: IssuerPublicKey) -> bytes:
    """Return the last byte of SHA-256(SPKI): it tells an old key, it does not find one."""
    return hashlib.sha256(key.spki).digest()[-1:]


def _expand(seed: bytes, info: bytes, length: int) -> bytes:
    return HKDFExpand(SHA256(), length, info).derive(seed)


def _refused(expected: str, got: str) -> TokenRefused:
    return TokenRefused(
        expected=expected, got=got, remedy="Ask with the card of this task and window"
    )
