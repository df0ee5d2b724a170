"""A time within which a whole answer must have come, however it dribbles in.

httpx limits the wait for each piece of an answer, not all of them together: a peer that sends a
byte now and then would be listened to for ever. A handshake of TLS is not among what is cut: each
of its pieces has httpx's time.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakKeyDictionary

import httpx

LEAST_SECONDS = 60.0
LEAST_RATE = 50_000
"""Bytes a second that a line carries, at least."""

_LINES: WeakKeyDictionary[httpx.Client, list[Any]] = WeakKeyDictionary()
_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")


@contextmanager
def within(http: httpx.Client, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield the extensions of a request whose lines are cut after so many seconds.

    What then reads from a line finds its end, and raises httpx.TransportError.
    """
    lines = _LINES.setdefault(http, [])

    def trace(event: str, info: dict[str, Any]) -> None:
        if event in _CONNECTED:
            lines[:] = [info["return_value"]]

    timer = threading.Timer(seconds, _cut, (lines,))
    timer.daemon = True
    timer.start()
    try:
        yield {"trace": trace}
    finally:
        timer.cancel()


def seconds_for(n_bytes: int) -> float:
    """Return how long so many bytes may take, both ways together.

    >>> seconds_for(1_000_000)
    80.0
    """
    return LEAST_SECONDS + n_bytes / LEAST_RATE


def _cut(lines: list[Any]) -> None:
    for line in list(lines):
        # Not of ssl's own, which would take away what the reading thread works with.
        with suppress(OSError, TypeError):
            socket.socket.shutdown(line.get_extra_info("socket"), socket.SHUT_RDWR)
