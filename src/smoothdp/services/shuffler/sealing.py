"""Sealing: a window becomes one batch in a uniform order, or is destroyed, in one transaction."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from smoothdp.services.formats.batch import BatchHeader, split_parts
from smoothdp.services.formats.marks import MarksFile, mark_of, repeated_marks
from smoothdp.services.formats.slots import SLOT_BYTES
from smoothdp.services.operations.clock_guard import Verdict
from smoothdp.services.operations.every import do_all
from smoothdp.services.shuffler.ingest import STATE, add_to_counter
from smoothdp.services.shuffler.mixing import mixed
from smoothdp.services.shuffler.shuffler import Shuffler
from smoothdp.services.shuffler.shuffler_tables import EXPIRED, OPEN, SEALED, SHARED
from smoothdp.services.store.storage import Transaction

_REPORTS_AT_ONCE = 4096


@dataclass(frozen=True, slots=True)
class Sealed:
    """What became of a window.

    Attributes:
        users: sealed into a batch, or destroyed for being too few.
        shared: reports that were left out, because a slot of theirs was in another report.
    """

    window: int
    state: str
    users: int
    shared: int = 0


def seal_due(shuffler: Shuffler) -> list[Sealed]:
    """Seal the windows that are over by two clocks; erase the keys of all that are closed.

    Raises:
        StorageLocked, StorageFull, SmoothdpError, OSError: why a window was not sealed; the others
            are, keys are erased, and this one is tried again in the next round.
    """
    task = shuffler.task
    rows = shuffler.storage.read(
        "SELECT window FROM collecting WHERE task_id = ? AND state = ? ORDER BY window",
        (task.task_id, OPEN),
    )
    done: list[Sealed] = []

    def seal(window: int) -> None:
        # Asked again before each: the answer is of this moment.
        if shuffler.verdict(window) is Verdict.CLOSE:
            sealed = seal_window(shuffler, window)
            done.extend([sealed] if sealed is not None else [])

    do_all([partial(seal, int(window)) for (window,) in rows] + [shuffler.erase_closed])
    return done


def seal_window(shuffler: Shuffler, window: int) -> Sealed | None:
    """Close a window for good, whatever the clocks say; None if it was closed already.

    Reports that share a slot are left out: honest clients seal each slot anew, so all who sent
    such reports are dishonest, or were copied by somebody who read this storage. A batch below
    the task's smallest is never let out: its reports are destroyed and counted as expired.
    Otherwise the order is drawn from the operating system, and the batch and its marks are
    written and the reports deleted together: before the commit nobody has seen an order, after
    it there is one order only.

    Raises:
        InvalidData: rows that do not open, or of an older copy: the window was closed since.
    """
    task_window = (shuffler.task.task_id, window)
    with shuffler.storage.transaction() as change:
        # Groups that are being added are waited for; what is read below is read after that.
        if change.hold(STATE, task_window) != [(OPEN,)]:
            return None
        shuffler.cards.require_open(window)
        marks, count = _read_marks(shuffler, change, task_window)
        left_out = {at // shuffler.task.slots for at in repeated_marks(marks)}
        users = count - len(left_out)
        state = SEALED if users >= shuffler.task.min_batch else EXPIRED
        if left_out:
            add_to_counter(change, task_window, SHARED, len(left_out))
        if state == SEALED:
            _write_batch(shuffler, change, window, users=users, left_out=left_out)
        elif users:
            add_to_counter(change, task_window, EXPIRED, users)
        shuffler.reach("seal: inside the transaction")
        change.change("DELETE FROM pending WHERE task_id = ? AND window = ?", task_window)
        change.change(
            "UPDATE collecting SET state = ?, tag_key = NULL, reports = 0 "
            "WHERE task_id = ? AND window = ?",
            (state, *task_window),
        )
        # Reports of the next window, that came in the grace, lie in the same pages.
        for table in ("pending", "collecting"):
            change.rewrite(table)
    shuffler.reach("seal: after commit")
    shuffler.storage.forget()
    return Sealed(window, state, users, len(left_out))


def _read_marks(
    shuffler: Shuffler, change: Transaction, task_window: tuple[bytes, int]
) -> tuple[bytes, int]:
    """Return the marks of all slots, as the reports are read, and the number of reports."""
    marks, count = bytearray(), 0
    width = shuffler.record_bytes
    for reports in _read_reports(change, task_window):
        count += len(reports)
        for records in reports:
            for at in range(0, len(records), width):
                marks += mark_of(records[at : at + SLOT_BYTES])
    return bytes(marks), count


def _write_batch(
    shuffler: Shuffler, change: Transaction, window: int, *, users: int, left_out: set[int]
) -> None:
    task, width = shuffler.task, shuffler.record_bytes
    task_window = (task.task_id, window)

    def read() -> Iterator[bytes]:
        first = 0
        for reports in _read_reports(change, task_window):
            places = enumerate(reports, start=first)
            yield b"".join(records for place, records in places if place not in left_out)
            first += len(reports)

    batch_id, hashes, marks = secrets.token_bytes(16), [], bytearray()
    records = mixed(read, users * task.slots, width=width)
    for part, data in enumerate(split_parts(records, signed=task.signed)):
        hashes.append(hashlib.sha256(data).digest())
        for at in range(0, len(data), width):
            marks += mark_of(data[at : at + SLOT_BYTES])
        change.change(
            "INSERT INTO batch_part (batch_id, part, bytes) VALUES (?, ?, ?)",
            (batch_id, part, data),
        )
    digest = shuffler.cards.digest(window)
    file = MarksFile.sorted(digest, bytes(marks))
    header = BatchHeader(
        signed=task.signed,
        card_digest=digest,
        batch_id=batch_id,
        users=users,
        slots=users * task.slots,
        part_hashes=tuple(hashes),
        marks_sha256=file.sha256,
    ).sign(shuffler.sign_key)
    change.change(
        "INSERT INTO marks (task_id, window, bytes) VALUES (?, ?, ?)",
        (*task_window, file.encode()),
    )
    change.change(
        "INSERT INTO batch (batch_id, task_id, window, state, users, header) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (batch_id, task.task_id, window, SEALED, users, header.encode()),
    )


def _read_reports(change: Transaction, task_window: tuple[bytes, int]) -> Iterator[list[bytes]]:
    """Yield the records of the reports of a window, by their senders' random tags."""
    last = b""
    while rows := change.execute(
        "SELECT sender_tag, slots FROM pending WHERE task_id = ? AND window = ? "
        "AND sender_tag > ? ORDER BY sender_tag LIMIT ?",
        (*task_window, last, _REPORTS_AT_ONCE),
    ):
        last = bytes(rows[-1][0])
        yield [bytes(slots) for _, slots in rows]
