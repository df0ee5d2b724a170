"""How fast the services take, seal and open: `python -m benchmarks.services [--quick]`.

Loopback only, bounded: the load comes from one other process with 64 connections.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from smoothdp.services.analyzer import Analyzer
from smoothdp.services.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.client import randomize
from smoothdp.services.create import create_task
from smoothdp.services.delivery import Put, deliver_batches
from smoothdp.services.envelope import Header, inner_info, seal_envelope, seal_values
from smoothdp.services.hybrid import PrivateKey, PublicKey
from smoothdp.services.release import release_counted
from smoothdp.services.running import on_loopback
from smoothdp.services.sealing import seal_window
from smoothdp.services.shuffler import Outcome, Shuffler, Upload
from smoothdp.services.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.storage import SqliteStorage
from smoothdp.services.task import Task
from smoothdp.services.tokens import issue_client_token
from smoothdp.services.web_shuffler import shuffler_app

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
    analyzer = Analyzer(storage, tasks=[task], key=KEY)

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
    analyzer = Analyzer(storage, tasks=[task], key=KEY)
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


def main() -> None:
    """Print every figure."""
    scale = 10 if "--quick" in sys.argv else 1
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        ingest(directory, 1, 12_000 // scale)
        ingest(directory, 101, 1_500 // scale)
        seal_and_open(directory, 1_000_000 // scale, 40_000 // scale)
        end_to_end(directory, 100_000 // scale)


if __name__ == "__main__":
    main()
