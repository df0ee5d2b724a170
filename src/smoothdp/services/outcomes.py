"""Where clients keep what they randomised, until the window is over."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from smoothdp.services.storage import SqliteStorage

_SCHEMA = """
CREATE TABLE IF NOT EXISTS outcome (
  task_id BLOB, window INTEGER, name TEXT, report_id BLOB NOT NULL, messages BLOB NOT NULL,
  envelope BLOB, PRIMARY KEY (task_id, window, name)) WITHOUT ROWID;
"""
_KEY = "WHERE task_id = ? AND window = ? AND name = ?"


@dataclass(frozen=True, slots=True)
class Kept:
    """The outcome of randomising once: the report's number and the values of its slots."""

    report_id: bytes
    values: tuple[int, ...]
    envelope: bytes | None = None


class OutcomeStore:
    """Outcomes in a SQLite file, readable by its owner alone: the true datum is not in it.

    Args:
        path: the file; made if it is not there.

    Raises:
        InvalidData: a link, another kind of file, one of a newer program, or a path where no file
            can be made.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = OutcomeStore(folder + "/outcomes.sqlite")
    ...     kept = store.keep(b"task", 7, "me", Kept(b"number", (1, 0)))
    ...     again = store.keep(b"task", 7, "me", Kept(b"another", (0, 0)))
    ...     store.close()
    >>> again.values
    (1, 0)
    """

    def __init__(self, path: Path | str) -> None:
        self._storage = SqliteStorage(path, _SCHEMA)

    def get(self, task_id: bytes, window: int, name: str) -> Kept | None:
        """Return what was kept, or None."""
        rows = self._storage.read(
            f"SELECT report_id, messages, envelope FROM outcome {_KEY}", (task_id, window, name)
        )
        if not rows:
            return None
        report_id, messages, envelope = rows[0]
        return Kept(bytes(report_id), _unpack(messages), bytes(envelope) if envelope else None)

    def keep(self, task_id: bytes, window: int, name: str, fresh: Kept) -> Kept:
        """Keep an outcome unless there is one; return the one that counts."""
        with self._storage.transaction() as change:
            change.change(
                "INSERT OR IGNORE INTO outcome (task_id, window, name, report_id, messages) "
                "VALUES (?, ?, ?, ?, ?)",
                (task_id, window, name, fresh.report_id, _pack(fresh.values)),
            )
        kept = self.get(task_id, window, name)
        assert kept is not None
        return kept

    def keep_envelope(self, task_id: bytes, window: int, name: str, envelope: bytes) -> None:
        """Keep the bytes to send, so that a retry sends the same."""
        with self._storage.transaction() as change:
            change.change(
                f"UPDATE outcome SET envelope = ? {_KEY}", (envelope, task_id, window, name)
            )

    def forget_before(self, task_id: bytes, window: int) -> None:
        """Destroy the outcomes of windows that are over."""
        with self._storage.transaction() as change:
            change.change("DELETE FROM outcome WHERE task_id = ? AND window < ?", (task_id, window))
        self._storage.forget()

    def close(self) -> None:
        """Close the file."""
        self._storage.close()


def _pack(values: tuple[int, ...]) -> bytes:
    return struct.pack(f">{len(values)}I", *values)


def _unpack(data: bytes) -> tuple[int, ...]:
    return struct.unpack(f">{len(data) // 4}I", data)
