"""Data keys that can be erased: what was sealed with one is unreadable from then on.

A database server keeps deleted rows in its log, its pages and its backups. What must be
forgotten is therefore sealed before it is stored, with a key that is kept in a small file of
the party's own, where erased means overwritten.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from smoothdp.errors import InvalidData
from smoothdp.services.store.storage import SqliteStorage, StorageLost

_SCHEMA = """
CREATE TABLE IF NOT EXISTS mark (one INTEGER PRIMARY KEY, mark BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS data_key (
  scope BLOB PRIMARY KEY, id BLOB NOT NULL UNIQUE, secret BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS note (name BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kept (name BLOB PRIMARY KEY, value BLOB NOT NULL);
"""
_ID_BYTES, _NONCE_BYTES = 16, 12


def name_of(mark: bytes) -> str:
    """Return the name of a file of keys from its mark.

    >>> name_of(bytes(16))[:8]
    '374708ff'
    """
    return hashlib.sha256(mark).hexdigest()


class ErasableKeys:
    """One key per scope: what is forgotten together is sealed with one key.

    After `erase` nothing in any file opens what was sealed (proofs/marks-and-erasure#4).

    A sealed value is mark[16] | key id[16] | nonce[12] | ciphertext; the mark is random and of
    this file alone, so no value that somebody sends can pass for a sealed one.

    Args:
        path: a file that only its owner reads; made if it is not there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._storage = SqliteStorage(path, _SCHEMA)
        with self._storage.transaction() as change:
            change.change(
                "INSERT OR IGNORE INTO mark (one, mark) VALUES (1, ?)",
                (secrets.token_bytes(_ID_BYTES),),
            )
        self._mark = bytes(self._storage.read("SELECT mark FROM mark")[0][0])
        self.name = name_of(self._mark)
        """Tells this file from others."""

    def is_in_place(self) -> bool:
        """Whether the file is where it was: one that was removed is read on until a restart."""
        return self._storage.is_in_place()

    def require_storable(self) -> None:
        """Raise what whoever needs a new key now would meet."""
        self._storage.require_storable()

    def seal(self, scope: bytes, data: bytes) -> bytes:
        """Return data sealed with the key of a scope, which is on disk when this returns."""
        return self.seal_many(scope, [data])[0]

    def seal_many(self, scope: bytes, values: Sequence[bytes]) -> list[bytes]:
        """Return values sealed with the key of one scope, which is on disk when this returns."""
        # In a transaction: who erases keys just now is waited for, and its keys are used no more.
        with self._storage.transaction() as change:
            query = "SELECT id, secret FROM data_key WHERE scope = ?"
            rows = change.execute(query, (scope,))
            if not rows:
                rows = [(secrets.token_bytes(_ID_BYTES), ChaCha20Poly1305.generate_key())]
                change.change(
                    "INSERT INTO data_key (scope, id, secret) VALUES (?, ?, ?)", (scope, *rows[0])
                )
        key_id, secret = rows[0]
        head, cipher = self._mark + bytes(key_id), ChaCha20Poly1305(bytes(secret))
        sealed = []
        for value in values:
            nonce = secrets.token_bytes(_NONCE_BYTES)
            sealed.append(head + nonce + cipher.encrypt(nonce, value, head))
        return sealed

    def open(self, value: bytes) -> bytes:
        """Return the data in a sealed value; any other value as it is.

        Raises:
            InvalidData: sealed with a key that was erased, or changed since.
        """
        if not value.startswith(self._mark):
            return value
        head, rest = value[: 2 * _ID_BYTES], value[2 * _ID_BYTES :]
        rows = self._storage.read("SELECT secret FROM data_key WHERE id = ?", (head[_ID_BYTES:],))
        try:
            secret = ChaCha20Poly1305(rows[0][0])
            return secret.decrypt(rest[:_NONCE_BYTES], rest[_NONCE_BYTES:], head)
        except (IndexError, InvalidTag):
            raise InvalidData(
                expected=f"rows sealed with the keys in {self.path}",
                got="others",
                remedy="It has no copies: let the open windows go, and begin anew",
            ) from None

    def scopes(self) -> list[bytes]:
        """Return the scopes that have a key."""
        return [bytes(row[0]) for row in self._storage.read("SELECT scope FROM data_key")]

    def erase(self, scopes: list[bytes], *, still: Callable[[], object] = lambda: None) -> bool:
        """Overwrite the keys of scopes; False if somebody still reads the file's log.

        Args:
            scopes: whose rows are gone.
            still: called before it is final; nothing is erased if it raises.

        Raises:
            StorageLost: the file is not where it was, with its log: nothing is overwritten there.
        """
        self.require_in_place()
        with self._storage.transaction() as change:
            change.change_many(
                "DELETE FROM data_key WHERE scope = ?", [(scope,) for scope in scopes]
            )
            if scopes:
                change.rewrite("data_key")
                still()
        return self._storage.forget()

    def note(self, *names: bytes) -> None:
        """Keep names for ever.

        This is the one file of a party that has no backups: what is noted in it tells that
        another one is an older copy.
        """
        with self._storage.transaction() as change:
            change.change_many(
                "INSERT OR IGNORE INTO note (name) VALUES (?)", [(name,) for name in names]
            )

    def require_in_place(self) -> None:
        """Raise StorageLost if the file is not where it was."""
        if not self.is_in_place():
            raise StorageLost(
                expected=f"the file of window keys at {self.path}",
                got="none, or another one",
                remedy="Put it back with its log, and start again: no key is erased without it",
            )

    def take_back(self, *names: bytes) -> None:
        """Keep names no more, which were noted a moment ago and told to nobody."""
        with self._storage.transaction() as change:
            change.change_many("DELETE FROM note WHERE name = ?", [(name,) for name in names])

    def notes(self) -> set[bytes]:
        """Return the names that were noted."""
        return {bytes(name) for (name,) in self._storage.read("SELECT name FROM note")}

    def keep(self, name: bytes, value: bytes) -> bytes:
        """Keep a value for ever, like a note; return the first one of the name, which stays."""
        if (first := self.kept(name)) is not None:
            return first
        with self._storage.transaction() as change:
            change.change("INSERT OR IGNORE INTO kept (name, value) VALUES (?, ?)", (name, value))
            ((first,),) = change.execute("SELECT value FROM kept WHERE name = ?", (name,))
        return bytes(first)

    def kept(self, name: bytes) -> bytes | None:
        """Return the value that is kept of a name, or None."""
        rows = self._storage.read("SELECT value FROM kept WHERE name = ?", (name,))
        return bytes(rows[0][0]) if rows else None

    def close(self) -> None:
        """Close the file."""
        self._storage.close()
