"""Faults that stay, and clocks that were wrong: keys go in time, and releases go on."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.services.analyzer import release
from smoothdp.services.formats.design.budget import DAY, KEY_SECONDS
from smoothdp.services.operations.clock_guard import Verdict
from smoothdp.services.operations.health import Health
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import (
    StorageFull,
    StorageLocked,
    StorageUnreachable,
)
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import open_task, small_task


@ONLY_SQLITE
@pytest.mark.parametrize("restarts", [False, True])
def test_a_fault_that_stays_keeps_no_key_for_more_than_a_day_whoever_starts_again(
    tmp_path: Path,
    restarts: bool,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 2: an inner key is destroyed "at the window's end", "else 7 days after end +
    grace"; the guide: "An analyser ends every window 7 days after its end and grace (a day later if
    all came and its own disk fails just then)".
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    assert world.tell_served(13) == 201
    world.go_to(world.now + KEY_SECONDS + 1)
    for _ in range(6):
        if restarts:
            world.restart()
        storage = world.analyzer.storage
        read = storage.read

        def failing(
            statement: str, values: Sequence[Any] = (), read: Any = read
        ) -> list[tuple[Any, ...]]:
            if "FROM part" in statement:
                raise sqlite3.OperationalError("disk I/O error")
            return list(read(statement, values))

        storage.read = failing  # type: ignore[method-assign]
        with suppress(sqlite3.OperationalError):
            release.work(world.analyzer)
        world.go_to(world.now + DAY / 2)
    try:
        assert world.analyzer.cards.inner_key(WINDOW) is None, "three days later"
    finally:
        world.close()


@ONLY_SQLITE
def test_a_party_whose_database_is_held_is_not_said_to_be_ready(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: `/readyz` names "storage": "see who holds a lock on the file or database; requests
    get 503 and are sent again".

    The lock is held for longer than is waited: every report gets 503.
    """
    world = PartyWorld(tmp_path, open_task(window_seconds=DAY, grace_seconds=0))
    today = int(world.now // DAY)
    for window in range(today, today + 3):
        world.open_window(window)
    revoked = Revoked(tmp_path / "revoked", world.shuffler.storage, world.task.task_id)
    party = ShufflerParty(world.task, world.shuffler, world.keys[0], revoked, "token", tmp_path)

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v2/clock":
            return httpx.Response(200, json={"time": world.now})
        return httpx.Response(404)

    monkeypatch.setattr(
        "smoothdp.services.shuffler.shuffler_party.connect",
        lambda *_, **__: httpx.Client(
            transport=httpx.MockTransport(answer), base_url="http://127.0.0.1:1"
        ),
    )
    operations = party._operations(10.0)
    connection = world.shuffler.storage._connection  # type: ignore[attr-defined]
    connection.execute("PRAGMA busy_timeout = 20")
    world.send_many(1, window=today)
    with closing(sqlite3.connect(tmp_path / "shuffler.sqlite", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageLocked):
            world.send_many(1, window=today)
        wrong: list[str] = []
        for _ in range(2):
            try:
                party.work("http://127.0.0.1:1")
                operations.rounds.good()
            except Exception as error:  # as the service does
                operations.failed(error)
            health = Health(operations.checks)
            wrong += [one.says for one in asyncio.run(health.conditions()) if not one.good]
            wrong += [] if operations.rounds.condition().good else ["round"]
            health.close()
        with pytest.raises(StorageLocked):
            world.send_many(1, window=today)
    world.close()
    assert wrong


def test_a_clock_that_was_wrong_for_a_moment_stops_no_release_once_it_is_right(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "If this service's own clock was set by more than a minute while it ran, start the
    service again once it is right: the hold lasts until then"; the protocol, 8: on hold "what it
    has taken before, of a window that was over, goes its way".

    That release is charged in a wrong future, and no other one before that.
    """
    world = PartyWorld(tmp_path, small_task())
    ahead = [0.0]

    def now() -> float:
        return world.now + ahead[0]

    def on_this_machine() -> None:
        world.clocks[1]._wall = now
        world.analyzer.ledger._clock = lambda: datetime.fromtimestamp(now(), UTC)

    on_this_machine()
    for window in (WINDOW, WINDOW + 1):
        world.open_window(window)
        world.go_to(max(world.now, window * HOUR + 1200))
        world.send_many(13, window=window)
    assert world.finish()["state"] == "counting"
    ahead[0] = 365.0 * DAY
    assert world.analyzer.verdict(WINDOW + 1) is Verdict.HOLD
    assert world.tell_served(13) == 201
    release.work(world.analyzer)
    assert world.result()["state"] == "RELEASED"
    ahead[0] = 0.0
    world.restart()
    on_this_machine()
    try:
        assert world.finish(13, WINDOW + 1)["state"] == "RELEASED"
    finally:
        world.close()


@ONLY_SQLITE
@pytest.mark.parametrize(
    "error",
    [
        StorageFull("database or disk is full"),
        StorageUnreachable(expected="a server", got="none", remedy="Wait"),
    ],
    ids=["full", "away"],
)
def test_a_storage_that_stays_away_keeps_no_key_for_ever(
    tmp_path: Path,
    error: Exception,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 2: an inner key is destroyed "at the window's end", "else 7 days after end +
    grace, also if A's database has lost the card"; the guide: "a day later".

    The key is in a file of its own, on another disk than the database, perhaps.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    storage = world.analyzer.storage
    kept = storage.transaction, storage.read

    def failing(*_: Any) -> Any:
        raise error

    storage.transaction = failing  # type: ignore[method-assign]
    if isinstance(error, StorageUnreachable):
        storage.read = failing  # type: ignore[method-assign,assignment]
    for days in (0, 7, 1, 1, 20):
        world.go_to(world.now + days * DAY + 1)
        with suppress(StorageFull, StorageUnreachable):
            release.work(world.analyzer)
    storage.transaction, storage.read = kept  # type: ignore[method-assign]
    try:
        assert world.analyzer.cards.inner_key(WINDOW) is None, "29 days later"
    finally:
        world.close()
