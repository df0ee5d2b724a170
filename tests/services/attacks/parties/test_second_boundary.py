"""A second round of attacks at the boundaries of the parties: upgrades, pages, old windows, groups.

(proofs/marks-and-erasure#4, #5)
"""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import LedgerError
from smoothdp.services.analyzer.release import work
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.secrets import tag
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.group_commit import GroupCommit
from smoothdp.services.store.storage import StorageFull, _SqliteTransaction
from smoothdp.services.wire.calls import connect
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE, without_waiting_for_disks
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

pytestmark = ONLY_SQLITE
OPEN_TASK: dict[str, Any] = {"issuer": None, "proof": "none"}


# ---- tables of a program before, with an open window


def as_before(path: Path, names: dict[bytes, bytes], *, number: int) -> None:
    """Make the shuffler's file what a program before left: reports are named by their ids."""
    with closing(sqlite3.connect(path)) as file, file:
        for sender, name in names.items():
            file.execute("UPDATE pending SET report_id = ? WHERE sender_tag = ?", (name, sender))
        if number == 2:
            file.execute("DROP INDEX pending_report")
            file.execute("DROP TABLE revoked")
            file.execute("ALTER TABLE collecting DROP COLUMN reports")
        file.execute("UPDATE schema_number SET number = ?", (number,))
        file.execute(f"PRAGMA user_version={number}")


@pytest.mark.parametrize("number", [2, 3])
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
    ((key,),) = world.shuffler.storage.read("SELECT tag_key FROM collecting")
    for report, secret in sent:
        assert world.send(report, secret) is Taken.ACCEPTED
        names[tag(bytes(key), bytes.fromhex(secret[:32]))] = report.report_id
    world.close()
    as_before(tmp_path / "shuffler.sqlite", names, number=number)
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


def bytes_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def keys_left(folder: Path, seed: int) -> int:
    """Return how many erased keys are in a file of keys beside PostgreSQL: its names differ."""
    source, left = random.Random(seed), 0
    keys = ErasableKeys(folder / "shuffler.keys.sqlite")
    without_waiting_for_disks(keys._storage)
    task, live, gone = source.randbytes(32).hex(), [], []
    for window in range(490_000, 490_090):
        order = f"batch_part:{source.randbytes(16).hex()}"
        for scope in (f"collecting:{task}:{window}", f"pending:{task}:{window}", order):
            keys.seal(scope.encode(), b"private")
            live.append(scope.encode())
        if len(live) > 90:
            done = [live.pop(source.randrange(9)) for _ in range(source.randrange(1, 7))]
            gone += [keys._key_of(scope)[0][1] for scope in done]
            keys.erase(done)
            if window % 9 == 0:
                files = bytes_of(folder)
                assert all(keys._key_of(scope)[0][1] in files for scope in live[::9])
                left = max(left, sum(secret in files for secret in gone))
    keys.close()
    return left


def drawn_left(folder: Path, seed: int) -> int:
    """Return how many erased slots, seeds, reports are in the file of a device with four tasks."""
    source, left = random.Random(seed), 0
    store = OutcomeStore(folder / "windows.sqlite")
    without_waiting_for_disks(store._storage)
    tasks = [(source.randbytes(32), source.choice([1, 2, 3, 5, 8, 11])) for _ in range(4)]
    live, gone = [], []
    for window in range(490_000, 490_020):
        for task, n in tasks:
            for name in ("me", "anna", "bartholomew"):
                if source.random() < 0.3:
                    continue
                sizes = (52 * n, 32, 35 + 308 * n, 32)
                slots, secret, report, digest = (source.randbytes(size) for size in sizes)
                key = task, window, name
                store.keep(*key, card_digest=digest, slots=slots, seed=secret, most=1000)
                if source.random() < 0.7:
                    store.keep_report(*key, report)
                    live.append((key, n, report))
                else:
                    store.keep_end(*key)
                gone += [secret, slots[:26]]
        for key, n, report in live:
            if key[1] < window:
                store.keep_marks(*key, source.randbytes(16 * n))
                gone.append(report[40:66])
        live = [row for row in live if row[0][1] == window]
        for task, _ in tasks:
            store.forget_before(task, window)
        if window % 4 == 0:
            files = bytes_of(folder)
            assert all(report in files for _, n, report in live if n < 3)
            left = max(left, sum(secret in files for secret in gone))
    store.close()
    return left


