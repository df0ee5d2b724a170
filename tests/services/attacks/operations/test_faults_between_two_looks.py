"""Cards and ends of windows of two processes, and files that are away for a moment, twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest

from smoothdp.services.analyzer import release
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.design.budget import windows_paid
from smoothdp.services.issuer.window_keys import close_windows, keep_card, key_of_window
from smoothdp.services.shuffler.gateway_cards import half_bytes
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.store import storage as storage_module
from smoothdp.services.store.private_file import identity
from smoothdp.services.store.storage import SqliteStorage, StorageFull
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import open_task
from tests.services.worlds.whole_world import WholeWorld, weak_task

DAY = 86_400


class Killed(BaseException):
    """The process was ended here."""


class Disorder:
    """Before any reading or transaction of a process something else happens, by chance.

    Another process does a step of its own; the disk is full; or the process is killed, before a
    commit or after it: what was committed is there, and nobody was told.
    """

    def __init__(self, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
        self.chance, self.calm, self.others = Random(seed), True, list[Callable[[], object]]()
        read, transaction = SqliteStorage.read, SqliteStorage.transaction

        def reading(storage: SqliteStorage, *values: Any) -> Any:
            self._before()
            return read(storage, *values)

        @contextmanager
        def changing(storage: SqliteStorage) -> Iterator[Any]:
            self._before()
            with transaction(storage) as change:
                yield change
                if self._strikes(0.02):
                    raise StorageFull("database or disk is full")
                if self._strikes(0.02):
                    raise Killed
            if self._strikes(0.02):
                # The disk failed when the log was to be written out: it is there after a restart.
                raise Killed

        monkeypatch.setattr(SqliteStorage, "read", reading)
        monkeypatch.setattr(SqliteStorage, "transaction", changing)

    def _strikes(self, part: float) -> bool:
        return not self.calm and self.chance.random() < part

    def _before(self) -> None:
        if self._strikes(0.02):
            raise sqlite3.OperationalError("disk I/O error")
        if self._strikes(0.1) and self.others:
            self.calm = True
            try:
                with suppress(Exception):
                    self.chance.choice(self.others)()
            finally:
                self.calm = False


@ONLY_SQLITE
@pytest.mark.parametrize("seed", [7, 8, 116])
def test_cards_made_by_two_processes_of_each_party_with_faults_are_one_a_window(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 4: "one a window for ever"; "windows charged + cards made and not ended <
    windows paid"; 2: "Keys of one window are made once and never again"; the guide: "what was
    acknowledged is on disk".

    Two processes of each party bring keys, sign, fetch, answer and close in any order, and are
    killed before and after commits. No half of a card, key, or number served that ever left has a
    second one of its window; who was acknowledged is counted; all keys are gone in the end.
    """
    disorder = Disorder(seed, monkeypatch)
    chance = disorder.chance
    options = {"window_seconds": 100, "grace_seconds": chance.choice((0, 50)), "windows": 2}
    worlds = [WholeWorld(tmp_path, weak_task(**options), fast=True)]
    task = worlds[0].task
    assert windows_paid(task) == 2
    worlds.append(WholeWorld(tmp_path, task, fast=True))
    start = int(worlds[0].now // 100)
    windows = range(start, start + 4)
    halves, cards = set[tuple[int, bytes]](), set[tuple[int, bytes]]()
    places, answered, drawn = set[int](), set[tuple[int, str]](), list[tuple[int, str]]()
    offered = dict[tuple[str, int], set[bytes]]()
    statements = set[tuple[int, bytes]]()
    faults = 0

    def patience() -> None:
        for world in worlds:
            stores = [world.shuffler.storage, world.analyzer.storage, world.issuer.storage]
            stores += [keys._storage for keys in world.keys]
            for storage in stores:
                storage._connection.execute("PRAGMA busy_timeout = 5")  # type: ignore[attr-defined]

    def offer(world: WholeWorld, window: int) -> None:
        key = world.shuffler.cards.offered_key(window)
        offered.setdefault(("gateway", window), set()).add(key)
        world.analyzer.cards.put_key(GATEWAY, window, key)

    def offer_spki(world: WholeWorld, window: int) -> None:
        spki = key_of_window(world.issuer, window)
        if spki is not None:
            offered.setdefault(("spki", window), set()).add(spki)
            world.analyzer.cards.put_key(ISSUER, window, spki)

    def sign(world: WholeWorld, window: int) -> None:
        shown = world.analyzer.cards.shown(window)
        if shown is None:
            return
        halves.add((window, shown[: half_bytes(task)]))
        signed = world.shuffler.cards.sign(window, shown[: half_bytes(task)])
        cards.add((window, signed))
        if world.analyzer.cards.put_signed(window, signed) in (200, 201):
            world.shuffler.cards.given(window)

    def fetch(world: WholeWorld, window: int) -> None:
        shown = world.analyzer.cards.shown(window)
        if shown is not None and len(shown) > half_bytes(task):
            keep_card(world.issuer, window, shown)

    def take_part(world: WholeWorld, window: int) -> None:
        person, window = chance.choice("abcdefg"), int(world.now // 100)
        drawn.append((window, person))
        if world.take_part(person, window=window) == 202 and world.last_status == 202:
            row = world.client(person).kept(window)
            if row is not None and row.state == "sent":
                answered.add((window, person))

    def end(world: WholeWorld, window: int) -> None:  # noqa: ARG001
        for step in (
            lambda: seal_due(world.shuffler),
            lambda: close_windows(world.issuer),
            world.tell,
            world.shuffler.cards.note_over,
            world.deliver,
            lambda: release.work(world.analyzer),
        ):
            with suppress(Exception):
                step()
        rows = world.issuer.storage.read("SELECT window, statement FROM served")
        statements.update((int(at), bytes(data)) for at, data in rows)

    steps = [offer, offer_spki, sign, fetch, end, *[take_part] * 6]

    def one(world: WholeWorld) -> None:
        chance.choice(steps)(world, chance.choice(windows))

    disorder.others = [lambda: one(worlds[1])]
    patience()
    for _ in range(200):
        disorder.calm = False
        try:
            one(worlds[chance.randrange(2)])
        except Killed:
            disorder.calm = True
            for world in worlds:
                world.now = max(at.now for at in worlds)
                world.close()
            for world in worlds:
                world._open()
            patience()
        except Exception:
            faults += 1

        disorder.calm = True
        made = worlds[0].analyzer.storage.read(
            "SELECT window FROM card WHERE state IN ('MADE', 'SIGNED')"
        )
        places = {int(at) for (at,) in made} | set(worlds[0].charged())
        assert len(places) <= 2, places
        if chance.random() < 0.08:
            for world in worlds:
                world.go_to(max(at.now for at in worlds) + 20)
    for days in (0, 0, 8, 8, 31, 31):
        for world in worlds:
            world.go_to((windows[-1] + 1) * 100 + 50 + days * DAY)
            end(world, start)
            world.shuffler.forget_old()
    for name, found in (("half", halves), ("card", cards)):
        assert len({window for window, _ in found}) == len(found), (name, found)
    assert all(len(found) == 1 for found in offered.values())
    assert len({window for window, _ in statements}) == len(statements)
    for window, data in cards:
        card = SignedCard.decode(data).card
        assert offered["gateway", window] == {card.gateway_key}
    for window in windows:
        said, came = worlds[0].result(window), [p for at, p in answered if at == window]
        if len(came) >= task.min_batch:
            assert said["state"] == "RELEASED", said
        if said["state"] == "RELEASED":
            assert said["users"] >= len(came)
            assert said["accounts_served"] >= said["users"]
    assert faults
    assert cards
    assert worlds[0].shuffler.cards.kept() == []
    assert worlds[0].keys[1].scopes() == []
    left = "SELECT count(*) FROM window_key WHERE secret IS NOT NULL"
    assert worlds[0].issuer.storage.read(left) == [(0,)]
    for world in worlds:
        world.close()


WEEK_LATER = (WINDOW + 1) * HOUR + 600 + 8 * DAY


def whole_batch(folder: Path) -> PartyWorld:
    """Return an analyser that has a whole batch, and was off for the week after."""
    world = PartyWorld(folder, open_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    world.restart()
    world.go_to(WEEK_LATER)
    return world


def away_at(monkeypatch: pytest.MonkeyPatch, *calls: int) -> list[int]:
    """Let the file of inner keys not be found when it is looked for these times; count them."""
    seen = [0]

    def found(path: Path) -> tuple[int, int] | None:
        seen[0] += path.name == "inner.sqlite"
        return None if path.name == "inner.sqlite" and seen[0] in calls else identity(path)

    monkeypatch.setattr(storage_module, "identity", found)
    return seen


@ONLY_SQLITE
@pytest.mark.parametrize("first", ["the file of keys", "a page of the database"])
def test_a_batch_that_was_whole_is_not_ended_by_a_disk_that_fails_twice_for_a_moment(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    first: str,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 7: "What was there whole before is counted and released also by an A that runs
    again only later ... and is tried again where a disk or a server fails in a way that may go, for
    the day that its key stays".

    An analyser comes back after the seven days, on a disk, or a mount, that fails now and then: the
    first counting of the round fails, and at the last one the file of keys cannot be looked at. A
    moment before and after it is there.
    """
    world = whole_batch(tmp_path)
    read, failed = world.analyzer.storage.read, list[str]()

    def failing(statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if statement.startswith("SELECT bytes FROM part") and not failed:
            failed.append(statement)
            raise sqlite3.OperationalError("disk I/O error")
        return read(statement, values)

    if first == "a page of the database":
        monkeypatch.setattr(world.analyzer.storage, "read", failing)
        away_at(monkeypatch, 3)
    else:
        away_at(monkeypatch, 1, 3)
    for _ in range(3):
        with suppress(Exception):
            release.work(world.analyzer)
    said = world.result()
    world.close()
    assert (said["state"], said.get("users")) == ("RELEASED", 13), said["reason"]


@ONLY_SQLITE
@pytest.mark.parametrize("call", range(1, 7))
def test_a_file_of_keys_that_is_not_found_once_ends_no_batch_that_was_whole(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 7, as above: one fault of a moment, wherever the file is looked for."""
    world = whole_batch(tmp_path)
    seen = away_at(monkeypatch, call)
    for _ in range(3):
        with suppress(Exception):
            release.work(world.analyzer)
    said = world.result()
    scopes = world.keys[1].scopes()
    world.close()
    assert seen[0] >= call
    assert (said["state"], said.get("users"), scopes) == ("RELEASED", 13, [])
