"""Tests 37 to 51: kill -9 at named points, full disks, jumping clocks, racing sealers."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.analyzer.counting import count_complete, tallies
from smoothdp.services.analyzer.release import release_counted, work
from smoothdp.services.faults import CLIENT_POINTS, ISSUER_POINTS, POINTS as PARTY_POINTS
from smoothdp.services.formats.marks import MarksFile, mark_of
from smoothdp.services.formats.report import seal_report
from smoothdp.services.formats.served import Served
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.sealing import seal_window
from smoothdp.services.store.storage import StorageFull
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.whole_world import HOUR, WINDOW, WholeWorld, weak_task

# The children touch no thread of the parent: they open files of their own and leave.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

USERS = 5
PEOPLE = [f"u{number}" for number in range(USERS)]
POINTS = (*CLIENT_POINTS, *ISSUER_POINTS, *PARTY_POINTS)
# Its budget pays for a million windows, so that no night of kills is too long.
TASK = weak_task(windows=1_000_000, delta="1e-6", min_batch=5, epsilon="16")


def run_round(world: WholeWorld, number: int) -> None:
    """Do all steps of a window, those that are done already too."""
    window, over = WINDOW + number, world.folder / f"over {number}"
    world.go_to((window + over.exists()) * HOUR + 5.0)
    if not over.exists():
        world.open_window(window)
        for person in PEOPLE:
            assert world.take_part(person, number % 2, window=window) == 202
        over.touch()
    reports = {person: world.report_of(person, window) for person in PEOPLE}
    # Some are sent again, as if the first answer had been lost.
    for person in PEOPLE[:2]:
        sealed = seal_report(reports[person].encode(), world.card(window))
        assert world.post(window, world.pass_of(person), sealed) in (202, 410)
    expected: Counter[int] = Counter()
    if world.analyzer.cards.inner_key(window) is not None:
        expected = sum((world.values_of(r, window) for r in reports.values()), Counter())
    world.seal(window)
    close_windows(world.issuer)
    world.tell()
    world.deliver()
    count_complete(world.analyzer)
    tally = world.tally(window)
    assert tally in (expected, Counter())
    work(world.analyzer)
    document = world.result(window)
    assert document["state"] == "RELEASED"
    assert document["users"] == document["accounts_served"] == USERS
    marks = MarksFile.decode(world.shuffler.marks(window) or b"")
    own = [mark_of(slot) for report in reports.values() for slot in report.slots]
    assert marks.slots == len(own) == len(set(own))
    assert all(mark in marks for mark in own)


def run_rounds(directory: Path, rounds: int, point: str | None, hit: int) -> None:
    """Finish rounds; kill the process, and so all parties, at the hit of a point."""
    left = [hit]

    def reach(name: str) -> None:
        if name == point:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    world = WholeWorld(directory, TASK, reach=reach)
    progress = directory / "round"
    while (number := int(progress.read_text())) < rounds:
        run_round(world, number)
        after = directory / "round.new"
        after.write_text(str(number + 1))
        os.replace(after, progress)
    world.close()


def in_a_process(directory: Path, rounds: int, point: str | None, hit: int) -> int:
    """Run rounds in a forked process; its wait status."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            run_rounds(directory, rounds, point, hit)
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def killed_runs(directory: Path, kills: int, seed: int) -> Counter[str]:
    """Kill so many times, then finish; return the kills of each point that took place."""
    directory.mkdir(exist_ok=True)
    (directory / "round").write_text("0")
    source, done = random.Random(seed), Counter[str]()
    rounds = 0
    for attempt in range(kills):
        point = POINTS[attempt % len(POINTS)]
        # Some points are passed once only in the rounds of a run: those are then hit at once.
        for hit in (source.randint(1, 2), 1):
            # A run finishes what was begun and does up to one more round.
            rounds = int((directory / "round").read_text()) + 2
            status = in_a_process(directory, rounds, point, hit)
            if os.WIFSIGNALED(status):
                assert os.WTERMSIG(status) == signal.SIGKILL
                done[point] += 1
                break
            assert os.WEXITSTATUS(status) == 0, f"a wrong count after a kill at {point}"
    assert in_a_process(directory, rounds + 1, None, 0) == 0
    return done


