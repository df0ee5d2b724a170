"""Where clients keep their sealed reports, so that a window has one draw, whatever is retried."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from smoothdp.errors import InvalidData
from smoothdp.services.client.user_folder import client_folder
from smoothdp.services.store.storage import SqliteStorage, Transaction

OUTCOMES_FILE = "outcomes.sqlite"
_COLUMNS = ("task_id", "window", "name", "report_id", "slots", "sealed_to", "envelope")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS outcome (
  task_id BLOB, window INTEGER, name TEXT, report_id BLOB, slots BLOB, sealed_to BLOB,
  envelope BLOB, PRIMARY KEY (task_id, window, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS accepted (
  task_id BLOB, window INTEGER, name TEXT, PRIMARY KEY (task_id, window, name)) WITHOUT ROWID;
"""
_KEY = "WHERE task_id = ? AND window = ? AND name = ?"
_WAITING = """
FROM outcome WHERE task_id = ? AND window = ? AND name <> ? AND name NOT IN (
  SELECT name FROM accepted WHERE task_id = outcome.task_id AND window = outcome.window)
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """A report: its number, its slots sealed to the analyser, and the envelope made of them.

    The datum and what it was randomised to are not in it: nobody but the analyser opens a slot.

    Args:
        report_id: the random number of the report.
        slots: the sealed slots, joined; empty once the window is over and they were destroyed.
        sealed_to: the shuffler's public key that ``envelope`` is sealed to.
        envelope: the bytes that were last made to be sent.
    """

    report_id: bytes
    slots: bytes
    sealed_to: bytes = b""
    envelope: bytes = b""


class OutcomeStore:
    """Sealed reports in a SQLite file, readable by its owner alone, on disk before they are sent.

    A report that is not known to be accepted is *waiting*: it may have left all the same.

    Args:
        path: the file; made if it is not there.

    Raises:
        InvalidData: a link, another kind of file, one of an earlier or newer program, or a path
            where no file can be made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = OutcomeStore(folder + "/outcomes.sqlite")
    ...     kept = store.keep(b"task", 7, "me", Kept(b"number", b"sealed"))
    ...     again = store.keep(b"task", 7, "me", Kept(b"another", b"draw"))
    ...     store.close()
    >>> again.slots
    b'sealed'
    """

    def __init__(self, path: Path | str) -> None:
        self._storage = SqliteStorage(path, _SCHEMA)
        columns = tuple(row[1] for row in self._storage.read("PRAGMA table_info(outcome)"))
        if columns != _COLUMNS:
            # Its rows hold draws that would be sealed anew, so they cannot be used or ignored.
            self._storage.close()
            raise InvalidData(
                expected="a file of sealed reports",
                got=f"{path}, of another version of this program",
                remedy="Move it away once its windows are over",
            )

    @classmethod
    def of_user(cls) -> OutcomeStore:
        """Return the store of this user of the machine: the same one from every folder.

        It is ``$XDG_STATE_HOME/smoothdp/clients/outcomes.sqlite``, without that variable under
        ``~/.local/state``.

        Raises:
            InvalidData: a folder that cannot be made, or is somebody else's.
        """
        return cls(client_folder() / OUTCOMES_FILE)

    def get(self, task_id: bytes, window: int, name: str) -> Kept | None:
        """Return what was kept, or None."""
        rows = self._storage.read(
            f"SELECT report_id, slots, sealed_to, envelope FROM outcome {_KEY}",
            (task_id, window, name),
        )
        return Kept(*(bytes(item or b"") for item in rows[0])) if rows else None

    def is_waiting(self, task_id: bytes, window: int, name: str) -> bool:
        """Whether this name has no report, and one of another name is not known as accepted."""
        if self.get(task_id, window, name) is not None:
            return False
        return bool(self._storage.read(f"SELECT 1 {_WAITING} LIMIT 1", (task_id, window, name)))

    def adopt(self, task_id: bytes, window: int, name: str) -> Kept | None:
        """Keep a waiting report of another name under this one too; return what this name has."""
        with self._storage.transaction() as change:
            _adopt(change, task_id, window, name)
        return self.get(task_id, window, name)

    def keep(
        self, task_id: bytes, window: int, name: str, fresh: Kept, *, adopt: bool = False
    ) -> Kept:
        """Keep a report unless there is one; return the one that counts, on disk by then.

        Args:
            task_id, window, name: what it is kept under.
            fresh: the report.
            adopt: take a waiting report of another name, if there is one, instead.
        """
        with self._storage.transaction() as change:
            if adopt:
                _adopt(change, task_id, window, name)
            change.change(
                "INSERT OR IGNORE INTO outcome (task_id, window, name, report_id, slots) "
                "VALUES (?, ?, ?, ?, ?)",
                (task_id, window, name, fresh.report_id, fresh.slots),
            )
        kept = self.get(task_id, window, name)
        assert kept is not None
        return kept

    def keep_envelope(
        self, task_id: bytes, window: int, name: str, *, sealed_to: bytes, envelope: bytes
    ) -> None:
        """Keep the bytes to send, so that a retry under the same key sends the same."""
        with self._storage.transaction() as change:
            change.change(
                f"UPDATE outcome SET sealed_to = ?, envelope = ? {_KEY} AND slots IS NOT NULL",
                (sealed_to, envelope, task_id, window, name),
            )

    def keep_accepted(self, task_id: bytes, window: int, name: str) -> None:
        """Keep that a report was accepted, under whatever names it was sent."""
        report = (task_id, window, name)
        with self._storage.transaction() as change:
            change.change(
                "INSERT OR IGNORE INTO accepted SELECT task_id, window, name FROM outcome "
                "WHERE task_id = ? AND window = ? AND (name = ? OR report_id = "
                f"(SELECT report_id FROM outcome {_KEY}))",
                (*report, *report),
            )

    def forget_before(self, task_id: bytes, window: int) -> None:
        """Destroy the reports of windows that are over.

        That there was one stays: a clock that was wrong for a while makes no second draw.
        """
        with self._storage.transaction() as change:
            change.change(
                "UPDATE outcome SET report_id = NULL, slots = NULL, sealed_to = NULL, "
                "envelope = NULL WHERE task_id = ? AND window < ? AND slots IS NOT NULL",
                (task_id, window),
            )
        self._storage.forget()

    def close(self) -> None:
        """Close the file."""
        self._storage.close()


def _adopt(change: Transaction, task_id: bytes, window: int, name: str) -> None:
    change.change(
        "INSERT OR IGNORE INTO outcome (task_id, window, name, report_id, slots, sealed_to, "
        f"envelope) SELECT task_id, window, ?, report_id, slots, sealed_to, envelope {_WAITING} "
        "ORDER BY name LIMIT 1",
        (name, task_id, window, name),
    )
