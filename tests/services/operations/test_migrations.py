"""Numbered migrations: a file of the version before is brought up to date, a later one refused."""

from __future__ import annotations

import sqlite3
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.migrations import Schema, migrate_sqlite, statements
from smoothdp.services.store.party_storage import open_storage
from smoothdp.services.store.revoked import Revoked, revoke
from smoothdp.services.store.storage import SqliteStorage, Storage
from tests.services.storages import open_state

FIRST = """
CREATE TABLE batch (batch_id BLOB PRIMARY KEY, task_id BLOB NOT NULL, window INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE TABLE part (batch_id BLOB, part INTEGER, bytes BLOB, PRIMARY KEY (batch_id, part));
"""
SECOND = """
ALTER TABLE batch ADD COLUMN state TEXT NOT NULL DEFAULT 'SEALED';
CREATE TABLE counter (reason TEXT PRIMARY KEY, n INTEGER NOT NULL);
INSERT INTO counter (reason, n) SELECT 'batches', count(*) FROM batch;
"""
THIRD = "UPDATE counter SET n = n + 10; ALTER TABLE counter RENAME COLUMN n TO total;"
OF_BEFORE = SHUFFLER_SCHEMA.migrations[:1]
BEFORE, NOW, LATER = Schema((FIRST,)), Schema((FIRST, SECOND)), Schema((FIRST, SECOND, THIRD))


# On SQLite, and on PostgreSQL in the slow suite.
ON_BOTH = pytest.mark.usefixtures("storage_kind")


def put(storage: Storage, batch_id: bytes) -> None:
    with storage.transaction() as change:
        change.change(
            "INSERT INTO batch (batch_id, task_id, window) VALUES (?, ?, ?)",
            (batch_id, b"t", 7),
        )


def opened(directory: Path, schema: Schema) -> Storage:
    return open_state(directory, "shuffler", schema)


@ON_BOTH
def test_tables_of_the_version_before_are_brought_up_to_date(tmp_path: Path) -> None:
    storage = opened(tmp_path, BEFORE)
    put(storage, b"a")
    storage.close()
    storage = opened(tmp_path, NOW)
    assert storage.read("SELECT batch_id, window, state FROM batch") == [(b"a", 7, "SEALED")]
    assert storage.read("SELECT n FROM counter") == [(1,)]
    put(storage, b"b")
    storage.close()
    # Once only: what a migration counts or adds would be there twice.
    storage = opened(tmp_path, NOW)
    assert storage.read("SELECT n FROM counter") == [(1,)]
    storage.close()
    # Two at a time, in order.
    storage = opened(tmp_path, LATER)
    assert storage.read("SELECT total FROM counter") == [(11,)]
    storage.close()
    with pytest.raises(InvalidData, match=r"version 2 at most; got version 3\. Upgrade smoothdp"):
        opened(tmp_path, NOW)
    storage = opened(tmp_path, LATER)
    assert len(storage.read("SELECT 1 FROM batch")) == 2
    storage.close()


@ON_BOTH
def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    storage = opened(tmp_path, BEFORE)
    put(storage, b"a")
    storage.close()
    broken = Schema((FIRST, SECOND + "INSERT INTO nowhere (x) VALUES (1);"))
    with pytest.raises(InvalidData):
        opened(tmp_path, broken)
    storage = opened(tmp_path, NOW)
    assert storage.read("SELECT n FROM counter") == [(1,)]
    storage.close()


@ON_BOTH
def test_a_new_file_has_the_same_tables(tmp_path: Path) -> None:
    storage = opened(tmp_path, LATER)
    assert storage.read("SELECT total FROM counter") == [(10,)]
    storage.close()


@ON_BOTH
def test_tables_of_an_earlier_protocol_are_refused(tmp_path: Path) -> None:
    opened(tmp_path, BEFORE).close()
    with pytest.raises(InvalidData, match=r"version 2 at least; got version 1, of an earlier"):
        opened(tmp_path, Schema((FIRST,), first=2))
    opened(tmp_path, BEFORE).close()


