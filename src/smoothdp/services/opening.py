"""Where a party keeps its state: a SQLite file in its directory, or PostgreSQL."""

from __future__ import annotations

from pathlib import Path

from smoothdp.errors import InvalidParameter, explain
from smoothdp.services.storage import SqliteStorage, Storage

STORAGE_FILE = "storage"
_POSTGRES = ("postgresql://", "postgres://")


def open_storage(directory: Path, role: str, schema: str, address: str | None = None) -> Storage:
    """Return the storage of a party.

    Args:
        directory: the party's; a SQLite file is made in it, or the keys of PostgreSQL's rows.
        role: "shuffler" or "analyzer".
        schema: the tables.
        address: ``postgresql://...``; by default the first line of the file ``storage`` in the
            directory, and without that file SQLite.

    Raises:
        InvalidParameter: another kind of address.
        InvalidData: a newer schema, or another service's.
    """
    file = directory / STORAGE_FILE
    if address is None and file.is_file():
        address = file.read_text(encoding="utf-8").strip()
    if address is None:
        return SqliteStorage(directory / f"{role}.sqlite", schema)
    if not address.startswith(_POSTGRES):
        raise InvalidParameter(
            explain(
                "storage at postgresql://...", address.split("@")[-1], "Leave it out for SQLite"
            )
        )
    from smoothdp.services.postgres import PostgresStorage

    return PostgresStorage(address, schema, role=role, key_file=directory / f"{role}.keys.sqlite")
