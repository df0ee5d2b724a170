"""What an analyser that was written from the page alone checks of keys and slots."""

from __future__ import annotations

import hashlib
import struct

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA384

from tests.services.formats.rfc9180 import open_sealed
from tests.services.worlds.second_party import AFTER, BEFORE, tag


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def vec(data: bytes) -> bytes:
    return struct.pack(">H", len(data)) + data


def is_gateway(w: int, config: bytes) -> bool:
    if config[:3] + config[35:] != struct.pack(">BHHHH", w % 256, 0x0020, 4, 1, 3):
        return False
    try:
        # It raises where the shared secret is zero.
        X25519PrivateKey.generate().exchange(X25519PublicKey.from_public_bytes(config[3:35]))
    except ValueError:
        return False
    return True


def is_spki(spki: bytes) -> bool:
    modulus = spki[len(BEFORE) : -len(AFTER)]
    fixed = spki == BEFORE + modulus + AFTER and len(modulus) == 256
    return fixed and modulus[0] >= 128 and bool(modulus[-1] % 2)


# Section 3.4.
def is_signed(record: bytes, spki: bytes, card_digest: bytes, names: tuple[str, str]) -> bool:
    issuer, origin = (vec(name.encode()) for name in names)
    challenge = b"\x20" + sha256(tag("token") + card_digest)
    challenge = b"\x00\x02" + issuer + challenge + origin
    token = b"\x00\x02" + sha256(tag("slot") + record[:52]) + sha256(challenge) + sha256(spki)
    key = rsa.RSAPublicNumbers(65537, int.from_bytes(spki[len(BEFORE) : -len(AFTER)]))
    try:
        pss = padding.PSS(padding.MGF1(SHA384()), 48)
        key.public_key().verify(record[52:], token, pss, SHA384())
    except InvalidSignature:
        return False
    return True


# Section 3.3.
def opened(slot: bytes, inner: bytes, info: bytes) -> int | None:
    try:
        return int.from_bytes(open_sealed(slot, inner, info=info))
    except (InvalidTag, ValueError):
        return None
