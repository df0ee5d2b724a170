"""On which storage the tests of the services run now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.party_storage import open_storage
from smoothdp.services.store.storage import SqliteStorage, Storage
from tests.services.worlds.postgres_server import PostgresServer

SQLITE, POSTGRESQL = "sqlite", "postgresql"
ONLY_SQLITE = pytest.mark.parametrize("storage_kind", [SQLITE], indirect=True)
ONLY_POSTGRESQL = [
    pytest.mark.slow,
    pytest.mark.parametrize("storage_kind", [POSTGRESQL], indirect=True),
]
ON_BOTH_STORAGES = pytest.mark.usefixtures("storage_kind")
"""Runs a test on both storages in a module that has neither PartyWorld nor WholeWorld."""


class Current:
    """The server if the present test runs on PostgreSQL, else None."""

    server: PostgresServer | None = None


def open_state(directory: Path, role: str, schema: Schema | str) -> Storage:
    """Open the state of a service in a directory, on the storage of the present test."""
    server = Current.server
    address = None if server is None else server.schema_for(directory, role)
    return open_storage(directory, role, schema, address)


def without_waiting_for_disks(storage: Any) -> None:
    """Let commits return before they are on disk, for tests of many runs."""
    if isinstance(storage, SqliteStorage):
        storage._connection.execute("PRAGMA synchronous=OFF")
    else:
        for line in (storage._writing, storage._adding):
            line.connected().execute("SET synchronous_commit TO off")
        without_waiting_for_disks(storage._keys._storage)


def files_of(directory: Path, role: str) -> bytes:
    """Return all bytes that the storage of a service keeps on disk, its keys included."""
    own = b"".join(p.read_bytes() for p in directory.glob(f"{role}.*sqlite*") if p.is_file())
    return own if Current.server is None else own + Current.server.bytes_of_everything()
