"""Bodies without credentials, and too many with: memory stays small, others are answered."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.services.operations.bodies import (
    BodyBudget,
    TooLarge,
    TooMany,
    TooSlow,
    read_body,
)
from smoothdp.services.wire.http_faces import exact_paths
from smoothdp.services.wire.problems import Problem
from smoothdp.services.wire.running import on_loopback
from tests.services.operations.served import from_address, serving
from tests.services.worlds.directories import party_directories

MOST_GROWTH = 80 << 20
REFUSED: dict[type[Exception], Problem] = {
    TooLarge: Problem(413, "long", "Too long"),
    TooSlow: Problem(408, "slow", "Too slow"),
    TooMany: Problem(503, "later", "Try again later", seconds=5.0),
}


def upload_without_end(connections: list[socket.socket], seconds: float) -> int:
    """Push zeros into connections as fast as they take them; return how many bytes went."""
    sent, deadline, zeros = 0, time.monotonic() + seconds, bytes(1 << 16)
    for connection in connections:
        connection.setblocking(False)
    while time.monotonic() < deadline:
        for connection in connections:
            with contextlib.suppress(OSError):
                sent += connection.send(zeros)
    return sent


def test_bodies_without_credentials_cost_little(tmp_path: Path) -> None:
    written = party_directories(tmp_path / "t")
    with serving("analyzer", written.analyzer) as party:
        before = party.memory()
        head = (
            f"PUT /v2/batches/{'00' * 16} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n"
        ).encode()
        connections = [from_address(f"127.8.{i // 100}.1", party.port) for i in range(400)]
        for i, connection in enumerate(connections):
            token = b"" if i % 2 else b"authorization: Bearer " + b"0" * 96 + b"\r\n"
            connection.sendall(head + token + b"\r\n" + bytes(60_000))
        sent = upload_without_end(connections, seconds=1.0)
        assert party.get("/", timeout=5).status_code == 404
        assert party.peak() - before < MOST_GROWTH
        assert sent + 400 * 60_000 > MOST_GROWTH
        for connection in connections:
            connection.close()


def app_with(budget: BodyBudget) -> Starlette:
    async def keep(request: Request) -> Response:
        return PlainTextResponse(str(len(await read_body(request, 1 << 20))))

    app = Starlette(routes=[Route("/", keep, methods=["POST"])])
    return exact_paths(app, REFUSED, budget=budget)


def test_a_budget_is_reserved_from_the_announced_length_and_given_back() -> None:
    budget = BodyBudget(100_000)
    with on_loopback(app_with(budget)) as url:
        port = int(url.rpartition(":")[2])
        head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 60000\r\n\r\n"
        with from_address("127.0.0.1", port) as slow:
            slow.sendall(head)
            while budget.held != 60_000:
                time.sleep(0.01)
            # Announced, and not a byte of it sent: it counts.
            refused = httpx.post(url, content=bytes(50_000))
            assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
            assert httpx.post(url, content=bytes(40_000)).text == "40000"
            slow.sendall(bytes(60_000))
            assert slow.recv(4096).startswith(b"HTTP/1.1 200")
        assert httpx.post(url, content=bytes(100_000)).text == "100000"
        # One that goes away in the middle gives its share back too.
        with from_address("127.0.0.1", port) as gone:
            gone.sendall(head + bytes(10))
            while budget.held != 60_000:
                time.sleep(0.01)
        while budget.held:
            time.sleep(0.01)
        assert httpx.post(url, content=bytes(1 << 20 | 1)).status_code == 413
    assert budget.held == 0


def test_a_budget_is_never_passed() -> None:
    budget = BodyBudget(1000)

    async def one(i: int) -> None:
        if budget.reserve(100 + i):
            assert budget.held <= budget.most
            await asyncio.sleep(0)
            budget.give_back(100 + i)

    async def many() -> None:
        await asyncio.gather(*(one(i) for i in range(50)))

    asyncio.run(many())
    assert budget.held == 0
