"""Group commit: requests that arrive while a group is being stored form the next group."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from smoothdp.services.store.storage import (
    StorageDamaged,
    StorageFull,
    StorageLost,
    StorageUnreachable,
)

MOST_IN_GROUP = 1024
MOST_WAITING = 8192

_LATER = (StorageFull, StorageUnreachable, StorageDamaged, StorageLost, sqlite3.OperationalError)

Item = TypeVar("Item")
Result = TypeVar("Result")


class GroupCommit(Generic[Item, Result]):
    """Stores requests in groups, one transaction each; every caller waits for its own group.

    A single request is stored at once. Under load a group is what arrived during the last
    one, so the cost of making a commit durable is shared.

    Args:
        store: stores a group; what it returns of each is on disk then.
        later: the answer that asks to come again: nothing was stored.
    """

    def __init__(self, store: Callable[[Sequence[Item]], Sequence[Result]], later: Result) -> None:
        self._store_group, self._later = store, later
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    def start(self) -> None:
        """Begin to store what is submitted, in the running loop."""
        # Of its own: it waits for no request that is opened or signed.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="group")
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop; requests that wait are answered 503, and their clients try again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._thread is not None:
            self._thread.shutdown(wait=False)
        for _, answer in self._waiting:
            if not answer.done():
                answer.set_result(self._later)
        self._waiting = []

    async def submit(self, item: Item) -> Result:
        """Return what became of a request, once that is on disk."""
        if len(self._waiting) >= MOST_WAITING:
            return self._later
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        self._wake.set()
        return await answer

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            group, self._waiting = (
                self._waiting[:MOST_IN_GROUP],
                self._waiting[MOST_IN_GROUP:],
            )
            if not self._waiting:
                self._wake.clear()
            await self._store(group)

    async def _store(self, group: list[tuple[Item, asyncio.Future[Result]]]) -> None:
        outcomes: Sequence[Result]
        try:
            outcomes = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._store_group, [item for item, _ in group]
            )
        except _LATER:
            outcomes = [self._later] * len(group)
        except Exception as error:  # a group that fails must not end the service
            for _, answer in group:
                if not answer.done():
                    answer.set_exception(RuntimeError(type(error).__name__))
            return
        except asyncio.CancelledError:
            for _, answer in group:
                if not answer.done():
                    answer.set_result(self._later)
            raise
        for (_, answer), outcome in zip(group, outcomes, strict=True):
            if not answer.done():
                answer.set_result(outcome)
