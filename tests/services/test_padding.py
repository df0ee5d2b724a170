"""Tests 54 and 59: the number and size of messages say nothing, and the audit sees when they do.

In the one-bit histogram a user sends x + Bernoulli messages: their number is the bit, nearly in
the clear. The services send two slots whatever the number is; the mutant sends them unpadded.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from smoothdp import ApproxDP
from smoothdp.services.client.client import Client
from smoothdp.services.client.submit import submit
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.shuffler import Upload
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.wire.calls import Outcome, connect
from smoothdp.services.wire.envelope import (
    DUMMY,
    Header,
    envelope_bytes,
    seal_envelope,
    seal_values,
)
from smoothdp.services.wire.hybrid import PublicKey
from smoothdp.services.wire.running import on_loopback
from smoothdp.shuffle import ZeroPreservingCount
from tests.services.test_privacy import audit
from tests.services.world import HOUR, KEY, WINDOW, World, small_task

USERS, EPSILON, DELTA = 8, "1", "0.1"
COUNT = ZeroPreservingCount.calibrate(
    USERS, guarantee=ApproxDP(EPSILON, delta=DELTA), honest_share=1
)


def one_bit_messages(_: object, datum: int) -> tuple[int, ...]:
    """Return the messages of the one-bit histogram, all alike, filled up to two slots."""
    return tuple(0 if message else DUMMY for message in COUNT.randomize(datum))


@pytest.fixture
def one_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr("smoothdp.services.client.client.randomize", one_bit_messages)
    world = World(tmp_path, small_task("histogram", domain=("one",), min_batch=USERS))
    used: list[Any] = [world.shuffler.storage, world.analyzer.storage, world.outcomes._storage]
    for storage in used:
        storage._connection.execute("PRAGMA synchronous=OFF")
    yield world
    world.close()


def unpadded(world: World, datum: int) -> bytes:
    """Return the mutant's envelope: as many slots as there are messages; none, nothing."""
    values = [message for message in COUNT.randomize(datum) if message]
    if not values:
        return b""
    key_id, public = world.shuffler.keys.active()
    header = Header(key_id, len(values), world.task.task_id, WINDOW)
    slots = seal_values(
        [0] * len(values), key=KEY.public, task_id=world.task.task_id, window=WINDOW
    )
    return seal_envelope(header, bytes(16), slots, key=PublicKey.from_bytes(public))


def slots_seen(envelope: bytes) -> int:
    """Return what a shuffler reads without any key: how many slots there are."""
    return Header.of(envelope).slots if envelope else 0


def test_59_padded_messages_tell_neither_party(one_bit: World) -> None:
    shuffler: dict[int, list[int]] = {0: [], 1: []}
    analyzer: dict[int, list[int]] = {0: [], 1: []}
    for run in range(80):
        window = WINDOW + run
        one_bit.now = window * HOUR + 5
        uploads = [one_bit.upload(f"{user}", run % 2 if user == 0 else 0) for user in range(USERS)]
        assert set(one_bit.shuffler.accept(uploads)) == {Outcome.ACCEPTED}
        shuffler[run % 2].append(slots_seen(uploads[0].envelope))
        one_bit.seal(window)
        deliver_batches(one_bit.shuffler, one_bit.put)
        one_bit.analyzer.count_complete()
        rows = one_bit.analyzer.storage.read(
            "SELECT batch_id FROM batch WHERE window = ?", (window,)
        )
        tally = one_bit.analyzer.tallies(bytes(rows[0][0]))
        assert tally[0] + tally.get(DUMMY, 0) == 2 * USERS
        analyzer[run % 2].append(tally[0])
    assert set(shuffler[0]) == set(shuffler[1]) == {2}
    assert audit(shuffler, float(DELTA)) <= float(EPSILON)
    assert audit(analyzer, float(DELTA)) <= float(EPSILON)


def test_59_the_audit_finds_messages_without_padding(one_bit: World) -> None:
    view = {x: [slots_seen(unpadded(one_bit, x)) for _ in range(400)] for x in (0, 1)}
    assert audit(view, float(DELTA)) > float(EPSILON)


def test_59_the_shuffler_refuses_messages_without_padding(one_bit: World) -> None:
    envelopes = [unpadded(one_bit, 1) for _ in range(40)]
    short = [envelope for envelope in envelopes if len(envelope) == envelope_bytes(1)]
    assert short
    outcomes = one_bit.shuffler.accept([Upload(one_bit.token("u"), e) for e in short])
    assert set(outcomes) == {Outcome.MALFORMED}


@contextmanager
def wire(url: str) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Yield the address of a relay to a service, and the bytes of each connection, both ways."""
    host, port = url.removeprefix("http://").split(":")
    seen: list[tuple[int, int]] = []
    loop, ready = asyncio.new_event_loop(), threading.Event()
    address: list[str] = []
    stopped: list[asyncio.Event] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        total = 0
        while data := await reader.read(65536):
            total += len(data)
            writer.write(data)
            await writer.drain()
        writer.close()
        return total

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there_reader, there_writer = await asyncio.open_connection(host, int(port))
        up, down = await asyncio.gather(copy(reader, there_writer), copy(there_reader, writer))
        seen.append((up, down))

    async def serve() -> None:
        stopped.append(asyncio.Event())
        async with await asyncio.start_server(relay, "127.0.0.1", 0) as server:
            address.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            ready.set()
            await stopped[0].wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield address[0], seen
    finally:
        loop.call_soon_threadsafe(stopped[0].set)
        thread.join(20)
        loop.close()


@pytest.mark.parametrize(("protocol", "data"), [("boolean_sum", (0, 1)), ("histogram", "abc")])
def test_54_the_bytes_on_the_wire_are_equally_many(
    tmp_path: Path, protocol: str, data: Any
) -> None:
    world = World(tmp_path, small_task(protocol))
    with on_loopback(shuffler_app(world.shuffler)) as url, wire(url) as (relay, seen):
        for user in range(24):
            client = Client(world.task, world.outcomes, name=f"{user}", clock=lambda: world.now)
            with connect(relay) as http:
                submit(client, data[user % len(data)], http=http, token=world.token(f"{user}"))
        for _ in range(200):
            if len(seen) == 24:
                break
            threading.Event().wait(0.05)
    assert len(seen) == 24
    assert len(set(seen)) == 1, set(seen)
    assert seen[0][0] > envelope_bytes(world.task.slots)
    world.close()
