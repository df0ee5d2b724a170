"""What is noted beside the keys before it is told: nothing is said that a copy would take back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.release import work
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.every import do_all
from smoothdp.services.shuffler.gateway_cards import GatewayCards
from smoothdp.services.shuffler.sealing import seal_due, seal_window
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import StorageFull
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.stopped import Stopped
from tests.services.worlds.whole_world import HOUR, WholeWorld


def _knock_out(world: WholeWorld) -> None:
    """Let somebody who has read the store send the slot of one report with a token of its own."""
    (row,) = world.shuffler.storage.read("SELECT slots FROM pending LIMIT 1")
    slots, card = (bytes(row[0])[:52],), world.card()
    assert world.task.issuer is not None
    tokens = SlotTokens(card, issuer_name=world.task.issuer.name, origin=world.task.origin)
    request = tokens.request(slots, seed=b"x" * 32)
    account = world.issuer.admit(world.invitation_of("reader"), WINDOW, len(request))
    assert isinstance(account, Account)
    answer = world.issuer.answer(account, request)
    assert isinstance(answer, bytes)
    signatures = tokens.finalize(slots, seed=b"x" * 32, answer=answer)
    copied = Report(card.digest, slots, tuple(signatures))
    assert world.post(WINDOW, world.pass_of("reader"), seal_report(copied.encode(), card)) == 202


@ONLY_SQLITE
def test_no_window_is_said_to_be_destroyed_before_that_is_noted_beside_the_keys(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since"; and "windows that the shuffler destroyed
    do not count".

    Three people are too few once a report of one of them was copied. That the window was destroyed
    was said as soon as its rows were gone, and noted beside the keys when all other windows had
    been sealed, or not at all where the program was stopped, or that file's disk was full. An older
    copy, with the three reports, was taken then, and handed them over: of a window that no client
    counts any more.
    """
    said: list[bool] = []

    def reach(point: str) -> None:
        if point == "seal: after commit" and not said:
            # Another thread answers those who look their reports up.
            said.append(world.shuffler.is_expired(WINDOW))
            raise Stopped

    world = WholeWorld(tmp_path, reach=reach, fast=True)
    world.open_window()
    assert [world.take_part(person) for person in "abc"] == [202] * 3
    world.close()
    copy = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    _knock_out(world)
    world.go_to((WINDOW + 1) * world.task.window_seconds + world.task.grace_seconds)
    with pytest.raises(Stopped):
        seal_window(world.shuffler, WINDOW)
    assert said == [True]
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", copy)
    with pytest.raises(InvalidData, match="it was closed since"):
        world._open()
    world.issuer.storage.close()


