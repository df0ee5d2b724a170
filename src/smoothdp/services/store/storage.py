"""Where a service keeps its state: a small interface, and SQLite behind it.

Every change is one transaction that is on disk when it returns. The interface is SQL with
``?`` marks, upserts and nothing peculiar, so that another database can fill it.
"""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.store.migrations import Schema, migrate_sqlite
from smoothdp.services.store.overwritten_log import (
    begin_log,
    is_cut,
    log_files,
    opened_to_read,
    overwrite_log,
)
from smoothdp.services.store.private_file import identity, make_private
from smoothdp.services.store.sqlite_refusals import remedy_of, takes_nothing

Row = tuple[Any, ...]
_File = tuple[int, int] | None
"""Device and number of a file, None where there is none."""
_ASKED_MILLISECONDS = 1000
"""How long another process may write before it is said to hold the file."""


class StorageFull(Exception):
    """Nothing more can be stored: the change was undone."""


class StorageUnreachable(SmoothdpError, ConnectionError):
    """The database server does not answer: nothing is known of the last change."""


class StorageLocked(StorageUnreachable):
    """Somebody else has held the storage for too long: nothing was changed."""


class StorageLost(SmoothdpError, OSError):
    """A file is not where it was: what is done with it is done to no file of a directory."""


class StorageDamaged(InvalidData):
    """A page of the file cannot be read: what was stored there is lost."""


