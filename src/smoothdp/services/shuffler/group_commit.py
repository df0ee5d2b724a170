"""Group commit: requests that arrive while a group is being stored form the next group."""

from __future__ import annotations

import asyncio

from smoothdp.services.shuffler.shuffler import Shuffler, Upload
from smoothdp.services.store.storage import StorageFull, StorageUnreachable
from smoothdp.services.wire.calls import Outcome

MOST_IN_GROUP = 1024
MOST_WAITING = 8192

_Waiting = tuple[Upload, "asyncio.Future[Outcome]"]


class GroupCommit:
    """Stores uploads in groups, one transaction each; every caller waits for its own group.

    A single upload is stored at once. Under load a group is what arrived during the last
    one, so the cost of making a commit durable is shared.
    """

    def __init__(self, shuffler: Shuffler) -> None:
        self._shuffler = shuffler
        self._waiting: list[_Waiting] = []
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to store what is submitted, in the running loop."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop; uploads that wait are answered 503, and their clients try again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for _, answer in self._waiting:
            if not answer.done():
                answer.set_result(Outcome.FULL)
        self._waiting = []

    async def submit(self, upload: Upload) -> Outcome:
        """Return what became of an upload, once that is on disk."""
        if len(self._waiting) >= MOST_WAITING:
            return Outcome.FULL
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._waiting.append((upload, answer))
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

    async def _store(self, group: list[_Waiting]) -> None:
        try:
            outcomes = await asyncio.to_thread(
                self._shuffler.accept, [upload for upload, _ in group]
            )
        except (StorageFull, StorageUnreachable):
            outcomes = [Outcome.FULL] * len(group)
        except Exception as error:  # a group that fails must not end the service
            for _, answer in group:
                if not answer.done():
                    answer.set_exception(RuntimeError(type(error).__name__))
            return
        except asyncio.CancelledError:
            for _, answer in group:
                if not answer.done():
                    answer.set_result(Outcome.FULL)
            raise
        for (_, answer), outcome in zip(group, outcomes, strict=True):
            if not answer.done():
                answer.set_result(outcome)
