"""What one process of a party decides while another one acts: one end, and no start is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer import release
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.postgres import PostgresStorage
from smoothdp.services.store.storage import (
    SqliteStorage,
    StorageUnreachable,
    _SqliteTransaction,
)
from tests.services.storages import ONLY_SQLITE, POSTGRESQL, open_state
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.second_processes import second_shuffler
from tests.services.worlds.small_tasks import open_task
from tests.services.worlds.stopped import Stopped
from tests.services.worlds.whole_world import WholeWorld


def test_a_report_that_was_acknowledged_is_not_lost_to_another_process_that_erases_keys(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide to PostgreSQL: "whatever the number of processes"; the guide: "what was
    acknowledged is on disk"; the protocol, 2: a gateway key is destroyed "when the window is sealed
    or expired".
    """
    task = open_task(window_seconds=1, grace_seconds=0)
    world = PartyWorld(tmp_path, task)
    other = second_shuffler(world)
    window = int(world.now)
    kept = other.cards.kept

    def meanwhile() -> list[int]:
        if not world._cards:
            world.open_window(window)
            world.send_many(14, window=window)
            world.go_to(world.now + 1)
        return kept()

    world.shuffler.cards.offered_key(window)
    monkeypatch.setattr(other.cards, "kept", meanwhile)
    with suppress(Exception):
        seal_due(other)
    other.storage.close()
    try:
        assert [one.users for one in seal_due(world.shuffler)] == [14]
        world.restart()
    finally:
        world.close()


