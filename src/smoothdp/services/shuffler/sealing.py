"""Sealing: a window becomes one batch in a uniform order, or is destroyed, in one transaction."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from smoothdp.services.shuffler.ingest import add_to_counter
from smoothdp.services.shuffler.mixing import mixed
from smoothdp.services.shuffler.shuffler import Shuffler
from smoothdp.services.shuffler.shuffler_tables import EXPIRED, OPEN, SEALED
from smoothdp.services.store.storage import Transaction
from smoothdp.services.wire.batch import BatchHeader, split_parts
from smoothdp.services.wire.task import Task

_REPORTS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Sealed:
    """What became of a window: ``users`` sealed into a batch, or destroyed for being too few."""

    window: int
    state: str
    users: int


def due_windows(shuffler: Shuffler, task: Task) -> list[int]:
    """Return the windows that take no more reports and are not sealed yet."""
    now = shuffler.clock()
    rows = shuffler.storage.read(
        "SELECT window FROM collecting WHERE task_id = ? AND state = ? ORDER BY window",
        (task.task_id, OPEN),
    )
    return [
        int(window)
        for (window,) in rows
        if now >= (window + 1) * task.window_seconds + task.grace_seconds
    ]


def seal_window(shuffler: Shuffler, task: Task, window: int) -> Sealed | None:
    """Close a window for good; None if it was closed already.

    A batch below the task's smallest is never let out: its reports are destroyed and counted
    as expired. Otherwise the order is drawn from the operating system, and the batch written
    and the reports deleted together: before the commit nobody has seen an order, after it
    there is one order only. An operator may call it before the window's end.

    >>> import tempfile
    >>> from smoothdp.services import PrivateKey, SqliteStorage, create_task
    >>> from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=PrivateKey.generate().public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = SqliteStorage(folder + "/shuffler.sqlite", SHUFFLER_SCHEMA)
    ...     shuffler = Shuffler(storage, tasks=[task], issuing_key=b"a secret of 32 bytes")
    ...     outcomes = seal_window(shuffler, task, 7), seal_window(shuffler, task, 7)
    ...     storage.close()
    >>> outcomes
    (Sealed(window=7, state='EXPIRED', users=0), None)
    """
    task_window = (task.task_id, window)
    with shuffler.storage.transaction() as change:
        rows = change.execute(
            "SELECT state FROM collecting WHERE task_id = ? AND window = ?", task_window
        )
        if rows and rows[0][0] != OPEN:
            return None
        users = change.execute(
            "SELECT count(*) FROM pending WHERE task_id = ? AND window = ?", task_window
        )[0][0]
        senders = change.execute(
            "SELECT count(*) FROM quota WHERE task_id = ? AND window = ?", task_window
        )[0][0]
        state = SEALED if min(users, senders) >= task.min_batch else EXPIRED
        if state == SEALED:
            _write_batch(change, task, window, users)
        elif users:
            add_to_counter(change, task_window, EXPIRED, users)
        shuffler.reach("seal: inside the transaction")
        change.change("DELETE FROM pending WHERE task_id = ? AND window = ?", task_window)
        change.change("DELETE FROM quota WHERE task_id = ? AND window = ?", task_window)
        change.change(
            "INSERT INTO collecting (task_id, window, state, tag_key) VALUES (?, ?, ?, NULL) "
            "ON CONFLICT (task_id, window) DO UPDATE SET state = excluded.state, tag_key = NULL",
            (*task_window, state),
        )
    shuffler.reach("seal: after commit")
    shuffler.storage.forget()
    return Sealed(window, state, users)


def _write_batch(change: Transaction, task: Task, window: int, users: int) -> None:
    batch_id, hashes = secrets.token_bytes(16), []
    slots = mixed(partial(_read_slots, change, (task.task_id, window)), users * task.slots)
    for part, data in enumerate(split_parts(slots)):
        hashes.append(hashlib.sha256(data).digest())
        change.change(
            "INSERT INTO batch_part (batch_id, part, bytes) VALUES (?, ?, ?)",
            (batch_id, part, data),
        )
    header = BatchHeader(
        key_id=task.analyzer_key_id,
        task_id=task.task_id,
        batch_id=batch_id,
        window=window,
        users=users,
        slots=users * task.slots,
        part_hashes=tuple(hashes),
    )
    change.change(
        "INSERT INTO batch (batch_id, task_id, window, state, users, header) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (batch_id, task.task_id, window, SEALED, users, header.encode()),
    )


def _read_slots(change: Transaction, task_window: tuple[bytes, int]) -> Iterator[bytes]:
    """Yield the slots of a window in pieces, by their reports' random numbers."""
    last = b""
    while rows := change.execute(
        "SELECT report_id, slots FROM pending WHERE task_id = ? AND window = ? "
        "AND report_id > ? ORDER BY report_id LIMIT ?",
        (*task_window, last, _REPORTS_AT_ONCE),
    ):
        last = bytes(rows[-1][0])
        yield b"".join(row[1] for row in rows)
