"""SQLite's write-ahead log, overwritten before it is cut off.

``wal_checkpoint(TRUNCATE)`` gives the blocks of the log back to the file system as they are, and
what stood in them, a key that was erased since, can be read there for long. So the log is first
begun anew, all behind its new frames is overwritten with zeros, and these are on the disk before
it is cut (proofs/marks-and-erasure#4). It never grows by that, however many programs do it at once.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from smoothdp.services.store.private_file import identity

# Of the file format: https://www.sqlite.org/walformat.html
_HEADER_BYTES, _FRAME_HEADER_BYTES = 32, 24
_PAGE_SIZE, _SALTS, _FRAME_SALTS = slice(8, 12), slice(16, 24), slice(8, 16)
_MOST_SECONDS, _PAUSE_SECONDS = 1.0, 0.002
_READERS_MS = 50
_AT_ONCE = 1 << 20


def overwrite_log(writing: sqlite3.Connection, path: Path) -> bool:
    """Overwrite the log of a file; False if somebody else keeps it in use, or has removed it.

    Then it is cut off, unless others have written or read meanwhile: what they commit is not cut
    off before it was overwritten too.

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
    try:
        log = os.open(log_of(path), os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        # What is in one that was removed cannot be reached any more.
        return str(writing.execute("PRAGMA journal_mode").fetchone()[0]) != "wal"
    except OSError as error:
        raise _refused(error) from error
    try:
        return not os.fstat(log).st_size or _overwritten(writing, path, log)
    except sqlite3.OperationalError as error:
        # Somebody has written for longer than is waited.
        if "locked" in str(error):
            return False
        raise
    except OSError as error:
        raise _refused(error) from error
    finally:
        os.close(log)


def begin_log(writing: sqlite3.Connection, *, busy_seconds: float) -> None:
    """Have a file keep a log; of several that open a new one at once, SQLite has some not wait.

    Raises:
        sqlite3.Error: the file cannot be written, or is locked for longer.
    """
    until = time.monotonic() + busy_seconds
    while True:
        try:
            writing.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
        time.sleep(_PAUSE_SECONDS)


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the log of a file.

    >>> log_of(Path("box.sqlite")).name
    'box.sqlite-wal'
    """
    return path.with_name(path.name + "-wal")


def log_files(path: Path) -> list[tuple[int, int] | None]:
    """Return which files the log of a file and its index are, by which processes see each other."""
    return [identity(log_of(path)), identity(path.with_name(path.name + "-shm"))]


def is_cut(path: Path) -> bool:
    """Whether nothing stands in the log of a file, so that it may be removed."""
    try:
        return not log_of(path).stat().st_size
    except FileNotFoundError:
        return True


def _overwritten(writing: sqlite3.Connection, path: Path, log: int) -> bool:
    """Begin the log anew, until it is; overwrite what was in it before."""
    before, until = _header(log)[_SALTS], time.monotonic() + _MOST_SECONDS
    # Writes one page, the first, also where it sets what is set.
    again = f"PRAGMA application_id = {_number(writing, 'application_id')}"
    while True:
        others = _number(writing, "data_version")
        # After this the next that is written stands at the log's beginning, under new salts.
        if _checkpoint(writing, "RESTART"):
            writing.execute(again)
            with _alone(writing):
                # They are the old ones where somebody who reads from the log keeps it going on.
                begun_anew = _header(log)[_SALTS] != before
                if begun_anew:
                    _zero_dead_frames(log)
            if begun_anew:
                _cut(writing, path, others)
                return True
        if time.monotonic() > until:
            return False
        # Another program that takes out the log, or reads from it, is done in a moment.
        time.sleep(_PAUSE_SECONDS)


@contextmanager
def _alone(writing: sqlite3.Connection) -> Iterator[None]:
    """Keep everybody from writing; who reads goes on."""
    writing.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        writing.execute("ROLLBACK")


def _zero_dead_frames(log: int) -> None:
    """Overwrite what stands behind the frames with the header's salts, on the disk.

    SQLite reads nothing there, also after a crash, and only who writes next writes there.
    """
    header, size = _header(log), os.fstat(log).st_size
    if len(header) < _HEADER_BYTES:
        # Somebody else has overwritten it, and cut it off.
        return
    frame_bytes = _FRAME_HEADER_BYTES + int.from_bytes(header[_PAGE_SIZE], "big")
    end = _HEADER_BYTES
    while os.pread(log, _FRAME_HEADER_BYTES, end)[_FRAME_SALTS] == header[_SALTS]:
        end += frame_bytes
    while end < size:
        end += os.pwrite(log, bytes(min(_AT_ONCE, size - end)), end)
    os.fsync(log)


def _header(log: int) -> bytes:
    return os.pread(log, _HEADER_BYTES, 0)


def _cut(writing: sqlite3.Connection, path: Path, others: int) -> None:
    """Cut the log off if nobody else has written since others was read, or reads it."""
    if not _checkpoint(writing, "FULL"):
        return
    with closing(opened_to_read(path)) as reading:
        # While somebody reads what is out of the log, it may be cut, but nothing be taken out:
        # a commit from here on keeps it from being cut.
        reading.execute("BEGIN")
        _read(reading)
        if _number(writing, "data_version") != others:
            return
        patience = _number(writing, "busy_timeout")
        writing.execute(f"PRAGMA busy_timeout = {_READERS_MS}")
        try:
            _checkpoint(writing, "TRUNCATE")
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


def _checkpoint(connection: sqlite3.Connection, mode: str) -> bool:
    """Take all out of the log; return whether nobody has hindered it."""
    return not connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()[0]


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def _refused(error: OSError) -> sqlite3.OperationalError:
    return sqlite3.OperationalError(f"disk I/O error: {error.strerror}")
