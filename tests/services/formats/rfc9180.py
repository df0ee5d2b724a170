"""RFC 9180 from its text: base mode, X25519, HKDF-SHA256, ChaCha20-Poly1305 or AES-128-GCM.

An oracle that shares only the primitives with the code under test, and takes associated
data, so that the vectors of the RFC apply to it.
"""

from __future__ import annotations

import hashlib
import hmac

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305

KEM_ID = b"KEM" + (0x20).to_bytes(2)
CHACHA, AES_128 = 3, 1


def _extract(salt: bytes, key: bytes) -> bytes:
    return hmac.digest(salt or bytes(32), key, "sha256")


def _expand(key: bytes, info: bytes, length: int) -> bytes:
    out, block, counter = b"", b"", 1
    while len(out) < length:
        block = hmac.digest(key, block + info + bytes([counter]), hashlib.sha256)
        out, counter = out + block, counter + 1
    return out[:length]


def _labeled_extract(suite: bytes, salt: bytes, label: bytes, key: bytes) -> bytes:
    return _extract(salt, b"HPKE-v1" + suite + label + key)


def _labeled_expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    return _expand(key, length.to_bytes(2) + b"HPKE-v1" + suite + label + info, length)


def _context(
    shared: bytes, enc: bytes, receiver: bytes, info: bytes, aead: int = CHACHA
) -> tuple[bytes, bytes]:
    suite = b"HPKE" + (0x20).to_bytes(2) + (1).to_bytes(2) + aead.to_bytes(2)
    prk = _labeled_extract(KEM_ID, b"", b"eae_prk", shared)
    secret = _labeled_expand(KEM_ID, prk, b"shared_secret", enc + receiver, 32)
    psk_hash = _labeled_extract(suite, b"", b"psk_id_hash", b"")
    info_hash = _labeled_extract(suite, b"", b"info_hash", info)
    schedule = b"\x00" + psk_hash + info_hash
    prk = _labeled_extract(suite, secret, b"secret", b"")
    return (
        _labeled_expand(suite, prk, b"key", schedule, 32 if aead == CHACHA else 16),
        _labeled_expand(suite, prk, b"base_nonce", schedule, 12),
    )


def derive_key_pair(ikm: bytes) -> tuple[bytes, bytes]:
    """Return the private and public key of DeriveKeyPair, section 7.1.3."""
    prk = _labeled_extract(KEM_ID, b"", b"dkp_prk", ikm)
    secret = _labeled_expand(KEM_ID, prk, b"sk", b"", 32)
    return secret, X25519PrivateKey.from_private_bytes(secret).public_key().public_bytes_raw()


def seal(
    plaintext: bytes,
    public: bytes,
    *,
    info: bytes,
    aad: bytes = b"",
    ephemeral: bytes | None = None,
    aead: int = CHACHA,
) -> bytes:
    """Return enc || ciphertext of the first message."""
    own = (
        X25519PrivateKey.generate()
        if ephemeral is None
        else X25519PrivateKey.from_private_bytes(ephemeral)
    )
    enc = own.public_key().public_bytes_raw()
    shared = own.exchange(X25519PublicKey.from_public_bytes(public))
    key, nonce = _context(shared, enc, public, info, aead)
    cipher = ChaCha20Poly1305(key) if aead == CHACHA else AESGCM(key)
    return enc + cipher.encrypt(nonce, plaintext, aad)


def open_sealed(sealed: bytes, secret: bytes, *, info: bytes, aad: bytes = b"") -> bytes:
    """Return the plaintext of the first message, or raise."""
    own = X25519PrivateKey.from_private_bytes(secret)
    enc = sealed[:32]
    shared = own.exchange(X25519PublicKey.from_public_bytes(enc))
    key, nonce = _context(shared, enc, own.public_key().public_bytes_raw(), info)
    return ChaCha20Poly1305(key).decrypt(nonce, sealed[32:], aad)
