"""An end to a request as a whole: an answer may come a byte at a time for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import httpx

_LEAST_SPEED = 1 << 16
_SECONDS = 60.0
_KEY = "smoothdp connection"
_OPENED = ("connect_tcp.complete", "start_tls.complete")


def whole_seconds(most: int) -> float:
    """Return how long a request may take that is at most so many bytes, both ways.

    A minute, and 64 kB a second: who is slower, or dripping, is as good as silent.

    >>> whole_seconds(0), whole_seconds(1 << 22)
    (60.0, 124.0)
    """
    return _SECONDS + most / _LEAST_SPEED


@dataclass
class Deadline:
    """What ends a request.

    Attributes:
        passed: whether it has.
        sockets: of the connection, as they are opened.
    """

    passed: bool = False
    sockets: list[socket.socket] = field(default_factory=list)

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Keep the socket of a connection that is opened (httpcore calls this at each event)."""
        if event.endswith(_OPENED):
            self.sockets.append(info["return_value"].get_extra_info("socket"))
            if self.passed:
                self.end()

    def end(self) -> None:
        """Wake whoever reads from the connection, or writes to it."""
        self.passed = True
        for opened in list(self.sockets):
            # Not the method of TLS: from then on it would send in the clear. The first socket of
            # two has become the one with TLS.
            with suppress(OSError, ValueError):
                socket.socket.shutdown(opened, socket.SHUT_RDWR)


@contextmanager
def deadline(http: httpx.Client, seconds: float) -> Iterator[Deadline]:
    """Give a request so long, from here to the end of its answer.

    Args:
        http: which makes it. Its connection may have been opened for an earlier request, so all
            that it has open end: requests that other threads make with it may be made again.
        seconds: how long.
    """
    kept: list[socket.socket] = http.__dict__.setdefault(_KEY, [])
    for opened in list(kept):
        if opened.fileno() < 0:
            with suppress(ValueError):
                kept.remove(opened)
    made = Deadline(sockets=kept)
    timer = threading.Timer(seconds, made.end)
    timer.daemon = True
    timer.start()
    try:
        yield made
    finally:
        timer.cancel()
