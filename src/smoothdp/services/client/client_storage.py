"""The file of a user's clients, whose failures are said to the user in words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from smoothdp.errors import InvalidData
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.storage import Row, SqliteStorage, StorageFull, Transaction


class ClientStorage(SqliteStorage):
    """An SQLite file of a person, not of a service: nobody looks at a log, or has another path.

    Raises:
        InvalidData: the file cannot be used; what to do. Of a full disk, of rights that are
            missing, and of a damaged file in all methods too.
    """

    def __init__(self, path: Path | str, schema: Schema) -> None:
        try:
            with in_words(Path(path)):
                super().__init__(path, schema)
        except InvalidData as error:
            later = str(error.got).startswith("version")
            raise InvalidData(
                expected=f"the state of this user's clients in {path}",
                got=f"tables of {error.got}" if later else error.got,
                remedy="Upgrade smoothdp" if later else _REMEDY,
            ) from None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Run statements that take effect together and are on disk afterwards."""
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


_REMEDY = (
    "Make room, or get the right to it. If it is damaged, move it away: this machine then begins "
    "anew, and the services take no second answer in a window"
)


@contextmanager
def in_words(path: Path) -> Iterator[None]:
    """Say of a file what is wrong with it, where SQLite alone knows."""
    try:
        yield
    except UnicodeDecodeError as error:
        # SQLite's words have a piece of the damaged page in them.
        raise damaged(path) from error
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
