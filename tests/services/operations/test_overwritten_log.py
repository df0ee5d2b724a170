"""The log of a file is overwritten before it is cut off: whoever writes, reads, or is killed."""

from __future__ import annotations

import gc
import os
import re
import secrets
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.store.overwritten_log import log_of, overwrite_log
from smoothdp.services.store.storage import SqliteStorage, StorageLocked
from tests.services.worlds.kept_pages import KEEPS_PAGES, pages_of

SCHEMA = "CREATE TABLE IF NOT EXISTS box (item BLOB);"
BYTES = 48


class Box:
    """A storage with secrets that come and go."""

    def __init__(self, folder: Path, *, wait: float = 30.0) -> None:
        self.path = folder / "box.sqlite"
        self.storage = SqliteStorage(self.path, SCHEMA, busy_seconds=wait)
        self.gone: list[bytes] = []

    def put(self, count: int = 1) -> list[bytes]:
        items = [secrets.token_bytes(BYTES) for _ in range(count)]
        with self.storage.transaction() as change:
            change.change_many("INSERT INTO box VALUES (?)", [(item,) for item in items])
        return items

    def erase(self) -> None:
        self.gone += self.items()
        with self.storage.transaction() as change:
            change.change("DELETE FROM box")

    def items(self) -> list[bytes]:
        return [bytes(row[0]) for row in self.storage.read("SELECT item FROM box")]

    def forget_and_at(self, number: int, do: Callable[[], object]) -> list[str]:
        """Forget, and call something before the statement of a number; return the statements."""
        seen: list[str] = []
        done: list[object] = []

        def before(statement: str) -> None:
            seen.append(statement)
            if len(seen) == number + 1:
                # What it raises is not heard.
                done.append(do())

        self.storage._connection.set_trace_callback(before)
        self.storage.forget()
        self.storage._connection.set_trace_callback(None)
        assert len(done) == (len(seen) > number)
        return seen


def statements_of(folder: Path, count: int) -> int:
    """Return how many statements it takes to forget a number of secrets."""
    box = Box(folder)
    box.put(count)
    box.erase()
    statements = len(box.forget_and_at(0, bool))
    box.storage.close()
    box.path.unlink()
    assert statements > 10
    return statements


def modes(statements: list[str]) -> str:
    """Return how the log was taken out, in order."""
    found = [re.findall(r"wal_checkpoint\((\w+)\)", statement) for statement in statements]
    return " ".join(mode for each in found for mode in each)