class Transaction(Protocol):
    """Statements that take effect together, or not at all."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Run a statement and return its rows."""

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> list[list[Row]]:
        """Run a statement once per row of values and return the rows of each."""

    def change(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run a statement and return how many rows it changed."""

    def change_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run a statement once per row of values."""

    def hold(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return rows that nobody else changes, or adds to, until the end.

        Raises:
            StorageLocked: somebody holds them; nothing was changed, and it may be tried again.
        """

    def add_many(
        self,
        statement: str,
        rows: Iterable[Sequence[Any]],
        *,
        names: Sequence[int],
    ) -> list[bool]:
        """Add rows unless they collide, in one statement; return which were added.

        Args:
            statement: ``INSERT OR IGNORE INTO table (columns) VALUES (?, ...)``.
            rows: all of one scope of what is erased together.
            names: places of the values that tell the rows apart.
        """

    def rewrite(self, table: str) -> None:
        """Write the rows of a table anew, so that its pages hold nothing but them.

        A page that was split keeps what was moved out of it, whole rows, where `secure_delete`
        overwrites nothing later: a row is gone once its table was rewritten after its deletion.
        """


class Storage(Protocol):
    """The state of one service."""

    def transaction(self) -> Any:
        """Return a context that yields a Transaction: durable at its end, undone on error.

        One at a time, over all processes: what it reads stays true until its end.
        """

    def adding(self) -> Any:
        """Return a context as `transaction` does, that others may run beside it.

        What it reads may change before its end, except rows that it changed or holds: whoever
        else wants those waits.
        """

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return rows of committed state."""

    def read_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> list[list[Row]]:
        """Return rows of committed state, for each row of values."""

    def require_storable(self) -> None:
        """Raise what whoever stores something now would meet, as far as that can be told."""

    def forget(self) -> bool:
        """Make deleted rows unreadable in the files; False if someone else holds them open."""

    def close(self) -> None:
        """Release the files."""


class _SqliteTransaction:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> list[list[Row]]:
        return [self.execute(statement, row) for row in rows]

    def change(self, statement: str, values: Sequence[Any] = ()) -> int:
        return self._connection.execute(statement, values).rowcount

    def change_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(statement, rows)

    def hold(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        # There is one writer: nobody changes anything meanwhile.
        return self.execute(statement, values)

    def add_many(
        self,
        statement: str,
        rows: Iterable[Sequence[Any]],
        *,
        names: Sequence[int],  # noqa: ARG002
    ) -> list[bool]:
        return [self.change(statement, row) == 1 for row in rows]

    def rewrite(self, table: str) -> None:
        # Pages are overwritten as a whole when a table is emptied at once, or dropped.
        self.change(f"CREATE TABLE rewritten AS SELECT * FROM {table}")
        self.change(f"DELETE FROM {table}")
        self.change(f"INSERT INTO {table} SELECT * FROM rewritten")
        self.change("DROP TABLE rewritten")


class SqliteStorage:
    """One SQLite file, readable by its owner alone.

    WAL with synchronous=FULL: a commit survives power loss. secure_delete overwrites deleted
    rows; they remain in the log until `forget`, or `close`, overwrites it. Reading has a
    connection of its own, which waits for nobody that writes.

    Args:
        path: the file; made if it is not there.
        schema: numbered migrations, or statements that make the tables if they are not there.
        busy_seconds: how long to wait for another process that writes.

    Raises:
        InvalidData: a link, a folder, a file that is no database, or one that cannot be opened.

    >>> import tempfile
    >>> schema = "CREATE TABLE IF NOT EXISTS box (item TEXT);"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = SqliteStorage(folder + "/state.sqlite", schema)
    ...     with storage.transaction() as change:
    ...         _ = change.change("INSERT INTO box VALUES (?)", ("report",))
    ...     rows = storage.read("SELECT item FROM box")
    ...     storage.close()
    >>> rows
    [('report',)]
    """

    def __init__(
        self, path: Path | str, schema: Schema | str, *, busy_seconds: float = 30.0
    ) -> None:
        # Wherever the program goes later: SQLite stays with the file that it has opened.
        self.path = Path(path).absolute()
        obstacle = make_private(self.path)
        if obstacle:
            raise InvalidData(
                expected=f"a file of this service at {self.path}",
                got=obstacle,
                remedy=remedy_of(self.path, obstacle),
            )
        self._file, self._damage = identity(self.path), ""
        self._lock, self._reading_lock = threading.RLock(), threading.RLock()
        self._connection = sqlite3.connect(
            self.path, timeout=busy_seconds, isolation_level=None, check_same_thread=False
        )
        # One that nobody closed is closed before it is garbage: Python 3.13 warns of others.
        opened = [self._connection]
        self._log: list[_File] = []
        self._close = weakref.finalize(self, _close, opened, self.path, self._file, self._log)
        try:
            begin_log(self._connection, busy_seconds=busy_seconds)
            for statement in (
                "PRAGMA synchronous=FULL",
                "PRAGMA secure_delete=ON",
                "PRAGMA temp_store=MEMORY",
            ):
                self._connection.execute(statement)
            migrate_sqlite(self._connection, Schema.of(schema), str(self.path))
            self._reading = opened_to_read(self.path, busy_seconds=busy_seconds)
            opened.append(self._reading)
            # Rows that are sorted would go to a file that nothing overwrites.
            self._reading.execute("PRAGMA temp_store=MEMORY")
            # There from the first reading on, and the same until the last one closes.
            self._log.extend(log_files(self.path))
        except InvalidData:
            self._close()
            raise
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._close()
            # A refusal that has a piece of a damaged page in it cannot be read.
            sqlites = isinstance(error, sqlite3.Error)
            words = str(error) if sqlites else "its tables are damaged"
            raise InvalidData(
                expected="a file of this service",
                got=f"{self.path}: {words}",
                remedy=remedy_of(self.path, words),
            ) from None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Run statements that take effect together and are on disk afterwards.

        Raises:
            StorageFull: the disk is full; nothing took effect.
            StorageLocked: another process has written for longer than is waited.
            StorageDamaged: a page that is needed cannot be read; nothing took effect.
            StorageLost: the file, or its log, is not where it was: a restart would not find it.
        """
        with self._lock, self._noting_damage():
            self._require_in_place()
            self._begin()
            try:
                yield _SqliteTransaction(self._connection)
                self._connection.execute("COMMIT")
                self._require_in_place()
            except BaseException as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError) and "full" in str(error):
                    raise StorageFull(str(error)) from error
                raise

    def adding(self) -> Any:
        """Return a transaction: a file has one writer at a time."""
        return self.transaction()

    def _begin(self) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            raise StorageLocked(
                expected=f"{self.path} to be free",
                got="locked by another process",
                remedy="See which one writes to it, and end that",
            ) from error

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return rows of committed state, whoever writes meanwhile."""
        with self._reading_lock, self._noting_damage():
            return self._reading.execute(statement, values).fetchall()

    def read_many(self, statement: str, rows: Iterable[Sequence[Any]]) -> list[list[Row]]:
        """Return rows of committed state, for each row of values."""
        with self._reading_lock:
            return [self.read(statement, row) for row in rows]

    @contextmanager
    def _noting_damage(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            # What Python refuses itself has no code.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                raise
            self._damage = str(error)
            raise self._damaged(self._damage) from error

    def _damaged(self, words: str) -> StorageDamaged:
        return StorageDamaged(
            expected=f"the state of this service in {self.path}",
            got=words,
            remedy="See that the disk is sound, and restore the file as the guide says",
        )

    def is_in_place(self) -> bool:
        """Whether the file and its log are where they were: SQLite goes on in what was removed."""
        return (identity(self.path), log_files(self.path)) == (self._file, self._log)

    def _require_in_place(self) -> None:
        if not self.is_in_place():
            raise StorageLost(
                expected=f"the state of this service at {self.path}, and its log beside it",
                got="one of them is gone, or another one: nothing is stored there",
                remedy="Stop the service, put the file back if it was moved, and start again",
            )

    def require_storable(self) -> None:
        """Raise what whoever stores something now would meet; nothing where this process writes."""
        if self._damage:
            raise self._damaged(self._damage)
        self._require_in_place()
        if not self._lock.acquire(blocking=False):
            return
        try:
            ((usual,),) = self._connection.execute("PRAGMA busy_timeout")
            self._connection.execute(f"PRAGMA busy_timeout = {min(usual, _ASKED_MILLISECONDS)}")
            try:
                with self.transaction() as change:
                    # Of what it is already: a page is written all the same, as a quota that is
                    # used up, or a disk that fails, is met by nothing else.
                    ((known,),) = change.execute("PRAGMA application_id")
                    change.change(f"PRAGMA application_id = {known}")
            except sqlite3.OperationalError as error:
                if takes_nothing(error):
                    raise StorageFull(str(error)) from error
                raise
            finally:
                self._connection.execute(f"PRAGMA busy_timeout = {usual}")
        finally:
            self._lock.release()

    def forget(self) -> bool:
        """Overwrite the write-ahead log, where deleted rows would still be readable."""
        with self._lock:
            return _forget(self._connection, self.path, self._file, self._log)

    def close(self) -> None:
        """Close the file."""
        with self._reading_lock, self._lock:
            self._close()


def _forget(writing: sqlite3.Connection, path: Path, file: _File, log: list[_File]) -> bool:
    """Overwrite the log, unless the file or its log is another one than was opened."""
    if identity(path) not in (file, None) or (log and log_files(path) != log):
        return False
    return overwrite_log(writing, path)


def _close(opened: Sequence[sqlite3.Connection], path: Path, file: _File, log: list[_File]) -> None:
    """Close what writes and what reads; a log that could not be overwritten stays."""
    writing, overwritten = opened[0], False
    readers = list(opened[1:])
    with suppress(sqlite3.Error, UnicodeDecodeError):
        readers = readers or [opened_to_read(path)]
        # Who has it open after this one overwrites the log too: there is no need to wait.
        writing.execute("PRAGMA busy_timeout = 1000")
        overwritten = _forget(writing, path, file, log) and is_cut(path)
    # The last one to close brings the log into the file and removes it, which a reader cannot. Of
    # one that has no name any more nothing else would be left.
    at_last = overwritten or (log and log_files(path) != log)
    for connection in [*readers, writing] if at_last else [writing, *readers]:
        connection.close()
