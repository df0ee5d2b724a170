"""A relay before a service: counts the bytes of each connection, and loses answers if told to."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
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
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

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

    def _taken(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Noted before its task begins, which may be cancelled before that.
        self._open.add(writer)
        task = asyncio.get_running_loop().create_task(self._connection(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(self.target)
        try:
            there, back = await asyncio.open_connection(parts.hostname, parts.port)
        except OSError:
            writer.close()
            self._open.discard(writer)
            return
        self._open.add(back)
        up = asyncio.create_task(self._copy(reader, back, is_answer=False))
        down = await self._copy(there, writer, is_answer=True)
        # Whoever asked sees the end of the answer, and ends too.
        self.seen.append((await up, down))
        self._open -= {writer, back}

    async def serve(self, started: Callable[[], object], end: asyncio.Event) -> None:
        """Listen until the end."""
        async with await asyncio.start_server(self._taken, "127.0.0.1", 0) as server:
            self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            started()
            await end.wait()

    async def stop(self) -> None:
        """End what still runs, connections that were taken in the last moment too."""
        quiet = 0
        while quiet < 10:
            await asyncio.sleep(0.01)
            quiet = 0 if asyncio.all_tasks() - {asyncio.current_task()} else quiet + 1
            # Without their connections the tasks end by themselves.
            for writer in self._open:
                writer.transport.abort()


@contextmanager
def relayed(target: str, *, loses: Callable[[], bool] = lambda: False) -> Iterator[Relay]:
    """Run a relay in a thread."""
    relay, ready = Relay(target, loses=loses), threading.Event()
    loop, ends = asyncio.new_event_loop(), asyncio.Event()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(relay.serve(ready.set, ends))
        loop.run_until_complete(relay.stop())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield relay
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join(20)
        loop.close()
