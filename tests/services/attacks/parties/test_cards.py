"""Cards of windows: one each, with keys of its own window, late but not twice."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import read_result, work
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER, key_scope
from smoothdp.services.formats import slots
from smoothdp.services.formats.card import Card, SignedCard, sign_card
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.wire import calls
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.older_copies import back_up, restore
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.small_tasks import ANALYZER_SIGN, OPEN_TASK, small_task


@ONLY_SQLITE
@pytest.mark.parametrize("copy", [True, False])
def test_no_window_gets_a_second_card_from_an_analyser_that_lost_its_database(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    copy: bool,
) -> None:
    """The shuffler brought another gateway key, and had two cards of one window signed."""
    (tmp_path / "world").mkdir()
    world = PartyWorld(tmp_path / "world", small_task() if copy else small_task(**OPEN_TASK))
    if copy:
        world.analyzer.cards.put_key(ISSUER, WINDOW, issuer_key().public.spki)
        back_up(world.folder, tmp_path / "copy", "analyzer.sqlite")
    world.open_window()
    world.close()
    for path in world.folder.glob("analyzer.sqlite*"):
        path.unlink()
    if copy:
        restore(tmp_path / "copy", world.folder)
    world._open()
    other = PrivateKey.generate().public.to_bytes()
    cards = world.analyzer.cards
    for window in (WINDOW, WINDOW + 1):
        assert cards.put_key(GATEWAY, window, other) == 201
        if copy:
            assert cards.put_key(ISSUER, window, issuer_key().public.spki) in (200, 201)
    assert cards.shown(WINDOW) is None
    assert cards.shown(WINDOW + 1) is not None
    # What is left of the first one goes as of all windows without an end.
    world.go_to((WINDOW + 3) * HOUR + 7 * 86_400)
    for _ in range(2):
        work(world.analyzer)
    assert world.keys[1].scopes() == []
    world.close()


@ONLY_SQLITE
def test_a_shuffler_that_lost_its_database_signs_no_second_card(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """An analyser that takes a second gateway key had two cards of one window signed."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.open_window()
    world.close()
    # The analyser is the liar: it begins anew, its file of keys too.
    for path in world.folder.iterdir():
        if path.name.split(".")[0] != "gateway":
            path.unlink()
    world._open()
    with pytest.raises(InvalidData, match="one whose card was lost here"):
        world.open_window()
    assert world.shuffler.cards.stored(WINDOW) is None
    assert world.shuffler.takes(WINDOW) is Taken.UNKNOWN
    world.open_window(WINDOW + 1)
    world.close()


@ONLY_SQLITE
def test_a_card_that_was_not_shown_is_made_again(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A program that stops, or a full disk, between the key and the card costs no window."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.keys[1].seal(key_scope(world.task.task_id, WINDOW), b"of a card that is not there")
    world.open_window()
    assert world.analyzer.cards.inner_key(WINDOW) is not None
    world.close()


@ONLY_SQLITE
def test_no_card_is_signed_of_a_window_whose_gateway_key_was_lost(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: "a window whose key or card is lost has none", and of the shuffler, before it
    signs: it "checks that the card is one a client would accept, has its own gateway key".

    A key was offered, and no card came of it yet. Then the file of the keys is lost.
    """
    world = PartyWorld(tmp_path, small_task())
    world.shuffler.cards.offered_key(WINDOW + 1)
    world.close()
    for path in tmp_path.glob("gateway.sqlite*"):
        path.unlink()
    world._open()
    with contextlib.suppress(SmoothdpError):
        world.open_window(WINDOW + 1)
    signed, lost = world.shuffler.cards.stored(WINDOW + 1), world.shuffler.cards.lost()
    world.close()
    assert (signed is None, lost) == (True, [])


@pytest.mark.parametrize("other", [1, 256])
def test_an_analyser_cannot_put_a_key_of_another_window_into_a_card(
    tmp_path: Path, other: int
) -> None:
    """A gateway key that lives longer than its window would open a recording of it for longer.

    The key's number is the window modulo 256: a key of 256 windows later has the same.
    """
    world = PartyWorld(tmp_path)
    world.shuffler.cards.offered_key(WINDOW)
    card = Card(
        task_id=world.task.task_id,
        window=WINDOW,
        gateway_key=world.shuffler.cards.offered_key(WINDOW + other),
        inner_key=PrivateKey.generate().public.to_bytes(),
        issuer_spki=issuer_key().public.spki,
    )
    with pytest.raises(InvalidData, match="another one"):
        world.shuffler.cards.sign(WINDOW, card.encode() + sign_card(card, ANALYZER_SIGN))
    assert world.shuffler.cards.stored(WINDOW) is None
    world.close()


@ONLY_SQLITE
def test_reports_are_counted_though_the_analyser_was_away_from_the_card_to_the_windows_end(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without an issuer people have the card from the shuffler: what it had answered 202 to was
    refused by the analyser for good, which never got the card.
    """
    directories = party_directories(tmp_path, issuer_url="", has_issuer=False)
    task, now = directories.task, [WINDOW * HOUR + 60.0]

    def clocks() -> ClockGuard:
        return ClockGuard(wall=lambda: now[0], boot=lambda: now[0] - 1000)

    def ask(http: httpx.Client, method: Any, path: str, **more: Any) -> calls.Answer:
        if path.startswith("/v2/cards") and method == "PUT":
            raise OSError("the analyser was stopped just then")
        return calls.ask(http, method, path, **more)

    with ExitStack() as stack:
        analyzer = AnalyzerParty.from_directory(directories.analyzer, clocks=clocks())
        party = ShufflerParty.from_directory(directories.shuffler, clocks=clocks())
        url = stack.enter_context(on_loopback(analyzer.app(work_seconds=3600)))
        for opened in (analyzer, party):
            stack.callback(opened.close)
        with monkeypatch.context() as patched:
            patched.setattr("smoothdp.services.shuffler.shuffler_party.ask", ask)
            with pytest.raises(OSError, match="stopped just then"):
                party.work(url)
        shuffler = party.shuffler
        stored = shuffler.cards.stored(WINDOW)
        assert stored is not None
        card = SignedCard.decode(stored).card
        for secret in issue_passes(directories.shuffler, 12):
            sender = shuffler.sender(secret)
            assert sender is not None
            report = Report(card.digest, tuple(slots.seal_slots(task.values(1), card)), ())
            judged = shuffler.judge(WINDOW, sender, seal_report(report.encode(), card))
            assert not isinstance(judged, Taken)
            assert shuffler.accept([judged]) == [Taken.ACCEPTED]
        now[0] = (WINDOW + 1) * HOUR + 1.0
        party.work(url)
        now[0] += task.grace_seconds
        for _ in range(2):
            party.work(url)
            analyzer.work()
        assert read_result(analyzer.analyzer, WINDOW, now=now[0])[0] == 200
        # Once the window has ended at the analyser it is not asked any more.
        with shuffler.storage.transaction() as change:
            change.change("UPDATE card SET state = 'SIGNED' WHERE window = ?", (WINDOW,))
        now[0] += 500.0
        party.work(url)
        assert party._late_windows() == []
