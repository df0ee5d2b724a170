"""A second round of attacks at the boundaries of the parties: upgrades, pages, old windows, groups.

(proofs/marks-and-erasure#4, #5)
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.shuffler.ingest import OpenedReport, Taken
from smoothdp.services.shuffler.sealing import seal_window
from smoothdp.services.shuffler.shuffler_tables import EXPIRED
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.group_commit import GroupCommit
from smoothdp.services.store.storage import StorageFull
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE, without_waiting_for_disks
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

pytestmark = ONLY_SQLITE
DAY = 86_400
OPEN_TASK = {"issuer": None, "proof": "none"}


# ---- tables of a program before, with an open window


def as_before(path: Path, names: dict[bytes, bytes], *, number: int) -> None:
    """Make the shuffler's file what a program before left: reports are named by their ids."""
    with closing(sqlite3.connect(path)) as file, file:
        for tag, report_id in names.items():
            file.execute("UPDATE pending SET report_id = ? WHERE sender_tag = ?", (report_id, tag))
        if number == 2:
            file.execute("DROP INDEX pending_report")
            file.execute("DROP TABLE revoked")
            file.execute("ALTER TABLE collecting DROP COLUMN reports")
        file.execute("UPDATE schema_number SET number = ?", (number,))
        file.execute(f"PRAGMA user_version={number}")


@pytest.mark.parametrize("number", [2, 3, 4])
def test_a_repeated_report_is_known_after_an_upgrade(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    number: int,
) -> None:
    """Else its owner is told 409, and a thief's copy knocks the owner out of the batch."""
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    world.open_window()
    sent = [(world.report(), world.new_pass()) for _ in range(12)]
    names = {}
    for report, secret in sent:
        assert world.send(report, secret) is Taken.ACCEPTED
        ((tag,),) = world.shuffler.storage.read(
            f"SELECT sender_tag FROM pending WHERE sender_tag NOT IN "
            f"({', '.join('?' * len(names)) or 'NULL'})"
            if names
            else "SELECT sender_tag FROM pending",
            tuple(names),
        )
        names[bytes(tag)] = report.report_id
    world.close()
    as_before(tmp_path / "shuffler.sqlite", names, number=min(number, 3))
    world = PartyWorld(tmp_path, small_task(**OPEN_TASK))
    for _ in range(2):
        for report, secret in sent:
            assert world.send(report, secret) is Taken.ACCEPTED
            assert world.send(report, world.new_pass()) is Taken.OTHER_REPORT
            assert world.send(world.report(), secret) is Taken.OTHER_REPORT
        world.restart()
    # The ids, which a thief of a later day could compute from a batch, are nowhere.
    assert not any(report.report_id in world.files() for report, _ in sent)
    (sealed,) = world.seal()
    assert (sealed.state, sealed.users, sealed.shared) == ("SEALED", 12, 0)
    world.close()


# ---- what pages keep of rows that went


def left_after_sealing(folder: Path, seed: int) -> int:
    """Return how many reports of sealed windows are in the file while the next one is open."""
    source = random.Random(seed)
    folder.mkdir()
    world = PartyWorld(folder, small_task(**OPEN_TASK, min_batch=100))
    for storage in (world.shuffler.storage, world.analyzer.storage):
        without_waiting_for_disks(storage)
    left, reports = 0, {window: [] for window in range(WINDOW, WINDOW + 5)}  # type: ignore[var-annotated]
    for window in reports:
        world.open_window(window)
        for _ in range(60):
            # In the grace reports of two windows come.
            at = window if window == WINDOW or source.random() < 0.7 else window - 1
            tag, name, slot = (source.randbytes(size) for size in (16, 16, 52))
            item = OpenedReport((world.task.task_id, at), tag, name, slot)
            assert world.shuffler.accept([item]) == [Taken.ACCEPTED]
            reports[at].append(slot)
        if window > WINDOW:
            sealed = seal_window(world.shuffler, window - 1)
            assert sealed is not None
            assert sealed.state == EXPIRED
            files = world.files()
            assert all(slot in files for slot in reports[window])
            left += sum(slot in files for slot in reports[window - 1])
    world.close()
    return left


