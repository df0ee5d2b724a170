"""The file of a user's clients, whose failures are said to the user in words."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from smoothdp.errors import InvalidData
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.storage import (
    Row,
    SqliteStorage,
    StorageFull,
    StorageLost,
    Transaction,
)

_open = weakref.WeakSet["ClientStorage"]()
_inherited = threading.Event()
"""Whether this process, or one before it, was forked while a file was open there."""


def _after_fork() -> None:
    if _open:
        _inherited.set()


os.register_at_fork(after_in_child=_after_fork)


class ClientStorage(SqliteStorage):
    """An SQLite file of a person, not of a service: nobody looks at a log, or has another path.

    Raises:
        InvalidData: the file cannot be used; what to do. Of a full disk, of rights that are
            missing, and of a damaged file in all methods too. In a process that was forked while
            one was open, always.
    """

    def __init__(self, path: Path | str, schema: Schema) -> None:
        _require_no_fork(Path(path))
        # Before it has any lock.
        _open.add(self)
        try:
            with in_words(Path(path)):
                super().__init__(path, schema)
        except InvalidData as error:
            # What was opened is closed.
            _open.discard(self)
            later = str(error.got).startswith("version")
            raise InvalidData(
                expected=f"the state of this user's clients in {path}",
                got=f"tables of {error.got}" if later else error.got,
                remedy="Upgrade smoothdp" if later else _REMEDY,
            ) from None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Run statements that take effect together and are on disk afterwards."""
        _require_no_fork(self.path)
        with in_words(self.path), super().transaction() as change:
            yield change

    def read(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        """Return rows of committed state, whoever writes meanwhile."""
        with in_words(self.path):
            return super().read(statement, values)

    def forget(self) -> bool:
        """Overwrite the write-ahead log, where deleted rows would still be readable."""
        with in_words(self.path):
            return super().forget()

    def close(self) -> None:
        """Close the file."""
        super().close()
        _open.discard(self)


_REMEDY = (
    "Make room, or get the right to it. If it is damaged, move it away: this machine then begins "
    "anew, and the services take no second answer in a window"
)


def _require_no_fork(path: Path) -> None:
    """Refuse a process whose SQLite takes the locks of the one before for its own.

    A child inherits what SQLite notes of locks in memory, and none of the locks. A connection that
    it makes to the same file asks the system for none then, and whoever else ends takes the log
    away in which it writes: a draw would be lost that was sent
    (https://www.sqlite.org/howtocorrupt.html, 2.6).
    """
    if _inherited.is_set():
        raise InvalidData(
            expected=f"a process that may use the state of this user's clients in {path}",
            got="one that was forked while another call had it open",
            remedy=(
                "Start processes by multiprocessing's spawn or forkserver, or while no call runs: "
                "locks of SQLite do not go on to a child"
            ),
        )


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Say of a file what is wrong with it, where SQLite alone knows."""
    try:
        yield
    except UnicodeDecodeError as error:
        # SQLite's words have a piece of the damaged page in them.
        raise damaged(path) from error
    except StorageLost as error:
        raise InvalidData(
            expected=f"the state of this user's clients in {path}, and its log beside it",
            got="one of them moved or removed since this program opened it",
            remedy="Put it back if it was moved, and try again",
        ) from error
    except (StorageFull, sqlite3.Error) as error:
        raise _unusable(path, f"{error}") from error


def damaged(path: Path) -> InvalidData:
    """Return what is said of a file whose rows are not what was stored in them."""
    return _unusable(path, "a damaged one")


def _unusable(path: Path, why: str) -> InvalidData:
    return InvalidData(
        expected=f"to read and write the state of this user's clients in {path}",
        got=why,
        remedy=_REMEDY,
    )
