"""The analyser's ledger: each window is charged once, before its result is shown."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from smoothdp.claims import ApproxDP
from smoothdp.errors import LedgerError
from smoothdp.ledger import Entry, Ledger
from smoothdp.ledger.bookkeeping import EntryMeanwhile
from smoothdp.services.store.private_file import make_private

_READERS_SECONDS = 0.5
"""How long to wait for whoever reads the ledger: the transaction that publishes waits too."""


def _now() -> datetime:
    return datetime.now(UTC)


class Budgeted(Protocol):
    """A task with a budget for its windows."""

    @property
    def task_id(self) -> bytes:
        """Its name."""

    @property
    def guarantee(self) -> ApproxDP:
        """What each window costs."""

    @property
    def budget_epsilon(self) -> str:
        """What all windows may cost."""

    @property
    def budget_delta(self) -> str:
        """What all windows may cost."""


@dataclass(frozen=True)
class WindowResult:
    """What a ledger is charged for: the result of one batch of one window of a task."""

    task_id: str
    window: int
    batch: str
    guarantee: ApproxDP

    def describe(self) -> str:
        """Return it in words."""
        return f"window {self.window} of task {self.task_id[:16]}"


class OtherBatch(Exception):
    """A window was charged for another batch: a result of that one may be out."""


class TaskLedger:
    """The ledger of one task, a file ``ledger-<start of the task id>.db`` in a directory.

    Its budget is the task's, by basic composition of windows. A charge is on disk before the
    result that it pays for, so a crash between the two leaves a charge without a result. When
    the window is released again, that charge is found by its task and window, and stands for
    the batch that it was made for: a database that is an older copy takes another one, and two
    results of one window, of which one lacks a single person, show what that person sent.
    All charges are in the one file then, not in its log: a copy of it lacks none of them.

    Raises:
        LedgerError: a link, or a file that is locked or damaged. Nothing may be released.
        InvalidParameter: a file with another budget.
    """

    def __init__(self, directory: Path, task: Budgeted) -> None:
        self.path = directory / f"ledger-{task.task_id.hex()[:16]}.db"
        # SQLite would make it readable by others; its journals take the same rights.
        obstacle = make_private(self.path)
        if obstacle:
            raise LedgerError(
                expected=f"a ledger of its own at {self.path}",
                got=obstacle,
                remedy="Give the analyser a directory of its own",
            )
        self._task = task
        self._charges: dict[int, Entry] = {}
        self._last: Entry | None = None
        self._clock = _now
        self._ledger = Ledger(
            self.path,
            budget=ApproxDP(task.budget_epsilon, delta=task.budget_delta),
            clock=self._time,
        )
        self._reading = threading.Lock()
        self.empty_log()

    def _time(self) -> datetime:
        """Return the time of the next entry, which is never before the last one.

        A clock that was wrong for a moment would else stop all releases until then.
        """
        now = self._clock()
        return now if self._last is None else max(now, datetime.fromisoformat(self._last.time))

    def charge(self, window: int, *, batch: bytes = b"") -> Entry:
        """Return the charge of a window for a batch; charge now if there is none.

        Of two calls at once one charges, and the other finds that: also of a process whose
        transaction, in which it publishes, was ended by the server meanwhile.

        Args:
            window: the window.
            batch: what names the batch with all that is in it, such as a hash of its header.

        Raises:
            BudgetExceeded: the budget is spent; nothing is charged.
            OtherBatch: the window was charged for another batch, or by a program that did not
                say for which.
        """
        name = batch.hex()
        result = WindowResult(self._task.task_id.hex(), window, name, self._task.guarantee)
        charged, last = self._read()
        while (entry := charged.get(window)) is None:
            # Read back also what was charged here: an older copy that is put in its place from
            # now on lacks it.
            with suppress(EntryMeanwhile):
                self._ledger.charge(result, following=last)
            charged, last = self._read()
        if entry.parameters.get("batch", "") != name:
            raise OtherBatch
        self.empty_log()
        return entry

    def charged(self) -> dict[int, Entry]:
        """Return window -> its charge. Each entry is read once, those of other processes too."""
        return self._read()[0]

    def _read(self) -> tuple[dict[int, Entry], Entry | None]:
        """Return the charges, and the last entry when they were read, of this task or another."""
        name = self._task.task_id.hex()
        with self._reading:
            for entry in self._ledger.entries(after=self._last):
                if entry.parameters.get("task_id") == name:
                    self._charges[int(entry.parameters["window"])] = entry
                self._last = entry
            return dict(self._charges), self._last

    def require(self, windows: set[int]) -> None:
        """Raise LedgerError unless all of these windows are charged: the file was lost."""
        missing = windows - self.charged().keys()
        if missing:
            raise LedgerError(
                expected=f"a charge for each window that was released, in {self.path}",
                got=f"none for {len(missing)}, such as window {min(missing)}",
                remedy="Nothing may be released. Restore the newest copy of the ledger; where "
                "there is none, end the task and overwrite its directory: it has keys of windows",
            )

    def empty_log(self) -> None:
        """Bring all charges from the log into the file, which is what operators copy.

        Where somebody reads it just then, or the disk is full, the next round of work does.
        """
        try:
            self._read()
        except LedgerError:
            # Damaged, or its log was removed, beside which another one would be made.
            return
        # Never made: where it is gone, whoever charges says so.
        address = f"file:{quote(os.fsencode(self.path.absolute()))}?mode=rw"
        with (
            suppress(sqlite3.Error),
            closing(sqlite3.connect(address, uri=True, timeout=_READERS_SECONDS)) as file,
        ):
            file.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def describe(self, entry: Entry) -> dict[str, Any]:
        """Return what a result says about its charge: the same whenever it is asked."""
        return {
            "number": entry.number,
            "spent": {name: amount.text() for name, amount in entry.spent.items()},
            "budget": {"epsilon": self._task.budget_epsilon, "delta": self._task.budget_delta},
        }
