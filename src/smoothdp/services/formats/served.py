"""How many accounts the issuer served in a window, signed: what the analyser holds users against.

served = u8 2 | card digest[32] | u64 X | sig[64]                              105 bytes
sig    = Ed25519(issuer's sign_key, TAG("served") | all before)
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from smoothdp.services.formats.reading import HASH_BYTES, VERSION, DecodeError
from smoothdp.services.formats.signing import SIGNATURE_BYTES, SigningKey, VerifyingKey

_START = struct.Struct(f">B{HASH_BYTES}sQ")
SERVED_BYTES = _START.size + SIGNATURE_BYTES


@dataclass(frozen=True, slots=True)
class Served:
    """The number of accounts that got tokens for a card.

    Attributes:
        card_digest: 32 bytes.
        accounts: X, from 0 to 2^64 - 1.
        signature: 64 bytes; empty until `sign`.

    >>> key = SigningKey.generate()
    >>> served = Served(bytes(32), 1234).sign(key)
    >>> len(served.encode()), served.verify(key.public), Served.decode(served.encode()) == served
    (105, True, True)
    """

    card_digest: bytes
    accounts: int
    signature: bytes = b""

    @property
    def body(self) -> bytes:
        """All that is signed."""
        return _START.pack(VERSION, self.card_digest, self.accounts)

    def sign(self, key: SigningKey) -> Served:
        """Return the number with the issuer's signature."""
        return replace(self, signature=key.sign("served", self.body))

    def verify(self, key: VerifyingKey) -> bool:
        """Return whether the issuer of the task signed this."""
        return key.check("served", self.body, self.signature)

    def encode(self) -> bytes:
        """Return the number as bytes."""
        return self.body + self.signature

    @classmethod
    def decode(cls, data: bytes) -> Served:
        """Return the number of these bytes, or raise DecodeError; its signature is not verified."""
        if len(data) != SERVED_BYTES:
            raise DecodeError("another length")
        version, digest, accounts = _START.unpack(data[: _START.size])
        if version != VERSION:
            raise DecodeError("another version")
        return cls(digest, accounts, data[_START.size :])
