"""A fifth round of attacks: erasure, answers, checks and certificates, two faults at a time."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.ledger import Ledger
from smoothdp.services import AnalyzerParty, ShufflerParty, on_loopback
from smoothdp.services.analyzer.release import work
from smoothdp.services.check import check_party
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.party_storage import number_in_postgres, open_storage
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.calls import ServiceError, ask
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.issuing_world import WINDOW
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.postgres_server import PostgresServer
from tests.services.worlds.small_tasks import small_task

pytestmark = ONLY_SQLITE


def state_of(directory: Path) -> dict[str, bytes]:
    """Return all files of a directory with their bytes."""
    return {path.name: path.read_bytes() for path in directory.iterdir()}


# ---- an answer that is small on the wire alone


def test_a_compressed_answer_is_not_unpacked(storage_kind: str) -> None:  # noqa: ARG001
    """500 bytes, packed twice, are 200 MB; a third time, more than there is."""
    packed = gzip.compress(gzip.compress(bytes(40_000_000), 9), 9)
    assert len(packed) < 1000
    read: list[int] = []

    def body() -> Iterator[bytes]:
        read.append(len(packed))
        yield packed

    for coding in ("gzip, gzip", "GZIP", "deflate", "br", "gzip,identity"):
        transport = httpx.MockTransport(
            lambda _, coding=coding: httpx.Response(
                200, headers={"content-encoding": coding}, content=body()
            )
        )
        with (
            httpx.Client(base_url="https://x", transport=transport) as http,
            pytest.raises(ServiceError, match="a compressed one"),
        ):
            ask(http, "GET", "/")
    assert read == []
    transport = httpx.MockTransport(
        lambda _: httpx.Response(200, headers={"content-encoding": "identity"}, content=b"as is")
    )
    with httpx.Client(base_url="https://x", transport=transport) as http:
        assert ask(http, "GET", "/").body == b"as is"


# ---- a check of a directory whose state is in PostgreSQL


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


# ---- the ledger's log, while somebody reads the ledger


def test_a_charge_that_was_read_beside_is_in_the_one_file_after_the_next_round(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Somebody who shows or copies the ledger during a release keeps its log from being emptied."""
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    world.open_window()
    world.send_many(12)
    world.seal()
    world.deliver()
    path = world.analyzer.ledger.path
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
        assert work(world.analyzer) == 1
    work(world.analyzer)
    (tmp_path / "backup").mkdir()
    copy = shutil.copy(path, tmp_path / "backup")
    assert [int(one.parameters["window"]) for one in Ledger(copy).entries()] == [WINDOW]
    world.close()


# ---- a file of window keys that was lost, or left behind in a move


@pytest.mark.parametrize("role", ["shuffler", "analyzer"])
def test_a_lost_file_of_window_keys_is_named(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    role: str,
) -> None:
    """Else every person is told for a day that the window is over, or gives an answer in vain."""
    written = party_directories(tmp_path, has_issuer=False)
    window = written.task.window_at(time.time())

    def started() -> tuple[ShufflerParty, AnalyzerParty]:
        shuffler = ShufflerParty.from_directory(written.shuffler)
        return shuffler, AnalyzerParty.from_directory(written.analyzer)

    def named(parties: tuple[ShufflerParty, AnalyzerParty]) -> list[bool]:
        party = parties[role == "analyzer"]
        directory = party.directory
        checked = [one for one in check_party(directory) if one.name == "keys"]
        asked = [party._operations(10.0).checks["keys"]()]
        return [one.good for one in checked + asked]

    parties = started()
    with on_loopback(parties[1].app(work_seconds=60)) as url:
        parties[0].work(url)
    assert parties[0].shuffler.cards.is_given(window)
    assert named(parties) == [True, True]
    for party in parties:
        party.close()
    parties[role == "analyzer"].keys.path.unlink()
    parties = started()
    assert named(parties) == [False, False]
    for party in parties:
        party.close()


# ---- published results, as collectors keep them


