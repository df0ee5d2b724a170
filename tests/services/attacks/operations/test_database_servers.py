"""A database server that fails over, is only read, or is lost at each statement."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.release import work
from smoothdp.services.formats.report import seal_report
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.store import postgres_connection
from smoothdp.services.store.postgres import PostgresStorage
from smoothdp.services.store.storage import StorageUnreachable
from tests.services.worlds.answering_world import Answering
from tests.services.worlds.on_postgresql import on_postgresql, the_server
from tests.services.worlds.whole_world import LOST, WINDOW, WholeWorld, weak_task


def _end_connections(process: int | None = None) -> None:
    """End the connections to the server, or one of them; they are gone when this returns."""
    with psycopg.connect(the_server().address(), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE backend_type = "
            "'client backend' AND pid <> pg_backend_pid() AND pid = coalesce(%s, pid)",
            (process,),
        )


class Standby:
    """A standby of one party's schema that stopped to follow at this moment."""

    def __init__(self, folder: Path, role: str) -> None:
        self._live = the_server().schema_for(folder, role).rpartition("%3D")[2]
        self._older = f"{self._live}_older"
        with psycopg.connect(the_server().address(), autocommit=True) as connection:
            self._run(connection, "CREATE SCHEMA {older}")
            found = "SELECT tablename FROM pg_tables WHERE schemaname = %s"
            for (table,) in connection.execute(found, (self._live,)).fetchall():
                like = "CREATE TABLE {older}.{table} (LIKE {live}.{table} INCLUDING ALL)"
                self._run(connection, like, table)
                rows = "INSERT INTO {older}.{table} SELECT * FROM {live}.{table}"
                self._run(connection, rows, table)

    def takes_over(self) -> None:
        """Be the server from now on; all connections to the one before are lost."""
        _end_connections()
        with psycopg.connect(the_server().address(), autocommit=True) as connection:
            self._run(connection, "DROP SCHEMA {live} CASCADE")
            self._run(connection, "ALTER SCHEMA {older} RENAME TO {live}")

    def _run(self, connection: psycopg.Connection[Any], text: Any, table: str = "none") -> None:
        names = {"live": self._live, "older": self._older, "table": table}
        named = {name: sql.Identifier(value) for name, value in names.items()}
        connection.execute(sql.SQL(text).format(**named))


