"""What one request or process reads in two steps, and another one changes in between."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer import release
from smoothdp.services.analyzer.release import read_result
from smoothdp.services.client.collector import WindowRefused, fetch_result
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.every import do_all
from smoothdp.services.shuffler.gateway_cards import GatewayCards
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import SqliteStorage, StorageFull, StorageLocked
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.second_processes import second_shuffler
from tests.services.worlds.small_tasks import ANALYZER_SIGN, open_task, small_task
from tests.services.worlds.whole_world import WholeWorld


def test_a_window_that_is_released_just_now_is_not_signed_as_one_that_was_not(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 3.5: "A window that was not released has `state`, REFUSED or QUARANTINED, and
    `reason` (RELEASED, of a window that was charged, at an A whose older copy does not have the
    result); a released one has no `state`, by which readers tell it"; 9: "200 released; 403 refused
    or quarantined, signed too"; 7: "RELEASED, REFUSED, QUARANTINED are final".

    A collector asks while the round of work releases the window: no result was there when results
    were looked at, and the batch is RELEASED when that is looked at.
    """
    world = PartyWorld(tmp_path, open_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    read, storage = world.analyzer.storage.read, world.analyzer.storage

    def meanwhile(statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        rows = read(statement, values)
        if statement.startswith("SELECT body FROM release") and not world.charged():
            release.work(world.analyzer)
        return rows

    monkeypatch.setattr(storage, "read", meanwhile)

    def answer(_: httpx.Request) -> httpx.Response:
        status, body = read_result(world.analyzer, WINDOW, now=world.now)
        return httpx.Response(status, content=body)

    said: list[dict[str, Any]] = []
    with httpx.Client(base_url="https://x", transport=httpx.MockTransport(answer)) as http:
        for _ in range(2):
            try:
                signed, state = fetch_result(http, world.task, WINDOW, token="")
            except WindowRefused as error:
                # As `smoothdp results --signed` writes it, and exits with 2.
                signed, state = error.signed, ""
            if signed is None:
                assert state in ("arriving", "counting")
                continue
            assert signed.verify(ANALYZER_SIGN.public)
            said.append(signed.document)
    assert world.result()["users"] == 13
    world.close()
    assert said, "released"
    assert [one.get("state", "released") for one in said] == ["released"] * len(said)


@ONLY_SQLITE
def test_no_batch_that_another_process_has_sealed_leaves_before_that_is_noted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since"; the guide to PostgreSQL: "A window that
    is open there and was closed since is not closed again", "whatever the number of processes".

    One process notes which windows are over; then another one seals a window, and goes on to the
    next one; then the first one hands over all that is sealed. The machine stops, and an older copy
    is put in place, or a standby that lags behind takes over.
    """
    world = PartyWorld(tmp_path, open_task())
    world.open_window()
    world.send_many(13)
    world.close()
    copy = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    world.send_many(1)
    other = second_shuffler(world)
    note_over = GatewayCards.note_over

    def stops(point: str) -> None:
        if point == "seal: after commit":
            raise KeyboardInterrupt

    def meanwhile(cards: GatewayCards) -> None:
        note_over(cards)
        monkeypatch.setattr(GatewayCards, "note_over", note_over)
        world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds)
        with suppress(KeyboardInterrupt):
            seal_due(other)

    other.reach = stops
    monkeypatch.setattr(GatewayCards, "note_over", meanwhile)
    _round_of(world, monkeypatch)
    other.storage.close()
    assert world.offers, "the batch was handed over"
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", copy)
    try:
        world._open()
    except InvalidData:
        return
    with suppress(InvalidData):
        do_all([lambda: seal_due(world.shuffler)])
    batches = world.shuffler.storage.read("SELECT users FROM batch")
    first = world.analyzer.storage.read("SELECT count(*) FROM batch")
    offers = len(world.offers)
    with suppress(OSError):
        world.deliver()
    second = world.offers[offers:]
    world.close()
    assert first == [(1,)]
    assert not batches, f"a second batch, of {batches[0][0]} of 14 people: {len(second)} requests"


@ONLY_SQLITE
def test_no_window_takes_reports_before_it_is_noted_that_its_card_was_signed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 4: S "stores the signed card, and beside its gateway keys that there is one,
    and opens the window for reports"; the threat model: "one card a window, at the client, issuer,
    shuffler and analyser".

    The file of the keys cannot be written when the card is signed: somebody holds it, or the disk
    is full and the database is on another one. The card of the open task is shown to everybody, and
    answered, all the same; the fault goes, the analyser is away, and no round notes the card. Then
    the database is lost, and the analyser lies.
    """
    world = PartyWorld(tmp_path, open_task())
    window = WINDOW
    world.shuffler.cards.offered_key(window)
    world.keys[0]._storage._connection.execute("PRAGMA busy_timeout = 20")
    with closing(sqlite3.connect(tmp_path / "gateway.sqlite", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageLocked):
            world.open_window(window)
    shown = world.shuffler.cards.stored(window)
    if shown is None:
        # Nothing was noted for good either: the fault has passed, and the window gets its card.
        world.open_window(window)
        assert world.shuffler.takes(window) is None
        assert world.shuffler.cards.stored(window) is not None
        world.close()
        return
    world.send_many(3, window=window)
    with suppress(OSError):
        _round_of(world, monkeypatch)
    world.close()
    for path in world.folder.iterdir():
        if path.name.split(".")[0] != "gateway":
            path.unlink()
    world._open()
    second: bytes | None = None
    with suppress(InvalidData):
        world.open_window(window)
        second = world.shuffler.cards.stored(window)
    world.close()
    assert second in (None, shown), "a second card of a window that three people have answered"


@ONLY_SQLITE
@pytest.mark.parametrize(("accounts", "state"), [(12, "QUARANTINED"), (200, "REFUSED")])
def test_a_window_that_is_refused_just_now_is_said_to_be_so_in_the_same_bytes_for_ever(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    accounts: int,
    state: str,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 7: "A batch that is not released has a signed statement with its reason and the
    evidence of section 3.5": also for who asks while the window is refused.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    world.send_many(13)
    world.seal()
    world.deliver()
    assert world.tell_served(accounts) == 201
    read, worked = world.analyzer.storage.read, list[int]()

    def meanwhile(statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        rows = read(statement, values)
        if statement.startswith("SELECT body FROM release") and not worked:
            worked.append(release.work(world.analyzer))
        return rows

    monkeypatch.setattr(world.analyzer.storage, "read", meanwhile)
    said_of = [read_result(world.analyzer, WINDOW, now=world.now) for _ in range(3)]
    answers = {(status, body) for status, body in said_of if status != 202}
    said = world.result()
    world.close()
    assert (worked, len(answers), said["state"]) == ([0], 1, state)
    assert (said["accounts_served"], bool(said["batch_header"])) == (accounts, True)


@ONLY_SQLITE
def test_an_analyser_that_cannot_note_shows_neither_a_card_nor_a_result(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 4: "That sigA left is stored before, in the file of the inner keys"; the threat
    model: an older copy of ledger and database is refused "if a window was released since".
    """
    world, note = PartyWorld(tmp_path, open_task()), ErasableKeys.note
    kept: list[set[bytes]] = []

    def full(keys: ErasableKeys, *names: bytes) -> None:
        if keys is world.keys[1] and names:
            kept.append(keys.notes())
            raise StorageFull("database or disk is full")
        note(keys, *names)

    for step in (world.open_window, lambda: work(world)):
        monkeypatch.setattr(ErasableKeys, "note", full)
        with pytest.raises(StorageFull):
            step()
        assert world.shuffler.cards.stored(WINDOW) is None or world.result()["state"] == "counting"
        monkeypatch.setattr(ErasableKeys, "note", note)
        if world.shuffler.cards.stored(WINDOW) is None:
            world.open_window()
            world.send_many(13)
            world.seal()
            world.deliver()
    assert [len(notes) for notes in kept] == [0, 1]
    work(world)
    assert (world.result()["state"], world.charged()) == ("RELEASED", [WINDOW])
    assert world.analyzer.noted() == {WINDOW}
    world.close()


def work(world: PartyWorld) -> None:
    """Do a round of the analyser's work."""
    release.work(world.analyzer)


@ONLY_SQLITE
@pytest.mark.parametrize("seed", [11, 17, 25])
def test_another_process_before_each_statement_of_one_makes_one_end(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seed: int,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "A service may be stopped at any moment"; the protocol, 6 and 7: one batch of a
    window, or none and "destroyed"; the ledger is charged "once for this window and its batch".

    Before any reading and any transaction of a process another one of any party may do anything,
    the same above all.
    """
    chance, inside = Random(seed), [True]
    first, other = (WholeWorld(tmp_path, fast=True) for _ in range(2))
    people = "abcd"[: chance.choice((0, 2, 3, 4))]
    marks, destroyed = set[bytes](), set[bool]()

    def observe(world: WholeWorld) -> None:
        marks.update([found] if (found := world.shuffler.marks(WINDOW)) else [])
        destroyed.add(world.shuffler.is_expired(WINDOW))

    def hand_over(world: WholeWorld) -> None:
        world.shuffler.cards.note_over()
        world.deliver()

    steps: list[Callable[[WholeWorld], object]] = [
        lambda world: seal_due(world.shuffler),
        lambda world: close_windows(world.issuer),
        lambda world: world.tell(),
        hand_over,
        lambda world: release.work(world.analyzer),
        lambda world: world.shuffler.forget_old(),
        observe,
    ]

    under_way: list[Callable[[WholeWorld], object]] = []

    def before(done: Callable[..., Any]) -> Callable[..., Any]:
        def doing(*args: Any, **options: Any) -> Any:
            if not inside[0] and chance.random() < 0.3:
                inside[0] = True
                with suppress(Exception):
                    chance.choice([*steps, *under_way * len(steps)])(other)
                inside[0] = False
            return done(*args, **options)

        return doing

    for name in ("read", "transaction"):
        monkeypatch.setattr(SqliteStorage, name, before(getattr(SqliteStorage, name)))
    for storage in (other.shuffler.storage, other.analyzer.storage, other.issuer.storage):
        storage._connection.execute("PRAGMA busy_timeout = 20")  # type: ignore[attr-defined]
    first.open_window()
    assert [first.take_part(person) for person in people] == [202] * len(people)
    for world in (first, other):
        world.go_to((WINDOW + 1) * HOUR + first.task.grace_seconds)
    inside[0] = False
    for _ in range(12):
        under_way[:] = [chance.choice(steps)]
        with suppress(Exception):
            under_way[0](first)
    inside[0] = True
    for _, world, step in product(range(2), (first, other), steps):
        step(world)
    said = first.result()
    if len(people) < 3:
        assert (True in destroyed, marks, said["state"]) == (True, set(), "no batch")
    else:
        assert (len(marks), said["state"], said["users"]) == (1, "RELEASED", len(people))
        assert (True in destroyed, first.charged()) == (False, [WINDOW])
        assert first.analyzer.cards.inner_key(WINDOW) is None
    assert first.shuffler.cards.kept() == []
    first.close()
    other.close()


def _round_of(world: PartyWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do a round of the shuffler's work, over HTTP to the analyser."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/v2/batches"):
            return httpx.Response(world.put(request.url.path, request.content))
        if request.url.path == "/v2/clock":
            return httpx.Response(200, json={"time": world.now})
        return httpx.Response(404)

    client = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://127.0.0.1:1")
    monkeypatch.setattr(
        "smoothdp.services.shuffler.shuffler_party.connect", lambda *_, **__: client
    )
    party = ShufflerParty(
        *(world.task, world.shuffler, world.keys[0]),
        *(Revoked(world.folder / "revoked"), "token", world.folder),
    )
    party.work("http://127.0.0.1:1")
