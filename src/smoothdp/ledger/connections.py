"""Open connections: one per thread and process, to the file that is at the path now.

None is open while the process forks. A child inherits what SQLite notes of locks in memory, and
none of the locks: a connection of its own to the same file would ask the system for none, and
whoever ends takes the log away in which it writes, with what was charged there.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from smoothdp.errors import LedgerError

# SQLite forbids to use, or even to close, a connection that a parent process opened.
_INHERITED: list[sqlite3.Connection] = []
# Locks that take longer are waited for by whoever asks.
_PATIENCE = 1.0
# Held by whoever uses a connection, and while the process forks.
_USED = threading.RLock()


def connect(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
    """Return a new connection whose commits are on the disk when they return."""
    address = f"file:{quote(os.fsencode(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(
        address,
        uri=True,
        timeout=min(timeout, _PATIENCE),
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = FULL")
    except UnicodeDecodeError:
        # The words of SQLite's refusal have a piece of the damaged page in them.
        connection.close()
        raise sqlite3.DatabaseError("its tables are damaged") from None
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def in_use() -> Iterator[None]:
    """Use connections: the process does not fork meanwhile."""
    with _USED:
        yield


class Kept:
    """A connection with the process and the file that it belongs to."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.process, self.path = os.getpid(), path
        self.connection = connect(path, "rw", timeout)
        try:
            # From the first reading on the log and its index are there, until the last one closes.
            self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            self.connection.close()
            raise
        self.file, self._beside = file_at(path), _beside(path)
        # Not by __del__: in a cycle of garbage the connection may be finalised before this.
        self._closing = weakref.finalize(self, _close, self.connection, self.process)
        _KEPT.add(self)

    def require_log(self) -> None:
        """Raise LedgerError where the log, or its index, was removed: SQLite would go on in it."""
        if _beside(self.path) != self._beside:
            raise LedgerError(
                expected=f"the log of the ledger {self.path} (-wal, -shm) where it was",
                got="none there, or another one: it was removed while the ledger was in use",
                remedy="Nothing may be released. End all programs that use the ledger, and look at "
                "its entries before charging again: the last charge may not be there",
            )

    @property
    def is_open(self) -> bool:
        """Whether nobody has closed it."""
        return self._closing.alive

    def close(self) -> None:
        """Close it, unless another process opened it."""
        self._closing()


_KEPT = weakref.WeakSet[Kept]()


def _before_fork() -> None:
    _USED.acquire()
    for kept in list(_KEPT):
        kept.close()


os.register_at_fork(
    before=_before_fork, after_in_parent=_USED.release, after_in_child=_USED.release
)


def _close(connection: sqlite3.Connection, process: int) -> None:
    if process == os.getpid():
        connection.close()
    elif connection not in _INHERITED:
        _INHERITED.append(connection)


def file_at(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of the file at a path, None without a file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _beside(path: Path) -> list[tuple[int, int] | None]:
    return [file_at(path.with_name(path.name + end)) for end in ("-wal", "-shm")]


class Connections:
    """The connections of one ledger; never shared by threads, nor after a fork."""

    def __init__(self, path: Path, timeout: float) -> None:
        self._path, self._timeout = path, timeout
        self._local = threading.local()

    def get(self) -> sqlite3.Connection:
        """Return the connection of this thread, new if the file or the process is another."""
        kept: Kept | None = getattr(self._local, "kept", None)
        if kept is not None and (
            not kept.is_open
            or kept.process != os.getpid()
            or kept.file is None
            or kept.file != file_at(self._path)
        ):
            self.drop()
            kept = None
        if kept is None:
            for other in list(_KEPT):
                # Of another thread: beside its log a new one would be another.
                if other.is_open and other.file == file_at(self._path):
                    other.require_log()
            kept = self._local.kept = Kept(self._path, self._timeout)
        kept.require_log()
        return kept.connection

    def require_log(self) -> None:
        """Raise LedgerError where what was committed just now is in no log of the file."""
        kept: Kept | None = getattr(self._local, "kept", None)
        if kept is not None:
            kept.require_log()

    def drop(self) -> None:
        """Close the connection of this thread, if there is one."""
        kept: Kept | None = getattr(self._local, "kept", None)
        if kept is not None:
            self._local.kept = None
            kept.close()
