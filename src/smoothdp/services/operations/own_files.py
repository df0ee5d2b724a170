"""A party's directory: are its files there, its owner's alone, and of this time."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from smoothdp.errors import InvalidData
from smoothdp.services.operations.health import Condition
from smoothdp.services.operations.logs import Cause
from smoothdp.services.store.erasable_keys import name_of
from smoothdp.services.store.migrations import Schema, number_of, require_tables
from smoothdp.services.store.party_storage import (
    STORAGE_FILE,
    number_in_postgres,
    rows_in_postgres,
)

_MOST_AHEAD_SECONDS = 60.0


def files_condition(directory: Path, needed: Sequence[str]) -> Condition:
    """Whether a directory has the files that its party needs.

    >>> files_condition(Path("nowhere"), ["task.json"]).says
    'no directory nowhere: give the one that smoothdp task create made'
    """
    if not directory.is_dir():
        return Condition(
            "files", False, f"no directory {directory}: give the one that smoothdp task create made"
        )
    missing = [name for name in needed if not (directory / name).is_file()]
    if missing:
        return Condition(
            "files", False, f"no {', '.join(missing)} in {directory}: is it a party's directory?"
        )
    return Condition("files", True, f"{len(needed)} files in {directory}")


def rights_condition(directory: Path, *, public: Sequence[str] = ()) -> Condition:
    """Whether the owner may write what is in a directory, and nobody else read or write it.

    Args:
        directory: a party's.
        public: names of files that others may read, and not write.
    """
    wrong, owner = [], _expected_owner(directory)
    for path in [directory, *sorted(directory.iterdir())]:
        info, rights = path.lstat(), 0o022 if path.name in public else 0o077
        if stat.S_ISLNK(info.st_mode):
            wrong.append(f"{path} is a link")
        elif path.is_dir() and path != directory:
            continue
        elif stat.S_IMODE(info.st_mode) & rights:
            wrong.append(f"others have rights on {path}")
        elif owner is not None and info.st_uid != owner:
            whose = "who asks" if owner == os.geteuid() else f"{directory}"
            wrong.append(f"{path} is another user's than {whose}")
    if wrong:
        return Condition("rights", False, f"{'; '.join(wrong)}: chmod go= them, or chown")
    databases = sorted(p for p in directory.iterdir() if p.suffix in (".sqlite", ".db"))
    fixed = [path.name for path in (directory, *databases) if not os.access(path, os.W_OK)]
    if fixed:
        words = f"{', '.join(fixed)} cannot be written: chmod u+w, or mount for writing"
        return Condition("rights", False, words)
    return Condition("rights", True, "files are their owner's alone")


def _expected_owner(directory: Path) -> int | None:
    """Return who should own a party's files: who asks, or, of root, whose directory it is."""
    if not hasattr(os, "geteuid"):
        return None
    asks = os.geteuid()
    return asks if asks else directory.stat().st_uid


def storage_file_condition(path: Path, schema: Schema | str) -> Condition:
    """Whether a SQLite file is one that this program can use; it may be in use meanwhile."""
    if not path.exists():
        return Condition("storage", True, f"none yet, {path.name} is made at the first start")
    if not path.is_file():
        return Condition("storage", False, f"{path.name} is no file: move it away", Cause.DISK)
    number = Schema.of(schema).number
    try:
        with _opened(path) as connection:
            has = number_of(connection)
            Schema.of(schema).missing(has, path.name)
            require_tables(connection, Schema.of(schema), path.name)
            ((verdict,),) = connection.execute("PRAGMA integrity_check(1)")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        cause = Cause.LOCKED if "locked" in str(error) else Cause.DISK
        # A refusal that has a piece of a damaged page in it cannot be read.
        words = str(error) if isinstance(error, sqlite3.Error) else "its tables are damaged"
        return Condition("storage", False, f"{path.name} cannot be read: {words}", cause)
    if verdict != "ok":
        return Condition("storage", False, f"{path.name} is damaged: {verdict}", Cause.DISK)
    return _tables_condition(path.name, has, number)


