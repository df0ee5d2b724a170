"""Reports that come in groups are answered and stored as if each had come alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from smoothdp.services.formats.report import seal_report
from smoothdp.services.shuffler.ingest import OpenedReport, Taken
from smoothdp.services.shuffler.sealing import seal_window
from tests.services.storages import without_waiting_for_disks
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task


@pytest.fixture
def world(tmp_path: Path, storage_kind: str) -> Iterator[PartyWorld]:  # noqa: ARG001
    made = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    without_waiting_for_disks(made.shuffler.storage)
    for window in (WINDOW, WINDOW + 1):
        made.open_window(window)
    yield made
    made.close()


class OneAtATime:
    """The rules, literally: a report a pass, a pass a report, nothing after the end."""

    def __init__(self, closed: set[int]) -> None:
        self.closed = closed
        self.of_pass: dict[tuple[int, bytes], bytes] = {}
        self.reports: set[tuple[int, bytes]] = set()

    def answer(self, item: OpenedReport) -> Taken:
        window = item.task_window[1]
        if window in self.closed:
            return Taken.CLOSED
        place = (window, item.sender_tag)
        if place in self.of_pass:
            same = self.of_pass[place] == item.report_id
            return Taken.ACCEPTED if same else Taken.OTHER_REPORT
        if (window, item.report_id) in self.reports:
            return Taken.OTHER_REPORT
        self.of_pass[place] = item.report_id
        self.reports.add((window, item.report_id))
        return Taken.ACCEPTED


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_judged_as_one_after_the_other(world: PartyWorld, seed: int) -> None:
    """All were judged before any was stored, as when they wait for one group."""
    source = random.Random(seed)
    world.go_to((WINDOW + 1) * HOUR + 60.0)
    senders = [world.shuffler.sender(world.new_pass()) or b"" for _ in range(7)]
    reports = {w: [world.report(1, w) for _ in range(8)] for w in (WINDOW, WINDOW + 1)}
    made: list[OpenedReport] = []
    for _ in range(160):
        window = WINDOW + source.choice([0, 1, 1, 1])
        sealed = seal_report(source.choice(reports[window]).encode(), world.card(window))
        judged = world.shuffler.judge(window, source.choice(senders), sealed)
        assert not isinstance(judged, Taken)
        made.append(judged)
    # Another process has sealed one of the windows meanwhile.
    seal_window(world.shuffler, WINDOW)
    rules = OneAtATime({WINDOW})
    found: list[Taken] = []
    rest = list(made)
    while rest:
        size = source.choice([1, 2, 5, 40])
        found += world.shuffler.accept(rest[:size])
        rest = rest[size:]
    expected = [rules.answer(item) for item in made]
    assert found == expected
    assert {Taken.ACCEPTED, Taken.OTHER_REPORT, Taken.CLOSED} == set(expected)
    rows = world.shuffler.storage.read("SELECT window, sender_tag, report_id FROM pending")
    assert {(w, bytes(who)): bytes(number) for w, who, number in rows} == rules.of_pass


def test_a_window_that_is_full_takes_no_more(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task(max_batch=14))
    world.open_window()
    reports = [world.report() for _ in range(17)]
    passes = [world.new_pass() for _ in reports]
    found = [world.send(*pair) for pair in zip(reports, passes, strict=True)]
    assert found == [Taken.ACCEPTED] * 14 + [Taken.LATER] * 3
    # What was taken is answered as before; what was not may be sent in a later window.
    assert [world.send(*pair) for pair in zip(reports, passes, strict=True)] == found
    assert world.shuffler.totals()["pending"] == 14
    assert world.finish(14)["users"] == 14
    world.close()
