"""What only PostgreSQL has: what deletion leaves behind, lost servers, versions, addresses."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from smoothdp.cli.serving.serve import serve
from smoothdp.errors import InvalidData, InvalidParameter, SmoothdpError
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.party_storage import STORAGE_FILE, open_storage
from smoothdp.services.store.postgres_dialect import HIDDEN, hidden_place, statement_of
from smoothdp.services.store.storage import (
    SqliteStorage,
    StorageFull,
    StorageUnreachable,
)
from smoothdp.services.wire.calls import Outcome
from tests.services.postgres_server import PostgresServer
from tests.services.storages import POSTGRESQL, Current, files_of
from tests.services.world import World

on_postgresql = pytest.mark.parametrize(
    "storage_kind", [pytest.param(POSTGRESQL, marks=pytest.mark.slow)], indirect=True
)
on_sqlite = pytest.mark.parametrize("storage_kind", ["sqlite"], indirect=True)


def server() -> PostgresServer:
    assert Current.server is not None
    return Current.server


@on_postgresql
@pytest.mark.parametrize("users", [3, 120])
def test_36_nothing_of_a_closed_window_can_be_read_in_the_servers_files(
    world: World, users: int
) -> None:
    world.send_many(users)
    storage = world.shuffler.storage
    slots = [bytes(r[0]) for r in storage.read("SELECT slots FROM pending")]
    tag_keys = [bytes(r[0]) for r in storage.read("SELECT tag_key FROM collecting")]
    secret = bytes(storage.read("SELECT secret FROM outer_key")[0][0])
    keys = storage._keys  # type: ignore[attr-defined]
    data_keys = [bytes(r[0]) for r in keys._storage.read("SELECT secret FROM data_key")]
    sealed = Path(keys.path).read_bytes() + Path(f"{keys.path}-wal").read_bytes()
    assert all(key in sealed for key in data_keys)
    # Sealed from the start: the server never has them in the clear, its log included.
    assert not any(value in server().bytes_of_everything() for value in [*slots, *tag_keys, secret])
    world.seal()
    if users >= world.task.min_batch:
        deliver_batches(world.shuffler, world.put)
        assert storage.read("SELECT state FROM batch") == [("PURGED",)]
    # What the server may still have of them can no longer be opened: the keys are gone.
    left = keys.scopes()
    assert [scope.split(b":")[0] for scope in left] == [b"outer_key"]
    found = files_of(world.directory, "shuffler")
    outer = keys._key_of(left[0])[0][1]
    assert sum(key in found for key in data_keys) == 1
    assert outer in data_keys
    world.shuffler.keys.rotate()
    world.shuffler.keys.rotate()
    assert outer not in files_of(world.directory, "shuffler")


@on_postgresql
def test_rows_without_their_key_file_are_refused(world: World) -> None:
    world.send_many(3)
    world.shuffler.storage.close()
    for path in world.directory.glob("shuffler.keys.sqlite*"):
        path.rename(path.with_name("away" + path.name[8:]))
    address = server().schema_for(world.directory, "shuffler")
    with pytest.raises(InvalidData, match="Restore that file"):
        open_storage(world.directory, "shuffler", SHUFFLER_SCHEMA, address)


@on_postgresql
def test_47_a_full_server_loses_nothing(world: World) -> None:
    world.send_many(3)
    storage = world.shuffler.storage
    full = (
        "CREATE FUNCTION full_disk() RETURNS trigger AS $$ BEGIN RAISE EXCEPTION "
        "'could not extend file' USING ERRCODE = '53100'; END $$ LANGUAGE plpgsql"
    )
    connection = storage._writing.connected()  # type: ignore[attr-defined]
    connection.execute(full)
    connection.execute(
        "CREATE TRIGGER full_disk BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION full_disk()"
    )
    upload = world.upload("late")
    with pytest.raises(StorageFull):
        world.shuffler.accept([upload])
    assert world.shuffler.totals()["accepted"] == 3
    assert world.is_balanced()
    connection.execute("DROP TRIGGER full_disk ON seen")
    assert world.shuffler.accept([upload]) == [Outcome.ACCEPTED]


@on_postgresql
def test_50_a_locked_database_is_waited_for(world: World) -> None:
    import psycopg

    address = server().schema_for(world.directory, "shuffler")
    with psycopg.connect(address) as other:
        other.execute("SELECT pg_advisory_xact_lock('smoothdp_state'::regclass::oid::bigint)")
        with ThreadPoolExecutor(1) as pool:
            sending = pool.submit(world.send, "u")
            with pytest.raises(TimeoutError):
                sending.result(timeout=0.5)
            other.rollback()
            assert sending.result(timeout=20) == [Outcome.ACCEPTED]


@on_postgresql
def test_a_server_that_crashes_loses_nothing_acknowledged(world: World) -> None:
    world.send_many(5)
    server().stop("immediate")
    for _ in range(2):
        with pytest.raises(OSError, match="PostgreSQL server"):
            world.shuffler.storage.read("SELECT 1")
    server().start()
    assert world.send("lost", "still away") == [Outcome.ACCEPTED] * 2
    assert world.shuffler.totals()["accepted"] == 7
    assert world.is_balanced()
    # The analyser's connection is gone as well: it notices at the next use, and then connects.
    with pytest.raises(OSError, match="PostgreSQL server"):
        world.finish()
    assert world.finish()[0] == 200


@on_postgresql
def test_a_newer_schema_and_another_service_are_refused(world: World) -> None:
    address = server().schema_for(world.directory, "shuffler")
    with pytest.raises(InvalidData, match="analyzer's own"):
        open_storage(world.directory, "analyzer", ANALYZER_SCHEMA, address)
    connection = world.shuffler.storage._writing.connected()  # type: ignore[attr-defined]
    connection.execute("UPDATE smoothdp_state SET version = 99")
    with pytest.raises(InvalidData, match="version 99"):
        open_storage(world.directory, "shuffler", SHUFFLER_SCHEMA, address)


@on_postgresql
def test_53_tables_have_no_time_and_no_counter(world: World) -> None:
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
def test_the_address_comes_from_the_option_or_the_directory(world: World, tmp_path: Path) -> None:
    from smoothdp.services.wire.key_files import write_parties
    from tests.services.world import KEY

    written = write_parties(tmp_path / "parties", world.task, KEY)
    address = server().schema_for(tmp_path, "party")
    (written.shuffler / STORAGE_FILE).write_text(address + "\n")
    party = ShufflerParty.from_directory(written.shuffler)
    assert type(party.shuffler.storage).__name__ == "PostgresStorage"
    assert not (written.shuffler / "shuffler.sqlite").exists()
    active = party.shuffler.keys.active()
    party.shuffler.storage.close()
    (written.shuffler / STORAGE_FILE).unlink()
    party = ShufflerParty.from_directory(written.shuffler, storage=address)
    assert party.shuffler.keys.active() == active
    party.shuffler.storage.close()


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
def test_a_database_that_is_away_is_503_and_clients_try_again(world: World) -> None:
    from smoothdp.services import Client, connect, on_loopback, submit
    from smoothdp.services.shuffler.shuffler_web import shuffler_app

    away = [3]
    storage = world.shuffler.storage

    class Away:
        def __getattr__(self, name: str) -> Any:
            if name in ("read", "transaction") and away[0] > 0:
                away[0] -= 1
                raise StorageUnreachable(expected="it", got="none: away", remedy="Wait")
            return getattr(storage, name)

    world.shuffler.storage = Away()
    with on_loopback(shuffler_app(world.shuffler)) as url, connect(url) as http:
        assert http.get("/healthz").status_code == 503
        world.shuffler.keys._storage = world.shuffler.storage
        client = Client(world.task, world.outcomes, name="u", clock=lambda: world.now)
        submit(client, 1, http=http, token=world.token("u"), pause=lambda _: None)
        assert http.get("/healthz").text == "ok"
    assert away == [0]
    assert world.shuffler.totals()["accepted"] == 1


@on_postgresql
def test_a_lock_that_lasts_is_a_reason_to_wait(world: World) -> None:
    import psycopg

    from smoothdp.services.operations.logs import Cause, cause_of
    from smoothdp.services.store.postgres import _LOCK
    from smoothdp.services.store.storage import StorageLocked

    storage: Any = world.shuffler.storage
    storage._writing.connected().execute("SET lock_timeout TO 200")
    with psycopg.connect(storage._writing.address) as other:
        other.execute(_LOCK)
        with pytest.raises(StorageLocked, match="locked by another") as caught:
            world.send_many(1)
        other.rollback()
    assert cause_of(caught.value) is Cause.LOCKED
    world.send_many(1)
    assert world.shuffler.totals()["accepted"] == 1


@on_sqlite
def test_a_newer_sqlite_file_is_refused(tmp_path: Path) -> None:
    storage = SqliteStorage(tmp_path / "s.sqlite", SHUFFLER_SCHEMA)
    assert storage.read("PRAGMA user_version") == [(1,)]
    storage._connection.execute("PRAGMA user_version=2")
    storage.close()
    with pytest.raises(InvalidData, match="version 2"):
        SqliteStorage(tmp_path / "s.sqlite", SHUFFLER_SCHEMA)


@on_sqlite
def test_other_addresses_are_refused_without_showing_a_password(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="postgresql://") as caught:
        open_storage(tmp_path, "shuffler", SHUFFLER_SCHEMA, "mysql://me:secret@host/db")
    assert "secret" not in str(caught.value)
    result = CliRunner().invoke(serve, ["shuffler", "--help"])
    assert "--storage" in result.output


@on_sqlite
def test_every_secret_column_is_sealed_in_every_insert_of_the_services() -> None:
    for table, (column, scope) in HIDDEN.items():
        names = [*scope, "another", column]
        marks = ", ".join("?" * len(names))
        found = hidden_place(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})")
        assert found == (table, len(names) - 1, tuple(range(len(scope))))
        with pytest.raises(ValueError, match="must name its columns"):
            hidden_place(f"INSERT INTO {table} VALUES (?, ?)")
        assert f"CREATE TABLE IF NOT EXISTS {table} (" in SHUFFLER_SCHEMA + ANALYZER_SCHEMA
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
    with pytest.raises(InvalidData, match="Restore"):
        keys.open(sealed)
    assert keys.open(other) == b"hello"
    keys.close()
    again = ErasableKeys(tmp_path / "k.sqlite")
    assert again.open(other) == b"hello"
    assert (tmp_path / "k.sqlite").stat().st_mode & 0o077 == 0
    again.close()
