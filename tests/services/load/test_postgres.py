"""What only PostgreSQL has: what deletion leaves behind, lost servers, versions, addresses."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from smoothdp.cli.serving.serve import serve
from smoothdp.errors import InvalidData, InvalidParameter, SmoothdpError
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.formats.design.agreeing import agree_on_one_host
from smoothdp.services.formats.report import seal_report
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.party_storage import STORAGE_FILE, open_storage
from smoothdp.services.store.postgres_dialect import HIDDEN, hidden_place, statement_of
from smoothdp.services.store.storage import SqliteStorage, StorageFull, StorageUnreachable
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import POSTGRESQL, Current, files_of
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.postgres_server import PostgresServer
from tests.services.worlds.small_tasks import small_task

on_postgresql = pytest.mark.parametrize(
    "storage_kind", [pytest.param(POSTGRESQL, marks=pytest.mark.slow)], indirect=True
)
on_sqlite = pytest.mark.parametrize("storage_kind", ["sqlite"], indirect=True)


def server() -> PostgresServer:
    assert Current.server is not None
    return Current.server


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PartyWorld]:
    made = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    made.open_window()
    yield made
    made.close()


@on_postgresql
@pytest.mark.parametrize("users", [3, 30])
def test_36_nothing_of_a_closed_window_can_be_read_in_the_servers_files(
    world: PartyWorld, users: int
) -> None:
    world.send_many(users)
    storage = world.shuffler.storage
    slots = [bytes(r[0]) for r in storage.read("SELECT slots FROM pending")]
    tag_keys = [bytes(r[0]) for r in storage.read("SELECT tag_key FROM collecting")]
    keys = storage._keys  # type: ignore[attr-defined]
    data_keys = [bytes(r[0]) for r in keys._storage.read("SELECT secret FROM data_key")]
    assert len(data_keys) == 2
    sealed = Path(keys.path).read_bytes() + Path(f"{keys.path}-wal").read_bytes()
    assert all(key in sealed for key in data_keys)
    # Sealed from the start: the server never has them in the clear, its log included.
    assert not any(value in server().bytes_of_everything() for value in [*slots, *tag_keys])
    world.seal()
    if users >= world.task.min_batch:
        world.deliver()
        assert storage.read("SELECT state FROM batch") == [("PURGED",)]
    # What the server may still have of them can no longer be opened: the keys are gone.
    assert keys.scopes() == []
    found = files_of(world.folder, "shuffler")
    assert not any(key in found for key in data_keys)


@on_postgresql
def test_rows_without_their_key_file_are_refused(world: PartyWorld) -> None:
    world.send_many(3)
    world.shuffler.storage.close()
    for path in world.folder.glob("shuffler.keys.sqlite*"):
        path.rename(path.with_name("away" + path.name[8:]))
    address = server().schema_for(world.folder, "shuffler")
    with pytest.raises(InvalidData, match="Find that file"):
        open_storage(world.folder, "shuffler", SHUFFLER_SCHEMA, address)


@on_postgresql
def test_47_a_full_server_loses_nothing(world: PartyWorld) -> None:
    world.send_many(3)
    storage = world.shuffler.storage
    full = (
        "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION "
        "'could not extend file' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql"
    )
    connection = storage._writing.connected()  # type: ignore[attr-defined]
    connection.execute(full)
    connection.execute(
        "CREATE TRIGGER full_disk BEFORE INSERT ON pending "
        "FOR EACH ROW EXECUTE FUNCTION full_disk()"
    )
    late, secret = world.report(1), world.new_pass()
    with pytest.raises(StorageFull):
        world.send(late, secret)
    assert world.shuffler.totals()["pending"] == 3
    connection.execute("DROP TRIGGER full_disk ON pending")
    assert world.send(late, secret) is Taken.ACCEPTED
    assert world.shuffler.totals()["pending"] == 4


@on_postgresql
def test_50_a_locked_database_is_waited_for(world: PartyWorld) -> None:
    import psycopg

    world.send_many(14)
    address = server().schema_for(world.folder, "shuffler")
    with psycopg.connect(address) as other:
        other.execute("SELECT pg_advisory_xact_lock('smoothdp_state'::regclass::oid::bigint)")
        # Reports do not need the writers' lock; whoever closes the window waits for it.
        assert world.send(world.report(1)) is Taken.ACCEPTED
        with ThreadPoolExecutor(1) as pool:
            sealing = pool.submit(world.seal)
            with pytest.raises(TimeoutError):
                sealing.result(timeout=0.5)
            other.rollback()
            assert [sealed.users for sealed in sealing.result(timeout=20)] == [15]


@on_postgresql
def test_a_server_that_crashes_loses_nothing_acknowledged(world: PartyWorld) -> None:
    world.send_many(13)
    server().stop("immediate")
    for _ in range(2):
        with pytest.raises(OSError, match="PostgreSQL server"):
            world.shuffler.storage.read("SELECT 1")
    server().start()
    # Where one of a storage's connections was lost, all are made anew.
    world.send_many(2)
    assert world.shuffler.totals()["pending"] == 15
    # The analyser's are gone as well: it notices at the next use, and then connects.
    with pytest.raises(OSError, match="PostgreSQL server"):
        world.finish()
    assert world.finish()["users"] == 15


@on_postgresql
def test_a_newer_schema_and_another_service_are_refused(world: PartyWorld) -> None:
    address = server().schema_for(world.folder, "shuffler")
    with pytest.raises(InvalidData, match="analyzer's own"):
        open_storage(world.folder, "analyzer", ANALYZER_SCHEMA, address)
    connection = world.shuffler.storage._writing.connected()  # type: ignore[attr-defined]
    connection.execute("UPDATE smoothdp_state SET version = 99")
    with pytest.raises(InvalidData, match="version 99"):
        open_storage(world.folder, "shuffler", SHUFFLER_SCHEMA, address)


@on_postgresql
def test_53_tables_have_no_time_and_no_counter(world: PartyWorld) -> None:
    columns = world.shuffler.storage.read(
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_schema = current_schema()"
    )
    assert columns
    assert {kind for _, kind in columns} <= {"bytea", "bigint", "text"}
    names = {name for name, _ in columns}
    assert not names & {"time", "address", "ip", "agent", "created", "rowid"}


@on_postgresql
def test_an_address_without_a_server(tmp_path: Path, storage_kind: str) -> None:
    assert storage_kind
    began = time.monotonic()
    with pytest.raises(OSError, match="Check the address"):
        open_storage(tmp_path, "shuffler", SHUFFLER_SCHEMA, "postgresql://x@/y?host=/nonexistent")
    assert time.monotonic() - began < 10


@on_postgresql
def test_a_role_or_place_that_cannot_hold_the_tables(tmp_path: Path, storage_kind: str) -> None:
    import psycopg

    assert storage_kind
    with psycopg.connect(server().address(), autocommit=True) as owner:
        owner.execute("CREATE ROLE visitor LOGIN")
        owner.execute("CREATE SCHEMA locked")
        owner.execute("GRANT USAGE ON SCHEMA locked TO visitor")
        owner.execute("CREATE SCHEMA taken")
        owner.execute("CREATE TABLE taken.batch (id INTEGER)")
    visitor = server().address("locked").replace(f"//{server().user}@", "//visitor@")
    readonly = server().address("locked") + "%20-cdefault_transaction_read_only%3Don"
    for address, words in (
        (visitor, "GRANT CREATE"),
        (server().address("nowhere"), "Make the schema"),
        (readonly, "written to"),
        (server().address("taken"), "something else"),
        (server().address().replace("/postgres?", "/nothing?"), "createdb"),
    ):
        with pytest.raises(SmoothdpError, match=words) as caught:
            open_storage(tmp_path, "shuffler", SHUFFLER_SCHEMA, address)
        assert "\n" not in str(caught.value)
        # No key file is left to say that there are rows.
        assert not list(tmp_path.iterdir())


@on_postgresql
def test_the_address_comes_from_the_option_or_the_directory(
    tmp_path: Path, storage_kind: str
) -> None:
    assert storage_kind
    agree_on_one_host(
        tmp_path / "t",
        "boolean_sum",
        epsilon="4",
        delta="0.01",
        min_batch=12,
        issuer_url="https://issuer.example",
        origin="analyzer.example",
    )
    address = server().schema_for(tmp_path, "party")
    directory = tmp_path / "t" / "shuffler"
    (directory / STORAGE_FILE).write_text(address + "\n")
    party = ShufflerParty.from_directory(directory)
    assert type(party.shuffler.storage).__name__ == "PostgresStorage"
    assert not (directory / "shuffler.sqlite").exists()
    offered = party.shuffler.cards.offered_key(WINDOW)
    party.close()
    (directory / STORAGE_FILE).unlink()
    party = ShufflerParty.from_directory(directory, storage=address)
    assert party.shuffler.cards.offered_key(WINDOW) == offered
    party.close()


# ---- without a server ----------------------------------------------------------------------


@on_sqlite
def test_a_party_does_not_begin_anew_beside_its_state(tmp_path: Path) -> None:
    SqliteStorage(tmp_path / "shuffler.keys.sqlite", "").close()
    with pytest.raises(InvalidData, match="--storage"):
        open_storage(tmp_path, "shuffler", SHUFFLER_SCHEMA)
    open_storage(tmp_path, "analyzer", ANALYZER_SCHEMA).close()
    with pytest.raises(InvalidData, match="move that file away"):
        open_storage(tmp_path, "analyzer", ANALYZER_SCHEMA, "postgresql://x@/y?host=/nonexistent")


@on_sqlite
def test_a_database_that_is_away_is_503_and_nothing_is_lost(world: PartyWorld) -> None:
    away = [3]
    storage = world.shuffler.storage

    class Away:
        def __getattr__(self, name: str) -> Any:
            if name in ("read", "adding") and away[0] > 0:
                away[0] -= 1
                raise StorageUnreachable(expected="it", got="none: away", remedy="Wait")
            return getattr(storage, name)

    sealed = seal_report(world.report(1).encode(), world.card())
    path = f"/v2/reports/{world.task.task_id.hex()}/{WINDOW}"
    headers = {"authorization": f"Bearer {world.new_pass()}"}
    world.shuffler.storage = Away()
    with on_loopback(shuffler_app(world.shuffler)) as url:
        found = [
            httpx.post(url + path, content=sealed, headers=headers).status_code for _ in range(4)
        ]
    assert found == [503, 503, 503, 202]
    assert away == [0]
    assert world.shuffler.totals()["pending"] == 1


@on_postgresql
def test_a_lock_that_lasts_is_a_reason_to_wait(world: PartyWorld) -> None:
    import psycopg

    from smoothdp.services.operations.logs import Cause, cause_of
    from smoothdp.services.store.postgres import _LOCK
    from smoothdp.services.store.storage import StorageLocked

    world.send_many(14)
    storage: Any = world.shuffler.storage
    storage._writing.connected().execute("SET lock_timeout TO 200")
    with psycopg.connect(storage._writing.address) as other:
        other.execute(_LOCK)
        with pytest.raises(StorageLocked, match="locked by another") as caught:
            world.seal()
        other.rollback()
    assert cause_of(caught.value) is Cause.LOCKED
    assert [sealed.users for sealed in world.seal()] == [14]


@on_sqlite
def test_other_addresses_are_refused_without_showing_a_password(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="postgresql://") as caught:
        open_storage(tmp_path, "shuffler", SHUFFLER_SCHEMA, "mysql://me:secret@host/db")
    assert "secret" not in str(caught.value)
    result = CliRunner().invoke(serve, ["shuffler", "--help"])
    assert "--storage" in result.output


@on_sqlite
def test_every_secret_column_is_sealed_in_every_insert_of_the_services() -> None:
    scripts = SHUFFLER_SCHEMA.migrations + ANALYZER_SCHEMA.migrations
    for table, (column, scope) in HIDDEN.items():
        names = [*scope, "another", column]
        marks = ", ".join("?" * len(names))
        found = hidden_place(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})")
        assert found == (table, len(names) - 1, tuple(range(len(scope))))
        with pytest.raises(ValueError, match="must name its columns"):
            hidden_place(f"INSERT INTO {table} VALUES (?, ?)")
        assert f"CREATE TABLE IF NOT EXISTS {table} (" in "".join(scripts)
    assert statement_of("SELECT window FROM t WHERE window = ?") == (
        'SELECT "window" FROM t WHERE "window" = %s'
    )


@on_sqlite
def test_erasable_keys(tmp_path: Path) -> None:
    keys = ErasableKeys(tmp_path / "k.sqlite")
    sealed = keys.seal(b"a", b"hello")
    assert keys.open(sealed) == b"hello"
    assert keys.open(b"hello") == b"hello"
    assert keys.seal(b"a", b"hello") != sealed
    other = keys.seal(b"b", b"hello")
    with pytest.raises(InvalidData):
        keys.open(sealed[:-1] + bytes([sealed[-1] ^ 1]))
    assert keys.erase([b"a"])
    with pytest.raises(InvalidData, match="begin anew"):
        keys.open(sealed)
    assert keys.open(other) == b"hello"
    keys.close()
    again = ErasableKeys(tmp_path / "k.sqlite")
    assert again.open(other) == b"hello"
    assert (tmp_path / "k.sqlite").stat().st_mode & 0o077 == 0
    again.close()
