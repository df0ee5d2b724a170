"""Ingest on PostgreSQL: `python -m benchmarks.services_postgres [--quick] [--slots M]`.

As `python -m benchmarks.services` measures it on SQLite: durable commits, over HTTP and in
groups without it. A server of its own on a socket, with its default settings.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from tests.services.storages import Current
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.postgres_server import PostgresServer

from benchmarks.services import argument, ingest, make_task


def main() -> None:
    """Measure on a server of its own."""
    slots = int(argument("--slots", 1))
    count = (800 if "--quick" in sys.argv else 8000) // slots
    try:
        server = PostgresServer()
    except pytest.skip.Exception as reason:
        sys.exit(str(reason))
    Current.server = server
    try:
        with tempfile.TemporaryDirectory() as directory:
            ingest("PostgreSQL", PartyWorld(Path(directory), make_task(slots)), count)
    finally:
        Current.server = None
        server.remove()


if __name__ == "__main__":
    main()
