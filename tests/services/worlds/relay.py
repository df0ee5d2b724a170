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

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parts = urlsplit(self.target)
        try:
            there, back = await asyncio.open_connection(parts.hostname, parts.port)
        except OSError:
            writer.close()
            return
        up = asyncio.create_task(self._copy(reader, back, is_answer=False))
        down = await self._copy(there, writer, is_answer=True)
        # Whoever asked sees the end of the answer, and ends too.
        self.seen.append((await up, down))

    async def serve(self, started: Callable[[], object], end: asyncio.Event) -> None:
        """Listen until the end."""
        async with await asyncio.start_server(self._connection, "127.0.0.1", 0) as server:
            self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            started()
            await end.wait()


@contextmanager
def relayed(target: str, *, loses: Callable[[], bool] = lambda: False) -> Iterator[Relay]:
    """Run a relay in a thread."""
    relay, ready = Relay(target, loses=loses), threading.Event()
    loop, ends = asyncio.new_event_loop(), asyncio.Event()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(relay.serve(ready.set, ends))
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(20)
    try:
        yield relay
    finally:
        loop.call_soon_threadsafe(ends.set)
        thread.join(20)
        loop.close()
