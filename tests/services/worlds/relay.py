"""A relay before a service: counts the bytes of each connection, and loses answers if told to."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit


class Relay:
    """Copies bytes between whoever connects and a service, whose address may change.

    Attributes:
        target: where the service listens now, ``http://host:port``.
        loses: asked for each piece of an answer: whether the connection ends in its place.
        seen: bytes of each connection that is over: to the service, and back.
    """

    def __init__(self, target: str, *, loses: Callable[[], bool] = lambda: False) -> None:
        self.target, self.loses = target, loses
        self.seen: list[tuple[int, int]] = []
        self.address = ""
        # Connections until their sockets are closed: one that is closing may have much to send.
        self._open: set[asyncio.StreamWriter] = set()
        self._opening: set[asyncio.Task[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _hold(self, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        self._start(self._until_closed(writer))

    async def _until_closed(self, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            await writer.wait_closed()
        self._open.discard(writer)

    async def _copy(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_answer: bool
    ) -> int:
        total = 0
        with suppress(OSError):
            while data := await reader.read(65536):
                if is_answer and self.loses():
                    break
                total += len(data)
                writer.write(data)
                await writer.drain()
        writer.close()
        return total

    def _take(self, listener: socket.socket) -> None:
        # By hand: a server of asyncio that is closed loses those that it has just taken.
        with suppress(BlockingIOError, ConnectionError):
            taken, _ = listener.accept()
            self._start(self._connection(taken))

    async def _connection(self, taken: socket.socket) -> None:
        taken.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=taken)
        self._hold(writer)
        parts = urlsplit(self.target)
        opening = asyncio.create_task(asyncio.open_connection(parts.hostname, parts.port))
        self._opening.add(opening)
        try:
            there, back = await opening
        except (OSError, asyncio.CancelledError):
            # Refused, or the relay ends: nothing else cancels.
            writer.close()
            return
        finally:
            self._opening.discard(opening)
        self._hold(back)
        up = asyncio.create_task(self._copy(reader, back, is_answer=False))
        down = await self._copy(there, writer, is_answer=True)
        # Whoever asked sees the end of the answer, and ends too.
        self.seen.append((await up, down))

    async def serve(self, started: Callable[[], object], end: asyncio.Event) -> None:
        """Listen until the end, which leaves no connection open."""
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0), backlog=1000) as listener:
            listener.setblocking(False)
            self.address = f"http://127.0.0.1:{listener.getsockname()[1]}"
            loop.add_reader(listener, self._take, listener)
            started()
            await end.wait()
            loop.remove_reader(listener)
        await self._stop()

    async def _stop(self) -> None:
        """End every connection, those that are being taken, opened or closed too."""
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            for opening in self._opening:
                opening.cancel()
            # Without their connections the tasks end by themselves.
            for writer in self._open:
                writer.transport.abort()
            await asyncio.wait(others, timeout=0.05)
        # What was cancelled as it opened is closed by the loop's next turns.
        for _ in range(5):
            await asyncio.sleep(0)


@contextmanager
def relayed(target: str, *, loses: Callable[[], bool] = lambda: False) -> Iterator[Relay]:
    """Run a relay in a thread."""
    relay, ready = Relay(target, loses=loses), threading.Event()
    loop, ends = asyncio.new_event_loop(), asyncio.Event()

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(relay.serve(ready.set, ends))
        finally:
            loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield relay
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join(20)
        assert not thread.is_alive(), "the relay does not end"
