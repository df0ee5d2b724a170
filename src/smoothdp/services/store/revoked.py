"""Passes and invitations that count no more: their ids, a line each, in a file of the party."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from smoothdp.errors import InvalidData
from smoothdp.services.store.storage import Storage

if sys.platform != "win32":
    import fcntl

LOG = logging.getLogger("smoothdp.services")
_AGAIN = "it was lost, or is an older copy"
REVOKED_FILE = "revoked"
REVOKED_TABLE = """
CREATE TABLE IF NOT EXISTS revoked (
  task_id BLOB, id BLOB, PRIMARY KEY (task_id, id)) WITHOUT ROWID;
"""
"""Of the party's storage: ids that were in the file once."""
_ID = re.compile("[0-9a-f]{32}")


class Revoked:
    """The ids that a party does not let in; read again whenever the file changes.

    An id lets nobody in: the rest of a pass or invitation is what proves that it is one. Whoever
    was revoked stays so: a file that was lost, emptied, or is an older copy lets nobody back in,
    because `remember` has put its ids into the party's storage.

    Args:
        path: the file; one that is not there adds nobody.
        storage: with `REVOKED_TABLE`; without it, what is gone from the file counts until the
            end of the process.
        task_id: whose passes or invitations.

    Raises:
        InvalidData: a line that is no id, or a file that cannot be read. If that happens while
            the service runs, the ids that were read before count on.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     revoked = Revoked(Path(folder, "revoked"))
    ...     before = bytes(16) in revoked
    ...     revoke(Path(folder, "revoked"), [bytes(16)])
    ...     before, bytes(16) in revoked
    (False, True)
    """

    def __init__(self, path: Path, storage: Storage | None = None, task_id: bytes = b"") -> None:
        self._path, self._storage, self._task_id = path, storage, task_id
        self._lock = threading.Lock()
        self._seen = _version_of(path)
        self._in_file = self._ids = ids_of(path)
        self._ids |= self._stored()
        self._keep()

    def __contains__(self, who: object) -> bool:
        with self._lock:
            self._read_again()
            return who in self._ids

    def remember(self) -> None:
        """Put the ids that count into the storage, and let those count that others put there.

        In each round of work, where the log is; it says then if the file lacks some of them.
        """
        self._keep()
        if lost := len(self._ids - self._in_file):
            words = f"{self._path.name} lacks {lost} ids that count all the same: {_AGAIN}"
            LOG.warning(words, extra={"event": "the list of the revoked is short", "says": words})

    def _keep(self) -> None:
        if self._storage is None:
            return
        stored = self._stored()
        with self._lock:
            self._read_again()
            self._ids |= stored
            new = self._ids - stored
        if new:
            with self._storage.transaction() as change:
                change.change_many(
                    "INSERT OR IGNORE INTO revoked (task_id, id) VALUES (?, ?)",
                    [(self._task_id, who) for who in sorted(new)],
                )

    def _read_again(self) -> None:
        version = _version_of(self._path)
        if version == self._seen:
            return
        self._seen = version
        try:
            self._in_file = ids_of(self._path)
            self._ids |= self._in_file
        except InvalidData as error:
            # Half of a line, perhaps: nobody who was revoked is let in by it.
            event = {"event": "the list of the revoked was not read", "says": str(error)}
            LOG.warning("%s", error, extra=event)
            self._seen = None

    def _stored(self) -> frozenset[bytes]:
        if self._storage is None:
            return frozenset()
        rows = self._storage.read("SELECT id FROM revoked WHERE task_id = ?", (self._task_id,))
        return frozenset(bytes(who) for (who,) in rows)


def revoke(path: Path, ids: Iterable[bytes]) -> None:
    """Add ids to the file of a party, which its owner alone reads; on disk when this returns.

    Its owner is the directory's, also if root adds some: another's file would not be read by the
    service, and nobody be revoked.

    Raises:
        InvalidData: a file with a line that is no id, of which a service that runs takes nothing
            more; and then nothing is added.
    """
    ids_of(path)
    text = "".join(f"{who.hex()}\n" for who in ids)
    handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        _give_to_owner_of(path.parent, handle)
        if sys.platform != "win32":
            # One at a time, until it is closed: who finds no room takes out its own lines alone.
            fcntl.flock(handle, fcntl.LOCK_EX)
        size = os.fstat(handle).st_size
        # A last line without an end would make one of two ids, and neither would count.
        if size and os.pread(handle, 1, size - 1) != b"\n":
            text = f"\n{text}"
        try:
            # Without a buffer, which would be written once more when the file is closed.
            rest = text.encode("ascii")
            while rest:
                rest = rest[os.write(handle, rest) :]
            os.fsync(handle)
        except OSError:
            # Of a full disk: half of a line would keep the service from reading the others.
            os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def _give_to_owner_of(directory: Path, handle: int) -> None:
    """Give a file that root opened to the user whose directory it is in."""
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        owner = os.stat(directory)
        os.fchown(handle, owner.st_uid, owner.st_gid)


def _version_of(path: Path) -> tuple[int, ...] | None:
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return ()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def ids_of(path: Path) -> frozenset[bytes]:
    """Return the ids in a file; none if it is not there.

    Raises:
        InvalidData: a line that is no id, or a file that cannot be read.
    """
    try:
        lines = path.read_text(encoding="ascii").split()
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        raise InvalidData(
            expected=f"to read the revoked ids in {path}",
            got=error.strerror,
            remedy="Give that file to the user that the service runs as",
        ) from error
    except ValueError:
        lines = [""]
    if not all(_ID.fullmatch(line) for line in lines):
        raise InvalidData(
            expected=f"one id of 32 hexadecimal digits in each line of {path}",
            got="something else",
            remedy="Correct that file",
        )
    return frozenset(bytes.fromhex(line) for line in lines)
