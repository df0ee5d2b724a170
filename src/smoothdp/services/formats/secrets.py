"""What a person shows: an invitation to the issuer, a pass to the shuffler, one of each.

    secret = id[16] | HMAC-SHA-256(key, TAG("pass" or "invitation") | task id | id)[32]
    tag    = first 16 bytes of HMAC-SHA-256(tag key, id)

Two organisations make them with keys of their own and deliver them over two channels.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from smoothdp.services.tokens.label import label

Use: TypeAlias = Literal["pass", "invitation"]

ID_BYTES = 16
MAC_BYTES = 32
KEY_BYTES = 32
TAG_BYTES = 16
SECRET_DIGITS = 2 * (ID_BYTES + MAC_BYTES)
"""Hexadecimal digits of a secret as a person has it."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A pass or an invitation of one task.

    Attributes:
        identity: 16 random bytes; what the party that made it knows a person by.
        mac: 32 bytes that only the holder of the key can make.

    >>> secret = Secret.issue(b"k" * 32, use="pass", task_id=bytes(32))
    >>> len(secret.text)
    96
    >>> check_secret(secret.text, key=b"k" * 32, use="pass", task_id=bytes(32)) == secret.identity
    True
    >>> check_secret(secret.text, key=b"k" * 32, use="invitation", task_id=bytes(32)) is None
    True
    """

    identity: bytes
    mac: bytes = field(repr=False)

    @classmethod
    def issue(cls, key: bytes, *, use: Use, task_id: bytes) -> Secret:
        """Return a secret for one new person."""
        return secret_of(key, use=use, task_id=task_id, identity=secrets.token_bytes(ID_BYTES))

    @property
    def text(self) -> str:
        """The secret as a person has it: 96 hexadecimal digits."""
        return (self.identity + self.mac).hex()


def secret_of(key: bytes, *, use: Use, task_id: bytes, identity: bytes) -> Secret:
    """Return the secret of an identity of 16 bytes, always the same.

    >>> secret = secret_of(b"k" * 32, use="pass", task_id=bytes(32), identity=b"i" * 16)
    >>> secret == secret_of(b"k" * 32, use="pass", task_id=bytes(32), identity=b"i" * 16)
    True
    """
    mac = hmac.digest(key, label(use) + task_id + identity, "sha256")
    return Secret(identity, mac)


def check_secret(text: str, *, key: bytes, use: Use, task_id: bytes) -> bytes | None:
    """Return the identity in a secret, or None; compared in constant time.

    Whether it was revoked is another question.

    >>> check_secret("00" * 48, key=b"k" * 32, use="pass", task_id=bytes(32)) is None
    True
    """
    # Capital digits and spaces would give one person several texts.
    if len(text) != SECRET_DIGITS or set(text) - set("0123456789abcdef"):
        return None
    data = bytes.fromhex(text)
    identity = data[:ID_BYTES]
    right = secret_of(key, use=use, task_id=task_id, identity=identity)
    return identity if hmac.compare_digest(data[ID_BYTES:], right.mac) else None


def tag(tag_key: bytes, identity: bytes) -> bytes:
    """Return the mark of a person in one window: with the key erased, nobody can link it.

    >>> len(tag(b"t" * 32, b"i" * 16))
    16
    """
    return hmac.digest(tag_key, identity, "sha256")[:TAG_BYTES]