def test_results_under_any_name_are_looked_at_and_a_folder_without_any_is_said(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The only thing that tells of a machine that was set back must not pass what it was given."""
    written = party_directories(tmp_path)
    party = AnalyzerParty.from_directory(written.analyzer)
    key, name = party.analyzer.sign_key, party.task.task_id.hex()
    party.close()

    def ledger() -> tuple[bool, str]:
        found = check_party(written.analyzer, results=tmp_path / "kept")
        return next((one.good, one.says) for one in found if one.name == "ledger")

    (tmp_path / "kept" / "of may").mkdir(parents=True)
    (tmp_path / "kept" / "notes.txt").write_text("{}")
    good, says = ledger()
    assert not good
    assert says.startswith("nothing to compare: no file in ")
    refused = {"task_id": name, "window": 6, "state": "REFUSED", "reason": "the budget"}
    (tmp_path / "kept" / "6").write_bytes(SignedResult.sign(refused, key).encode())
    assert ledger() == (True, "whole; windows charged: 0; signed results compared: 1")
    result = SignedResult.sign({"task_id": name, "window": 8}, key)
    (tmp_path / "kept" / "of may" / "eighth result").write_bytes(result.encode())
    good, says = ledger()
    assert not good
    assert "such as 8" in says


# ---- what a directory may be called


@pytest.mark.parametrize("name", ["a?mode=memory", "b#c", "100%41", "ünï", "new\nline", b"bad\xff"])
def test_a_party_moves_to_a_directory_of_any_name(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    name: str | bytes,
) -> None:
    written = party_directories(tmp_path / "before")
    directory = written.analyzer.rename(tmp_path / os.fsdecode(name))
    party = AnalyzerParty.from_directory(directory)
    party.analyzer.ledger.charge(7)
    party.close()
    (ledger,) = (one for one in check_party(directory) if one.name == "ledger")
    assert ledger.says == "whole; windows charged: 1"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([directory.name, "before"])


# ---- a start on a disk that takes nothing more


def test_a_disk_that_takes_nothing_is_no_reason_for_another_path(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Beside a state that is there, its log cannot be opened: SQLite calls that an I/O error."""
    resource = pytest.importorskip("resource")
    path, schema = tmp_path / "gateway.sqlite", "CREATE TABLE IF NOT EXISTS box (item TEXT);"
    SqliteStorage(path, schema).close()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        with pytest.raises(InvalidData) as refused:
            SqliteStorage(path, schema)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "disk I/O error" in str(refused.value)
    assert "Make room on the disk" in str(refused.value)
    assert "another path" not in str(refused.value)


# ---- the address of another, empty database


@pytest.mark.slow
def test_an_empty_database_does_not_erase_the_keys_of_another_one(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    postgres_server: PostgresServer,
) -> None:
    """A schema that is left out of the address: acknowledged reports would be gone for good."""
    directory = party_directories(tmp_path).shuffler
    right = postgres_server.schema_for(directory, "shuffler")
    wrong = postgres_server.schema_for(directory, "mistaken")
    state = open_storage(directory, "shuffler", SHUFFLER_SCHEMA, right)
    report = (
        "INSERT INTO pending (task_id, window, sender_tag, report_id, slots) VALUES (?, ?, ?, ?, ?)"
    )
    opened = "INSERT INTO collecting (task_id, window, state, tag_key) VALUES (?, ?, ?, ?)"
    with state.transaction() as change:
        change.change(opened, (b"t", 7, "OPEN", b"k" * 32))
        change.change(report, (b"t", 7, b"s", b"r" * 16, b"slots"))
    state.close()
    with pytest.raises(InvalidData, match="an empty one"):
        open_storage(directory, "shuffler", SHUFFLER_SCHEMA, wrong)
    for address, good in ((wrong, False), (right, True)):
        (directory / "storage").write_text(address)
        (directory / "storage").chmod(0o600)
        (found,) = (one for one in check_party(directory) if one.name == "storage")
        assert found.good is good
    state = open_storage(directory, "shuffler", SHUFFLER_SCHEMA, right)
    state.forget()
    assert state.read("SELECT slots FROM pending") == [(b"slots",)]
    state.close()
    # Whoever has lost the database begins anew without the keys.
    (directory / "shuffler.keys.sqlite").unlink()
    state = open_storage(directory, "shuffler", SHUFFLER_SCHEMA, wrong)
    assert state.forget()
    state.close()