def _round_of(world: WholeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
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


@ONLY_SQLITE
def test_no_batch_leaves_before_it_is_noted_beside_the_keys_that_its_window_is_over(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since".

    The file of the keys cannot be written when the window ends: somebody holds it, or the disk is
    full and the database is on another one. The window is sealed and handed over all the same.
    Then the database is replaced by an older copy, and nothing says that the window was closed.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"before {person}") == 202
    world.close()
    copy = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    assert world.take_part("one more") == 202
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds)
    world.keys[0]._storage._connection.execute("PRAGMA busy_timeout = 20")
    with closing(sqlite3.connect(tmp_path / "gateway.sqlite", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises((OSError, sqlite3.Error)):
            _round_of(world, monkeypatch)
    seen = [path for path, _ in world.offers]
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", copy)
    try:
        world._open()
    except InvalidData:
        return
    do_all([lambda: seal_due(world.shuffler)])
    batches = world.shuffler.storage.read("SELECT users FROM batch")
    world.close()
    assert not seen or not batches, "a second batch of a window that was handed over"


@ONLY_SQLITE
def test_a_card_that_was_shown_after_a_kill_is_noted_beside_the_keys(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: S "stores the signed card, and beside its gateway keys that there is one, and
    opens the window for reports".

    Killed between the two, it came back and showed the card of an open task to everybody, while
    the analyser was away. Its database was lost then, and the analyser lies.
    """

    def reach(point: str) -> None:
        if point == "card: signature stored":
            raise Stopped

    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"), reach=reach)
    with pytest.raises(Stopped):
        world.open_window()
    world.reach = lambda _: None
    world.restart()
    assert world.shuffler.cards.stored(WINDOW) is not None
    assert world.shuffler.takes(WINDOW) is None
    world.send_many(3)
    world.close()
    for path in world.folder.iterdir():
        if path.name.split(".")[0] != "gateway":
            path.unlink()
    world._open()
    with pytest.raises(InvalidData, match="one whose card was lost here"):
        world.open_window()
    world.close()


@ONLY_SQLITE
def test_a_charge_of_which_nothing_was_noted_had_no_result(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The analyser's ledger and database from an older copy, with the file of
    its keys from now, are refused at the start, if a window was charged since".

    Not if the program was stopped between the charge and the note of it: that copy is taken. The
    result had not left, so that the one that is released then is the first.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    assert [world.take_part(person) for person in "abcd"] == [202] * 4
    world.seal()
    close_windows(world.issuer)
    world.tell()
    world.deliver()
    world.close()
    names = (world.analyzer.ledger.path.name, "analyzer.sqlite")
    copies = {name: copy_of(tmp_path, name) for name in names}
    world._open()

    def stopped(*_: int) -> None:
        raise Stopped

    monkeypatch.setattr(world.analyzer, "note_charges", stopped)
    with pytest.raises(Stopped):
        work(world.analyzer)
    assert world.charged() == [WINDOW]
    assert world.result()["state"] != "RELEASED"
    world.close()
    for name, copy in copies.items():
        put_in_place(tmp_path, name, copy)
    world._open()
    assert world.charged() == []
    work(world.analyzer)
    assert (world.result()["users"], world.charged()) == (4, [WINDOW])
    world.close()


@ONLY_SQLITE
def test_a_kill_between_the_note_of_a_card_and_the_card_costs_one_window(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: lost is "one window of a shuffler that is killed in the moment in which it signs a
    card"."""
    world, note = PartyWorld(tmp_path), ErasableKeys.note

    def killed(keys: ErasableKeys, *names: bytes) -> None:
        note(keys, *names)
        if keys is world.keys[0] and any(name.startswith(b"card ") for name in names):
            raise Stopped

    # Nothing is taken back where the program is gone.
    monkeypatch.setattr(GatewayCards, "_take_back_signed", lambda *_: None)
    monkeypatch.setattr(ErasableKeys, "note", killed)
    with pytest.raises(Stopped):
        world.open_window(WINDOW)
    monkeypatch.undo()
    world.close()
    world._open()
    assert world.shuffler.cards.stored(WINDOW) is None
    with pytest.raises(InvalidData, match="one whose card was lost here"):
        world.open_window(WINDOW)
    world.open_window(WINDOW + 1)
    assert set(world.shuffler.cards.kept()) == {WINDOW, WINDOW + 1}
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds)
    seal_due(world.shuffler)
    assert world.shuffler.cards.kept() == [WINDOW + 1]
    world.close()


@ONLY_SQLITE
def test_a_card_that_could_not_be_stored_after_its_note_is_signed_when_that_can_be(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A fault that passes costs no window: the note is taken back, as nobody has seen the card."""
    world, note = PartyWorld(tmp_path), ErasableKeys.note

    def full(keys: ErasableKeys, *names: bytes) -> None:
        note(keys, *names)
        if keys is world.keys[0] and any(name.startswith(b"card ") for name in names):
            raise StorageFull("database or disk is full")

    monkeypatch.setattr(ErasableKeys, "note", full)
    with pytest.raises(StorageFull):
        world.open_window(WINDOW)
    monkeypatch.setattr(ErasableKeys, "note", note)
    assert world.shuffler.cards.stored(WINDOW) is None
    world.open_window(WINDOW)
    assert world.shuffler.takes(WINDOW) is None
    world.close()