def check_totals(directory: Path) -> None:
    """Every report is in one batch, counted once, released once; everybody was served once."""
    with closing(WholeWorld(directory, TASK)) as world:
        look_at(world, directory)


def look_at(world: WholeWorld, directory: Path) -> None:
    rounds = int((directory / "round").read_text())
    assert world.shuffler.totals() == {
        "pending": 0,
        "batched": USERS * rounds,
        "shared": 0,
        "expired": 0,
    }
    windows = list(range(WINDOW, WINDOW + rounds))
    read = world.analyzer.storage.read
    assert [row[0] for row in read("SELECT window FROM release ORDER BY window")] == windows
    assert world.charged() == windows
    served = read("SELECT statement FROM served ORDER BY window")
    assert [Served.decode(bytes(row[0])).accounts for row in served] == [USERS] * rounds
    assert read("SELECT count(*) FROM counts") == [(0,)]
    assert world.shuffler.storage.read("SELECT count(*) FROM batch_part") == [(0,)]
    # A round that was killed after its end has erased its keys when the next one began.
    assert [keys.scopes() for keys in world.keys] == [[], []]
    left = world.issuer.storage.read("SELECT window FROM window_key WHERE secret IS NOT NULL")
    assert left == world.issuer.storage.read("SELECT * FROM issued") == []


def test_37_to_46_a_kill_at_each_point_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path,
) -> None:
    done = killed_runs(tmp_path / "w", len(POINTS), seed=37)
    assert len(done) == len(POINTS), done
    check_totals(tmp_path / "w")


@pytest.mark.slow
def test_37_to_46_three_hundred_kills(tmp_path: Path) -> None:
    done = killed_runs(tmp_path / "w", 15 * len(POINTS), seed=46)
    assert sum(done.values()) >= 330, done
    assert min(done.values()) >= 12, done
    check_totals(tmp_path / "w")


def test_the_kill_test_sees_a_loss(tmp_path: Path) -> None:
    directory = tmp_path / "w"
    killed_runs(directory, 1, seed=1)
    world = WholeWorld(directory, TASK)
    with world.shuffler.storage.transaction() as change:
        change.change("UPDATE batch SET users = users + 1")
    world.close()
    with pytest.raises(AssertionError):
        check_totals(directory)


# ---- disks, clocks, several at once --------------------------------------------------------------


@pytest.mark.parametrize("party", ["shuffler", "issuer"])
@ONLY_SQLITE
def test_47_a_full_disk_loses_nothing(tmp_path: Path, party: str) -> None:
    """Who was answered is stored; who was not tries again, with the same, and is stored once."""
    world = WholeWorld(tmp_path)
    world.open_window()
    parties: dict[str, Any] = {"shuffler": world.shuffler, "issuer": world.issuer}
    connection = parties[party].storage._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages + 1}")
    done: list[str] = []

    def fill() -> None:
        while len(done) < 400:
            assert world.take_part(f"u{len(done)}") == 202
            done.append(f"u{len(done)}")

    with pytest.raises(StorageFull):
        fill()
    assert len(done) > 3
    assert world.shuffler.totals()["pending"] == len(done)
    # The one that was turned away is at the issuer, if at all, with one request.
    asked = world.issuer.storage.read("SELECT count(*) FROM issued")[0][0]
    assert asked == len(done) + (party == "shuffler")
    connection.execute("PRAGMA max_page_count=1000000")
    assert world.take_part(f"u{len(done)}") == 202
    document = world.end()
    assert document["users"] == document["accounts_served"] == len(done) + 1
    world.close()


