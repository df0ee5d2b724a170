"""A seventh round, from the threat model alone: two workers, and a party that is away just then."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.services.analyzer import counting
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.release import end_lapsed, read_result
from smoothdp.services.formats import slots
from smoothdp.services.formats.card import Card, SignedCard
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire import calls
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task

pytestmark = ONLY_SQLITE


def test_a_worker_that_counts_while_another_ends_the_window_leaves_no_tally(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What it had opened was stored after the end, and nothing ever deleted it."""
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    world.open_window()
    world.send_many(15)
    world.seal()
    world.deliver()
    other = Analyzer(
        SqliteStorage(tmp_path / "analyzer.sqlite", ANALYZER_SCHEMA),
        task=world.task,
        keys=ErasableKeys(tmp_path / "inner.sqlite"),
        sign_key=ANALYZER_SIGN,
        ledgers=tmp_path,
        clocks=world.clocks[1],
    )
    ended: list[int] = []

    def damaged(*_: object) -> None:
        raise OSError("a page of the part cannot be read here")

    def open_slot(slot: bytes, card: Card, key: PrivateKey) -> int:
        if not ended:
            # Seven days after the window and its grace: the batch had come in the last moment.
            world.go_to(world.now + 7 * 86_400)
            end_lapsed(other)
            ended.append(read_result(other, WINDOW, now=world.now)[0])
        return slots.open_slot(slot, card, key)

    # The other one cannot count it, so it ends the window.
    monkeypatch.setattr("smoothdp.services.analyzer.release.count_batch", damaged)
    monkeypatch.setattr("smoothdp.services.analyzer.counting.open_slot", open_slot)
    assert counting.count_complete(world.analyzer) == 1
    assert ended == [403]
    assert world.analyzer.storage.read("SELECT bytes FROM counts") == []
    for opened in (other.storage, other.keys):
        opened.close()
    world.close()


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
