"""Groups follow the rules of single reports, and no window takes more than its largest batch."""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from smoothdp.services.formats.secrets import tag as name_of
from smoothdp.services.shuffler import ingest
from smoothdp.services.shuffler.delivery import DeliveryRefused
from smoothdp.services.shuffler.ingest import OpenedReport, Taken
from smoothdp.services.shuffler.sealing import seal_window
from smoothdp.services.shuffler.shuffler_tables import OPEN, SHUFFLER_SCHEMA
from smoothdp.services.store.migrations import Schema
from tests.services.load.test_ingest_groups import many, opened
from tests.services.storages import Current, files_of, open_state, without_waiting_for_disks
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task


@pytest.fixture
def small(tmp_path: Path) -> Iterator[PartyWorld]:
    """A task whose batches have 12 to 20 users."""
    made = PartyWorld(tmp_path, small_task(issuer=None, proof="none", max_batch=20))
    made.open_window()
    yield made
    made.close()


@dataclass(frozen=True)
class Sent:
    """What is sent, and by whom."""

    item: OpenedReport
    user: int
    window: int


class OneAtATime:
    """The rules, literally: a report per pass and window, a pass per report, and no more."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.quota: dict[tuple[int, int], bytes] = {}
        self.numbers: set[tuple[int, bytes]] = set()

    def answer(self, sent: Sent) -> Taken:
        place, number = (sent.window, sent.user), (sent.window, sent.item.report_id)
        if sent.window != WINDOW:
            return Taken.CLOSED
        if place in self.quota:
            return Taken.ACCEPTED if self.quota[place] == number[1] else Taken.OTHER_REPORT
        if len(self.quota) == self.most:
            return Taken.LATER
        if number in self.numbers:
            return Taken.OTHER_REPORT
        self.quota[place] = number[1]
        self.numbers.add(number)
        return Taken.ACCEPTED


@pytest.mark.parametrize(("seed", "users"), [(0, 7), (1, 7), (2, 7), (3, 30), (4, 30), (5, 30)])
def test_groups_are_judged_as_one_after_the_other(small: PartyWorld, seed: int, users: int) -> None:
    """Of 30 people the last 10 find no room."""
    without_waiting_for_disks(small.shuffler.storage)
    source, rules = random.Random(seed), OneAtATime(small.task.max_batch)
    # One window was closed after its reports were opened, and before they were stored.
    small.open_window(WINDOW + 1)
    passes = [small.new_pass() for _ in range(users)]
    made: list[Sent] = []
    for window in (WINDOW, WINDOW + 1):
        reports = [small.report(1, window) for _ in range(users + 1)]
        made += [
            Sent(opened(small, passes[user], report, window), user, window)
            for user in range(users)
            for report in source.sample(reports, 8)
        ]
    seal_window(small.shuffler, WINDOW + 1)
    first = 8 * users
    stream = [source.choice(made[: first if source.random() < 0.9 else None]) for _ in range(160)]
    found: list[Taken] = []
    expected: list[Taken] = []
    rest = list(stream)
    while rest:
        size = source.choice([1, 2, 5, 40])
        group, rest = rest[:size], rest[size:]
        found += small.shuffler.accept([sent.item for sent in group])
        # Of two passes with one report in one group, the one with the smaller tag is first.
        order = sorted(range(len(group)), key=lambda i: group[i].item.sender_tag)
        answers = {i: rules.answer(group[i]) for i in order}
        expected += [answers[i] for i in range(len(group))]
    assert found == expected
    full = {Taken.LATER} if users > small.task.max_batch else set()
    assert set(found) == {Taken.ACCEPTED, Taken.OTHER_REPORT, Taken.CLOSED} | full
    rows = small.shuffler.storage.read("SELECT window, report_id FROM pending")
    assert {(window, bytes(number)) for window, number in rows} == rules.numbers
    assert len(rows) == len(rules.quota)
    assert places_taken(small) == {WINDOW: len(rows), WINDOW + 1: 0}


def places_taken(world: PartyWorld) -> dict[int, int]:
    """Return window -> the places that are taken, as its row says."""
    rows = world.shuffler.storage.read("SELECT window, reports FROM collecting")
    return {int(window): int(reports) for window, reports in rows}


# ---- the last places of a window


def stored_by_processes(world: PartyWorld, items: list[OpenedReport], processes: int) -> list[int]:
    """Store reports in groups, each process its share; return how many each one accepted."""
    found, begin = [], time.monotonic() + 0.3
    for share in range(processes):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                own = PartyWorld(world.folder, world.task)
                # All begin together.
                while time.monotonic() < begin:
                    time.sleep(0.001)
                rest, answers = items[share::processes], list[Taken]()
                for size in (1, 7, 2, 9, 4, 30):
                    group, rest = rest[:size], rest[size:]
                    answers += own.shuffler.accept(group) if group else []
                assert set(answers) <= {Taken.ACCEPTED, Taken.LATER}
                os.write(writing, str(answers.count(Taken.ACCEPTED)).encode())
                code = 0
            finally:
                os._exit(code)
        found.append((child, reading, writing))
    counts = []
    for child, reading, writing in found:
        assert os.waitpid(child, 0)[1] == 0
        os.close(writing)
        with os.fdopen(reading) as told:
            counts.append(int(told.read()))
    return counts


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_two_processes_fill_a_window_to_its_last_place_and_not_beyond(small: PartyWorld) -> None:
    items = many(small, 40)
    counts = stored_by_processes(small, items, 2)
    assert sum(counts) == small.task.max_batch == places_taken(small)[WINDOW]
    # Who is in is told so again, who is not may come later, and the rest is released.
    again = small.shuffler.accept(items)
    assert (again.count(Taken.ACCEPTED), again.count(Taken.LATER)) == (20, 20)
    assert [sealed.users for sealed in small.seal()] == [20]
    assert small.finish()["state"] == "RELEASED"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_without_the_limit_it_would_be_overfilled_and_lost(
    small: PartyWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above, and the mutant that it is there for."""
    monkeypatch.setattr(
        ingest, "_TAKE", ingest._TAKE.replace("reports + ? <= ?", "reports + ? <= 2 * ?")
    )
    assert sum(stored_by_processes(small, many(small, 40), 2)) == 40
    small.seal()
    with pytest.raises(DeliveryRefused, match="answered 400"):
        small.deliver()