def test_a_start_beside_a_process_that_seals_finds_no_older_copy(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: the database is refused "if a window that is open in it was closed since":
    of the newest one, none is.
    """
    world = PartyWorld(tmp_path, open_task())
    world.open_window()
    world.send_many(14)
    notes = ErasableKeys.notes
    sealed: list[int] = []

    def meanwhile(keys: ErasableKeys) -> set[bytes]:
        if not sealed:
            sealed.append(WINDOW)
            world.seal()
        return notes(keys)

    monkeypatch.setattr(ErasableKeys, "notes", meanwhile)
    try:
        second_shuffler(world).storage.close()
    finally:
        world.close()


def test_a_card_that_is_signed_just_as_its_window_ends_stops_no_start(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 4: S "has its own gateway key" when it "stores the signed card"; the guide: "A
    service may be stopped at any moment", "start it".
    """
    world = PartyWorld(tmp_path, open_task(window_seconds=1, grace_seconds=0))
    other = second_shuffler(world)
    window = int(world.now)
    signed = world.shuffler.cards._signed

    def meanwhile(offered: bytes, window: int) -> bytes:
        world.go_to(world.now + 1)
        seal_due(other)
        return signed(offered, window)

    monkeypatch.setattr(world.shuffler.cards, "_signed", meanwhile)
    with suppress(InvalidData):
        world.open_window(window)
    other.storage.close()
    try:
        world.restart()
        seal_due(world.shuffler)
    finally:
        world.close()


@pytest.mark.slow
@pytest.mark.parametrize("storage_kind", [POSTGRESQL], indirect=True)
def test_a_process_whose_first_start_fails_takes_no_keys_of_another_one_away(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide to PostgreSQL: "whatever the number of processes"; of the file of keys: "All
    processes of a service share it", "without it the rows cannot be read".

    Two processes start for the first time, and the server cuts one of them off.
    """
    prepare = PostgresStorage._prepare
    worlds: list[PartyWorld] = []

    def meanwhile(_: PostgresStorage, *__: object, **___: object) -> None:
        monkeypatch.setattr(PostgresStorage, "_prepare", prepare)
        worlds.append(PartyWorld(tmp_path, open_task()))
        raise psycopg.OperationalError("terminating connection due to administrator command")

    monkeypatch.setattr(PostgresStorage, "_prepare", meanwhile)
    with suppress(StorageUnreachable):
        open_state(tmp_path, "shuffler", SHUFFLER_SCHEMA)
    (world,) = worlds
    try:
        world.open_window()
        world.send_many(14)
        world.restart()
        assert world.finish()["state"] == "RELEASED"
    finally:
        world.close()


class Faults:
    """Fails the n-th statement of whoever is at work, with a fault that passes."""

    def __init__(self, chance: Random, monkeypatch: pytest.MonkeyPatch) -> None:
        self._chance, self._left, self._kind = chance, -1, ""
        places = [(_SqliteTransaction, name) for name in ("execute", "change", "change_many")]
        for owner, name in [*places, (SqliteStorage, "read"), (SqliteStorage, "forget")]:
            monkeypatch.setattr(owner, name, self._failing(getattr(owner, name)))

    def _failing(self, done: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*args: Any, **options: Any) -> Any:
            self._left -= self._left >= 0
            if self._left < 0 and self._kind:
                kind, self._kind = self._kind, ""
                raise Stopped if kind == "stopped" else sqlite3.OperationalError(kind)
            return done(*args, **options)

        return failing

    def within(self, step: Callable[[], object]) -> object:
        """Do a step in which something fails, perhaps; return what it returned, or None."""
        self._left = self._chance.randrange(1, 40)
        self._kind = self._chance.choice(["disk I/O error", "disk is full", "stopped", ""])
        try:
            return step()
        except (Stopped, Exception):  # as a process that ends, or a round that is put off
            return None
        finally:
            self._kind = ""


def hand_over(world: WholeWorld) -> None:
    """Hand over as a round of the shuffler does."""
    world.shuffler.cards.note_over()
    world.deliver()


@ONLY_SQLITE
@pytest.mark.parametrize("seed", range(2))
def test_two_processes_of_each_party_in_any_order_with_faults_make_one_end(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "A service may be stopped at any moment"; "what was acknowledged is on disk";
    the protocol, 7: "charge the ledger, on disk first, once for this window and its batch".

    But for the moment in which a card is signed as its window ends, which is above.
    """
    chance = Random(seed)
    first, other = (WholeWorld(tmp_path, fast=True) for _ in range(2))
    faults = Faults(chance, monkeypatch)
    steps: list[Callable[[WholeWorld], object]] = [
        lambda world: seal_due(world.shuffler),
        lambda world: close_windows(world.issuer),
        lambda world: world.tell(),
        hand_over,
        lambda world: release.work(world.analyzer),
        lambda world: world.shuffler.forget_old(),
    ]
    for _ in range(5):
        faults.within(chance.choice((first, other)).open_window)
    first.open_window()
    told = {"a", "b", "c"}
    for _ in range(10):
        person, world = chance.choice("abcdef"), chance.choice((first, other))
        if faults.within(partial(world.take_part, person)) == 202:
            told.add(person)
    for person in "abc":
        assert 202 in [first.take_part(person) for _ in range(2)]

    def beside(_: str) -> None:
        if chance.random() < 0.3:
            first.reach = lambda _: None
            with suppress(Exception):
                chance.choice(steps)(other)
            first.reach = beside

    first.reach = beside
    for world in (first, other):
        world.go_to((WINDOW + 1) * HOUR + first.task.grace_seconds)
    for _ in range(15):
        world = chance.choice((first, first, other))
        faults.within(partial(chance.choice(steps), world))
        if chance.random() < 0.15:
            world.restart()
    first.reach = lambda _: None
    for _, world, step in product(range(2), (first, other), steps):
        step(world)
    result = first.result()
    assert (result["state"], other.result(), first.charged()) == ("RELEASED", result, [WINDOW])
    assert len(told) <= result["users"] <= result["accounts_served"] <= 6
    assert first.shuffler.cards.kept() == []
    assert first.analyzer.cards.inner_key(WINDOW) is None
    for storage, table in (
        (first.issuer.storage, "issued"),
        (first.shuffler.storage, "pending"),
        (first.shuffler.storage, "batch_part"),
        (first.analyzer.storage, "counts"),
    ):
        assert storage.read(f"SELECT count(*) FROM {table}") == [(0,)]
    first.close()
    other.close()
