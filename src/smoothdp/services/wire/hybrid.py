"""Hybrid public key encryption (RFC 9180): X25519, HKDF-SHA256, ChaCha20-Poly1305, base mode.

The library has no associated data in its public interface, so everything that a ciphertext
must be bound to goes into ``info``, which the key schedule hashes.
"""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from smoothdp.errors import InvalidParameter

SUITE = "X25519, HKDF-SHA256, ChaCha20-Poly1305"
OVERHEAD = 48
"""Bytes that sealing adds: 32 of the ephemeral key, 16 of the tag."""
KEY_BYTES = 32

_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


class OpenError(Exception):
    """A ciphertext does not belong to this key and this ``info``, or was changed."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key to seal with.

    >>> secret = PrivateKey.generate()
    >>> secret.open(secret.public.seal(b"yes", info=b"here"), info=b"here")
    b'yes'
    """

    _key: X25519PublicKey

    @classmethod
    def from_bytes(cls, data: bytes) -> PublicKey:
        """Return the key of 32 bytes; a point of small order is refused, it hides nothing.

        Raises:
            InvalidParameter: another length, or such a point.
        """
        if len(data) != KEY_BYTES:
            raise InvalidParameter(
                expected=f"a public key of {KEY_BYTES} bytes",
                got=f"{len(data)}",
                remedy="Copy all of the key",
            )
        key = X25519PublicKey.from_public_bytes(data)
        try:
            X25519PrivateKey.generate().exchange(key)
        except ValueError:
            raise InvalidParameter(
                expected="a public key of full order", got=data.hex(), remedy="Ask for another key"
            ) from None
        return cls(key)

    def to_bytes(self) -> bytes:
        """Return the key as 32 bytes."""
        return self._key.public_bytes_raw()

    def seal(self, plaintext: bytes, *, info: bytes) -> bytes:
        """Return a fresh ciphertext, 48 bytes longer than the plaintext."""
        return _SUITE.encrypt(plaintext, self._key, info=info)


@dataclass(frozen=True, slots=True, repr=False)
class PrivateKey:
    """A key to open with. Its representation does not show it.

    >>> key = PrivateKey.generate()
    >>> key
    PrivateKey(not shown)
    >>> PrivateKey.from_bytes(key.to_bytes()).public.to_bytes() == key.public.to_bytes()
    True
    """

    _key: X25519PrivateKey

    @classmethod
    def generate(cls) -> PrivateKey:
        """Return a new key from the operating system's generator."""
        return cls(X25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, data: bytes) -> PrivateKey:
        """Return the key of 32 bytes.

        Raises:
            InvalidParameter: another length.
        """
        if len(data) != KEY_BYTES:
            raise InvalidParameter(
                expected=f"a private key of {KEY_BYTES} bytes",
                got=f"{len(data)}",
                remedy="Copy all of the key",
            )
        return cls(X25519PrivateKey.from_private_bytes(data))

    def to_bytes(self) -> bytes:
        """Return the secret as 32 bytes, for the key file alone."""
        return self._key.private_bytes_raw()

    @property
    def public(self) -> PublicKey:
        """The key that others seal with."""
        return PublicKey(self._key.public_key())

    def open(self, ciphertext: bytes, *, info: bytes) -> bytes:
        """Return the plaintext, or raise OpenError without saying what was wrong."""
        try:
            return _SUITE.decrypt(ciphertext, self._key, info=info)
        except (InvalidTag, ValueError):
            raise OpenError from None

    def __repr__(self) -> str:
        return "PrivateKey(not shown)"
