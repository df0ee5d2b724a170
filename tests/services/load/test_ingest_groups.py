"""Reports that come in groups are answered and stored as if each had come alone.

Others add groups meanwhile, and one may be sealing: the real shuffler, stopped at its points.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.shuffler.ingest import OpenedReport, Taken
from smoothdp.services.shuffler.sealing import seal_due, seal_window
from smoothdp.services.shuffler.shuffler import Shuffler
from smoothdp.services.shuffler.shuffler_tables import SEALED
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.storage import StorageLocked, StorageUnreachable
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import POSTGRESQL, without_waiting_for_disks
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

on_postgresql = pytest.mark.parametrize(
    "storage_kind", [pytest.param(POSTGRESQL, marks=pytest.mark.slow)], indirect=True
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[PartyWorld]:
    made = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    made.open_window()
    yield made
    made.close()


def opened(world: PartyWorld, secret: str, report: Report, window: int = WINDOW) -> OpenedReport:
    """Return a report as it is when it waits for its group."""
    sender = world.shuffler.sender(secret)
    assert sender is not None
    judged = world.shuffler.judge(window, sender, seal_report(report.encode(), world.card(window)))
    assert not isinstance(judged, Taken)
    return judged


def many(world: PartyWorld, count: int) -> list[OpenedReport]:
    return [opened(world, world.new_pass(), world.report(1)) for _ in range(count)]


@contextmanager
def stopped_at(world: PartyWorld, point: str) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Stop the first who reaches a point; yield the events "is there" and "go on"."""
    there, on = threading.Event(), threading.Event()

    def reach(reached: str) -> None:
        if reached == point and not there.is_set():
            there.set()
            assert on.wait(30)

    world.reach = reach
    try:
        yield there, on
    finally:
        on.set()


@pytest.fixture
def other(world: PartyWorld) -> Iterator[PartyWorld]:
    """The same shuffler, as another process would open it."""
    made = PartyWorld(world.folder, world.task)
    yield made
    made.close()


def test_two_processes_store_the_same_reports_once(world: PartyWorld, other: PartyWorld) -> None:
    without_waiting_for_disks(world.shuffler.storage)
    without_waiting_for_disks(other.shuffler.storage)
    items = many(world, 60)
    groups = [items[at : at + 20] for at in range(0, 60, 20)] * 4

    def store(shuffler: Shuffler, *, backwards: bool) -> list[Taken]:
        found: list[Taken] = []
        for group in groups[::-1] if backwards else groups:
            found += shuffler.accept(group[::-1] if backwards else group)
        return found

    with ThreadPoolExecutor(2) as pool:
        running = [
            pool.submit(store, world.shuffler, backwards=False),
            pool.submit(store, other.shuffler, backwards=True),
        ]
        answers = {answer for task in running for answer in task.result()}
    assert answers == {Taken.ACCEPTED}
    assert world.shuffler.totals()["pending"] == 60


@on_postgresql
def test_groups_run_beside_the_writers_lock_and_beside_those_of_other_windows(
    world: PartyWorld, other: PartyWorld
) -> None:
    """Groups of one window wait for each other: that is how they count its places."""
    world.open_window(WINDOW + 1)
    items = many(world, 20)
    next_window = opened(world, world.new_pass(), world.report(1, WINDOW + 1), WINDOW + 1)
    with (
        stopped_at(world, "ingest: before commit") as (there, on),
        ThreadPoolExecutor(2) as pool,
    ):
        first = pool.submit(world.shuffler.accept, items[:10])
        assert there.wait(20)
        with other.shuffler.storage.transaction():
            assert other.shuffler.accept([next_window]) == [Taken.ACCEPTED]
            second = pool.submit(other.shuffler.accept, items[10:])
            with pytest.raises(TimeoutError):
                second.result(timeout=0.3)
            on.set()
            assert set(first.result()) == set(second.result()) == {Taken.ACCEPTED}
    assert world.shuffler.totals()["pending"] == 21


