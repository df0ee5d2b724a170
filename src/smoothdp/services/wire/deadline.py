"""An end to a request as a whole: an answer may come a byte at a time for ever."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

_LEFT = "response_closed.started"
_OPENED = ("connect_tcp.complete", "start_tls.complete")


@dataclass
class Deadline:
    """What ends a request.

    Attributes:
        passed: whether it has.
        used: the socket of the connection that the request uses, once it is known.
    """

    passed: bool = False
    used: socket.socket | None = None

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Look at a connection that is opened (httpcore calls this at each event)."""
        if event.endswith(_OPENED):
            stream = info["return_value"]
            opened = stream.get_extra_info("socket")
            stream.write = _telling(stream.write, opened)
            self.uses(opened)
        elif event.endswith(_LEFT):
            # Whoever waits for a connection may have it from now on.
            self.used = None

    def uses(self, opened: socket.socket) -> None:
        """Note which socket is used from now on."""
        self.used = opened
        if self.passed:
            self.end()

    def end(self) -> None:
        """Wake whoever reads from the connection, or writes to it."""
        self.passed = True
        if self.used is not None:
            # Not the method of TLS: from then on it would send in the clear.
            with suppress(OSError, ValueError):
                socket.socket.shutdown(self.used, socket.SHUT_RDWR)


class _Present(threading.local):
    """The request that a thread makes."""

    made: Deadline | None = None


_PRESENT = _Present()


def _telling(write: Callable[..., None], opened: socket.socket) -> Callable[..., None]:
    """Return how a connection writes, after it has told whose request is written to it.

    A connection is kept for later requests, of other threads too, and no event of theirs names it
    before their answer begins. Each of them writes first.
    """

    def told(*given: Any, **named: Any) -> None:
        if _PRESENT.made is not None:
            _PRESENT.made.uses(opened)
        write(*given, **named)

    return told


@contextmanager
def deadline(seconds: float) -> Iterator[Deadline]:
    """Give the request that this thread makes so long, from here to the end of its answer.

    Requests that other threads make meanwhile, with the same client too, are not touched.
    """
    made, before = Deadline(), _PRESENT.made
    timer = threading.Timer(seconds, made.end)
    timer.daemon = True
    timer.start()
    _PRESENT.made = made
    try:
        yield made
    finally:
        _PRESENT.made = before
        timer.cancel()
