"""Fresh secrets, and which parties may call: of their tokens, hashes alone are kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets


def new_secret() -> bytes:
    """Return 32 random bytes of the operating system."""
    return secrets.token_bytes(32)


def token_hash(token: str) -> str:
    """Return what a service keeps of a caller's token.

    >>> matches("secret", [token_hash("secret")]), matches("other", [token_hash("secret")])
    (True, False)
    """
    return hashlib.sha256(token.encode()).hexdigest()


def matches(token: str, hashes: list[str]) -> bool:
    """Whether a token is one of those kept, without a hint of which or how nearly."""
    sent = token_hash(token)
    return sum(hmac.compare_digest(sent, known) for known in hashes) > 0
