"""Where a party keeps its state: a SQLite file in its directory, or PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.storage import Row, SqliteStorage, Storage

STORAGE_FILE = "storage"
_POSTGRES = ("postgresql://", "postgres://")


def open_storage(
    directory: Path, role: str, schema: Schema | str, address: str | None = None
) -> Storage:
    """Return the storage of a party.

    Args:
        directory: the party's; a SQLite file is made in it, or the keys of PostgreSQL's rows.
        role: "shuffler" or "analyzer".
        schema: the tables, or their numbered migrations.
        address: ``postgresql://...``; by default the first line of the file ``storage`` in the
            directory, and without that file SQLite.

    Raises:
        InvalidParameter: another kind of address.
        InvalidData: a newer schema, another service's, or the party's state is elsewhere.
    """
    if address is None:
        address = named_address(directory)
    sqlite, keys = directory / f"{role}.sqlite", directory / f"{role}.keys.sqlite"
    # Beside the state that there is, another would begin empty: replays would count.
    if address is None:
        _require_absent(
            keys, "rows in PostgreSQL", f"Name it with --storage or in the file {STORAGE_FILE}"
        )
        return SqliteStorage(sqlite, schema)
    _require_postgres(address)
    _require_absent(sqlite, "state in SQLite", "Leave --storage out, or move that file away")
    from smoothdp.services.store.postgres import PostgresStorage

    return PostgresStorage(address, schema, role=role, key_file=keys)


def number_in_postgres(
    directory: Path, role: str, schema: Schema | str, *, name: str | None
) -> int:
    """Return the number of a party's tables at the address in its directory; change nothing there.

    Args:
        directory: the party's.
        role: "shuffler" or "analyzer".
        schema: what this program works with.
        name: of the file of erasable keys that is there; None without one.

    Raises:
        SmoothdpError: why a start would be refused.
    """
    address = named_address(directory) or ""
    _require_postgres(address)
    sqlite, keys = directory / f"{role}.sqlite", directory / f"{role}.keys.sqlite"
    _require_absent(sqlite, "state in SQLite", "Leave --storage out, or move that file away")
    from smoothdp.services.store.postgres import number_at

    return number_at(address, schema, role=role, key_file=keys, name=name)


def rows_in_postgres(
    directory: Path, table: str, statement: str, values: Sequence[Any] = ()
) -> list[Row]:
    """Return rows at the address in a party's directory, as they lie there; none without the table.

    Raises:
        SmoothdpError: why they cannot be read.
    """
    address = named_address(directory) or ""
    _require_postgres(address)
    from smoothdp.services.store.postgres import rows_at

    return rows_at(address, table, statement, values)


def named_address(directory: Path) -> str | None:
    """Return the first line of the file ``storage``, None if there is no such file."""
    file = directory / STORAGE_FILE
    if not file.is_file():
        return None
    try:
        return file.read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        raise InvalidData(
            expected=f"the address of a database in {file}",
            got="bytes that are no text",
            remedy="Write postgresql://... into it, in UTF-8",
        ) from None


def _require_postgres(address: str) -> None:
    if not address.startswith(_POSTGRES):
        kind = address.partition("://")[0] if "://" in address else "another text"
        raise InvalidParameter(
            expected="storage at postgresql://...",
            got=kind,
            remedy="Leave --storage out for SQLite",
        )


def _require_absent(file: Path, state: str, remedy: str) -> None:
    if file.exists():
        raise InvalidData(
            expected="the storage that the party has used", got=f"{state} ({file})", remedy=remedy
        )
