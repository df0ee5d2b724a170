"""A twelfth round, on state: what is told too early, and logs that no room is left to overwrite."""

from __future__ import annotations

import os
import random
import secrets
import socket
import sqlite3
import subprocess
import time
from contextlib import closing, suppress
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from smoothdp.cli.serving.serve import serve
from smoothdp.cli.serving.task import task as task_command
from smoothdp.errors import InvalidData
from smoothdp.services.formats.party_files import read_task
from smoothdp.services.operations.every import do_all
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.overwritten_log import log_of
from smoothdp.services.store.revoked import Revoked
from smoothdp.services.store.storage import SqliteStorage
from tests.services.operations.served import serving
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.older_copies import copy_of, put_in_place
from tests.services.worlds.whole_world import HOUR, WINDOW, WholeWorld


def _round_of(world: WholeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do a round of the shuffler's work, over HTTP to the analyser."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/v2/batches"):
            return httpx.Response(world.put(request.url.path, request.content))
        if request.url.path == "/v2/clock":
            return httpx.Response(200, json={"time": world.now})
        return httpx.Response(404)

    client = httpx.Client(transport=httpx.MockTransport(answer), base_url="http://127.0.0.1:1")
    monkeypatch.setattr(
        "smoothdp.services.shuffler.shuffler_party.connect", lambda *_, **__: client
    )
    party = ShufflerParty(
        *(world.task, world.shuffler, world.keys[0]),
        *(Revoked(world.folder / "revoked"), "token", world.folder),
    )
    party.work("http://127.0.0.1:1")


@ONLY_SQLITE
def test_no_batch_leaves_before_it_is_noted_beside_the_keys_that_its_window_is_over(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "The shuffler's database from an older copy is refused beside its keys from
    now, if a window that is open in it was closed since".

    The file of the keys cannot be written when the window ends: somebody holds it, or the disk is
    full and the database is on another one. The window is sealed and handed over all the same.
    Then the database is replaced by an older copy, and nothing says that the window was closed.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"before {person}") == 202
    world.close()
    copy = copy_of(tmp_path, "shuffler.sqlite")
    world._open()
    assert world.take_part("one more") == 202
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds)
    world.keys[0]._storage._connection.execute("PRAGMA busy_timeout = 20")
    with closing(sqlite3.connect(tmp_path / "gateway.sqlite", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises((OSError, sqlite3.Error)):
            _round_of(world, monkeypatch)
    seen = [path for path, _ in world.offers]
    world.close()
    put_in_place(tmp_path, "shuffler.sqlite", copy)
    try:
        world._open()
    except InvalidData:
        return
    do_all([lambda: seal_due(world.shuffler)])
    batches = world.shuffler.storage.read("SELECT users FROM batch")
    world.close()
    assert not seen or not batches, "a second batch of a window that was handed over"


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


@pytest.mark.slow
@ONLY_SQLITE
def test_who_reads_slowly_keeps_no_service_from_stopping(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: "A service may be stopped at any moment".

    A stranger fetches marks and does not read them. The service that is told to stop listens no
    more, and does not end before the stranger's time is over: a minute, and a second for each 64
    kB, which is hours for the largest batch.
    """
    written = party_directories(tmp_path / "t")
    with serving("shuffler", written.shuffler, "--analyzer", "http://127.0.0.1:1") as party:
        task = read_task(written.shuffler)
        with closing(sqlite3.connect(written.shuffler / "shuffler.sqlite")) as file:
            file.execute("INSERT INTO marks VALUES (?, ?, ?)", (task.task_id, 7, bytes(1 << 23)))
            file.commit()
        with socket.create_connection(("127.0.0.1", party.port)) as reader:
            asked = f"GET /v2/tasks/{task.task_id.hex()}/marks/7 HTTP/1.1\r\nhost: x\r\n\r\n"
            reader.sendall(asked.encode())
            time.sleep(1.0)
            party.process.terminate()
            try:
                party.process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                party.process.kill()
                raise


@pytest.mark.parametrize("address", ["http://[::1", "https://a:b", "https://h:99999999"])
def test_an_address_of_the_issuer_that_is_none_is_refused_in_words(
    tmp_path: Path, address: str
) -> None:
    """A traceback, or a task whose issuer no client can ever ask."""
    done = CliRunner().invoke(
        task_command,
        f"create {tmp_path / 'task'} --protocol boolean-sum --epsilon 1 --delta 1e-6 "
        f"--min-batch 300 --one-host --origin a.example --issuer-url {address}".split(),
    )
    assert done.exit_code != 0
    assert "Traceback" not in done.output
    assert isinstance(done.exception, SystemExit), repr(done.exception)


@pytest.mark.parametrize(
    "address", ["postgresql://u:SEC%RET@host/db", "postgresql://u:SECRET@[::1/db"]
)
def test_a_password_in_an_address_that_is_none_is_not_repeated(
    tmp_path: Path, address: str
) -> None:
    """A password with a sign that an address wants written otherwise is printed with it."""
    pytest.importorskip("psycopg")
    shuffler = party_directories(tmp_path / "t").shuffler
    for file in shuffler.glob("*.sqlite*"):
        file.unlink()
    (shuffler / "storage").write_text(address)
    done = CliRunner().invoke(serve, ["check", str(shuffler)])
    assert "WRONG" in done.output
    assert "SEC" not in done.output


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
