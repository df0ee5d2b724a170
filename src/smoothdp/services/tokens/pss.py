"""EMSA-PSS-ENCODE of RFC 8017, section 9.1.1, with SHA-384 and MGF1 with SHA-384.

The library signs and verifies with this encoding but does not show it, and a blind signature
is one on the encoding itself. Time and memory access depend on lengths alone.
"""

from __future__ import annotations

import hashlib

from smoothdp.errors import InvalidParameter

HASH_BYTES = 48
SALT_BYTES = 48
"""Bytes of the salt in RSABSSA-SHA384-PSS-Deterministic (RFC 9474, section 5)."""


def pss_encode(message: bytes, *, bits: int, salt: bytes) -> bytes:
    """Return maskedDB | H | 0xbc, the encoding of a message as a number below 2^bits.

    H = SHA-384(8 zero bytes | SHA-384(message) | salt), and DB = zeros | 1 | salt is masked
    by MGF1(H) = SHA-384(H | 0) | SHA-384(H | 1) | ...

    Source: RFC 8017, sections 9.1.1 and B.2.1.

    Args:
        message: any bytes.
        bits: emBits, one less than the bits of the modulus.
        salt: the salt, in the protocol 48 bytes.

    Raises:
        InvalidParameter: too few bits for the hash and the salt.

    >>> encoded = pss_encode(b"a slot", bits=2047, salt=bytes(48))
    >>> len(encoded), encoded[-1] == 0xBC, encoded[0] < 0x80
    (256, True, True)
    """
    length = -(-bits // 8)
    padding = length - len(salt) - HASH_BYTES - 2
    if padding < 0:
        raise InvalidParameter(
            expected=f"at least {8 * (HASH_BYTES + len(salt) + 2) - 7} bits for this salt",
            got=f"bits={bits}",
            remedy="Use a larger key",
        )
    digest = hashlib.sha384(message).digest()
    seed = hashlib.sha384(bytes(8) + digest + salt).digest()
    block = bytes(padding) + b"\x01" + salt
    mask = _mgf1(seed, len(block))
    masked = bytearray(a ^ b for a, b in zip(block, mask, strict=True))
    masked[0] &= 0xFF >> (8 * length - bits)
    return bytes(masked) + seed + b"\xbc"


def _mgf1(seed: bytes, length: int) -> bytes:
    blocks = range(-(-length // HASH_BYTES))
    mask = b"".join(hashlib.sha384(seed + at.to_bytes(4, "big")).digest() for at in blocks)
    return mask[:length]
