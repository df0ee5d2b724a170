"""SQLite's log, which is overwritten before it is cut off or removed.

(proofs/marks-and-erasure#4)
"""

from __future__ import annotations

import os
import random
import resource
import secrets
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.release import work
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.overwritten_log import log_of
from smoothdp.services.store.storage import SqliteStorage
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.kept_pages import KEEPS_PAGES, pages_of
from tests.services.worlds.party_world import HOUR, WINDOW
from tests.services.worlds.whole_world import WholeWorld

PEOPLE = "abc"


def windows_pass(world: WholeWorld, windows: range, in_window: Callable[[int], None]) -> None:
    """Let windows pass as they do: rounds of work before, within and after each."""

    def round_of_work() -> None:
        seal_due(world.shuffler)
        world.deliver()
        world.shuffler.storage.forget()
        work(world.analyzer)

    for window in windows:
        world.go_to(window * HOUR + 600)
        world.open_window(window)
        round_of_work()
        for person in PEOPLE:
            world.take_part(person, 1, window=window)
        in_window(window)
        round_of_work()
        assert world.end(window)["state"] == "RELEASED"
        world.deliver()
        round_of_work()


@ONLY_SQLITE
@KEEPS_PAGES
def test_what_is_cut_off_a_log_was_overwritten(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keys that were erased lay in blocks that a file system has freed, as they were."""
    cut: list[bytes] = []
    forget = SqliteStorage.forget

    def forgets(storage: SqliteStorage) -> bool:
        log = log_of(storage.path)
        read = pages_of(log) if log.exists() else bytes
        done = forget(storage)
        if not log.exists() or log.stat().st_size == 0:
            cut.append(read())
        return done

    monkeypatch.setattr(SqliteStorage, "forget", forgets)
    world = WholeWorld(tmp_path)
    secrets: dict[str, bytes] = {}

    def note(window: int) -> None:
        for name, keys in zip(("the gateway's", "the inner"), world.keys, strict=True):
            kept = keys._storage.read("SELECT secret FROM data_key")
            secrets[f"the data key of {name} key"] = bytes(kept[0][0])
        storages = world.shuffler.storage, world.issuer.storage
        asked = "SELECT tag_key FROM collecting", "SELECT secret FROM window_key"
        names = "the key of sender tags", "the issuer's private key"
        for name, storage, statement in zip(names, storages, asked, strict=True):
            secrets[name] = bytes(storage.read(statement)[0][0])
        assert window == WINDOW

    windows_pass(world, range(WINDOW, WINDOW + 1), note)
    assert not [name for name, secret in secrets.items() if secret in world.files()]
    world.close()
    given_back = b"".join(cut)
    assert len(given_back) > 100_000
    assert not [name for name, secret in secrets.items() if secret in given_back]


def _in_child(do: object) -> int:
    """Call something in a process of its own; return its status."""
    child = os.fork()
    if not child:
        try:
            do()  # type: ignore[operator]
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _no_file_longer_than(size: int) -> None:
    """Let the disk be full: a file that passes this length is written up to it, and no further."""
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


@ONLY_SQLITE
def test_a_log_that_could_not_be_overwritten_is_not_removed(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "SQLite's log is overwritten before it is cut off or removed"; the proof:
    "not before that is on the disk is it cut [...]. The last to close a file, whose log SQLite then
    removes, overwrites it first."

    The disk has room for one page more when a key is stored: the page with all keys that live is in
    the log but for its end, and no commit follows it. Then the service is stopped. The fill has
    no room either, nothing of it is brought to the disk, and the log is removed: on an ext4 of one
    free block 29 of 30 keys were in the bytes of the disk after all of them had been erased.
    """
    keys = ErasableKeys(tmp_path / "inner.sqlite")
    for window in range(30):
        keys.seal(window.to_bytes(4, "big"), b"key")
    keys.close()
    log = log_of(keys.path)

    def stops_while_full() -> None:
        keys = ErasableKeys(tmp_path / "inner.sqlite")
        assert keys.erase([])
        assert log.stat().st_size == 0
        _no_file_longer_than(4096)
        with pytest.raises(Exception, match=r"full|disk"):
            keys.seal(b"next", b"key")
        rows = keys._storage.read("SELECT secret FROM data_key")
        in_log = [secret for (secret,) in rows if bytes(secret) in log.read_bytes()]
        assert len(in_log) > 20
        keys.close()

    assert _in_child(stops_while_full) == 0
    assert log.exists(), "removed, though it could not be overwritten"


SCHEMA = "CREATE TABLE IF NOT EXISTS box (item BLOB);"


def killed_with(path: Path, count: int) -> list[bytes]:
    """Leave a log in which so many items were stored and deleted, each on its own."""
    items = [secrets.token_bytes(48) for _ in range(count)]
    child = os.fork()
    if not child:
        storage = SqliteStorage(path, SCHEMA)
        for item in items:
            with storage.transaction() as change:
                change.change("INSERT INTO box VALUES (?)", (item,))
            with storage.transaction() as change:
                change.change("DELETE FROM box")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    return items


@KEEPS_PAGES
def test_a_log_that_cannot_be_overwritten_is_not_removed(tmp_path: Path) -> None:
    """A program that may write no such long files starts on the log of one that might."""
    path = tmp_path / "box.sqlite"
    items = killed_with(path, 100)
    read = pages_of(log_of(path))
    child = os.fork()
    if not child:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        with suppress(InvalidData):
            SqliteStorage(path, SCHEMA).close()
        os._exit(0)
    os.waitpid(child, 0)
    blocks = read()
    assert log_of(path).exists() or not [item for item in items if item in blocks]


@ONLY_SQLITE
def test_a_secret_is_overwritten_though_others_commit_all_the_time(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Where others never leave time to cut the log off, what was in it before goes all the same."""
    path, schema = tmp_path / "box.sqlite", "CREATE TABLE IF NOT EXISTS box (item BLOB);"
    ours, secret = SqliteStorage(path, schema), secrets.token_bytes(32)
    with ours.transaction() as change:
        change.change_many("INSERT INTO box VALUES (?)", [(bytes(4000),) for _ in range(1000)])
        change.change("INSERT INTO box VALUES (?)", (secret,))
    with ours.transaction() as change:
        change.change("DELETE FROM box WHERE item = ?", (secret,))
    child = os.fork()
    if not child:
        other = SqliteStorage(path, schema)
        for _ in range(100_000):
            with other.transaction() as change:
                change.change("INSERT INTO box VALUES (?)", (secrets.token_bytes(30),))
            time.sleep(0.002)
        os._exit(0)
    try:
        time.sleep(0.3)
        tries = 0
        while secret in log_of(path).read_bytes():
            ours.forget()
            tries += 1
            assert tries < 10
        assert tries
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert secret not in path.read_bytes()
    ours.close()


OTHERS = "CREATE TABLE IF NOT EXISTS other (item BLOB);"


@KEEPS_PAGES
def test_a_long_log_is_overwritten_whoever_writes_meanwhile(tmp_path: Path) -> None:
    """Three others commit without a pause, and begin a log of 1,000 pages anew as SQLite does.

    They write until it is done. A round in which they leave no moment for it says so, and the next
    one tries again; that it is done is never said before it is.
    """
    path = tmp_path / "box.sqlite"
    until, children = time.monotonic() + 60, []
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    for _ in range(3):
        child = os.fork()
        if not child:
            try:
                os.close(writing)
                other = SqliteStorage(path, SCHEMA + OTHERS)
                while time.monotonic() < until:
                    with other.transaction() as change:
                        change.change("INSERT INTO other VALUES (?)", (b"other",))
                    with suppress(BlockingIOError):
                        # The end of the pipe: the parent has closed it.
                        if not os.read(reading, 1):
                            break
            finally:
                os._exit(0)
        children.append(child)
    os.close(reading)
    storage = SqliteStorage(path, SCHEMA)
    items = [(secrets.token_bytes(48),) for _ in range(100_000)]
    with storage.transaction() as change:
        change.change_many("INSERT INTO box VALUES (?)", items)
    read = pages_of(log_of(path))
    with storage.transaction() as change:
        change.change("DELETE FROM box")
    assert any(storage.forget() for _ in range(5))
    left = read()
    os.close(writing)
    for child in children:
        os.waitpid(child, 0)
    assert len(left) > 4_000_000
    assert not [item for (item,) in items[::1000] if item in left]
    assert storage.forget()
    storage.close()


@ONLY_SQLITE
def test_disks_that_are_full_at_any_length_lose_nothing_of_what_was_committed(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Files end at another length in each life, in the log, in the fill or in the file itself;
    every second life is killed."""
    path, told = tmp_path / "box.sqlite", tmp_path / "told"
    schema = "CREATE TABLE IF NOT EXISTS box (n INTEGER PRIMARY KEY, item BLOB);"
    SqliteStorage(path, schema).close()
    kept: set[int] = set()

    def live(life: int) -> None:
        rng = random.Random(life)
        with told.open("w", buffering=1) as say:
            storage = SqliteStorage(path, schema)
            _no_file_longer_than(path.stat().st_size + 1000 * rng.randrange(60))
            for number in range(life * 100, life * 100 + 12):
                with suppress(Exception):
                    with storage.transaction() as change:
                        item = rng.randbytes(rng.choice([10, 3000, 9000]))
                        change.change("INSERT INTO box VALUES (?, ?)", (number, item))
                    say.write(f"{number}\n")
                with suppress(Exception):
                    if number % 3 == 0:
                        with storage.transaction() as change:
                            change.change("DELETE FROM box WHERE n = ?", (number - 2,))
                        say.write(f"-{number - 2}\n")
                with suppress(Exception):
                    if number % 4 == 0:
                        storage.forget()
            if life % 2:
                os.kill(os.getpid(), 9)
            storage.close()

    for life in range(1, 26):
        _in_child(lambda life=life: live(life))
        for line in told.read_text().split():
            kept = kept - {-int(line)} if line.startswith("-") else kept | {int(line)}
    storage = SqliteStorage(path, schema)
    assert storage.read("PRAGMA integrity_check") == [("ok",)]
    assert {number for (number,) in storage.read("SELECT n FROM box")} == kept
    assert len(kept) > 50
    storage.close()
