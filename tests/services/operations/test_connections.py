"""Silent and half-sent connections from many addresses: the service is healthy soon after."""

from __future__ import annotations

import contextlib
import io
import json
import resource
import socket
import sqlite3
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from smoothdp.services.formats.party_files import read_task
from smoothdp.services.operations.connections import MOST_OF_ADDRESS, network_of
from smoothdp.services.operations.logs import json_lines
from smoothdp.services.wire.running import on_loopback
from tests.services.operations.certificates import Authority
from tests.services.operations.served import Served, from_address, serving
from tests.services.worlds.directories import party_directories

NOBODY = "http://127.0.0.1:1"
PLAIN = Starlette(routes=[Route("/", lambda _: PlainTextResponse("ok"))])
HALF = b"POST /v2/reports/00/0 HTTP/1.1\r\nhost: x\r\nx-a: "


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    written = party_directories(tmp_path_factory.mktemp("task"))
    with serving("analyzer", written.analyzer) as party:
        yield party


def address(i: int) -> str:
    """Return one of many addresses of this machine."""
    return f"127.7.{i // 200}.{1 + i % 200}"


def flood(port: int, n: int, *, per_address: int) -> list[socket.socket]:
    """Open connections, of which each says nothing, half a request line, or half a header."""
    starts = (b"", b"G", HALF, b"\r\n", HALF + b"a" * 5000)
    connections = []
    for i in range(n):
        connection = from_address(address(i // per_address), port)
        connection.sendall(starts[i % len(starts)])
        connections.append(connection)
    return connections


def n_closed(connections: list[socket.socket]) -> int:
    """Return how many connections the other end has closed."""
    closed = 0
    for connection in connections:
        connection.setblocking(False)
        try:
            closed += connection.recv(1 << 16) == b""
        except BlockingIOError:
            pass
        except ConnectionError:
            closed += 1
    return closed


def assert_survives(served: Served, n: int, *, per_address: int) -> None:
    connections = flood(served.port, n, per_address=per_address)
    began = time.monotonic()
    try:
        # Whoever runs it is answered all the while.
        assert served.ask("/livez", timeout=1).text == "ok"
        served.wait(lambda: n_closed(connections) == n, seconds=7)
        assert served.get("/", timeout=1).status_code == 404
        assert time.monotonic() - began < 7
    finally:
        for connection in connections:
            connection.close()
    assert [line["cause"] for line in served.lines() if line["event"].startswith("a conn")] == [
        "connection"
    ]


def test_several_hundred_silent_connections(served: Served) -> None:
    assert_survives(served, 400, per_address=40)


@pytest.mark.slow
def test_4200_silent_connections(tmp_path: Path) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, resource.getrlimit(7)[1]))
    written = party_directories(tmp_path / "t")
    with serving("analyzer", written.analyzer) as party:
        assert_survives(party, 4200, per_address=200)


