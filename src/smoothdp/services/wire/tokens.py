"""Who may send, and who may call: client tokens from one issuing key, and stored hashes."""

from __future__ import annotations

import hashlib
import hmac
import secrets

CLIENT_ID_BYTES = 16
_MAC_BYTES = 32
TOKEN_LENGTH = 2 * (CLIENT_ID_BYTES + _MAC_BYTES)
"""Hexadecimal digits of a client's token."""
_CLIENT = b"esa/1 client"


def new_secret() -> bytes:
    """Return 32 random bytes of the operating system."""
    return secrets.token_bytes(32)


def issue_client_token(issuing_key: bytes, task_id: bytes) -> str:
    """Return a token for one new client of a task: who holds it may send once per window.

    >>> token = issue_client_token(b"k" * 32, b"t" * 32)
    >>> len(token), client_of(token, b"k" * 32, b"t" * 32) is not None
    (96, True)
    >>> client_of(token, b"k" * 32, b"u" * 32) is None
    True
    """
    client = secrets.token_bytes(CLIENT_ID_BYTES)
    return (client + _mac(issuing_key, task_id, client)).hex()


def client_of(token: str, issuing_key: bytes, task_id: bytes) -> bytes | None:
    """Return the client that a token names, or None; compared in constant time."""
    try:
        data = bytes.fromhex(token)
    except ValueError:
        return None
    client, mac = data[:CLIENT_ID_BYTES], data[CLIENT_ID_BYTES:]
    if not hmac.compare_digest(mac, _mac(issuing_key, task_id, client)):
        return None
    return client if len(client) == CLIENT_ID_BYTES else None


def tag(window_key: bytes, role: bytes, data: bytes) -> bytes:
    """Return a mark that nobody can link to ``data`` once the window's key is erased."""
    return hmac.digest(window_key, role + data, "sha256")[:16]


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


def _mac(issuing_key: bytes, task_id: bytes, client: bytes) -> bytes:
    return hmac.digest(issuing_key, _CLIENT + task_id + client, "sha256")[:_MAC_BYTES]
