"""How fast the services take, seal and open: `python -m benchmarks.services [--quick]`.

`--million` times a million users from datum to result; `--soak [seconds]` keeps both services
under a steady load and follows their memory. Loopback only, bounded: the load comes from one
other process with 64 connections.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import resource
import secrets
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from smoothdp.services.analyzer.window_release import release_counted
from smoothdp.services.wire.envelope import Header, inner_info, seal_envelope, seal_values
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.task_request import create_task

from benchmarks.timing import measured_seconds
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.client.client import randomize
from smoothdp.services.shuffler.delivery import Put, deliver_batches
from smoothdp.services.shuffler.sealing import due_windows, seal_window
from smoothdp.services.shuffler.shuffler import Shuffler, Upload
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.storage import SqliteStorage
from smoothdp.services.wire.calls import Outcome
from smoothdp.services.wire.hybrid import PrivateKey, PublicKey
from smoothdp.services.wire.running import on_loopback
from smoothdp.services.wire.tokens import issue_client_token

CONNECTIONS = 64
KEY = PrivateKey.generate()
ISSUING_KEY = secrets.token_bytes(32)


def make_task(slots: int) -> Task:
    """Return a task with so many slots per user."""
    fields = {"epsilon": "1", "delta": "1e-6", "analyzer_key": KEY.public, "min_batch": 1000}
    if slots == 1:
        return create_task("boolean_sum", **fields)  # type: ignore[arg-type]
    return create_task("histogram", size=slots - 1, **fields)  # type: ignore[arg-type]


def make_shuffler(directory: Path, task: Task) -> Shuffler:
    """Return a shuffler with files of its own."""
    storage = SqliteStorage(directory / f"{secrets.token_hex(4)}.sqlite", SHUFFLER_SCHEMA)
    return Shuffler(storage, tasks=[task], issuing_key=ISSUING_KEY)


def make_uploads(
    shuffler: Shuffler, task: Task, count: int, *, window: int | None = None
) -> list[Upload]:
    """Return envelopes of as many users, sealed for a window, by default the present one."""
    key_id, public = shuffler.keys.active()
    key, uploads = PublicKey.from_bytes(public), []
    window = shuffler.window_now(task) if window is None else window
    values = [randomize(task, place % max(1, task.slots - 1)) for place in range(16)]
    for user in range(count):
        slots = seal_values(values[user % 16], key=KEY.public, task_id=task.task_id, window=window)
        header = Header(key_id, task.slots, task.task_id, window)
        envelope = seal_envelope(header, secrets.token_bytes(16), slots, key=key)
        uploads.append(Upload(issue_client_token(ISSUING_KEY, task.task_id), envelope))
    return uploads


def line(name: str, count: int, seconds: float, unit: str) -> None:
    """Print one figure."""
    print(f"{name:<48} {count / seconds:>10,.0f} {unit}/s   ({count:,} in {seconds:.2f} s)")
    measured_seconds("Services", f"{name}, {unit}s", seconds / count)


async def _load(url: str, path: str, uploads: list[Upload]) -> None:
    parts, waiting = urlsplit(url), list(uploads)

    async def connection() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        while waiting:
            upload = waiting.pop()
            writer.write(
                f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {upload.token}\r\n"
                f"content-length: {len(upload.envelope)}\r\n\r\n".encode()
                + upload.envelope
            )
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            assert b" 202 " in head.split(b"\r\n")[0], head
        writer.close()

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))


def _load_process(url: str, path: str, uploads: list[Upload]) -> None:
    asyncio.run(_load(url, path, uploads))


def ingest(directory: Path, slots: int, count: int) -> None:
    """Time the way in: in groups without HTTP, then over HTTP with durable group commit."""
    task = make_task(slots)
    shuffler = make_shuffler(directory, task)
    began = time.perf_counter()
    uploads = make_uploads(shuffler, task, count)
    line(f"client, {slots} slots", count, time.perf_counter() - began, "bundle")
    began = time.perf_counter()
    for start in range(0, count, 256):
        outcomes = shuffler.accept(uploads[start : start + 256])
        assert set(outcomes) == {Outcome.ACCEPTED}
    line(f"accept in groups of 256, {slots} slots", count, time.perf_counter() - began, "bundle")
    shuffler = make_shuffler(directory, task)
    uploads = make_uploads(shuffler, task, count)
    with on_loopback(shuffler_app(shuffler)) as url:
        path = f"/v1/tasks/{task.task_id.hex()}/reports"
        loader = multiprocessing.get_context("fork").Process(
            target=_load_process, args=(url, path, uploads)
        )
        began = time.perf_counter()
        loader.start()
        loader.join()
        seconds = time.perf_counter() - began
    assert loader.exitcode == 0
    assert shuffler.totals()["accepted"] == count
    line(f"HTTP ingest, durable, {slots} slots", count, seconds, "bundle")


def putting_to(analyzer: Analyzer) -> Put:
    """Return a delivery without HTTP."""

    def put(path: str, body: bytes) -> int:
        parts = path.split("/")
        batch_id = bytes.fromhex(parts[3])
        if len(parts) == 4:
            return analyzer.put_batch(batch_id, body)
        return analyzer.put_part(batch_id, int(parts[5]), body)

    return put


def seal_and_open(directory: Path, seal_slots: int, open_slots: int) -> None:
    """Time sealing of many slots, delivery, and opening and counting."""
    task = make_task(1)
    shuffler = make_shuffler(directory, task)
    place = (task.task_id, shuffler.window_now(task))
    with shuffler.storage.transaction() as change:
        for table, columns, width in (
            ("pending", "report_id, slots", 52),
            ("quota", "sender_tag, report_tag", 16),
        ):
            change.change_many(
                f"INSERT INTO {table} (task_id, window, {columns}) VALUES (?, ?, ?, ?)",
                ((*place, os.urandom(16), os.urandom(width)) for _ in range(seal_slots)),
            )
    began = time.perf_counter()
    assert seal_window(shuffler, task, place[1]) is not None
    line("seal", seal_slots, time.perf_counter() - began, "slot")

    storage = SqliteStorage(directory / "analyzer.sqlite", ANALYZER_SCHEMA)
    analyzer = Analyzer(storage, tasks=[task], key=KEY, ledgers=directory)

    began = time.perf_counter()
    deliver_batches(shuffler, putting_to(analyzer))
    line("deliver and purge, without HTTP", seal_slots, time.perf_counter() - began, "slot")
    info = inner_info(task.task_id, place[1])
    data = [KEY.public.seal((user % 2).to_bytes(4), info=info) for user in range(open_slots)]
    header = analyzer._header(bytes(storage.read("SELECT batch_id FROM batch")[0][0]))
    assert header is not None
    began = time.perf_counter()
    tally = analyzer._tally(header, b"".join(data), 0, frozenset())
    assert sum(tally.values()) == open_slots
    assert set(tally) == {0, 1}
    line("open and count", open_slots, time.perf_counter() - began, "slot")


def end_to_end(directory: Path, users: int) -> None:
    """Time one-bit users from their datum to the released result, in one process, without HTTP."""
    task = make_task(1)
    shuffler = make_shuffler(directory, task)
    storage = SqliteStorage(directory / "end.sqlite", ANALYZER_SCHEMA)
    analyzer = Analyzer(storage, tasks=[task], key=KEY, ledgers=directory)
    began = time.perf_counter()
    window = shuffler.window_now(task)
    for start in range(0, users, 500):
        uploads = make_uploads(shuffler, task, min(500, users - start), window=window)
        assert set(shuffler.accept(uploads)) == {Outcome.ACCEPTED}
    seal_window(shuffler, task, window)
    deliver_batches(shuffler, putting_to(analyzer))
    analyzer.count_complete()
    assert release_counted(analyzer) == 1
    line("end to end without HTTP, one bit", users, time.perf_counter() - began, "user")
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


SOAK_USERS_PER_SECOND = 100


async def _steady(url: str, task: Task, shuffler_key: tuple[int, bytes], until: float) -> int:
    """Send new users at a steady rate; return how many."""
    key_id, public = shuffler_key
    key, path = PublicKey.from_bytes(public), f"/v1/tasks/{task.task_id.hex()}/reports"
    sent, began = 0, time.time()
    while (now := time.time()) < until:
        uploads, window = [], int(now // task.window_seconds)
        for _ in range(SOAK_USERS_PER_SECOND):
            values = randomize(task, sent % 2)
            slots = seal_values(values, key=KEY.public, task_id=task.task_id, window=window)
            header = Header(key_id, task.slots, task.task_id, window)
            envelope = seal_envelope(header, secrets.token_bytes(16), slots, key=key)
            uploads.append(Upload(issue_client_token(ISSUING_KEY, task.task_id), envelope))
        await _load(url, path, uploads)
        sent += len(uploads)
        await asyncio.sleep(max(0.0, began + sent / SOAK_USERS_PER_SECOND - time.time()))
    return sent


def _steady_process(url: str, task: Task, key: tuple[int, bytes], until: float) -> None:
    asyncio.run(_steady(url, task, key, until))


def _memory() -> float:
    """Return the memory of this process that is in use now, in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def soak(directory: Path, seconds: float) -> None:
    """Run both services under a steady load, with windows of ten seconds; follow their memory."""
    task = create_task(
        "boolean_sum",
        epsilon="1",
        delta="1e-6",
        min_batch=200,
        windows=100_000,
        window_seconds=10,
        grace_seconds=5,
        analyzer_key=KEY.public,
    )
    shuffler = make_shuffler(directory, task)
    storage = SqliteStorage(directory / "analyzer.sqlite", ANALYZER_SCHEMA)
    analyzer = Analyzer(storage, tasks=[task], key=KEY, ledgers=directory)
    put = putting_to(analyzer)

    def work() -> None:
        for window in due_windows(shuffler, task):
            seal_window(shuffler, task, window)
        deliver_batches(shuffler, put)
        analyzer.count_complete()
        release_counted(analyzer)

    began, samples = time.time(), []
    with on_loopback(shuffler_app(shuffler, work=work, work_seconds=1)) as url:
        loader = multiprocessing.get_context("fork").Process(
            target=_steady_process, args=(url, task, shuffler.keys.active(), began + seconds)
        )
        loader.start()
        while loader.is_alive():
            loader.join(5)
            samples.append((time.time() - began, _memory()))
            if len(samples) % 12 == 0:
                print(f"{samples[-1][0]:6.0f} s   {samples[-1][1]:.1f} MB", flush=True)
        time.sleep(20)
    assert loader.exitcode == 0
    totals = shuffler.totals()
    released = storage.read("SELECT count(*) FROM release")[0][0]
    assert totals["accepted"] == totals["batched"] + totals["pending"] + totals["expired"]
    late = [(at, memory) for at, memory in samples if at > seconds / 5]
    slope = 60 * float(np.polyfit([at for at, _ in late], [memory for _, memory in late], 1)[0])
    print(f"soak: {seconds:.0f} s, {totals}, {released} results")
    print(f"memory after a fifth {late[0][1]:.1f} MB, at the end {late[-1][1]:.1f} MB", end=", ")
    print(f"{slope:+.3f} MB a minute")


def main() -> None:
    """Print every figure."""
    scale = 10 if "--quick" in sys.argv else 1
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        if "--million" in sys.argv:
            end_to_end(directory, 1_000_000)
            return
        if "--soak" in sys.argv:
            given = sys.argv[sys.argv.index("--soak") + 1 :]
            soak(directory, float(given[0]) if given else 600.0)
            return
        ingest(directory, 1, 12_000 // scale)
        ingest(directory, 101, 1_500 // scale)
        seal_and_open(directory, 1_000_000 // scale, 40_000 // scale)
        end_to_end(directory, 100_000 // scale)


if __name__ == "__main__":
    main()
