"""Ingest on PostgreSQL beside SQLite: `python -m benchmarks.services_postgres [users]`.

Durable commits on both; a server of its own on a socket, with its default settings. Groups of
256 without HTTP, as group commit makes them under load; then sealing.
"""

from __future__ import annotations

import secrets
import sys
import tempfile
import time
from pathlib import Path

import pytest
from tests.services.postgres_server import PostgresServer

from benchmarks.services import ISSUING_KEY, line, make_task, make_uploads
from smoothdp.services.shuffler.sealing import seal_window
from smoothdp.services.shuffler.shuffler import Shuffler
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.party_storage import open_storage
from smoothdp.services.wire.calls import Outcome

GROUP = 256


def measure(name: str, address: str | None, directory: Path, users: int) -> None:
    """Print how many bundles of one slot a second are taken, and how many slots are sealed."""
    task = make_task(1)
    storage = open_storage(directory, "shuffler", SHUFFLER_SCHEMA, address)
    shuffler = Shuffler(storage, tasks=[task], issuing_key=ISSUING_KEY)
    uploads = make_uploads(shuffler, task, users)
    for group in (1, GROUP):
        taken, uploads = uploads[: users // (10 if group == 1 else 1)], uploads[users // 10 :]
        began = time.perf_counter()
        for start in range(0, len(taken), group):
            outcomes = shuffler.accept(taken[start : start + group])
            assert set(outcomes) == {Outcome.ACCEPTED}
        line(
            f"{name}, ingest in groups of {group}",
            len(taken),
            time.perf_counter() - began,
            "bundle",
        )
    began = time.perf_counter()
    sealed = seal_window(shuffler, task, shuffler.window_now(task))
    assert sealed is not None
    line(f"{name}, seal", sealed.users, time.perf_counter() - began, "slot")
    storage.close()


def main() -> None:
    """Measure both."""
    users = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    try:
        server = PostgresServer()
    except pytest.skip.Exception as reason:
        print(f"Services on PostgreSQL: not run, {reason}")
        return
    try:
        with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
            measure("SQLite", None, Path(first), users)
            name = server.schema_for(Path(secrets.token_hex(4)), "shuffler")
            measure("PostgreSQL", name, Path(second), users)
    finally:
        server.remove()


if __name__ == "__main__":
    main()