@KEEPS_PAGES
@pytest.mark.parametrize("count", [0, 1, 60, 100_000])
def test_a_log_that_is_cut_off_was_overwritten(tmp_path: Path, count: int) -> None:
    """With 100,000 it is longer than where SQLite begins it anew."""
    box = Box(tmp_path)
    for _ in range(3):
        box.put(count)
        box.erase()
        assert log_of(box.path).stat().st_size > (5_000_000 if count > 60 else 0)
        read = pages_of(log_of(box.path))
        assert box.storage.forget()
        assert log_of(box.path).stat().st_size == 0
        cut = read()
        assert cut
        assert not [item for item in box.gone[:: max(1, count // 50)] if item in cut]
    box.storage.close()


@KEEPS_PAGES
def test_wrong_log_that_is_cut_as_it_is(tmp_path: Path) -> None:
    """What SQLite does by itself is found."""
    box = Box(tmp_path)
    (item,) = box.put()
    box.erase()
    read = pages_of(log_of(box.path))
    box.storage._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert item in read()
    box.storage.close()


@KEEPS_PAGES
@pytest.mark.parametrize("how", ["closed", "forgotten about", "of a later program"])
def test_a_log_that_goes_with_the_last_to_close_was_overwritten(tmp_path: Path, how: str) -> None:
    box = Box(tmp_path)
    box.put(60)
    box.erase()
    if how == "of a later program":
        # Its log stands: it was killed.
        with box.storage.transaction() as change:
            change.change("PRAGMA user_version = 99")
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
    path, gone, read = box.path, box.gone, pages_of(log_of(box.path))
    if how == "of a later program":
        with pytest.raises(InvalidData, match="version 99"):
            SqliteStorage(path, SCHEMA)
    if how == "forgotten about":
        del box
        gc.collect()
    else:
        box.storage.close()
    assert not log_of(path).exists()
    cut = read()
    assert cut
    assert not [item for item in gone if item in cut]


@KEEPS_PAGES
@pytest.mark.parametrize("taken_out", [False, True])
def test_what_others_commit_meanwhile_is_not_cut_off_as_it_is(
    tmp_path: Path, taken_out: bool
) -> None:
    """Another process commits a secret at each statement of it, and erases it later.

    It may take it out of the log too, as it does by itself where that is long. While the log is
    overwritten it waits.
    """
    ways, waits = set(), []
    for number in range(statements_of(tmp_path, 60)):
        ours, other = Box(tmp_path, wait=0.2), Box(tmp_path, wait=0.2)
        ours.put(60)
        ours.erase()
        reads: list[Callable[[], bytes]] = []

        def commits(
            other: Box = other, reads: list[Callable[[], bytes]] = reads, number: int = number
        ) -> None:
            try:
                other.put()
            except StorageLocked:
                waits.append(number)
                return
            if taken_out:
                other.storage._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            reads.append(pages_of(log_of(other.path)))

        reads.append(pages_of(log_of(ours.path)))
        ways.add(modes(ours.forget_and_at(number, commits)))
        assert len(other.items()) == len(reads) - 1 == (number not in waits)
        if log_of(ours.path).stat().st_size:
            reads.append(pages_of(log_of(ours.path)))
        other.erase()
        reads.append(pages_of(log_of(ours.path)))
        assert other.storage.forget()
        assert log_of(ours.path).stat().st_size == 0
        cut = b"".join(read() for read in reads)
        assert cut
        assert not [item for item in ours.gone + other.gone if item in cut], number
        ours.storage.close()
        other.storage.close()
    assert ways == {"RESTART FULL", "RESTART FULL TRUNCATE"}
    assert len(waits) == 1


@KEEPS_PAGES
def test_what_others_commit_and_take_out_after_the_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only moment that no statement of the storage's own connection begins in."""
    ours, other = Box(tmp_path), Box(tmp_path)
    ours.put(60)
    ours.erase()
    connect: Any = sqlite3.connect
    reads: list[Callable[[], bytes]] = []

    def connects(*values: Any, **options: Any) -> Any:
        if not reads:
            other.put()
            other.storage._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            reads.append(pages_of(log_of(other.path)))
        return connect(*values, **options)

    monkeypatch.setattr("sqlite3.connect", connects)
    assert ours.storage.forget()
    assert len(other.items()) == 1
    assert log_of(other.path).stat().st_size
    other.erase()
    assert other.storage.forget()
    cut = reads[0]()
    assert not [item for item in ours.gone + other.gone if item in cut]
    ours.storage.close()
    other.storage.close()


@KEEPS_PAGES
@pytest.mark.parametrize("waits", [0.0, 0.002])
def test_a_log_that_many_overwrite_at_once_does_not_grow_by_it(
    tmp_path: Path, waits: float
) -> None:
    """Each of three took what the others had written to overwrite it for a part of the log: it grew
    to 13 GB within ten minutes, and programs that came later found the file locked."""
    Box(tmp_path).storage.close()
    path, until, children = tmp_path / "box.sqlite", time.monotonic() + 3, []
    for _ in range(3):
        child = os.fork()
        if not child:
            try:
                while time.monotonic() < until:
                    box = Box(tmp_path)
                    for _ in range(5):
                        box.put()
                        box.erase()
                        assert box.storage.forget()
                        time.sleep(waits)
                    box.storage.close()
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    longest = 0
    while time.monotonic() < until:
        with suppress(FileNotFoundError):
            longest = max(longest, log_of(path).stat().st_size)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    assert 0 < longest < 500_000


@KEEPS_PAGES
def test_who_reads_meanwhile_keeps_what_was_read(tmp_path: Path) -> None:
    """At each statement of it somebody begins to read, and reads on after it."""
    held = 0
    statements = statements_of(tmp_path, 60)
    for number in range(statements):
        ours = Box(tmp_path, wait=0.05)
        ours.put(60)
        ours.erase()
        kept = ours.put(3)
        reader = sqlite3.connect(ours.path, isolation_level=None)

        def begins(reader: sqlite3.Connection = reader) -> None:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM box").fetchone()

        read = pages_of(log_of(ours.path))
        ours.forget_and_at(number, begins)
        cut = log_of(ours.path).stat().st_size == 0
        held += not cut
        assert {row[0] for row in reader.execute("SELECT item FROM box")} == set(kept)
        assert reader.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        reader.close()
        assert ours.storage.forget()
        assert log_of(ours.path).stat().st_size == 0
        given_back = read()
        assert not [item for item in ours.gone if item in given_back], number
        ours.erase()
        ours.storage.close()
    assert 0 < held < statements


def test_killed_at_each_statement(tmp_path: Path) -> None:
    """What was committed is there, what was erased is not, once the next has forgotten it."""
    statements = statements_of(tmp_path, 60)
    for number in range(statements):
        child = os.fork()
        if not child:
            box = Box(tmp_path)
            (tmp_path / "gone").write_bytes(b"".join(box.put(60)))
            box.erase()
            (tmp_path / "kept").write_bytes(b"".join(box.put(3)))
            box.forget_and_at(number, lambda: os.kill(os.getpid(), signal.SIGKILL))
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        assert log_of(tmp_path / "box.sqlite").exists()
        box = Box(tmp_path)
        assert b"".join(box.items()) == (tmp_path / "kept").read_bytes()
        assert box.storage.read("PRAGMA integrity_check") == [("ok",)]
        gone = (tmp_path / "gone").read_bytes()
        assert box.storage.forget()
        left = box.path.read_bytes()
        assert not [i for i in range(0, len(gone), BYTES) if gone[i : i + BYTES] in left]
        box.storage.close()
        box.path.unlink()


def test_many_processes_write_and_forget(tmp_path: Path) -> None:
    """Nobody loses what was committed, and nobody's call fails."""
    Box(tmp_path).storage.close()
    until, children = time.monotonic() + 2, []
    for _ in range(3):
        child = os.fork()
        if not child:
            try:
                box, mine = Box(tmp_path), []
                while time.monotonic() < until:
                    mine += box.put(secrets.randbelow(20))
                    box.storage.forget()
                    assert set(mine) <= set(box.items())
                box.storage.close()
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    box = Box(tmp_path)
    assert box.items()
    assert box.storage.read("PRAGMA integrity_check") == [("ok",)]
    box.storage.close()


def test_settings_of_the_connection_are_as_before(tmp_path: Path) -> None:
    box = Box(tmp_path)
    names = ("synchronous", "wal_autocheckpoint", "busy_timeout", "application_id", "user_version")

    def settings() -> list[object]:
        return [box.storage._connection.execute(f"PRAGMA {name}").fetchone() for name in names]

    before = settings()
    box.put()
    assert box.storage.forget()
    assert settings() == before == [(2,), (1000,), (30_000,), (0,), (1,)]
    writer = sqlite3.connect(box.path, isolation_level=None)
    box.put()
    box.storage._connection.execute("PRAGMA busy_timeout = 10")
    writer.execute("BEGIN IMMEDIATE")
    assert not box.storage.forget()
    writer.execute("ROLLBACK")
    assert box.storage.forget()
    box.storage.close()
    writer.close()


def test_a_file_that_keeps_no_log_has_nothing_to_overwrite(tmp_path: Path) -> None:
    path = tmp_path / "plain.sqlite"
    plain = sqlite3.connect(path, isolation_level=None)
    plain.execute("CREATE TABLE box (item BLOB)")
    before = path.read_bytes()
    assert overwrite_log(plain, path)
    assert path.read_bytes() == before
    plain.close()