@on_postgresql
def test_a_process_that_stops_within_a_group_holds_others_up_for_seconds_only(
    world: PartyWorld, other: PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server undoes what it began: nothing of it is stored, and nobody was told so."""
    monkeypatch.setattr("smoothdp.services.store.postgres.IDLE_SECONDS", 0.5)
    world.restart()
    items = many(other, 6)
    with (
        stopped_at(world, "ingest: before commit") as (there, on),
        ThreadPoolExecutor(1) as pool,
    ):
        stopped = pool.submit(world.shuffler.accept, items[:3])
        assert there.wait(20)
        assert other.shuffler.accept(items[3:]) == [Taken.ACCEPTED] * 3
        on.set()
        with pytest.raises(StorageUnreachable, match="Send the request again"):
            stopped.result()
    assert world.shuffler.totals()["pending"] == 3
    assert world.shuffler.accept(items) == [Taken.ACCEPTED] * 6
    assert world.shuffler.totals()["pending"] == 6


def sealed_beside_a_group(world: PartyWorld, other: PartyWorld) -> tuple[int, int]:
    """Seal while a group is being stored; return the users sealed and the reports left over."""
    world.send_many(14)
    items = many(world, 6)
    with (
        stopped_at(world, "ingest: before commit") as (there, on),
        ThreadPoolExecutor(2) as pool,
    ):
        group = pool.submit(world.shuffler.accept, items)
        assert there.wait(20)
        sealing = pool.submit(seal_window, other.shuffler, WINDOW)
        with pytest.raises(TimeoutError):
            sealing.result(timeout=0.5)
        on.set()
        assert set(group.result()) == {Taken.ACCEPTED}
        sealed = sealing.result()
    assert sealed is not None
    assert sealed.state == SEALED
    return sealed.users, world.shuffler.totals()["pending"]


@on_postgresql
def test_sealing_waits_for_a_group_and_takes_it_along(world: PartyWorld, other: PartyWorld) -> None:
    assert sealed_beside_a_group(world, other) == (20, 0)
    assert world.send(world.report(1)) is Taken.CLOSED


@on_postgresql
def test_without_the_windows_row_a_group_would_be_lost(
    world: PartyWorld, other: PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above, and the mutant that it is there for."""
    from smoothdp.services.store.postgres import _PostgresTransaction

    monkeypatch.setattr(_PostgresTransaction, "hold", _PostgresTransaction.execute)
    assert sealed_beside_a_group(world, other) == (14, 6)


@on_postgresql
def test_at_another_isolation_nothing_is_closed_and_nothing_lost(
    world: PartyWorld, other: PartyWorld
) -> None:
    import psycopg

    writing = other.shuffler.storage._writing  # type: ignore[attr-defined]
    writing.connected().isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    with pytest.raises(psycopg.errors.SerializationFailure):
        sealed_beside_a_group(world, other)
    assert world.shuffler.totals()["pending"] == 20
    assert seal_window(world.shuffler, WINDOW) is not None
    assert world.shuffler.totals() == {"pending": 0, "batched": 20, "shared": 0, "expired": 0}


@on_postgresql
def test_a_group_that_comes_while_a_window_is_sealed_is_too_late(
    world: PartyWorld, other: PartyWorld
) -> None:
    world.send_many(14)
    items = many(world, 3)
    with (
        stopped_at(world, "seal: inside the transaction") as (there, on),
        ThreadPoolExecutor(2) as pool,
    ):
        sealing = pool.submit(seal_window, world.shuffler, WINDOW)
        assert there.wait(20)
        # Longer than a group waits for a row: it is not stored, and may come again.
        with pytest.raises(StorageLocked, match="locked by another"):
            other.shuffler.accept(items)
        group = pool.submit(other.shuffler.accept, items)
        with pytest.raises(TimeoutError):
            group.result(timeout=0.3)
        on.set()
        sealed = sealing.result()
        assert group.result() == [Taken.CLOSED] * 3
    assert sealed is not None
    assert sealed.users == 14
    assert world.shuffler.totals()["pending"] == 0


@on_postgresql
def test_sealing_that_is_held_up_is_tried_again(world: PartyWorld, other: PartyWorld) -> None:
    world.send_many(14)
    items = many(world, 1)
    later = (WINDOW + 1) * world.task.window_seconds + world.task.grace_seconds
    with (
        stopped_at(world, "ingest: before commit") as (there, on),
        ThreadPoolExecutor(1) as pool,
    ):
        group = pool.submit(world.shuffler.accept, items)
        assert there.wait(20)
        other.go_to(later)
        with pytest.raises(StorageLocked, match="locked by another"):
            seal_due(other.shuffler)
        on.set()
        group.result()
    assert [sealed.users for sealed in seal_due(other.shuffler)] == [15]


def keys_beside_a_group(world: PartyWorld, other: PartyWorld) -> list[tuple[Any, ...]]:
    """Erase keys of rows that are gone while the first group of a window is stored."""
    with (
        stopped_at(world, "ingest: before commit") as (there, on),
        ThreadPoolExecutor(1) as pool,
    ):
        group = pool.submit(world.shuffler.accept, many(world, 3))
        assert there.wait(20)
        other.shuffler.storage.forget()
        on.set()
        group.result()
    return list(other.shuffler.storage.read("SELECT slots FROM pending"))


@on_postgresql
def test_keys_of_a_group_that_is_not_stored_yet_are_kept(
    world: PartyWorld, other: PartyWorld
) -> None:
    assert len(keys_beside_a_group(world, other)) == 3
    # And they go with the window.
    seal_window(world.shuffler, WINDOW)
    world.shuffler.storage.forget()
    keys = world.shuffler.storage._keys  # type: ignore[attr-defined]
    assert not [scope for scope in keys.scopes() if scope.startswith(b"pending")]


@on_postgresql
def test_without_that_rule_a_group_would_be_unreadable(
    world: PartyWorld, other: PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smoothdp.services.store.postgres_scopes.USED_WHILE", {})
    with pytest.raises(InvalidData, match="rows sealed with the keys"):
        keys_beside_a_group(world, other)


def test_a_report_that_is_looked_at_for_long_holds_nobody_up(
    world: PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening and checking come before the group: the next one is stored meanwhile."""
    slow, on, judge = world.new_pass(), threading.Event(), world.shuffler.judge

    def judged(window: int, sender: bytes, sealed: bytes) -> Any:
        if sender == world.shuffler.sender(slow):
            assert on.wait(20)
        return judge(window, sender, sealed)

    monkeypatch.setattr(world.shuffler, "judge", judged)
    with on_loopback(shuffler_app(world.shuffler)) as url, ThreadPoolExecutor(1) as pool:

        def post(secret: str) -> int:
            return httpx.post(
                f"{url}/v2/reports/{world.task.task_id.hex()}/{WINDOW}",
                content=seal_report(world.report(1).encode(), world.card()),
                headers={"authorization": f"Bearer {secret}"},
                timeout=30,
            ).status_code

        waiting = pool.submit(post, slow)
        assert [post(world.new_pass()) for _ in range(3)] == [202] * 3
        assert not waiting.done()
        on.set()
        assert waiting.result() == 202
