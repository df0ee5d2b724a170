"""Ed25519 signatures (RFC 8032) of the parties, each over TAG(use) and what is signed."""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from smoothdp.errors import InvalidParameter
from smoothdp.services.tokens.label import label

KEY_BYTES = 32
SIGNATURE_BYTES = 64

_P = (1 << 255) - 19
# The y of all points whose order divides 8, read mod 2^255: with such a key, what is signed
# hardly enters the verification, so that others could sign as well.
_SMALL = {
    0,
    1,
    _P - 1,
    _P,
    _P + 1,
    int.from_bytes(
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
    ),
    int.from_bytes(
        bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"
    ),
}


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """What a party's signatures are checked with.

    >>> key = SigningKey.generate()
    >>> signature = key.sign("card", b"what is signed")
    >>> public = VerifyingKey.from_hex(key.public.hex)
    >>> public.check("card", b"what is signed", signature)
    True
    >>> public.check("batch", b"what is signed", signature)
    False
    """

    _key: Ed25519PublicKey

    @classmethod
    def from_bytes(cls, data: bytes) -> VerifyingKey:
        """Return the key of 32 bytes; a point of small order is refused.

        Raises:
            InvalidParameter: another length, or such a point.
        """
        if len(data) != KEY_BYTES:
            raise InvalidParameter(
                expected=f"a signing key's public half of {KEY_BYTES} bytes",
                got=f"{len(data)}",
                remedy="Copy all of the key",
            )
        if int.from_bytes(data, "little") & ((1 << 255) - 1) in _SMALL:
            raise InvalidParameter(
                expected="a public key of full order", got=data.hex(), remedy="Ask for another key"
            )
        return cls(Ed25519PublicKey.from_public_bytes(data))

    @classmethod
    def from_hex(cls, text: str) -> VerifyingKey:
        """Return the key of 64 lower-case hexadecimal digits.

        Raises:
            InvalidParameter: another text, or a point of small order.
        """
        if len(text) != 2 * KEY_BYTES or set(text) - set("0123456789abcdef"):
            raise InvalidParameter(
                expected=f"a key of {2 * KEY_BYTES} hexadecimal digits",
                got="another text",
                remedy="Copy all of the key",
            )
        return cls.from_bytes(bytes.fromhex(text))

    def to_bytes(self) -> bytes:
        """Return the key as 32 bytes."""
        return self._key.public_bytes_raw()

    @property
    def hex(self) -> str:
        """The key as the task has it: 64 hexadecimal digits."""
        return self.to_bytes().hex()

    def check(self, use: str, data: bytes, signature: bytes) -> bool:
        """Return whether this is the party's signature of TAG(use) | data."""
        try:
            self._key.verify(signature, label(use) + data)
        except InvalidSignature:
            return False
        return True


@dataclass(frozen=True, slots=True, repr=False)
class SigningKey:
    """What a party signs with. Its representation does not show it.

    >>> key = SigningKey.generate()
    >>> key
    SigningKey(not shown)
    >>> SigningKey.from_bytes(key.to_bytes()).public.hex == key.public.hex
    True
    """

    _key: Ed25519PrivateKey

    @classmethod
    def generate(cls) -> SigningKey:
        """Return a new key from the operating system's generator."""
        return cls(Ed25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, data: bytes) -> SigningKey:
        """Return the key of 32 bytes.

        Raises:
            InvalidParameter: another length.
        """
        if len(data) != KEY_BYTES:
            raise InvalidParameter(
                expected=f"a signing key of {KEY_BYTES} bytes",
                got=f"{len(data)}",
                remedy="Copy all of the key",
            )
        return cls(Ed25519PrivateKey.from_private_bytes(data))

    def to_bytes(self) -> bytes:
        """Return the secret as 32 bytes, for the key file alone."""
        return self._key.private_bytes_raw()

    @property
    def public(self) -> VerifyingKey:
        """The key that others check with."""
        return VerifyingKey(self._key.public_key())

    def sign(self, use: str, data: bytes) -> bytes:
        """Return the signature of TAG(use) | data, 64 bytes."""
        return self._key.sign(label(use) + data)

    def __repr__(self) -> str:
        return "SigningKey(not shown)"
