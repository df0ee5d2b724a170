"""The relay of the faults ends with every connection closed, whatever each was about to do."""

from __future__ import annotations

import contextlib
import gc
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests.services.operations.served import free_port
from tests.services.worlds.relay import Relay, relayed

N = 200
MUCH = bytes(1 << 16)
"""More than the buffers of one end hold, so that a connection that is closed still has to send."""


@contextmanager
def nothing_is_left() -> Iterator[None]:
    """Every socket that is opened inside is closed inside: none is left to the garbage."""
    gc.collect()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(one.message) for one in seen if issubclass(one.category, ResourceWarning)] == []


def asked(relay: Relay, n: int, *, receives: int | None = None) -> list[socket.socket]:
    """Return connections of which every second one has sent something."""
    _, _, port = relay.address.rpartition(":")
    connections = []
    for i in range(n):
        connection = socket.socket()
        connections.append(connection)
        if receives is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        connection.settimeout(10)
        try:
            connection.connect(("127.0.0.1", int(port)))
            # Where nobody listens any more, the system may take this very port: to itself.
            if connection.getsockname() == connection.getpeername():
                raise ConnectionRefusedError
        except OSError:
            connection.close()
            raise
        if i % 2:
            # It may be over by now.
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"GET / HTTP/1.1\r\n")
    return connections


@contextmanager
def service(*, backlog: int, answer: bytes | None = None) -> Iterator[str]:
    """Run a listener that takes nobody, or answers each at once and closes, unread."""
    with ExitStack() as stack, socket.create_server(("127.0.0.1", 0), backlog=backlog) as listener:
        ends = threading.Event()

        def serve(answer: bytes) -> None:
            with ExitStack() as taken:
                while not ends.is_set():
                    with contextlib.suppress(OSError):
                        connection = taken.enter_context(listener.accept()[0])
                        connection.setblocking(False)
                        with contextlib.suppress(BlockingIOError):
                            while connection.send(answer):
                                pass
                        connection.shutdown(socket.SHUT_WR)

        if answer is not None:
            listener.settimeout(0.02)
            thread = threading.Thread(target=serve, args=(answer,))
            thread.start()
            stack.callback(thread.join)
            stack.callback(ends.set)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def closed(connections: list[socket.socket]) -> bool:
    """Return whether the other end has closed every connection; closes this end too."""
    left = 0
    for connection in connections:
        connection.settimeout(10 if not left else 0.01)
        with connection, contextlib.suppress(ConnectionError):
            try:
                while connection.recv(1 << 20):
                    pass
            except TimeoutError:
                left += 1
    return not left


def wait_until(relay: Relay, n: int) -> None:
    """Wait until so many connections are held, both ends counted."""
    deadline = time.monotonic() + 20
    while len(relay._open) < n:
        assert time.monotonic() < deadline, len(relay._open)
        time.sleep(0.005)


def test_half_open_connections_are_closed() -> None:
    with nothing_is_left(), service(backlog=N) as address:
        with relayed(address) as relay:
            connections = asked(relay, N)
            wait_until(relay, 2 * N)
        assert relay._open == set()
        assert closed(connections)


def test_connections_that_are_closed_with_much_to_send_are_closed() -> None:
    """The service has answered and gone; nobody takes the rest of the answer."""
    with nothing_is_left(), service(backlog=N, answer=MUCH) as address:
        with relayed(address) as relay:
            connections = asked(relay, 20, receives=4096)
            wait_until(relay, 20)
            time.sleep(0.2)
        assert relay._open == set()
        assert closed(connections)


def test_connections_to_a_service_that_is_gone_are_closed() -> None:
    with nothing_is_left():
        with relayed(f"http://127.0.0.1:{free_port()}") as relay:
            connections = asked(relay, N)
        assert relay._open == set()
        assert closed(connections)


def test_the_end_comes_while_connections_are_opened() -> None:
    """A service whose queue is full does not answer for minutes: the relay ends all the same."""
    with nothing_is_left(), service(backlog=0) as address:
        began = time.monotonic()
        with relayed(address) as relay:
            connections = asked(relay, N)
            wait_until(relay, N)
            assert len(relay._open) < 2 * N
        assert time.monotonic() - began < 10
        assert relay._open == set()
        assert closed(connections)


@pytest.mark.parametrize("rest", [0.0, 0.002, 0.01])
def test_the_end_comes_while_connections_are_taken(rest: float) -> None:
    """Others go on to connect as the relay closes."""
    connections: list[socket.socket] = []

    def connect(relay: Relay, ends: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while not ends.is_set():
                connections.extend(asked(relay, 1))

    with nothing_is_left(), service(backlog=N) as address:
        ends = threading.Event()
        with relayed(address) as relay:
            threads = [threading.Thread(target=connect, args=(relay, ends)) for _ in range(2)]
            for thread in threads:
                thread.start()
            time.sleep(rest)
        ends.set()
        for thread in threads:
            thread.join()
        assert relay._open == set()
        assert closed(connections)
