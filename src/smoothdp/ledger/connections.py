"""Open connections: one per thread and process, to the file that is at the path now."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from pathlib import Path
from urllib.parse import quote

# SQLite forbids to use, or even to close, a connection that a parent process opened.
_INHERITED: list[sqlite3.Connection] = []
# Locks that take longer are waited for by whoever asks.
_PATIENCE = 1.0


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


class Kept:
    """A connection with the process and the file that it belongs to."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.process = os.getpid()
        self.connection = connect(path, "rw", timeout)
        self.file = file_at(path)
        # Not by __del__: in a cycle of garbage the connection may be finalised before this.
        self._closing = weakref.finalize(self, _close, self.connection, self.process)

    def close(self) -> None:
        """Close it, unless another process opened it."""
        self._closing()


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


class Connections:
    """The connections of one ledger; never shared by threads, nor after a fork."""

    def __init__(self, path: Path, timeout: float) -> None:
        self._path, self._timeout = path, timeout
        self._local = threading.local()

    def get(self) -> sqlite3.Connection:
        """Return the connection of this thread, new if the file or the process is another."""
        kept: Kept | None = getattr(self._local, "kept", None)
        if kept is not None and (
            kept.process != os.getpid() or kept.file is None or kept.file != file_at(self._path)
        ):
            self.drop()
            kept = None
        if kept is None:
            kept = self._local.kept = Kept(self._path, self._timeout)
        return kept.connection

    def drop(self) -> None:
        """Close the connection of this thread, if there is one."""
        kept: Kept | None = getattr(self._local, "kept", None)
        if kept is not None:
            self._local.kept = None
            kept.close()
