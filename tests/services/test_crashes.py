"""Tests 37 to 51: kill -9 at named points, full disks, jumping clocks, racing sealers."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from smoothdp.services.analyzer.window_release import read_result, release_counted
from smoothdp.services.faults import POINTS
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.sealing import due_windows
from smoothdp.services.shuffler.shuffler import Upload
from smoothdp.services.store.storage import StorageFull
from smoothdp.services.wire.calls import Outcome
from smoothdp.services.wire.tokens import issue_client_token
from tests.services.storages import ONLY_SQLITE
from tests.services.world import HOUR, ISSUING_KEY, WINDOW, World, small_task

# The children touch no thread of the parent: they open files of their own and leave.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

USERS = 7
TASK = small_task(windows=1_000_000, epsilon="8", delta="1e-6")


def run_rounds(directory: Path, rounds: int, point: str | None, hit: int) -> None:
    """Collect from USERS users in each round; kill the process at the hit of a point."""
    world = World(directory, TASK)
    tokens = json.loads((directory / "tokens.json").read_text())
    left = [hit]

    def reach(name: str) -> None:
        if name == point:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    world.reach = reach
    progress = directory / "round"
    while (number := int(progress.read_text())) < rounds:
        window = WINDOW + number
        world.now = window * HOUR + 5
        uploads = [
            Upload(tokens[user], world.envelope(f"{number}-{user}")) for user in range(USERS)
        ]
        # In groups, each acknowledged on its own; some are sent twice.
        for group in (uploads[:3], uploads[3:], uploads[:2]):
            assert set(world.shuffler.accept(group)) == {Outcome.ACCEPTED}
        assert world.is_balanced()
        world.seal(window)
        deliver_batches(world.shuffler, world.put)
        world.analyzer.count_complete()
        release_counted(world.analyzer)
        status, body = read_result(world.analyzer, TASK.task_id, window)
        assert status == 200
        assert json.loads(body)["users"] == USERS
        assert world.is_balanced()
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
    tokens = [issue_client_token(ISSUING_KEY, TASK.task_id) for _ in range(USERS)]
    (directory / "tokens.json").write_text(json.dumps(tokens))
    (directory / "round").write_text("0")
    source, done = random.Random(seed), Counter[str]()
    rounds = 0
    for attempt in range(kills):
        point = POINTS[attempt % len(POINTS)]
        # A run finishes what was begun and does up to two more rounds.
        rounds = int((directory / "round").read_text()) + 3
        status = in_a_process(directory, rounds, point, source.randint(1, 3))
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL
            done[point] += 1
        else:
            assert os.WEXITSTATUS(status) == 0, f"a wrong count after a kill at {point}"
    assert in_a_process(directory, rounds + 1, None, 0) == 0
    return done


def check_totals(directory: Path) -> None:
    """Every accepted report is in exactly one batch, and counted in exactly one tally."""
    world = World(directory, TASK)
    rounds = int((directory / "round").read_text())
    totals = world.shuffler.totals()
    assert totals == {
        "accepted": USERS * rounds,
        "pending": 0,
        "batched": USERS * rounds,
        "expired": 0,
    }
    assert world.tallied() == USERS * rounds
    released = world.analyzer.storage.read("SELECT window FROM release ORDER BY window")
    assert [row[0] for row in released] == list(range(WINDOW, WINDOW + rounds))
    assert world.charged() == [row[0] for row in released]
    assert world.shuffler.storage.read("SELECT count(*) FROM batch_part")[0][0] == 0
    world.close()


def test_37_to_46_a_kill_at_each_point_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path,
) -> None:
    done = killed_runs(tmp_path / "w", 2 * len(POINTS), seed=37)
    assert len(done) == len(POINTS), done
    check_totals(tmp_path / "w")


@pytest.mark.slow
def test_37_to_46_three_hundred_kills(tmp_path: Path) -> None:
    done = killed_runs(tmp_path / "w", 330, seed=46)
    assert sum(done.values()) >= 300, done
    assert min(done.values()) >= 25, done
    check_totals(tmp_path / "w")


def test_the_kill_test_sees_a_loss(tmp_path: Path) -> None:
    directory = tmp_path / "w"
    killed_runs(directory, 1, seed=1)
    world = World(directory, TASK)
    with world.shuffler.storage.transaction() as change:
        change.change("UPDATE counter SET n = n + 1 WHERE reason = 'accepted' AND window = 1000")
    world.close()
    with pytest.raises(AssertionError):
        check_totals(directory)


@ONLY_SQLITE
def test_47_a_full_disk_loses_nothing(world: World) -> None:
    accepted = 0
    connection = world.shuffler.storage._connection  # type: ignore[attr-defined]
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count={pages + 3}")
    full = False
    for i in range(200):
        upload = world.upload(f"u{i}")
        try:
            assert world.shuffler.accept([upload]) == [Outcome.ACCEPTED]
            accepted += 1
        except StorageFull:
            full = True
            break
    assert full
    assert world.shuffler.totals()["accepted"] == accepted
    assert world.is_balanced()
    connection.execute("PRAGMA max_page_count=1000000")
    assert world.shuffler.accept([upload]) == [Outcome.ACCEPTED]
    assert world.shuffler.totals()["accepted"] == accepted + 1


def test_48_the_clock_jumps(world: World) -> None:
    world.send_many(5)
    world.now += 2 * HOUR
    assert due_windows(world.shuffler, world.task) == [WINDOW]
    assert world.send("late") == [Outcome.ACCEPTED]
    world.seal()
    world.now -= 2 * HOUR
    # Back in a window that is sealed: closed, whatever the clock says.
    assert world.shuffler.accept([world.upload("again")]) == [Outcome.CLOSED]
    world.now -= 2 * HOUR
    assert world.send("before") == [Outcome.ACCEPTED]
    assert world.is_balanced()
    assert json.loads(world.finish()[1])["users"] == 5


def test_49_two_sealers_make_one_batch(tmp_path: Path) -> None:
    first = World(tmp_path)
    second = World(tmp_path, first.task)
    first.send_many(20)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda world: world.seal(), [first, second] * 4))
    assert sum(result is not None for result in results) == 1
    assert first.shuffler.storage.read("SELECT count(*), sum(users) FROM batch") == [(1, 20)]
    assert first.is_balanced()
    first.close()
    second.close()


def test_49_sealing_and_ingest_race(tmp_path: Path) -> None:
    first = World(tmp_path)
    second = World(tmp_path, first.task)
    uploads = [first.upload(f"u{i}") for i in range(60)]
    first.shuffler.accept(uploads[:10])
    with ThreadPoolExecutor(3) as pool:
        sending = pool.map(lambda u: first.shuffler.accept([u])[0], uploads[10:])
        pool.submit(second.seal).result()
        outcomes = list(sending)
    accepted = 10 + outcomes.count(Outcome.ACCEPTED)
    assert set(outcomes) <= {Outcome.ACCEPTED, Outcome.CLOSED}
    totals = first.shuffler.totals()
    assert totals == {"accepted": accepted, "pending": 0, "batched": accepted, "expired": 0}
    first.close()
    second.close()


@ONLY_SQLITE
def test_50_a_locked_database_is_waited_for(world: World) -> None:
    other = sqlite3.connect(
        world.directory / "shuffler.sqlite", isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(world.send, "u")
        with pytest.raises(TimeoutError):
            sending.result(timeout=0.5)
        other.execute("COMMIT")
        assert sending.result(timeout=20) == [Outcome.ACCEPTED]
    other.close()


def test_51_work_done_by_several_counts_once(tmp_path: Path) -> None:
    first = World(tmp_path, small_task("histogram"))
    second = World(tmp_path, first.task)
    first.send_many(40, data="abc")
    first.seal()
    deliver_batches(first.shuffler, first.put)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda world: world.analyzer.count_complete(), [first, second] * 3))
    assert first.tallied() == 40 * first.task.slots
    with ThreadPoolExecutor(2) as pool:
        released = list(pool.map(lambda world: release_counted(world.analyzer), [first, second]))
    assert sum(released) == 1
    first.close()
    second.close()