def _slot(number: int) -> bytes:
    """Bytes that stand nowhere else in a server's files, as runs of one byte do."""
    return hashlib.shake_128(bytes([number])).digest(52)


def test_a_window_of_the_version_before_counts_what_it_holds(tmp_path: Path) -> None:
    """Reports that were there before places were counted take places too."""
    task = small_task(issuer=None, proof="none", max_batch=20)
    first = Schema(SHUFFLER_SCHEMA.migrations[:1], first=SHUFFLER_SCHEMA.first)
    old = open_state(tmp_path, "shuffler", first)
    window = (task.task_id, WINDOW)
    with old.transaction() as change:
        change.change(
            "INSERT INTO collecting (task_id, window, state, tag_key) VALUES (?, ?, ?, ?)",
            (*window, OPEN, bytes(32)),
        )
        for number in range(18):
            change.change(
                "INSERT INTO pending (task_id, window, sender_tag, report_id, slots) "
                "VALUES (?, ?, ?, ?, ?)",
                (*window, bytes([number]) * 16, bytes([number]) * 32, _slot(number)),
            )
    old.close()
    world = PartyWorld(tmp_path, task)
    assert places_taken(world) == {WINDOW: 18}
    tags = [bytes([number]) * 16 for number in range(14, 24)]
    names = [name_of(bytes(32), tag * 2) for tag in tags]
    items = [OpenedReport(window, *both, bytes(52)) for both in zip(tags, names, strict=True)]
    with world.shuffler.storage.adding() as change:
        answers = ingest.store_group(change, items, most=20)
    assert answers == [Taken.ACCEPTED] * 6 + [Taken.LATER] * 4
    rows = world.shuffler.storage.read("SELECT sender_tag, slots FROM pending ORDER BY sender_tag")
    assert [bytes(slots) for _, slots in rows[:18]] == [_slot(number) for number in range(18)]
    assert len(rows) == 20
    # Of the table that was there before nothing is left, and nothing of what it held; PostgreSQL
    # had it sealed from the start.
    assert (_slot(7) in files_of(tmp_path, "shuffler")) == (Current.server is None)
    with world.shuffler.storage.transaction() as change:
        change.change("DELETE FROM pending")
    world.shuffler.storage.forget()
    found = files_of(tmp_path, "shuffler")
    assert not any(_slot(number) in found for number in range(18))
    world.close()
