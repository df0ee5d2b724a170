"""What the page of threats says of a thief, where files go other ways than SQLite's own."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from smoothdp.services.formats.slots import SLOT_BYTES, open_slot
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.overwritten_log import log_of
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.kept_pages import KEEPS_PAGES, pages_of
from tests.services.worlds.party_world import PartyWorld

USERS = 14


def data_key(keys: ErasableKeys) -> bytes:
    return bytes(keys._storage.read("SELECT secret FROM data_key")[0][0])


def moved(folder: Path, place: Path) -> Callable[[], bytes]:
    """Move a directory as `mv` does to another disk; return what reads the blocks of the old."""
    reads = [pages_of(path) for path in sorted(folder.iterdir())]
    shutil.copytree(folder, place)
    shutil.rmtree(folder)
    return lambda: b"".join(read() for read in reads)


@KEEPS_PAGES
@ONLY_SQLITE
def test_no_answer_is_read_from_the_disk_that_a_party_was_moved_from(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """As the guide says: stop it, move its whole directory, start it there.

    "No answer can be read, if overwritten means gone", with all disks after the erasures: the
    disk of before has the keys of the windows that had a card by then, and nothing overwrote them.
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
    # The thief: blocks of the old disk, files of now, and the recording.
    left = given_back()
    if key in left:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

        head, rest = sealed[:32], sealed[32:]
        inner = PrivateKey.from_bytes(ChaCha20Poly1305(key).decrypt(rest[:12], rest[12:], head))
        assert open_slot(recorded, card, inner) in (0, 1)
    assert key not in left


@KEEPS_PAGES
def test_who_looks_into_a_file_after_a_kill_gives_no_key_back(tmp_path: Path) -> None:
    """The last to close a file, whose log SQLite then removes, overwrites it first.

    Here the last is a shell of SQLite, which reads the file of a service that was killed.
    """
    path = tmp_path / "inner.sqlite"
    child = os.fork()
    if not child:
        keys = ErasableKeys(path)
        keys.seal(b"window", b"inner key")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    read = pages_of(log_of(path))
    with closing(sqlite3.connect(path)) as shell:
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