@ONLY_SQLITE
def test_47_a_full_disk_of_the_analyser_charges_once(tmp_path: Path) -> None:
    world = WholeWorld(tmp_path)
    world.open_window()
    for person in PEOPLE:
        world.take_part(person)
    world.seal()
    connection = world.analyzer.storage._connection  # type: ignore[attr-defined]
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages}")

    def fill() -> None:
        for place in range(99):
            with world.analyzer.storage.transaction() as change:
                values = (b"filler", place, bytes(4000))
                change.change("INSERT INTO part (batch_id, part, bytes) VALUES (?, ?, ?)", values)

    with pytest.raises(StorageFull):
        fill()
    with pytest.raises(StorageFull):
        world.end()
    assert world.charged() == []
    connection.execute("PRAGMA max_page_count=1000000")
    assert world.end()["state"] == "RELEASED"
    assert world.charged() == [WINDOW]
    world.close()


def test_48_time_that_goes_back_opens_nothing(world: PartyWorld) -> None:
    world.send_many(13)
    late, again = world.report(), world.report()
    (sealed,) = world.seal()
    world.go_to(WINDOW * HOUR + 700.0)
    # Back in a window that is sealed: closed, whatever the clocks say.
    assert world.send(late).value == 410
    assert world.seal() == []
    world.restart()
    world.go_to(WINDOW * HOUR - 700.0)
    assert world.send(again).value == 425
    assert world.shuffler.totals()["batched"] == sealed.users == 13
    assert world.finish(13)["users"] == 13


@pytest.fixture
def world(tmp_path: Path, storage_kind: str) -> Iterator[PartyWorld]:  # noqa: ARG001
    made = PartyWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


def test_49_two_sealers_make_one_batch(world: PartyWorld, tmp_path: Path) -> None:
    world.send_many(14)
    world.go_to((WINDOW + 1) * HOUR + 600.0)
    second = PartyWorld(tmp_path, world.task)
    with ThreadPoolExecutor(2) as pool:
        turns = [world.shuffler, second.shuffler] * 4
        results = list(pool.map(lambda shuffler: seal_window(shuffler, WINDOW), turns))
    assert sum(result is not None for result in results) == 1
    assert world.shuffler.storage.read("SELECT count(*), sum(users) FROM batch") == [(1, 14)]
    second.close()


def test_49_sealing_and_ingest_race(world: PartyWorld, tmp_path: Path) -> None:
    second = PartyWorld(tmp_path, world.task)
    world.send_many(14)
    reports = [world.report() for _ in range(40)]
    with ThreadPoolExecutor(3) as pool:
        sending = pool.map(lambda report: world.send(report).value, reports)
        pool.submit(seal_window, second.shuffler, WINDOW).result()
        statuses = list(sending)
    assert set(statuses) <= {202, 410}
    totals = world.shuffler.totals()
    assert (totals["pending"], totals["batched"]) == (0, 14 + statuses.count(202))
    second.close()


@ONLY_SQLITE
def test_50_a_locked_database_is_waited_for(world: PartyWorld) -> None:
    other = sqlite3.connect(
        world.folder / "shuffler.sqlite", isolation_level=None, check_same_thread=False
    )
    report = world.report()
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(world.send, report)
        with pytest.raises(TimeoutError):
            sending.result(timeout=0.5)
        other.execute("COMMIT")
        assert sending.result(timeout=20).value == 202
    other.close()


def test_51_work_done_by_several_counts_once(world: PartyWorld, tmp_path: Path) -> None:
    second = PartyWorld(tmp_path, world.task)
    world.send_many(14)
    world.seal()
    world.deliver()
    world.tell_served(14)
    analyzers = [world.analyzer, second.analyzer]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(count_complete, analyzers * 3))
    batch_id = bytes(world.analyzer.storage.read("SELECT batch_id FROM batch")[0][0])
    assert sum(tallies(world.analyzer, batch_id).values()) == 14
    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(release_counted, analyzers)) == 1
    assert world.charged() == [WINDOW]
    second.close()