@pytest.mark.parametrize("left", [keys_left, drawn_left])
def test_no_page_keeps_what_was_erased(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
    left: Callable[[Path, int], int],
) -> None:
    """A page that was split keeps rows that were moved out of it, whatever becomes of them."""
    folders = [tmp_path / "now", tmp_path / "before"]
    for folder in folders:
        folder.mkdir()
    assert left(folders[0], 8) == 0
    monkeypatch.setattr(_SqliteTransaction, "rewrite", lambda *_: None)
    assert left(folders[1], 8) > 0


@pytest.mark.slow
@pytest.mark.parametrize("left", [keys_left, drawn_left])
def test_no_page_keeps_what_was_erased_whatever_the_order(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    left: Callable[[Path, int], int],
) -> None:
    for seed in range(30):
        (tmp_path / f"{seed}").mkdir()
        assert left(tmp_path / f"{seed}", seed) == 0


# ---- a window that was destroyed long ago


def test_that_a_window_was_destroyed_is_said_for_ever(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A client asks only when its budget is used up, and that may be months later."""
    task = small_task(**OPEN_TASK, windows=2)
    world = PartyWorld(tmp_path, task)
    world.analyzer.cards._pays = lambda *_: True  # type: ignore[method-assign]
    store, mine = OutcomeStore(tmp_path / "windows.sqlite"), world.new_pass()
    with on_loopback(shuffler_app(world.shuffler)) as address, connect(address) as http:

        def take_part(window: int) -> None:
            world.go_to(window * HOUR + 5.0)
            world.open_window(window)
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


# ---- files of the analyser that are older copies, or gone


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["before the card", "while it is open", "not counted yet"])
@pytest.mark.parametrize(
    "old",
    [
        {"analyzer"},
        {"ledger"},
        {"inner"},
        {"analyzer", "ledger"},
        {"analyzer", "inner"},
        {"ledger", "inner"},
    ],
    ids="-".join,
)
def test_no_one_and_no_two_files_of_the_analyser_bring_back_what_was_spent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    stage: str,
    old: set[str],
) -> None:
    """All three from one older copy are not noticed here, which docs/threats.md says."""
    (tmp_path / "copy").mkdir()
    (tmp_path / "world").mkdir()
    world = PartyWorld(tmp_path / "world", small_task(**OPEN_TASK))

    def copy() -> None:
        for path in world.folder.glob("*"):
            if path.suffix in (".sqlite", ".db"):
                with (
                    closing(sqlite3.connect(path)) as now,
                    closing(sqlite3.connect(tmp_path / "copy" / path.name)) as then,
                ):
                    now.backup(then)

    def release(window: int, before: str = "") -> None:
        if before == "before the card":
            copy()
        world.open_window(window)
        world.go_to(window * HOUR + 5.0)
        world.send_many(14, window=window)
        if before == "while it is open":
            copy()
        world.seal(window)
        world.deliver()
        if before == "not counted yet":
            copy()
        assert world.finish(None, window)["state"] == "RELEASED"

    release(WINDOW)
    release(WINDOW + 1, stage)
    world.close()
    for path in (tmp_path / "copy").iterdir():
        if path.name.split(".")[0].split("-")[0] in old:
            for file in world.folder.glob(f"{path.name}*"):
                file.unlink()
            shutil.copy(path, world.folder / path.name)
    if "ledger" in old:
        with pytest.raises(LedgerError, match=f"none for 1, such as window {WINDOW + 1}"):
            world._open()
        return
    world._open()
    work(world.analyzer)
    assert world.charged() == [WINDOW, WINDOW + 1]
    release(WINDOW + 3)
    assert world.charged() == [WINDOW, WINDOW + 1, WINDOW + 3]
    world.close()