def test_a_connection_that_dribbles_after_its_answer_is_closed() -> None:
    # A body that nobody wants, or empty lines: each byte would start uvicorn's clock anew.
    starts = (
        b"PUT /v2/batches/00 HTTP/1.1\r\nhost: x\r\ncontent-length: 100000\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    )
    with on_loopback(PLAIN, header_seconds=0.8) as url:
        port = int(url.rpartition(":")[2])
        connections = [from_address("127.0.0.1", port) for _ in starts]
        began = time.monotonic()
        for connection, start in zip(connections, starts, strict=True):
            connection.sendall(start)
            assert connection.recv(4096).startswith(b"HTTP/1.1 ")
        # Far below uvicorn's 5 seconds: only a clock that bytes do not start anew ends these.
        while n_closed(connections) < 2 and time.monotonic() - began < 4.5:
            for connection in connections:
                with contextlib.suppress(OSError):
                    connection.send(b"\r\n")
            time.sleep(0.1)
        assert 0.5 < time.monotonic() - began < 3.5
        for connection in connections:
            connection.close()


def test_a_connection_that_is_done_is_closed_without_a_word() -> None:
    log = io.StringIO()
    with json_lines("analyzer", stream=log), on_loopback(PLAIN, header_seconds=1.2) as url:
        port = int(url.rpartition(":")[2])
        with from_address("127.0.0.1", port) as done:
            done.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            assert answered(done, b"ok").startswith(b"HTTP/1.1 200")
            time.sleep(0.8)
            with from_address("127.0.0.1", port) as silent:
                assert done.recv(1) == b""
                assert log.getvalue() == ""
                assert silent.recv(1) == b""
    assert [json.loads(x)["cause"] for x in log.getvalue().splitlines()] == ["connection"]


def answered(connection: socket.socket, end: bytes = b"Not Found") -> bytes:
    """Return an answer."""
    answer = b""
    while not answer.endswith(end):
        answer += (more := connection.recv(4096))
        assert more
    return answer


def test_a_connection_serves_many_requests(served: Served) -> None:
    request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
    with from_address("127.0.0.1", served.port) as connection:
        for _ in range(5):
            connection.sendall(request)
            assert answered(connection).startswith(b"HTTP/1.1 404")
        # Two at once, the second cut in two.
        connection.sendall(request + request[:20])
        assert answered(connection).startswith(b"HTTP/1.1 404")
        connection.sendall(request[20:])
        assert answered(connection).startswith(b"HTTP/1.1 404")


def test_headers_without_end_are_refused_before_they_fill_memory(served: Served) -> None:
    before = served.memory()
    with from_address("127.0.0.1", served.port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        try:
            for i in range(400):
                connection.sendall(f"x-{i}: ".encode() + b"a" * 100_000 + b"\r\n")
        except ConnectionError:
            pass
        else:
            pytest.fail("40 MB of headers were taken")
    assert served.memory() - before < 10 << 20


def test_a_body_must_say_its_length(served: Served) -> None:
    with from_address("127.0.0.1", served.port) as connection:
        connection.sendall(
            b"PUT /v2/batches/00 HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
            b"5\r\nhello\r\n0\r\n\r\n"
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 411")
        assert connection.recv(4096) == b""


def test_one_address_has_so_many_connections_and_others_are_served(served: Served) -> None:
    mine = [from_address("127.9.9.9", served.port) for _ in range(MOST_OF_ADDRESS + 20)]
    try:
        served.wait(lambda: n_closed(mine) == 20, seconds=3)
        assert served.get("/", timeout=1).status_code == 404
    finally:
        for connection in mine:
            connection.close()
    # Those that are gone count no more.
    with from_address("127.9.9.9", served.port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        assert connection.recv(4096).startswith(b"HTTP/1.1 404")


@pytest.mark.slow
def test_behind_a_proxy_the_proxy_limits(tmp_path: Path) -> None:
    written = party_directories(tmp_path / "t")
    with serving("analyzer", written.analyzer, "--behind-tls") as party:
        mine = [from_address("127.0.0.1", party.port) for _ in range(MOST_OF_ADDRESS + 20)]
        time.sleep(0.5)
        assert n_closed(mine) == 0
        for connection in mine:
            connection.close()


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_many_slow_readers_of_the_marks_share_one_copy(tmp_path: Path, scheme: str) -> None:
    written, authority = party_directories(tmp_path / "t"), Authority(tmp_path)
    certificate, key = authority.certificate("shuffler")
    more = ["--certificate", str(certificate), "--certificate-key", str(key)]
    tls = more if scheme == "https" else []
    context = ssl.create_default_context(cafile=str(authority.ca))
    with serving("shuffler", written.shuffler, "--analyzer", NOBODY, *tls) as party:
        task, marks = read_task(written.shuffler), bytes(16 << 20)
        with contextlib.closing(sqlite3.connect(written.shuffler / "shuffler.sqlite")) as file:
            file.execute("INSERT INTO marks VALUES (?, ?, ?)", (task.task_id, 7, marks))
            file.commit()
        before, connections = party.memory(), list[socket.socket]()
        asked = f"GET /v2/tasks/{task.task_id.hex()}/marks/7 HTTP/1.1\r\nhost: x\r\n\r\n"
        for _ in range(100):
            connection = from_address("127.0.0.1", party.port)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
            if scheme == "https":
                connection = context.wrap_socket(connection, server_hostname="127.0.0.1")
            connection.sendall(asked.encode())
            connections.append(connection)
        assert all(connection.recv(12) == b"HTTP/1.1 200" for connection in connections)
        time.sleep(0.5)
        # Each would have had 16 MB of its own, twice.
        assert party.peak() - before < 200 << 20
        for connection in connections:
            connection.close()


def test_an_ipv6_network_counts_as_one() -> None:
    assert network_of("2001:db8:1:2::5") == network_of("2001:db8:1:2:ffff::9%eth0")
    assert network_of("2001:db8:1:3::5") != network_of("2001:db8:1:2::5")
    assert network_of("::ffff:203.0.113.9") == network_of("203.0.113.9")


@pytest.mark.slow
def test_a_handshake_that_is_not_begun_ends_too(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    written = party_directories(tmp_path / "t")
    certificate, key = authority.certificate("server")
    more = ["--certificate", str(certificate), "--certificate-key", str(key)]
    with serving("analyzer", written.analyzer, *more, scheme="https") as party:
        silent = [from_address(address(i // 20), party.port) for i in range(60)]
        # Handshakes that end, and then say nothing.
        context = ssl.create_default_context(cafile=str(authority.ca))
        after = [
            context.wrap_socket(from_address("127.0.0.1", party.port), server_hostname="127.0.0.1")
            for _ in range(5)
        ]
        began = time.monotonic()
        raw = [*silent, *(socket.fromfd(s.fileno(), s.family, s.type) for s in after)]
        try:
            party.wait(lambda: n_closed(raw) == len(raw), seconds=7)
            assert time.monotonic() - began < 7
            assert party.get("/", verify=context, timeout=1).status_code == 404
        finally:
            for connection in (*raw, *after):
                connection.close()