def test_a_file_from_before_numbers_were_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "shuffler.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(FIRST + "PRAGMA user_version=1;")
    connection.execute("INSERT INTO batch (batch_id, task_id, window) VALUES (x'61', x'00', 1)")
    connection.commit()
    connection.close()
    storage = open_storage(tmp_path, "shuffler", NOW)
    assert storage.read("SELECT n FROM counter") == [(1,)]
    assert storage.read("SELECT number FROM schema_number") == [(2,)]
    # A program from before the table looks here, and refuses.
    assert storage.read("PRAGMA user_version") == [(2,)]
    storage.close()


def test_two_processes_bring_one_file_up_to_date_once(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    path = tmp_path / "s.sqlite"
    SqliteStorage(path, BEFORE).close()
    with ThreadPoolExecutor(4) as pool:
        storages = list(pool.map(lambda _: SqliteStorage(path, LATER), range(4)))
    assert storages[0].read("SELECT total FROM counter") == [(10,)]
    for storage in storages:
        storage.close()


def test_a_new_file_that_somebody_else_writes_to_is_waited_for(tmp_path: Path) -> None:
    """SQLite itself says at once that it is locked: one of three first calls of a person failed."""
    path = tmp_path / "new.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(sqlite3.connect(path, timeout=30)) as mine:
            before = time.monotonic()
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                mine.execute("PRAGMA journal_mode=WAL")
            assert time.monotonic() - before < 10
        threading.Timer(0.3, lambda: other.execute("ROLLBACK")).start()
        SqliteStorage(path, SHUFFLER_SCHEMA).close()


def test_tables_that_another_process_makes_meanwhile_are_no_other_partys(tmp_path: Path) -> None:
    """At each statement of it."""
    for number in range(30):
        path, seen = tmp_path / f"{number}.sqlite", list[str]()

        def before(statement: str, path: Path = path, seen: list[str] = seen) -> None:
            seen.append(statement)
            if len(seen) == number + 1:  # noqa: B023
                with suppress(InvalidData):
                    SqliteStorage(path, SHUFFLER_SCHEMA, busy_seconds=0.05).close()

        with closing(sqlite3.connect(path, isolation_level=None)) as mine:
            mine.execute("PRAGMA journal_mode=WAL")
            mine.set_trace_callback(before)
            migrate_sqlite(mine, SHUFFLER_SCHEMA, str(path))
        SqliteStorage(path, SHUFFLER_SCHEMA).close()
    assert len(seen) > 15


def test_statements_of_a_script_are_not_cut_inside() -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END;"
    script = f"-- one; two\nCREATE TABLE a (x TEXT DEFAULT ';');\n{trigger}\nDROP TABLE d"
    assert statements(script) == [
        "-- one; two\nCREATE TABLE a (x TEXT DEFAULT ';');",
        trigger,
        "DROP TABLE d",
    ]


@ON_BOTH
def test_the_revoked_come_to_tables_of_the_program_before(tmp_path: Path) -> None:
    """Rows stay; what was in the list once stays revoked, in both databases."""
    storage = open_state(tmp_path, "shuffler", replace(SHUFFLER_SCHEMA, migrations=OF_BEFORE))
    with storage.transaction() as change:
        row = (b"t" * 32, 7, b"marks")
        change.change("INSERT INTO marks (task_id, window, bytes) VALUES (?, ?, ?)", row)
    storage.close()
    for _ in range(2):
        storage = open_state(tmp_path, "shuffler", SHUFFLER_SCHEMA)
        assert storage.read("SELECT window FROM marks") == [(7,)]
        revoke(tmp_path / "revoked", [bytes(16), b"1" * 16])
        Revoked(tmp_path / "revoked", storage, b"t" * 32).remember()
        (tmp_path / "revoked").unlink()
        assert b"1" * 16 in Revoked(tmp_path / "revoked", storage, b"t" * 32)
        assert b"1" * 16 not in Revoked(tmp_path / "revoked", storage, b"u" * 32)
        storage.close()


def test_the_tables_of_the_parties_are_numbered(tmp_path: Path) -> None:
    from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA

    for role, schema in (("shuffler", SHUFFLER_SCHEMA), ("analyzer", ANALYZER_SCHEMA)):
        storage = open_storage(tmp_path, role, schema)
        number = Schema.of(schema).number
        assert storage.read("SELECT number FROM schema_number") == [(number,)]
        storage.close()
