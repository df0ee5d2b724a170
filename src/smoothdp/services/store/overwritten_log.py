"""SQLite's write-ahead log, overwritten before it is cut off.

``wal_checkpoint(TRUNCATE)`` gives the blocks of the log back to the file system as they are, and
what stood in them, a key that was erased since, can be read there for long. So the log is first
written full, from its beginning, with copies of a page that holds no secret, and these are on the
disk before it is cut (proofs/marks-and-erasure#4).
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

# Of the file format: https://www.sqlite.org/walformat.html
_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_NORMAL = 1
_ROUNDS = 5
_MOST_SECONDS = 1.0
_READERS_MS = 50


def overwrite_log(writing: sqlite3.Connection, path: Path) -> bool:
    """Overwrite the log of a file, then cut it off; False if somebody else keeps it in use.

    What others commit meanwhile is not cut off before it was overwritten too.

    Args:
        writing: a connection in WAL mode, outside of a transaction, that nobody else uses now.
        path: the file.

    Raises:
        sqlite3.Error: the file cannot be written; the log stands.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "box.sqlite")
    ...     writing = sqlite3.connect(path, isolation_level=None)
    ...     _ = writing.executescript("PRAGMA journal_mode=WAL; CREATE TABLE box (item TEXT)")
    ...     before = log_of(path).stat().st_size
    ...     done = overwrite_log(writing, path)
    ...     after = log_of(path).stat().st_size
    ...     writing.close()
    >>> before, done, after
    (8272, True, 0)
    """
    if not _frames(writing, path):
        return True
    kept = {name: _number(writing, name) for name in ("synchronous", "wal_autocheckpoint")}
    try:
        # The fill is written to the disk once, at the end; and nothing but it begins anew
        # while it goes on, or it would never pass the length at which SQLite does so itself.
        writing.execute(f"PRAGMA synchronous = {min(kept['synchronous'], _NORMAL)}")
        writing.execute("PRAGMA wal_autocheckpoint = 0")
        # Of a long log one round may be all: what was in it is gone then, if not cut off.
        until = time.monotonic() + _MOST_SECONDS
        for turn in range(_ROUNDS):
            if turn and time.monotonic() > until:
                return False
            others = _number(writing, "data_version")
            # After this the next that is written stands at the log's beginning.
            if _checkpoint(writing, "RESTART") is None:
                return False
            if _filled(writing, path) and _cut(writing, path, others):
                return True
        return False
    except sqlite3.OperationalError as error:
        # Somebody has written for longer than is waited.
        if "locked" in str(error):
            return False
        raise
    finally:
        for name, value in kept.items():
            writing.execute(f"PRAGMA {name} = {value}")


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the log of a file.

    >>> log_of(Path("box.sqlite")).name
    'box.sqlite-wal'
    """
    return path.with_name(path.name + "-wal")


def _filled(writing: sqlite3.Connection, path: Path) -> bool:
    """Write the log full, and to the disk; False if others wrote too, or keep it in use."""
    frames = _frames(writing, path)
    # Writes one page, the first, also where it sets what is set.
    again = f"PRAGMA application_id = {_number(writing, 'application_id')}"
    for _ in range(frames):
        writing.execute(again)
    # More of them: what was there before stands in front of the fill.
    return not frames or _checkpoint(writing, "FULL") == frames


def _cut(writing: sqlite3.Connection, path: Path, others: int) -> bool:
    """Cut the log off if nobody else has written since others was read."""
    with closing(opened_to_read(path)) as reading:
        # While somebody reads what is out of the log, it may be cut, but nothing be taken out:
        # a commit from here on keeps it from being cut.
        reading.execute("BEGIN")
        _read(reading)
        if _number(writing, "data_version") != others:
            return False
        patience = _number(writing, "busy_timeout")
        writing.execute(f"PRAGMA busy_timeout = {_READERS_MS}")
        try:
            return _checkpoint(writing, "TRUNCATE") == 0
        finally:
            writing.execute(f"PRAGMA busy_timeout = {patience}")


def opened_to_read(path: Path, *, busy_seconds: float = 5.0) -> sqlite3.Connection:
    """Return a connection that can read, and has: until it is closed nobody removes the log.

    Raises:
        sqlite3.Error: there is nothing to read.
    """
    reading = sqlite3.connect(
        f"file:{quote(os.fsencode(path.absolute()))}?mode=ro",
        uri=True,
        timeout=busy_seconds,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        _read(reading)
    except BaseException:
        reading.close()
        raise
    return reading


def _read(connection: sqlite3.Connection) -> None:
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def _frames(connection: sqlite3.Connection, path: Path) -> int:
    """Return how many frames cover the log's file as long as it is."""
    try:
        size = log_of(path).stat().st_size
    except FileNotFoundError:
        return 0
    frame = _FRAME_HEADER_BYTES + _number(connection, "page_size")
    return max(0, -((_HEADER_BYTES - size) // frame))


def _checkpoint(connection: sqlite3.Connection, mode: str) -> int | None:
    """Take all out of the log, and return how many frames it had; None if somebody hinders it."""
    busy, frames, _ = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    return None if busy else int(frames)


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])
