"""Somebody who listens at an address, and answers as a test says."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress


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


Listen = Callable[[Callable[[socket.socket], None]], Listener]