def test_reports_of_a_sealed_window_are_in_no_page_of_the_next_one(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A page that was split keeps whole rows that were moved out of it, deleted or not."""
    seeds = range(3)
    assert [left_after_sealing(tmp_path / f"{seed}", seed) for seed in seeds] == [0, 0, 0]
    from smoothdp.services.store import storage

    monkeypatch.setattr(storage._SqliteTransaction, "rewrite", lambda self, table: None)  # noqa: ARG005
    assert sum(left_after_sealing(tmp_path / f"without {seed}", seed) for seed in seeds) > 0


# ---- a window that was destroyed long ago


def test_that_a_window_was_destroyed_is_said_for_ever(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A client asks only when its budget is used up, and that may be months later."""
    task = small_task(**OPEN_TASK, windows=2)
    world = PartyWorld(tmp_path, task)
    world.analyzer.cards._pays = lambda change: True  # type: ignore[method-assign] # noqa: ARG005
    store, mine = OutcomeStore(tmp_path / "windows.sqlite"), world.new_pass()
    with on_loopback(shuffler_app(world.shuffler)) as address, connect(address) as http:

        def take_part(window: int) -> None:
            world.open_window(window)
            world.go_to(window * HOUR + 5.0)
            client = Client(task, store, clock=lambda: world.now)
            client.settle()
            submit(client, 1, shuffler=http, pass_secret=mine, window=window, attempts=1)
            world.seal(window)

        for days in (0, 31, 62, 93):
            take_part(WINDOW + 24 * days)
            world.shuffler.forget_old()
        path = f"/v2/tasks/{task.task_id.hex()}/marks/{WINDOW}"
        assert http.get(path).status_code == 410
    # Of what was destroyed nothing else stays.
    assert world.shuffler.totals()["expired"] == 1
    store.close()
    world.close()


# ---- strangers in one group


def test_what_becomes_of_a_group_is_told_to_its_own_members_alone(storage_kind: str) -> None:  # noqa: ARG001
    """Errors, people who went away, a service that stops: nobody is told what is not so."""
    stored: list[int] = []
    errors: list[Exception | None] = [StorageFull("disk"), ValueError("secret words"), None]
    enter, leave = threading.Event(), threading.Event()

    def store(group: Sequence[int]) -> list[str]:
        enter.set()
        leave.wait(5)
        if errors and (error := errors.pop(0)) is not None:
            raise error
        stored.extend(group)
        return [f"stored {item}" for item in group]

    async def run() -> list[Any]:
        commit = GroupCommit[int, str](store, "later")
        commit.start()

        async def group(*items: int, gone: int | None = None) -> list[Any]:
            enter.clear()
            leave.clear()
            first = asyncio.create_task(commit.submit(-1))
            await asyncio.to_thread(enter.wait, 5)
            tasks = {item: asyncio.create_task(commit.submit(item)) for item in items}
            await asyncio.sleep(0.01)
            if gone is not None:
                tasks[gone].cancel()
            leave.set()
            return await asyncio.gather(first, *tasks.values(), return_exceptions=True)

        found = [await group(1), await group(2, 3, gone=2), await group(4, 5)]
        enter.clear()
        leave.clear()
        last = asyncio.create_task(commit.submit(6))
        await asyncio.to_thread(enter.wait, 5)
        late = asyncio.create_task(commit.submit(7))
        await asyncio.sleep(0.01)
        await commit.stop()
        leave.set()
        found.append([await last, await late])
        return found

    full, failed, good, stopped = asyncio.run(run())
    # The first of the first group met the full disk, the one after it the other error.
    assert full[0] == "later"
    assert (type(full[1]), str(full[1])) == (RuntimeError, "ValueError")
    assert failed[0] == "stored -1"
    assert isinstance(failed[1], asyncio.CancelledError)
    assert failed[2] == "stored 3"
    assert good == ["stored -1", "stored 4", "stored 5"]
    # 503 says nothing of what is on disk: who comes again is told as before.
    assert stopped == ["later", "later"]
    assert 7 not in stored
    assert 1 not in stored
