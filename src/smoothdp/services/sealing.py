"""Sealing: a window becomes one batch in a uniform order, or is destroyed, in one transaction."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import numpy as np

from smoothdp import SystemRandom
from smoothdp.services.batch import BatchHeader, hash_parts, split_parts
from smoothdp.services.envelope import SLOT_BYTES
from smoothdp.services.shuffler import Shuffler, add_to_counter
from smoothdp.services.shuffler_tables import EXPIRED, OPEN, SEALED
from smoothdp.services.task import Task
from smoothdp.shuffle import UniformShuffler


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
    """
    place = (task.task_id, window)
    with shuffler.storage.transaction() as change:
        rows = change.execute(
            "SELECT state FROM collecting WHERE task_id = ? AND window = ?", place
        )
        if rows and rows[0][0] != OPEN:
            return None
        bundles = change.execute(
            "SELECT slots FROM pending WHERE task_id = ? AND window = ?", place
        )
        senders = change.execute(
            "SELECT count(*) FROM quota WHERE task_id = ? AND window = ?", place
        )[0][0]
        users = len(bundles)
        state = SEALED if min(users, senders) >= task.min_batch else EXPIRED
        if state == SEALED:
            parts = split_parts(_shuffled(b"".join(row[0] for row in bundles)))
            header = BatchHeader(
                key_id=task.analyzer_key_id,
                task_id=task.task_id,
                batch_id=secrets.token_bytes(16),
                window=window,
                users=users,
                slots=users * task.slots,
                part_hashes=hash_parts(parts),
            )
            change.change(
                "INSERT INTO batch (batch_id, task_id, window, state, users, header) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (header.batch_id, *place, SEALED, users, header.encode()),
            )
            change.change_many(
                "INSERT INTO batch_part (batch_id, part, bytes) VALUES (?, ?, ?)",
                ((header.batch_id, part, data) for part, data in enumerate(parts)),
            )
        elif users:
            add_to_counter(change, *place, EXPIRED, users)
        shuffler.reach("seal: inside the transaction")
        change.change("DELETE FROM pending WHERE task_id = ? AND window = ?", place)
        change.change("DELETE FROM quota WHERE task_id = ? AND window = ?", place)
        change.change(
            "INSERT INTO collecting (task_id, window, state, tag_key) VALUES (?, ?, ?, NULL) "
            "ON CONFLICT (task_id, window) DO UPDATE SET state = excluded.state, tag_key = NULL",
            (*place, state),
        )
    shuffler.reach("seal: after commit")
    shuffler.storage.forget()
    return Sealed(window, state, users)


def _shuffled(slots: bytes) -> bytes:
    """Return the slots of all users in a uniform order."""
    table = np.frombuffer(slots, dtype=np.uint8).reshape(-1, SLOT_BYTES)
    places = np.arange(table.shape[0], dtype=np.int64)
    order = UniformShuffler().shuffle_array(places, rng=SystemRandom())
    return table[order].tobytes()
