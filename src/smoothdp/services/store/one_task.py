"""A party's directory is of one task: what it holds of another one would never be erased."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from smoothdp.errors import InvalidData
from smoothdp.services.store.storage import Storage

TASK_BYTES = 32
OTHER_TASKS = "SELECT 1 FROM {} WHERE task_id <> ? LIMIT 1"
"""Of a table with a row for each window that a party has kept anything of."""


def require_one_task(
    storage: Storage, table: str, task_id: bytes, *, directory: Path, scopes: Iterable[bytes] = ()
) -> None:
    """Raise InvalidData where a party has windows of another task than the one that it is to serve.

    A party closes the windows of its own task. The keys and reports of another one would stay for
    ever, and what was recorded could be opened with them.

    Args:
        storage: the party's.
        table: one with a row for each window.
        task_id: of the task that is to be served.
        directory: the party's, for the words.
        scopes: names of erasable keys, which begin with the id of their task.
    """
    others = storage.read(OTHER_TASKS.format(table), (task_id,))
    if others or any(scope[:TASK_BYTES] != task_id for scope in scopes):
        raise another_task(directory)


def another_task(directory: Path) -> InvalidData:
    """Return what is said of a directory with windows of another task."""
    return InvalidData(
        expected=f"state of the task in {directory}",
        got="windows of another task",
        remedy="Give each task directories of its own, and let the party of the task before run "
        "until its last window is over",
    )
