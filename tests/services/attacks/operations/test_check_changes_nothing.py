"""A check of a directory looks, and changes nothing of it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.check import check_party
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.party_storage import number_in_postgres, open_storage
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.postgres_server import PostgresServer


def state_of(directory: Path) -> dict[str, bytes]:
    """Return all files of a directory with their bytes."""
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@ONLY_SQLITE
@pytest.mark.slow
def test_a_check_makes_no_tables_and_takes_none_to_another_number(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    postgres_server: PostgresServer,
) -> None:
    psycopg = pytest.importorskip("psycopg")
    directory = party_directories(tmp_path).shuffler
    address = postgres_server.schema_for(directory, "shuffler")
    (directory / "storage").write_text(address)
    (directory / "storage").chmod(0o600)

    def says() -> str:
        before = state_of(directory)
        (found,) = (one for one in check_party(directory) if one.name == "storage")
        assert state_of(directory) == before
        assert found.good
        return found.says

    def tables() -> list[tuple[str]]:
        with psycopg.connect(address) as connection:
            query = "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
            return list(connection.execute(query).fetchall())

    assert says() == "PostgreSQL answers; tables are made at the first start"
    assert tables() == []
    # The tables of the program before, which may be running.
    before = Schema(SHUFFLER_SCHEMA.migrations[:1], first=2)
    open_storage(directory, "shuffler", before, address).close()
    assert says() == "PostgreSQL has tables of version 2, which the next start takes to 4"
    with psycopg.connect(address) as connection:
        assert connection.execute("SELECT version FROM smoothdp_state").fetchone() == (2,)
    open_storage(directory, "shuffler", SHUFFLER_SCHEMA, address).close()
    assert says() == "PostgreSQL has tables of version 4"
    (directory / "storage").unlink()
    assert says().startswith("in PostgreSQL at an address that is given at the start")
    (directory / "storage").write_text(address)
    # What a start would refuse is refused here.
    for role, words in (("shuffler", "the keys that the rows"), ("analyzer", "of the analyzer's")):
        (directory / "shuffler.keys.sqlite").rename(directory / "moved")
        with pytest.raises(InvalidData, match=words):
            number_in_postgres(directory, role, SHUFFLER_SCHEMA, name=None)
        (directory / "moved").rename(directory / "shuffler.keys.sqlite")


def test_a_check_after_a_kill_leaves_the_ledger_as_it_is(tmp_path: Path) -> None:
    written = party_directories(tmp_path / "t")
    AnalyzerParty.from_directory(written.analyzer).close()
    ledger = next(written.analyzer.glob("ledger-*.db"))
    # A process that was killed leaves its log beside the file.
    kept = tmp_path / "kept"
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE more (x)")
        connection.commit()
        shutil.copytree(written.analyzer, kept)
    shutil.rmtree(written.analyzer)
    shutil.copytree(kept, written.analyzer)
    written.analyzer.chmod(0o700)

    def contents() -> dict[str, bytes]:
        files = [p for p in written.analyzer.iterdir() if not p.name.endswith("-shm")]
        return {p.name: p.read_bytes() for p in files}

    before = contents()
    assert any(name.endswith(".db-wal") and data for name, data in before.items())
    found = {one.name: one for one in check_party(written.analyzer)}
    assert found["ledger"].good
    assert contents() == before

    # What is wrong with it names it, and not a copy.
    ledger.write_bytes(b"no database" * 1000)
    ledger.with_name(ledger.name + "-wal").unlink()
    found = {one.name: one for one in check_party(written.analyzer)}
    assert not found["ledger"].good
    assert str(ledger) in found["ledger"].says
    assert ledger.read_bytes() == b"no database" * 1000


def test_the_check_of_the_container_goes_past_a_proxy() -> None:
    text = (Path(__file__).parents[4] / "deploy" / "Containerfile").read_text()
    line = next(x for x in text.splitlines() if x.strip().startswith('CMD ["python"'))
    command = json.loads(line.strip().removeprefix("CMD "))[2]

    def healthy(port: str) -> bool:
        environment = {
            **os.environ,
            "HTTP_PROXY": "http://127.0.0.1:1",
            "http_proxy": "http://[::1]",
        }
        program = [sys.executable, "-c", command.replace("9600", port)]
        return subprocess.run(program, env=environment, capture_output=True).returncode == 0

    async def alive(_: Request) -> Response:
        return Response("ok")

    async def ill(_: Request) -> Response:
        return Response("no", 503)

    for answer, expected in ((alive, True), (ill, False)):
        with on_loopback(Starlette(routes=[Route("/livez", answer)])) as address:
            assert healthy(address.rpartition(":")[2]) is expected
    assert not healthy("1")