@on_postgresql
@pytest.mark.parametrize("reports", [0, 2])
def test_a_shuffler_that_runs_on_refuses_a_standby_that_lags_behind(
    tmp_path: Path,
    reports: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since"; and "a client answers in no more windows
    than the budget pays for [...]; windows that the shuffler destroyed do not count".

    That was looked at when the program starts. A server that fails over to a standby that lags
    behind is an older copy while it runs: a window that had been handed over, and released, was
    open there, was over by both clocks and had nobody in it, so that it was said to be destroyed.
    Those who were in it did not count it any more, and the analyser got their answers in two
    windows of a budget that pays for one.
    """
    world = Answering(tmp_path, weak_task(windows=1), fast=True)
    world.open_window()
    assert [world.take_part(person) for person in "abcd"[:reports]] == [202] * reports
    standby = Standby(tmp_path, "shuffler")
    assert [world.take_part(person) for person in "abcd"[reports:]] == [202] * (4 - reports)
    assert world.end()["state"] == "RELEASED"
    standby.takes_over()
    for storage in (world.shuffler.storage, world.analyzer.storage):
        with suppress(StorageUnreachable):
            storage.read("SELECT 1")
    for _ in range(2):
        with pytest.raises(InvalidData, match="it was closed since"):
            seal_due(world.shuffler)
    assert not world.shuffler.is_expired(WINDOW)
    # An analyser that makes cards for ever.
    world.analyzer.cards._pays = lambda *_: True  # type: ignore[method-assign]
    late = WINDOW + 3
    world.go_to(late * world.task.window_seconds + 5.0)
    world.open_window(late)
    world.client("a").settle()
    with pytest.raises(InvalidData, match="budget"):
        world.take_part("a", window=late)
    # The guide: "until what is left of it is dropped, after 30 days".
    world.go_to(world.now + 31 * 86_400)
    world.shuffler.forget_old()
    seal_due(world.shuffler)
    assert not world.shuffler.is_expired(WINDOW)
    world.close()


def _analyzers(folder: Path) -> PostgresStorage:
    """Return the storage of an analyser, as each of its processes opens it."""
    address = the_server().schema_for(folder, "analyzer")
    file = folder / "analyzer.keys.sqlite"
    return PostgresStorage(address, ANALYZER_SCHEMA, role="analyzer", key_file=file)


@on_postgresql
def test_a_server_that_is_lost_while_a_connection_is_made_is_away(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "A server that is away: requests are answered 503, `/readyz` says so, and the
    connection is made anew".

    One that took the connection and was lost before it was asked anything, as a server that is
    being restarted, or a pool of connections in front of one that is away, was answered 500.
    """
    storage, asked = _analyzers(tmp_path), postgres_connection._require_fsync

    def lost(connection: psycopg.Connection[Any]) -> None:
        _end_connections(connection.info.backend_pid)
        asked(connection)

    assert storage.read("SELECT 1") == [(1,)]
    _end_connections()
    with pytest.raises(StorageUnreachable):
        storage.read("SELECT 1")
    monkeypatch.setattr(postgres_connection, "_require_fsync", lost)
    with pytest.raises(StorageUnreachable):
        storage.read("SELECT 1")
    monkeypatch.undo()
    assert storage.read("SELECT 1") == [(1,)]
    storage.close()


@on_postgresql
def test_a_server_that_is_only_read_is_away_and_looked_for_again(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "A server that is away: requests are answered 503, `/readyz` says so, and the
    connection is made anew".

    One that was made a standby, or is to be one, is there and takes no changes. Requests were
    answered 500, and the connection was kept for as long as it lasted.
    """
    storage = _analyzers(tmp_path)
    statement = "INSERT INTO counts (batch_id, part, bytes) VALUES (?, ?, ?)"
    with psycopg.connect(the_server().address(), autocommit=True) as connection:
        connection.execute("ALTER ROLE CURRENT_USER SET default_transaction_read_only = on")
    try:
        _end_connections(storage._writing.connected().info.backend_pid)
        with pytest.raises(StorageUnreachable), storage.transaction():
            pass
        with pytest.raises(StorageUnreachable, match="only read"), storage.transaction() as change:
            change.change(statement, (b"batch", 0, b"values"))
    finally:
        with psycopg.connect(the_server().address(), autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only TO off")
            connection.execute("ALTER ROLE CURRENT_USER RESET ALL")
    with storage.transaction() as change:
        change.change(statement, (b"batch", 0, b"values"))
    storage.close()


class Undone(Exception):
    """A transaction that comes to nothing."""


@on_postgresql
def test_a_process_that_was_cut_off_erases_no_key_that_another_one_uses(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: keys are "overwritten when their rows are gone"; "What was acknowledged is on
    disk"; and of a process that holds the lock, "See which one writes to it (pg_stat_activity), and
    end that".

    A part of a batch was begun and undone, which leaves a key without rows. A process that is
    about to erase it is stopped, and its connection ended; another one stores the part, under this
    key, and says so. The first one goes on, and erased the key: the part could not be opened.
    """
    first, second = _analyzers(tmp_path), _analyzers(tmp_path)
    statement = "INSERT OR IGNORE INTO part (batch_id, part, bytes) VALUES (?, ?, ?)"
    part = (b"b" * 16, 0, b"slots")
    with suppress(Undone), second.transaction() as change:
        change.change(statement, part)
        raise Undone
    erase = first._keys.erase

    def stopped(scopes: list[bytes], *, still: Callable[[], object] = list) -> bool:
        _end_connections(first._writing.connected().info.backend_pid)
        with second.transaction() as change:
            assert change.change(statement, part) == 1
        return erase(scopes, still=still)

    first._keys.erase = stopped  # type: ignore[method-assign]
    with pytest.raises(StorageUnreachable):
        first.forget()
    assert second.read("SELECT bytes FROM part") == [(b"slots",)]
    first.close()
    second.close()


class Losses:
    """Losses of a connection: at the first moment of a step, in the next try at the second, ..."""

    def __init__(self) -> None:
        self.left, self.count = 0, 0

    def is_due(self) -> bool:
        """Pass one moment; whether the connection is lost at it."""
        self.left -= 1
        self.count += self.left == 0
        return self.left == 0

    def at_each(self, step: Callable[..., object], *given: object) -> object:
        """Do a step again and again, until it passes all its moments without a loss."""
        for number in range(1, 200):
            self.left = number
            with suppress(StorageUnreachable):
                done = step(*given)
                if self.left > 0:
                    return done
        raise AssertionError("it never came to an end")


def released_all_the_same(
    folder: Path, monkeypatch: pytest.MonkeyPatch, losses: Losses, method: str, instead: object
) -> WholeWorld:
    """Store, seal, hand over, count and release four reports, on connections that are lost."""
    world = WholeWorld(folder, fast=True)
    card = world.open_window()
    for person in "abcd":
        assert world.take_part(person, lose=("reports request",)) == LOST
    sealed = {p: seal_report(world.report_of(p).encode(), card) for p in "abcd"}
    monkeypatch.setattr(psycopg.Connection, method, instead)
    answers = [losses.at_each(world.post, WINDOW, world.pass_of(p), sealed[p]) for p in "abcd"]
    losses.at_each(world.seal)
    close_windows(world.issuer)
    assert losses.at_each(world.tell_served, 4) in (200, 201)
    losses.at_each(world.deliver)
    losses.at_each(work, world.analyzer)
    monkeypatch.undo()
    assert answers == [202] * 4
    result = world.result()
    assert (result["state"], result["users"], world.charged()) == ("RELEASED", 4, [WINDOW])
    return world


@on_postgresql
def test_a_server_that_is_lost_at_each_statement_has_each_report_counted_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "it is stored once, with its owner's slots, and counts once"; and the
    guide: "the connection is made anew", "sending again is safe whenever".

    The connection that is used ends before the first statement, in the next try before the second,
    and so on, of all that stores, seals, hands over, counts and releases.
    """
    run, losses = psycopg.Connection.execute, Losses()

    def execute(self: Any, query: Any, *values: Any, **more: Any) -> Any:
        is_ours = isinstance(query, str) and not query.startswith(("SET", "SHOW"))
        if is_ours and losses.is_due():
            with pytest.MonkeyPatch.context() as without:
                without.setattr(psycopg.Connection, "execute", run)
                _end_connections(self.info.backend_pid)
        return run(self, query, *values, **more)

    world = released_all_the_same(tmp_path, monkeypatch, losses, "execute", execute)
    assert losses.count > 50
    for storage in (world.shuffler.storage, world.analyzer.storage):
        assert isinstance(storage, PostgresStorage)
        assert storage.forget()
        assert storage._keys.scopes() == []
    world.close()


@on_postgresql
def test_a_commit_whose_answer_is_lost_each_time_has_each_report_counted_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "sending again is safe whenever"; the threat model: "it is stored once", "and
    counts once".

    The server has committed, and the connection is lost before it says so: at the first commit of
    each step, in the next try at the second, and so on.
    """
    run, losses = psycopg.Connection.transaction, Losses()

    @contextmanager
    def transaction(self: Any, *values: Any, **more: Any) -> Iterator[Any]:
        with run(self, *values, **more) as begun:
            yield begun
        if losses.is_due():
            self.close()
            raise psycopg.OperationalError("the connection is lost")

    world = released_all_the_same(tmp_path, monkeypatch, losses, "transaction", transaction)
    assert losses.count > 8
    world.close()
