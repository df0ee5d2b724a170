"""The result of a window as the analyser hands it out: a JSON document, and its signature.

    result = {"result": text, "signature": 128 hex digits}
    sig    = Ed25519(analyzer_sign_key, TAG("result") | SHA-256(text))

The document is carried as text, so that what was signed is these bytes and no rewriting of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.signing import SIGNATURE_BYTES, SigningKey, VerifyingKey

_WITHOUT_COUNTS = 1 << 22
_OF_A_COUNT = 64
"""Bytes of a line with its number, without the name."""


@dataclass(frozen=True, slots=True)
class SignedResult:
    """A document of the analyser's and its signature.

    Attributes:
        body: the document's bytes.
        signature: 64 bytes.

    >>> key = SigningKey.generate()
    >>> signed = SignedResult.sign({"sum": 5}, key)
    >>> signed.verify(key.public), SignedResult.decode(signed.encode()).document
    (True, {'sum': 5})
    """

    body: bytes
    signature: bytes

    @classmethod
    def sign(cls, document: dict[str, Any], key: SigningKey) -> SignedResult:
        """Return a document with the analyser's signature."""
        body = json.dumps(document, indent=2, allow_nan=False).encode()
        return cls(body, key.sign("result", hashlib.sha256(body).digest()))

    def verify(self, key: VerifyingKey) -> bool:
        """Return whether the analyser of the task signed this."""
        return key.check("result", hashlib.sha256(self.body).digest(), self.signature)

    @property
    def document(self) -> dict[str, Any]:
        """The document; DecodeError if it is none."""
        return _object(self.body)

    def encode(self) -> bytes:
        """Return document and signature as JSON."""
        return json.dumps(
            {"result": self.body.decode(), "signature": self.signature.hex()}
        ).encode()

    @classmethod
    def decode(cls, data: bytes) -> SignedResult:
        """Return the result of these bytes, or raise DecodeError; nothing is verified."""
        outer = _object(data)
        text, signature = outer.get("result"), outer.get("signature")
        if set(outer) != {"result", "signature"}:
            raise DecodeError("another document")
        if not isinstance(text, str) or not isinstance(signature, str):
            raise DecodeError("another document")
        try:
            signed = cls(text.encode(), bytes.fromhex(signature))
        except ValueError:
            raise DecodeError("no signature") from None
        if len(signed.signature) != SIGNATURE_BYTES:
            raise DecodeError("a signature of another length")
        return signed


def most_result_bytes(names: Iterable[str]) -> int:
    """Return the length that no signed result of a task has.

    Args:
        names: of the task's bins, of which each may have a count.

    >>> most_result_bytes(()), most_result_bytes(["tea"])
    (4194304, 4194389)
    """
    # A name is escaped twice, by a UTF-16 unit in seven bytes at most.
    units = [len(name.encode("utf-16-le")) // 2 for name in names]
    return _WITHOUT_COUNTS + _OF_A_COUNT * len(units) + 7 * sum(units)


def _object(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise DecodeError("no JSON") from None
    if not isinstance(document, dict):
        raise DecodeError("no JSON object")
    return document
