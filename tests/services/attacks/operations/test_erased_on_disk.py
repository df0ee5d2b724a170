"""What is left of answers and keys in files, moved disks and files without a name.

(proofs/marks-and-erasure#4)
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from smoothdp.services.analyzer import counting
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.analyzer.counting import count_complete, tallies
from smoothdp.services.analyzer.release import end_lapsed, read_result, work
from smoothdp.services.formats import slots
from smoothdp.services.formats.card import Card
from smoothdp.services.formats.secrets import tag as tag_of
from smoothdp.services.formats.slots import SLOT_BYTES, open_slot
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.overwritten_log import log_of
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.storages import ONLY_SQLITE, SQLITE, files_of
from tests.services.worlds.kept_pages import KEEPS_PAGES, pages_of
from tests.services.worlds.party_world import ENOUGH, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task
from tests.services.worlds.whole_world import WholeWorld


@pytest.mark.parametrize("waits", [False, True])
def test_what_was_counted_is_in_no_file_afterwards(
    tmp_path: Path, storage_kind: str, waits: bool
) -> None:
    """The values of a part lie in pages of their own, or sealed in PostgreSQL; released, or ended
    for want of the number of accounts, none is in any file, and no key of them is left.
    """
    task = small_task() if waits else small_task(issuer=None, proof="none", max_batch=2000)
    world = PartyWorld(tmp_path, task)
    world.open_window()
    world.send_many(40 if waits else 600, data=(1,))
    world.seal()
    world.deliver()
    count_complete(world.analyzer)
    values = struct.pack(">q", 1) * 8
    counted = files_of(tmp_path, "analyzer").count(values)
    assert (counted > 0) == (storage_kind == SQLITE)
    work(world.analyzer)
    if waits:
        world.go_to(world.now + 8 * 86_400)
        work(world.analyzer)
    assert world.result()["state"] == ("REFUSED" if waits else "RELEASED")
    left = files_of(tmp_path, "analyzer").count(values)
    keys = getattr(world.analyzer.storage, "_keys", None)
    scopes = [] if keys is None else keys.scopes()
    world.close()
    assert (left, scopes) == (0, [])


BATCH = bytes(16)


def unlinked_files() -> set[str]:
    """Return the files without a name that SQLite has open: their blocks are not overwritten."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(os.readlink(descriptor))
    return {name for name in found if "etilqs_" in name}


@ONLY_SQLITE
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="no /proc on this system")
@pytest.mark.parametrize("sorted_in_memory", [True, False])
def test_tallies_that_are_added_up_are_in_no_other_file(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    sorted_in_memory: bool,
) -> None:
    """Shares of a split sum are as many values as slots: they were sorted in /var/tmp."""
    world, source = PartyWorld(tmp_path), random.Random(3)
    storage = world.analyzer.storage
    assert isinstance(storage, SqliteStorage)
    rows = [(BATCH, at // 5000, source.getrandbits(40), 1) for at in range(120_000)]
    with storage.transaction() as change:
        change.change_many("INSERT INTO tally (batch_id, part, value, n) VALUES (?, ?, ?, ?)", rows)
    if not sorted_in_memory:
        storage._reading.execute("PRAGMA temp_store=FILE")  # as it was
    seen: set[str] = set()
    storage._reading.set_progress_handler(lambda: seen.update(unlinked_files()), 5000)
    assert sum(tallies(world.analyzer, BATCH).values()) == len(rows)
    storage._reading.set_progress_handler(None, 0)
    assert bool(seen) is not sorted_in_memory
    world.close()


@ONLY_SQLITE
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
        raise ValueError("a part of it cannot be read here")

    def open_slot(slot: bytes, card: Card, key: PrivateKey) -> int:
        if not ended:
            # Seven days after the window and its grace: the batch had come in the last moment.
            world.go_to(world.now + 7 * 86_400)
            end_lapsed(other)
            ended.append(read_result(other, WINDOW, now=world.now)[0])
        return slots.open_slot(slot, card, key)

    # The other one cannot count it, so it ends the window.
    monkeypatch.setattr("smoothdp.services.analyzer.counting_at_last.count_batch", damaged)
    monkeypatch.setattr("smoothdp.services.analyzer.counting.open_slot", open_slot)
    assert counting.count_complete(world.analyzer) == 1
    assert ended == [403]
    assert world.analyzer.storage.read("SELECT bytes FROM counts") == []
    for opened in (other.storage, other.keys):
        opened.close()
    world.close()


@ONLY_SQLITE
def test_the_issuers_rows_lie_in_the_order_of_requests_while_a_window_is_open(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol says it: rows have a place by their tag, but their bytes lie in a page as they
    came, until the window is closed.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    people = [str(person) for person in range(8)]
    for person in people:
        assert world.take_part(person) == 202
    world.issuer.storage.forget()
    data = (tmp_path / "issuer.sqlite").read_bytes()
    rows = world.issuer.storage.read("SELECT account_tag FROM issued")
    places = {bytes(tag): data.rfind(bytes(tag)) for (tag,) in rows}
    (key,) = world.issuer.storage.read("SELECT tag_key FROM window_key WHERE window = ?", (WINDOW,))
    world.close()
    tags = [
        tag_of(bytes(key[0]), bytes.fromhex(world.invitation_of(person))[:16]) for person in people
    ]
    came = [places[tag] for tag in tags]
    assert came == sorted(came, reverse=True)


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
    world.send_many(ENOUGH)
    assert world.finish(ENOUGH)["state"] == "RELEASED"
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
