"""How fast the services issue, take, seal and count: `python -m benchmarks.services`.

`--quick` takes a tenth of the reports, `--slots M` envelopes of M slots; `--soak MINUTES` lets
three parties run under load and faults and compares all that they did, for minutes or hours.
`python -m benchmarks.services_postgres` measures ingest on PostgreSQL. Loopback only: the load
comes from one other process with 64 connections.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.services.load.soak import soak
from tests.services.worlds.issuing_world import WINDOW as ISSUER_WINDOW, IssuingWorld
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

from benchmarks.timing import measured_seconds
from smoothdp.services.analyzer.release import work
from smoothdp.services.formats.report import seal_report
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.shuffler.ingest import OpenedReport, Taken
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.wire.running import on_loopback

CONNECTIONS = 64
Request = tuple[str, bytes]
"""The secret in the header, and the body."""


def make_task(slots: int) -> Task:
    """Return a task with so many slots per user."""
    options: dict[str, Any] = {"epsilon": "1", "delta": "1e-6", "min_batch": 300, "windows": 20}
    if slots == 1:
        return small_task(**options)
    return small_task("real_sum", size=slots, **options)


def make_requests(world: PartyWorld, count: int) -> list[Request]:
    """Return sealed reports of as many people, with good tokens on every slot."""
    began = time.perf_counter()
    made = []
    for person in range(count):
        report = seal_report(world.report(person % 2).encode(), world.card())
        made.append((world.new_pass(), report))
    seconds = time.perf_counter() - began
    line(f"client with its issuer, {world.task.slots} slots", count, seconds, "report")
    return made


def line(name: str, count: int, seconds: float, unit: str) -> None:
    """Print one figure."""
    print(f"{name:<52} {count / seconds:>9,.0f} {unit}/s   ({count:,} in {seconds:.2f} s)")
    measured_seconds("Services", f"{name}, {unit}s", seconds / count)


async def _load(url: str, path: str, requests: Sequence[Request], wanted: bytes) -> list[float]:
    parts, waiting = urlsplit(url), list(requests)
    seconds: list[float] = []

    async def connection() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        while waiting:
            secret, body = waiting.pop()
            began = time.perf_counter()
            writer.write(
                f"POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {secret}\r\n"
                f"content-length: {len(body)}\r\n\r\n".encode()
                + body
            )
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            seconds.append(time.perf_counter() - began)
            assert head.split(b" ", 2)[1] == wanted, head
        writer.close()

    await asyncio.gather(*(connection() for _ in range(CONNECTIONS)))
    return seconds


def _load_process(
    url: str, path: str, requests: Sequence[Request], wanted: bytes, done: SimpleQueue[list[float]]
) -> None:
    done.put(asyncio.run(_load(url, path, requests, wanted)))


def over_http(
    name: str, url: str, path: str, requests: Sequence[Request], unit: str, *, wanted: bytes
) -> None:
    """Send from another process; print how many a second, how long each took, and the memory."""
    context = multiprocessing.get_context("fork")
    done: SimpleQueue[list[float]] = context.SimpleQueue()
    before = _memory()
    loader = context.Process(target=_load_process, args=(url, path, requests, wanted, done))
    began, used = time.perf_counter(), time.process_time()
    loader.start()
    latencies = sorted(done.get())
    seconds = time.perf_counter() - began
    used = time.process_time() - used
    loader.join()
    assert loader.exitcode == 0
    line(name, len(requests), seconds, unit)
    half, late = statistics.median(latencies), latencies[int(0.99 * len(latencies))]
    print(f"{'':<52} half within {1000 * half:.0f} ms, 99 % within {1000 * late:.0f} ms")
    print(
        f"{'':<52} {1e6 * used / len(requests):.0f} us of the service's processor time each;",
        end=" ",
    )
    print(f"memory {before:.0f} MB before, {_memory():.0f} MB after")


def _memory() -> float:
    """Return the memory of this process that is in use now, in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def issuance(directory: Path, slots: int, count: int) -> None:
    """Time the issuer alone: durable accounts, blind signatures, over HTTP."""
    world = IssuingWorld(directory, protocol=make_task(slots).protocol, size=slots)
    world.storage._connection.execute("PRAGMA synchronous=FULL")
    world.open_window()
    card = world.make_card()
    requests = []
    for person in range(count):
        client = world.client(name=str(person))
        client.take_part(person % 2, card=card, window=ISSUER_WINDOW)
        requests.append((world.invitation(), client.token_request(ISSUER_WINDOW)))
    with on_loopback(issuer_app(world.issuer)) as url:
        path = f"/v2/tokens/{world.task.task_id.hex()}/{ISSUER_WINDOW}"
        name = f"issuer over HTTP, {slots} slots"
        over_http(name, url, path, requests, "account", wanted=b"200")
    world.close()


def opened(world: PartyWorld, requests: Sequence[Request]) -> list[OpenedReport]:
    """Return reports as they are when they wait for their group."""
    done = []
    for secret, sealed in requests:
        sender = world.shuffler.sender(secret)
        assert sender is not None
        judged = world.shuffler.judge(WINDOW, sender, sealed)
        assert not isinstance(judged, Taken), judged
        done.append(judged)
    return done


def ingest(name: str, world: PartyWorld, count: int) -> None:
    """Time the way in, over HTTP and in groups without it; then seal, hand over, count."""
    world.open_window()
    requests = make_requests(world, count)
    with on_loopback(shuffler_app(world.shuffler)) as url:
        path = f"/v2/reports/{world.task.task_id.hex()}/{WINDOW}"
        label = f"{name}, reports over HTTP, {world.task.slots} slots"
        over_http(label, url, path, requests[: count * 3 // 4], "report", wanted=b"202")
    requests = requests[count * 3 // 4 :]
    began = time.perf_counter()
    judged = opened(world, requests)
    line(f"{name}, open and verify", len(judged), time.perf_counter() - began, "report")
    for group, items in ((1, judged[: len(judged) // 5]), (256, judged[len(judged) // 5 :])):
        began = time.perf_counter()
        for at in range(0, len(items), group):
            assert set(world.shuffler.accept(items[at : at + group])) == {Taken.ACCEPTED}
        label = f"{name}, stored in groups of {group}, without HTTP"
        line(label, len(items), time.perf_counter() - began, "report")
    assert world.shuffler.totals()["pending"] == count
    slots = count * world.task.slots

    def release() -> None:
        world.tell_served(count)
        work(world.analyzer)

    steps: dict[str, Callable[[], object]] = {
        "seal": world.seal,
        "hand over": world.deliver,
        "verify, open, count and release": release,
    }
    for step, call in steps.items():
        began = time.perf_counter()
        call()
        line(f"{name}, {step}", slots, time.perf_counter() - began, "slot")
    assert world.result()["users"] == count
    world.close()


def argument(name: str, default: float) -> float:
    """Return the number after an option."""
    if name not in sys.argv:
        return default
    given = sys.argv[sys.argv.index(name) + 1 :]
    return float(given[0]) if given else default


def main() -> None:
    """Print every figure."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        if "--soak" in sys.argv:
            print(soak(directory, minutes=argument("--soak", 20.0), say=print).summary())
            return
        slots = int(argument("--slots", 1))
        count = (800 if "--quick" in sys.argv else 8000) // slots
        (directory / "issuer").mkdir()
        issuance(directory / "issuer", slots, count // 4)
        ingest("SQLite", PartyWorld(directory, make_task(slots)), count)


if __name__ == "__main__":
    main()
