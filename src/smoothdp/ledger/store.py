"""The file: SQLite in WAL mode, every commit flushed to the disk, rows only added.

A file that was moved or replaced is noticed before the next charge (`connections`).
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

from smoothdp.errors import LedgerError
from smoothdp.ledger.connections import Connections, connect, in_use

APPLICATION_ID = 0x53444C47
FORMAT = 1
_PAUSE = 0.01
_SCHEMA = (
    "CREATE TABLE ledger (id TEXT NOT NULL, created TEXT NOT NULL, kept TEXT NOT NULL)",
    "CREATE TABLE entry (number INTEGER PRIMARY KEY, body TEXT NOT NULL, digest TEXT NOT NULL)",
    *(
        f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
        for table in ("ledger", "entry")
        for verb in ("UPDATE", "DELETE")
    ),
    f"PRAGMA application_id = {APPLICATION_ID}",
    f"PRAGMA user_version = {FORMAT}",
)

Result = TypeVar("Result")


class Row(NamedTuple):
    """An entry as it is kept."""

    number: int
    body: str
    digest: str


class Head(NamedTuple):
    """Which ledger a file holds, and how its budget is kept."""

    identity: str
    created: str
    kept: str


class Tail(NamedTuple):
    """What a charge depends on: the ledger, its last entry, and the digest before that."""

    head: Head
    row: Row | None
    previous: str


class Store:
    """The file of a ledger at a path; every method is one transaction."""

    def __init__(self, path: Path, timeout: float) -> None:
        self.path = path
        self.timeout = timeout
        self._connections = Connections(path, timeout)

    def create(self, head: Head) -> None:
        """Make an empty ledger unless there is one; whole or not at all."""

        def make() -> None:
            with closing(connect(self.path, "rwc", self.timeout)) as connection:
                if _is_empty(connection):
                    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
                    if mode != "wal":
                        raise _no_log(self.path, mode)
                    with _writing(connection):
                        if _is_empty(connection):
                            for statement in _SCHEMA:
                                connection.execute(statement)
                            connection.execute("INSERT INTO ledger VALUES (?, ?, ?)", head)

        self._patiently(make)

    def tail(self) -> Tail:
        """Return the ledger and its last entry."""
        return self._patiently(lambda: self._read(lambda c, head: _tail(c, head)))

    def rows(self, first: int = 1) -> tuple[Head, list[Row]]:
        """Return the ledger and its entries from a number on; no others are read."""
        query = "SELECT number, body, digest FROM entry WHERE number >= ? ORDER BY number"

        def read(connection: sqlite3.Connection, head: Head) -> tuple[Head, list[Row]]:
            return head, [Row(*row) for row in connection.execute(query, (first,))]

        return self._patiently(lambda: self._read(read))

    def fault(self) -> str | None:
        """Return what SQLite finds wrong with the file, if anything."""

        def read(connection: sqlite3.Connection, _: Head) -> str | None:
            verdict = str(connection.execute("PRAGMA integrity_check").fetchone()[0])
            return None if verdict == "ok" else verdict

        # From the disk, not from the memory of a connection.
        self._connections.drop()
        return self._patiently(lambda: self._read(read))

    def append(self, next_row: Callable[[Tail], Row]) -> Row:
        """Add the row that follows the last one; no other process adds one in between.

        ``next_row`` may raise: then nothing is added. On return the row is on the disk.
        """

        def add() -> Row:
            with self._connected() as connection, _writing(connection):
                row = next_row(_tail(connection, _head(connection, self.path)))
                connection.execute("INSERT INTO entry VALUES (?, ?, ?)", row)
            return row

        return self._patiently(add)

    def _read(self, read: Callable[[sqlite3.Connection, Head], Result]) -> Result:
        with self._connected() as connection:
            connection.execute("BEGIN")
            result = read(connection, _head(connection, self.path))
            connection.execute("COMMIT")
        return result

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        connection = self._connections.get()
        try:
            yield connection
            self._connections.require_log()
        except BaseException:
            self._connections.drop()
            raise

    def _patiently(self, act: Callable[[], Result]) -> Result:
        """Run an operation, again while the file is locked, up to the timeout.

        SQLite waits for most locks by itself, but not while another process recovers or
        removes the write-ahead log.
        """
        end = time.monotonic() + self.timeout
        while True:
            try:
                with in_use():
                    return act()
            except sqlite3.Error as error:
                if _is_busy(error) and time.monotonic() < end:
                    time.sleep(_PAUSE)
                    continue
                raise self._explained(error) from error

    def _explained(self, error: sqlite3.Error) -> LedgerError:
        name = getattr(error, "sqlite_errorname", "") or ""
        known = (words for prefix, words in _REMEDIES.items() if name.startswith(prefix))
        expected, remedy = next(known, ("a ledger that works", "See the message of SQLite"))
        return LedgerError(
            expected=expected,
            got=f"{self.path}: {error}" + (f" ({name})" if name else ""),
            remedy=f"Nothing may be released. {remedy}",
        )


_REMEDIES = {
    "SQLITE_BUSY": (
        "a ledger that is free within the timeout",
        "Another process holds it: try again (in Python: or raise timeout=)",
    ),
    "SQLITE_READONLY": ("a ledger that can be written", "Get the right to write file and folder"),
    "SQLITE_CANTOPEN": (
        "a ledger in a folder that can be written",
        "Check the path; smoothdp account create makes a ledger (in Python: budget=)",
    ),
    "SQLITE_FULL": ("room on the disk", "Make room, then charge again"),
    "SQLITE_IOERR": (
        "a disk that works and has room",
        "Look at the entries before charging again: the charge may be there",
    ),
    "SQLITE_CORRUPT": (
        "an undamaged ledger",
        "Restore the ledger, and count missing entries as spent",
    ),
    "SQLITE_NOTADB": ("a ledger", "This file is something else: give another path"),
}


def _no_log(path: Path, mode: str) -> LedgerError:
    return LedgerError(
        expected="a file system on which SQLite keeps a write-ahead log",
        got=f"journal mode {mode} at {path}",
        remedy="Put the ledger on a local disk",
    )


def _is_busy(error: sqlite3.Error) -> bool:
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT name FROM sqlite_master").fetchone() is None


@contextmanager
def _writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Hold the only right to write; commit at the end, undo if anything is raised."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _head(connection: sqlite3.Connection, path: Path) -> Head:
    """Return the head of a ledger that this version reads, or raise LedgerError."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise LedgerError(
            expected="a ledger",
            got=f"{path}, another database or an empty one",
            remedy="Give another path",
        )
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != FORMAT:
        raise LedgerError(
            expected=f"a ledger of format {FORMAT}",
            got=f"{path}, of format {version}",
            remedy="Use a newer smoothdp; nothing was changed",
        )
    heads = connection.execute("SELECT id, created, kept FROM ledger").fetchall()
    if len(heads) != 1:
        raise LedgerError(
            expected="one budget", got=f"{len(heads)} in {path}", remedy="Restore the ledger"
        )
    return Head(*heads[0])


def _tail(connection: sqlite3.Connection, head: Head) -> Tail:
    query = "SELECT number, body, digest FROM entry ORDER BY number DESC LIMIT 2"
    rows = [Row(*row) for row in connection.execute(query)]
    previous = rows[1].digest if len(rows) > 1 else head.identity
    return Tail(head, rows[0] if rows else None, previous)
