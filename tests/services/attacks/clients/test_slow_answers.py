"""Services that drip, are silent, never come to an end or want to be asked later."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from smoothdp.services.client.submit import _ask_what_was_destroyed, fetch_card
from smoothdp.services.operations.tls import Trust
from smoothdp.services.wire import calls
from smoothdp.services.wire.calls import ServiceError, Unreachable, ask, connect
from tests.services.operations.certificates import Authority
from tests.services.storages import ON_BOTH_STORAGES
from tests.services.worlds.issuing_world import WINDOW, IssuingWorld
from tests.services.worlds.listener import Listen
from tests.services.worlds.small_tasks import small_task


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 Good\r\nx: ", b"HTTP/1.1 200 Good\r\n\r\n"])
def test_an_answer_that_drips_has_an_end(
    start: bytes, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A byte now and then was an answer for months, in its headers too."""

    def drip(connection: socket.socket) -> None:
        connection.sendall(start)
        for _ in range(100):
            connection.sendall(b"x")
            time.sleep(0.05)

    monkeypatch.setattr(calls, "whole_seconds", lambda _: 0.3)
    began = time.monotonic()
    with connect(listen(drip).address) as service, pytest.raises(Unreachable, match="in time"):
        ask(service, "GET", "/")
    assert time.monotonic() - began < 2


def test_interim_answers_without_end_have_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "An answer has a minute": a service that only ever says that it goes on is left."""
    monkeypatch.setattr("smoothdp.services.wire.calls.whole_seconds", lambda _: 0.3)

    def flood(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(1 << 16)
            while True:
                connection.sendall(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n")
                time.sleep(0.01)

    with socket.create_server(("127.0.0.1", 0)) as service:

        def listen() -> None:
            with suppress(OSError):
                flood(service.accept()[0])

        threading.Thread(target=listen, daemon=True).start()
        address = f"http://127.0.0.1:{service.getsockname()[1]}"
        start = time.monotonic()
        with connect(address) as http, pytest.raises(Unreachable):
            ask(http, "POST", "/v2/reports", body=b"a report")
    assert time.monotonic() - start < 5


class Slow(BaseHTTPRequestHandler):
    """Drips the headers of /drip for ever, answers /slow after a second, keeps connections."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/drip":
            self.wfile.write(b"HTTP/1.1 200 Good\r\nx: ")
            for _ in range(100):
                self.wfile.write(b"x")
                time.sleep(0.02)
        if self.path == "/slow":
            time.sleep(0.8)
        if self.path == "/first":
            # Both wait for each other, so that there are two connections.
            self.server.together.wait(5)  # type: ignore[attr-defined]
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def slow(tls: ssl.SSLContext | None) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    server.together = threading.Barrier(2)  # type: ignore[attr-defined]
    thread = threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True)
    thread.start()
    yield f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join(5)
    server.server_close()


def at_once(*steps: Callable[[], object]) -> None:
    threads = [threading.Thread(target=step) for step in steps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()


@ON_BOTH_STORAGES
@pytest.mark.parametrize(("kept", "encrypted"), [(False, False), (True, True)])
def test_the_end_of_one_request_cuts_no_other_one_of_the_same_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool, encrypted: bool
) -> None:
    """Connections are opened for one request and kept for others, in whatever thread."""
    monkeypatch.setattr(calls, "whole_seconds", lambda most: 0.4 if most == 7 else 10.0)
    said: dict[str, object] = {}
    authority, tls = Authority(tmp_path), None
    if encrypted:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*authority.certificate("shuffler"))
    trust = Trust(ca=authority.ca) if encrypted else None
    with slow(tls) as address, connect(address, trust=trust) as http:

        def get(path: str, most: int = 100) -> None:
            try:
                said[path] = ask(http, "GET", path, most=most).body
            except Unreachable as error:
                said[path] = str(error)

        if kept:
            at_once(lambda: get("/first"), lambda: get("/first"))
            assert said.pop("/first") == b"ok"
        began = time.monotonic()
        at_once(lambda: get("/slow"), lambda: get("/drip", 7))
        assert time.monotonic() - began < 1.9
        assert said["/slow"] == b"ok"
        assert "none in time" in str(said["/drip"])
        # Nothing of that is left behind for the next one.
        get("/after")
        assert said["/after"] == b"ok"


def test_a_time_of_no_seconds_is_waited_for() -> None:
    """A client "waits once on a 425 that names less than 310 s": 0 is less."""
    asked: list[str] = []

    def soon(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        return httpx.Response(425, headers={"retry-after": "0"})

    transport = httpx.MockTransport(soon)
    with (
        httpx.Client(base_url="https://x", transport=transport) as http,
        pytest.raises(ServiceError),
    ):
        fetch_card([http], task=small_task(), window=WINDOW, pause=lambda _: None)
    assert len(asked) == 2


def test_a_silent_shuffler_is_asked_once_what_it_destroyed(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a minute for each window of the budget: 15 for 30, days for a long one."""
    asked: list[str] = []

    def silent(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        raise httpx.ReadTimeout("silent")

    client = world.client()
    monkeypatch.setattr(client, "spent", lambda: [1, 2, 3])
    with httpx.Client(base_url="https://x", transport=httpx.MockTransport(silent)) as http:
        _ask_what_was_destroyed(client, http)
    assert len(asked) == 1