def postgres_condition(directory: Path, role: str, schema: Schema | str) -> Condition:
    """Whether the database that a directory names is one that this program can use.

    A start would make its tables, or take them to its own number: nothing of that is done here.
    """
    keys = directory / f"{role}.keys.sqlite"
    marks = read_rows(keys, "SELECT mark FROM mark") if keys.is_file() else []
    name = name_of(bytes(marks[0][0])) if marks else None
    has = number_in_postgres(directory, role, schema, name=name)
    if not has:
        scopes = read_rows(keys, "SELECT scope FROM data_key") if keys.is_file() else []
        if scopes:
            words = f"an empty database, and keys of rows in {keys.name}: check its address"
            return Condition("storage", False, words)
        return Condition("storage", True, "PostgreSQL answers; tables are made at the first start")
    return _tables_condition("PostgreSQL", has, Schema.of(schema).number)


def _tables_condition(where: str, has: int, number: int) -> Condition:
    later = "" if has == number else f", which the next start takes to {number}"
    return Condition("storage", True, f"{where} has tables of version {has}{later}")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    # Where nobody has it open, reading must not leave a log beside it.
    used = path.with_name(path.name + "-wal").exists()
    how = "mode=ro" if used else "immutable=1"
    connection = sqlite3.connect(f"file:{quote(os.fsencode(path.absolute()))}?{how}", uri=True)
    try:
        yield connection
    finally:
        connection.close()


def read_rows(path: Path, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Return rows of a SQLite file that may be in use; nothing is left beside it.

    Raises:
        InvalidData: no such table, or no database.
    """
    try:
        with _opened(path) as connection:
            return connection.execute(statement, values).fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise InvalidData(
            expected=f"the state of this party in {path}",
            got=str(error) if isinstance(error, sqlite3.Error) else "a damaged page",
            remedy="Give the directory that this party serves from",
        ) from error


def rows_of_file(
    path: Path, table: str, statement: str, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return rows of a file that need not be there; none if an earlier program made it."""
    tables = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    if not path.is_file() or not read_rows(path, tables, (table,)):
        return []
    return read_rows(path, statement, values)


def rows_of_party(
    directory: Path, role: str, table: str, statement: str, values: Sequence[Any] = ()
) -> list[tuple[Any, ...]]:
    """Return rows of a party's state, in its file or in the PostgreSQL that it names; change none.

    Raises:
        SmoothdpError: why they cannot be read.
    """
    if (directory / STORAGE_FILE).is_file():
        return rows_in_postgres(directory, table, statement, values)
    return rows_of_file(directory / f"{role}.sqlite", table, statement, values)


@contextmanager
def copied(path: Path) -> Iterator[Path]:
    """Yield a copy of a SQLite file, as it is now, in a folder that goes again.

    What opens a ledger may write to it: it takes its log into the file.

    Raises:
        InvalidData: no database.
    """
    with TemporaryDirectory(prefix="smoothdp-") as folder:
        copy = Path(folder, path.name)
        try:
            with _opened(path) as source, closing(sqlite3.connect(copy)) as target:
                source.backup(target)
        except sqlite3.Error as error:
            raise InvalidData(
                expected=f"a ledger in {path}",
                got=str(error),
                remedy="Restore the newest copy of it",
            ) from error
        yield copy


def time_condition(directory: Path) -> Condition:
    """Whether the clock is behind the newest file of a directory: it was set back, then.

    >>> time_condition(Path(".")).name
    'clock'
    """
    newest = max((p.stat().st_mtime for p in directory.iterdir() if p.is_file()), default=0.0)
    ahead = newest - time.time()
    if ahead > _MOST_AHEAD_SECONDS:
        return Condition(
            "clock",
            False,
            f"{ahead:.0f} seconds behind the newest file in {directory}: set the clock",
            Cause.CLOCK,
        )
    return Condition("clock", True, "not behind the files of the directory")
