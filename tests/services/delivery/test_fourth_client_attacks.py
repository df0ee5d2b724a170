"""A fourth round of attacks, on clients and those who use them, from the pages alone.

A proxy in the environment, answers that drip, two programs of one person, another person without a
name of their own, a shuffler that withholds the marks, a device that goes on to another task.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from smoothdp.errors import InvalidParameter
from smoothdp.services.wire import calls
from smoothdp.services.wire.calls import Unreachable, ask, connect
from tests.services.worlds.issuing_world import IssuingWorld



@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


class Listener:
    """Somebody who listens, keeps what was sent, and answers as it is told."""

    def __init__(self, answer: Callable[[socket.socket], None]) -> None:
        self.heard: list[bytes] = []
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                self.heard.append(connection.recv(1 << 16))
                self._answer(connection)

    def close(self) -> None:
        # That wakes whoever waits for the next one.
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)
        self._socket.close()


@pytest.fixture
def listen() -> Iterator[Callable[[Callable[[socket.socket], None]], Listener]]:
    made: list[Listener] = []

    def start(answer: Callable[[socket.socket], None]) -> Listener:
        made.append(Listener(answer))
        return made[-1]

    yield start
    for each in made:
        each.close()


Listen = Callable[[Callable[[socket.socket], None]], Listener]


# ---- connections


def test_a_proxy_of_the_environment_reads_no_pass(
    listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain http is for this machine alone; it went to the proxy, which got the pass and answered."""

    def accept(connection: socket.socket) -> None:
        connection.sendall(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")

    proxy = listen(accept)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.address)
    with connect("http://127.0.0.1:9") as shuffler, pytest.raises(Unreachable):
        ask(shuffler, "POST", "/v2/reports/x/1", token="pass", body=b"report")
    assert proxy.heard == []


def test_an_address_or_a_proxy_that_is_none_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for address in ("http://[::1]evil.example", "https://xn--", "http://127.0.0.1?@x", "https://x#y"):
        with pytest.raises(InvalidParameter, match="^Expected an address"):
            connect(address)
    for proxy in ("foo://proxy", "socks4://127.0.0.1:1", "http://[::1"):
        monkeypatch.setenv("https_proxy", proxy)
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        with pytest.raises(InvalidParameter, match="HTTPS_PROXY"):
            connect("https://shuffler.example")
        connect("http://127.0.0.1:1").close()


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
