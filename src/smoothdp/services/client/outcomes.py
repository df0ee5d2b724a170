"""What a client of esa/2 keeps: one row per window, which decides all that is ever sent.

The row is on disk before the first byte leaves, and no retry draws again. It never holds the
datum, what it was randomised to, or an ephemeral key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothdp.errors import InvalidData
from smoothdp.services.client.client_storage import ClientStorage, damaged
from smoothdp.services.client.user_folder import client_folder
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.store.migrations import Schema
from smoothdp.services.store.storage import Row

OUTCOMES_FILE = "windows.sqlite"

DRAWN = "drawn"
"""Slots and seed are stored; nothing that was sent names a slot."""
FINAL = "final"
"""The report is stored and the seed erased; it may have left."""
SENT = "sent"
"""The shuffler has it."""
ENDED = "ended"
"""A token was refused: nothing was sent, and nothing will be."""
ANSWERED = "marks"
"""The window is over, the shuffler has said that it has the report; its marks are left."""
UNSURE = "marks of a report without an answer"
"""The window is over; the report may have reached the shuffler."""
MISSED = "missed"
"""The window is over; nothing was sent."""

DESTROYED = "marks of a report that the shuffler destroyed"
"""The window is over, and the shuffler has said that it had too few people: nobody saw a report."""

_FIRST = """
CREATE TABLE IF NOT EXISTS card (
  task_id BLOB, window INTEGER, digest BLOB NOT NULL, signed BLOB,
  PRIMARY KEY (task_id, window)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outcome (
  task_id BLOB, window INTEGER, name TEXT, card_digest BLOB NOT NULL, slots BLOB, seed BLOB,
  report BLOB, marks BLOB, state TEXT NOT NULL,
  PRIMARY KEY (task_id, window, name)) WITHOUT ROWID;
"""
_TASKS = """
CREATE TABLE task (
  task_id BLOB PRIMARY KEY, window_seconds INTEGER NOT NULL, grace_seconds INTEGER NOT NULL,
  signed INTEGER NOT NULL) WITHOUT ROWID;
"""
_SCHEMA = Schema((_FIRST, _TASKS))
_KEY = "task_id = ? AND window = ? AND name = ?"
_COUNTED = (DRAWN, FINAL, SENT, ANSWERED, UNSURE)
"""States of a report that the analyser has seen, or may see: the budget of a task pays for them."""
_KEPT = "card_digest, slots, seed, report, marks, state"


@dataclass(frozen=True, slots=True)
class KnownTask:
    """What tells when a window of a task is over, and how its reports are read.

    Attributes:
        task_id: of the task.
        window_seconds, grace_seconds: as in the task.
        signed: whether slots carry signatures.
    """

    task_id: bytes
    window_seconds: int
    grace_seconds: int
    signed: bool


@dataclass(frozen=True, slots=True, repr=False)
class Kept:
    """A row: what one name sends in one window.

    Attributes:
        card_digest: of the card that everything was sealed to.
        slots: the sealed slots joined, ascending; empty once they are in the report.
        seed: what salts and blindings follow from; empty once all tokens are final.
        report: the bytes to seal to the gateway; empty before, and once the window is over.
        marks: the marks of its slots joined, once the window is over.
        state: one of the states of this file.
    """

    card_digest: bytes
    slots: bytes
    seed: bytes
    report: bytes
    marks: bytes
    state: str

    @property
    def acknowledged(self) -> bool:
        """Whether the shuffler has said that it has the report."""
        return self.state in (SENT, ANSWERED)

    def __repr__(self) -> str:
        return f"Kept({self.state})"


class OutcomeStore:
    """The rows of a user of this machine in one SQLite file, which its owner alone reads.

    When a window is over, what is left of it is what anybody could copy from its public marks
    file (proofs/marks-and-erasure#3).

    Args:
        path: the file; made if it is not there.

    Raises:
        InvalidData: a link, another kind of file, or a path where no file can be made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = OutcomeStore(folder + "/windows.sqlite")
    ...     store.keep_card(b"task", 7, digest=b"digest", signed=b"card")
    ...     drawn = {"card_digest": b"digest", "slots": b"1", "seed": b"s", "most": 1}
    ...     first = store.keep(b"task", 7, "me", **drawn)
    ...     again = store.keep(b"task", 7, "me", **(drawn | {"slots": b"2"}))
    ...     another = store.keep(b"task", 8, "me", **drawn)
    ...     store.close()
    >>> again.slots, again, another
    (b'1', Kept(drawn), None)
    """

    def __init__(self, path: Path | str) -> None:
        self._storage = ClientStorage(path, _SCHEMA)
        # The name of a new file is on disk with the folder alone.
        _sync(Path(path).parent)
        # Ends what a program that was stopped in between had begun to erase.
        self._storage.forget()

    @classmethod
    def of_user(cls) -> OutcomeStore:
        """Return the store of this user of the machine: the same one from every folder.

        It is ``$XDG_STATE_HOME/smoothdp/clients/windows.sqlite``, without that variable under
        ``~/.local/state``.

        Raises:
            InvalidData: a folder that cannot be made, or is somebody else's.
        """
        return cls(client_folder() / OUTCOMES_FILE)

    def keep_task(self, task: KnownTask) -> None:
        """Keep when windows of a task are over: its reports are erased whatever task runs then."""
        if task in self.tasks():
            return
        values = (task.task_id, task.window_seconds, task.grace_seconds, int(task.signed))
        with self._storage.transaction() as change:
            change.change("INSERT OR IGNORE INTO task VALUES (?, ?, ?, ?)", values)

    def tasks(self) -> list[KnownTask]:
        """Return all tasks of which there may be rows."""
        rows = self._storage.read(
            "SELECT task_id, window_seconds, grace_seconds, signed FROM task ORDER BY task_id"
        )
        with self.reading():
            return [KnownTask(_blob(r[0]), int(r[1]), int(r[2]), bool(r[3])) for r in rows]

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say in words that what was stored is not what was read: a disk, or a person, did that."""
        try:
            yield
        except InvalidData:
            raise
        except (DecodeError, TypeError, ValueError) as error:
            raise damaged(self._storage.path) from error

    def card(self, task_id: bytes, window: int) -> bytes | None:
        """Return the signed card of a window that was stored, or None."""
        rows = self._storage.read(
            "SELECT signed FROM card WHERE task_id = ? AND window = ? AND signed IS NOT NULL",
            (task_id, window),
        )
        with self.reading():
            return _blob(rows[0][0]) if rows else None

    def keep_card(self, task_id: bytes, window: int, *, digest: bytes, signed: bytes) -> None:
        """Keep the card of a window, of which there is one for ever.

        Raises:
            InvalidData: another card was stored for this window.
        """
        with self._storage.transaction() as change:
            change.change(
                "INSERT OR IGNORE INTO card (task_id, window, digest, signed) VALUES (?, ?, ?, ?)",
                (task_id, window, digest, signed),
            )
            # A clock that was ahead for a while had it forgotten.
            change.change(
                "UPDATE card SET signed = ? WHERE task_id = ? AND window = ? AND digest = ? AND "
                "signed IS NULL",
                (signed, task_id, window, digest),
            )
            stored = change.execute(
                "SELECT digest FROM card WHERE task_id = ? AND window = ?", (task_id, window)
            )[0][0]
        if bytes(stored) != digest:
            raise InvalidData(
                expected=f"the card of window {window} that this machine has seen",
                got="another card",
                remedy=(
                    "No answer was sent for it. Two cards for one window tell people apart: "
                    "compare with others, and ask who runs the services"
                ),
            )

    def get(self, task_id: bytes, window: int, name: str) -> Kept | None:
        """Return what was kept, or None."""
        rows = self._storage.read(
            f"SELECT {_KEPT} FROM outcome WHERE {_KEY}", (task_id, window, name)
        )
        if not rows:
            return None
        with self.reading():
            digest, slots, seed, report, marks = (_blob(value or b"") for value in rows[0][:-1])
            return Kept(digest, slots, seed, report, marks, str(rows[0][-1]))

    def keep(
        self,
        task_id: bytes,
        window: int,
        name: str,
        *,
        card_digest: bytes,
        slots: bytes,
        seed: bytes,
        report: bytes = b"",
        most: int,
    ) -> Kept | None:
        """Keep a draw unless there is one; return the row that counts, on disk by then.

        None if there is no room for it: in so many other windows of the task an answer of this
        name is, or may be, with the services.

        Args:
            task_id, window, name: what it is kept under.
            card_digest: of the card that the slots are sealed to.
            slots: the sealed slots; empty with a report.
            seed: 32 fresh bytes; empty with a report.
            report: the whole report, where no issuer signs anything.
            most: windows that the task's budget pays for.
        """
        kept = self.get(task_id, window, name)
        if kept is not None:
            return kept
        with self._storage.transaction() as change:
            # Inside: two programs that draw for two windows at once find the room of one.
            others = [other for other in counted(change.execute, task_id, name) if other != window]
            if len(others) >= most:
                return None
            change.change(
                "INSERT OR IGNORE INTO outcome (task_id, window, name, card_digest, slots, seed, "
                "report, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(task_id, window, name, card_digest),
                    *(slots or None, seed or None, report or None, FINAL if report else DRAWN),
                ),
            )
        return self.get(task_id, window, name)

    def windows(self, task_id: bytes, name: str) -> list[int]:
        """Return the windows that count against the budget of a task, ascending."""
        return counted(self._storage.read, task_id, name)

    def keep_report(self, task_id: bytes, window: int, name: str, report: bytes) -> None:
        """Keep the report and erase the seed, in one transaction; then overwrite the log too."""
        self._change(
            task_id, window, name, DRAWN, report=report, slots=None, seed=None, state=FINAL
        )
        self._storage.forget()

    def keep_end(self, task_id: bytes, window: int, name: str) -> None:
        """Keep that a window is over for this name before anything was sent; destroy the draw."""
        self._change(task_id, window, name, DRAWN, slots=None, seed=None, state=ENDED)
        self._storage.forget()

    def keep_sent(self, task_id: bytes, window: int, name: str) -> None:
        """Keep that the shuffler has the report, also if its word came after the window's end."""
        for before, after in ((FINAL, SENT), (UNSURE, ANSWERED)):
            self._change(task_id, window, name, before, state=after)

    def live_before(self, task_id: bytes, window: int, *states: str) -> list[tuple[int, str]]:
        """Return the windows before one, with names, whose reports are not destroyed yet.

        Args:
            task_id: of the task.
            window: the first one that is left out.
            states: those that count.
        """
        rows = self._storage.read(
            f"SELECT window, name FROM outcome WHERE task_id = ? AND window < ? AND "
            f"state IN ({', '.join('?' * len(states))}) ORDER BY window, name",
            (task_id, window, *states),
        )
        return [(int(row[0]), str(row[1])) for row in rows]

    def keep_marks(self, task_id: bytes, window: int, name: str, marks: bytes) -> None:
        """Put marks in the place of a report whose window is over.

        That there was one stays: a clock that was wrong for a while makes no second draw.
        """
        row = (task_id, window, name)
        if not marks:
            # Of a draw. If another program has made it final since, that waits for its marks.
            self._change(*row, DRAWN, slots=None, seed=None, state=MISSED)
            return
        # In this order: another program that keeps a late 202 in between leaves no report behind.
        for before, after in ((FINAL, UNSURE), (SENT, ANSWERED)):
            self._change(*row, before, report=None, marks=marks, state=after)

    def keep_destroyed(self, task_id: bytes, window: int, name: str) -> None:
        """Keep that the shuffler destroyed the reports of a window that is over."""
        for before in (ANSWERED, UNSURE):
            self._change(task_id, window, name, before, state=DESTROYED)

    def forget_before(self, task_id: bytes, window: int) -> None:
        """Delete the cards of windows before one, and make what was destroyed unreadable.

        Their digests stay: no window ever has a second card here.
        """
        with self._storage.transaction() as change:
            change.change(
                "UPDATE card SET signed = NULL WHERE task_id = ? AND window < ? AND "
                "signed IS NOT NULL",
                (task_id, window),
            )
        self._storage.forget()

    def close(self) -> None:
        """Close the file."""
        self._storage.close()

    def _change(
        self, task_id: bytes, window: int, name: str, before: str, /, **values: bytes | str | None
    ) -> None:
        """Change columns of a row that is in a state; in another state it stays as it is."""
        columns = ", ".join(f"{column} = ?" for column in values)
        with self._storage.transaction() as change:
            done = change.change(
                f"UPDATE outcome SET {columns} WHERE {_KEY} AND state = ?",
                (*values.values(), task_id, window, name, before),
            )
            if done and None in values.values():
                # What was erased may be in the page of another row still.
                change.rewrite("outcome")


def counted(
    read: Callable[[str, Sequence[Any]], list[Row]], task_id: bytes, name: str
) -> list[int]:
    """Return the windows of a name in which an answer is, or may be, with the services.

    There are never more than the budget pays for (proofs/marks-and-erasure#5).
    """
    rows = read(
        f"SELECT window FROM outcome WHERE task_id = ? AND name = ? "
        f"AND state IN ({', '.join('?' * len(_COUNTED))}) ORDER BY window",
        (task_id, name, *_COUNTED),
    )
    return [int(window) for (window,) in rows]


def _blob(value: object) -> bytes:
    """Return bytes that were stored; in a damaged file there may be a number in their place."""
    if not isinstance(value, bytes):
        raise TypeError("no bytes")
    return value


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
