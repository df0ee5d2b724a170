"""What the page of threats says of a thief, where files go other ways than SQLite's own."""

from __future__ import annotations

import os
import resource
import secrets
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from smoothdp.errors import InvalidData
from smoothdp.services.formats.slots import SLOT_BYTES, open_slot
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.overwritten_log import log_of
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.kept_pages import KEEPS_PAGES, pages_of
from tests.services.worlds.party_world import PartyWorld

USERS = 14
SCHEMA = "CREATE TABLE IF NOT EXISTS box (item BLOB);"
OTHERS = "CREATE TABLE IF NOT EXISTS other (item BLOB);"


def data_key(keys: ErasableKeys) -> bytes:
    return bytes(keys._storage.read("SELECT secret FROM data_key")[0][0])


def moved(folder: Path, place: Path) -> Callable[[], bytes]:
    """Move a directory to another disk, as the guide says; return what reads the blocks of the old.

    "Before you delete the old one, overwrite it": `mv` alone leaves them as they are.
    """
    reads = [pages_of(path) for path in sorted(folder.iterdir())]
    shutil.copytree(folder, place)
    for path in folder.iterdir():
        with path.open("r+b") as file:
            file.write(bytes(path.stat().st_size))
    shutil.rmtree(folder)
    return lambda: b"".join(read() for read in reads)


@KEEPS_PAGES
@ONLY_SQLITE
def test_no_answer_is_read_from_the_disk_that_a_party_was_moved_from(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """As the guide says: stop it, move its whole directory, overwrite the old one, start it there.

    The disk of before had the keys of the windows that had a card by then.
    """
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    world = PartyWorld(old)
    card = world.open_window()
    key = data_key(world.keys[1])
    sealed = bytes(world.analyzer.storage.read("SELECT sealed_key FROM card")[0][0])
    world.close()
    given_back = moved(old, new)
    world.folder = new
    world._open()
    world.send_many(USERS)
    assert world.finish(USERS)["state"] == "RELEASED"
    world.deliver()
    recorded = world.offers[1][1][:SLOT_BYTES]
    assert key not in world.files()
    world.close()
    # What a thief of the old disk would do with the key, and the recording.
    head, rest = sealed[:32], sealed[32:]
    inner = PrivateKey.from_bytes(ChaCha20Poly1305(key).decrypt(rest[:12], rest[12:], head))
    assert open_slot(recorded, card, inner) in (0, 1)
    assert key not in given_back()


@KEEPS_PAGES
def test_who_looks_into_a_file_after_a_kill_as_the_guide_says_gives_no_key_back(
    tmp_path: Path,
) -> None:
    """The last to close a file, whose log SQLite then removes, overwrites it first.

    Here the last is a shell of SQLite, which reads the file of a service that was killed. One that
    may write removes the log as it is; the guide has it `-readonly`.
    """
    path = tmp_path / "inner.sqlite"
    child = os.fork()
    if not child:
        keys = ErasableKeys(path)
        keys.seal(b"window", b"inner key")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    read = pages_of(log_of(path))
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as shell:
        assert shell.execute("SELECT count(*) FROM data_key").fetchone() == (1,)
    keys = ErasableKeys(path)
    key = data_key(keys)
    assert keys.erase([b"window"])
    keys.close()
    assert key not in path.read_bytes()
    assert key not in read()


@KEEPS_PAGES
def test_keys_are_erased_wherever_the_program_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that opened a party by a relative path, and goes to another folder since."""
    monkeypatch.chdir(tmp_path)
    keys = ErasableKeys(Path("gateway.sqlite"))
    keys.seal(b"window", b"gateway key")
    key = data_key(keys)
    monkeypatch.chdir("/")
    log = tmp_path / "gateway.sqlite-wal"
    read = pages_of(log)
    done = keys.erase([b"window"])
    kept = key in log.read_bytes()
    keys.close()
    given_back = key in read()
    # It says that the key is gone, or it is.
    assert (done, kept, given_back) in {(True, False, False), (False, True, False)}


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


@KEEPS_PAGES
def test_a_long_log_is_overwritten_whoever_writes_meanwhile(tmp_path: Path) -> None:
    """Three others commit without a pause, and begin a log of 1,000 pages anew as SQLite does."""
    path = tmp_path / "box.sqlite"
    until, children = time.monotonic() + 2, []
    for _ in range(3):
        child = os.fork()
        if not child:
            try:
                other = SqliteStorage(path, SCHEMA + OTHERS)
                while time.monotonic() < until:
                    with other.transaction() as change:
                        change.change("INSERT INTO other VALUES (?)", (b"other",))
            finally:
                os._exit(0)
        children.append(child)
    storage = SqliteStorage(path, SCHEMA)
    items = [(secrets.token_bytes(48),) for _ in range(100_000)]
    with storage.transaction() as change:
        change.change_many("INSERT INTO box VALUES (?)", items)
    read = pages_of(log_of(path))
    with storage.transaction() as change:
        change.change("DELETE FROM box")
    storage.forget()
    left = read()
    assert len(left) > 4_000_000
    assert not [item for (item,) in items[::1000] if item in left]
    for child in children:
        os.waitpid(child, 0)
    assert storage.forget()
    storage.close()
