"""The analyser: takes each batch once, however often it is offered, and counts each slot once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from smoothdp.services.analyzer.analyzer_tables import COMPLETE, COUNTED, RECEIVING
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.store.storage import Storage, Transaction
from smoothdp.services.wire.batch import MOST_SLOTS_OF_BATCH, PART_SLOTS, BatchHeader
from smoothdp.services.wire.envelope import (
    INVALID,
    REPEATED,
    SLOT_BYTES,
    DecodeError,
    inner_info,
    open_slot,
)
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.task import Task


class Analyzer:
    """Receive and count. What may be shown of it is made in `release`.

    Args:
        storage: with the tables of `ANALYZER_SCHEMA`.
        tasks: the tasks that it analyses.
        key: the key that the tasks name; other tasks are refused.
        ledgers: the directory with the ledger of each task; made if they are not there.
        reach: called at the named points of `faults.POINTS`.

    Raises:
        LedgerError: a ledger that is damaged, or lacks the charge of a window that was released.

    >>> import tempfile
    >>> from smoothdp.services import SqliteStorage, create_task
    >>> from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     storage = SqliteStorage(folder + "/analyzer.sqlite", ANALYZER_SCHEMA)
    ...     analyzer = Analyzer(storage, tasks=[task], key=key, ledgers=Path(folder))
    ...     analyzer.put_batch(bytes(16), b"no batch"), analyzer.count_complete()
    ...     storage.close()
    (400, 0)
    """

    def __init__(
        self,
        storage: Storage,
        *,
        tasks: Iterable[Task],
        key: PrivateKey,
        ledgers: Path,
        reach: Reach = pass_by,
    ) -> None:
        self.storage = storage
        self.reach = reach
        public = key.public.to_bytes().hex()
        self.tasks = {task.task_id: task for task in tasks if task.analyzer_key == public}
        self.ledgers = {task_id: TaskLedger(ledgers, self.tasks[task_id]) for task_id in self.tasks}
        self._key = key
        for task_id, ledger in self.ledgers.items():
            rows = storage.read("SELECT window FROM release WHERE task_id = ?", (task_id,))
            ledger.require({int(window) for (window,) in rows})

    # ---- receive --------------------------------------------------------------------------

    def put_batch(self, batch_id: bytes, data: bytes) -> int:
        """Take the header of a batch; the HTTP status.

        201 new, 200 known with the same bytes, 409 another batch of this name or window,
        404 unknown task, 400 anything that makes it no batch of the task.
        """
        try:
            header = BatchHeader.decode(data)
        except DecodeError:
            return 400
        task = self.tasks.get(header.task_id)
        if task is None:
            return 404
        if (
            header.batch_id != batch_id
            or header.key_id != task.analyzer_key_id
            or header.users < task.min_batch
            or header.slots != header.users * task.slots
            or header.slots > MOST_SLOTS_OF_BATCH
        ):
            return 400
        with self.storage.transaction() as change:
            known = change.execute(
                "SELECT header FROM batch WHERE batch_id = ? OR (task_id = ? AND window = ?)",
                (batch_id, header.task_id, header.window),
            )
            if known:
                return 200 if [bytes(row[0]) for row in known] == [data] else 409
            change.change(
                "INSERT INTO batch (batch_id, task_id, window, header, state) "
                "VALUES (?, ?, ?, ?, ?)",
                (batch_id, header.task_id, header.window, data, RECEIVING),
            )
        return 201

    def put_part(self, batch_id: bytes, part: int, data: bytes) -> int:
        """Take a part of a batch; the HTTP status.

        201 new, 200 known, 404 no such batch or part, 422 not the bytes that were announced.
        """
        header = self._header(batch_id)
        if header is None or not 0 <= part < len(header.part_hashes):
            return 404
        is_sound = hashlib.sha256(data).digest() == header.part_hashes[part]
        if not is_sound or len(data) != header.part_bytes(part):
            return 422
        with self.storage.transaction() as change:
            if not change.change(
                "INSERT OR IGNORE INTO part (batch_id, part, bytes) VALUES (?, ?, ?)",
                (batch_id, part, data),
            ):
                return 200
            have = change.execute("SELECT count(*) FROM part WHERE batch_id = ?", (batch_id,))
            if have[0][0] == len(header.part_hashes):
                move_batch(change, batch_id, RECEIVING, COMPLETE)
        return 201

    def _header(self, batch_id: bytes) -> BatchHeader | None:
        rows = self.storage.read("SELECT header FROM batch WHERE batch_id = ?", (batch_id,))
        return BatchHeader.decode(bytes(rows[0][0])) if rows else None

    # ---- count ----------------------------------------------------------------------------

    def count_complete(self) -> int:
        """Open and count the batches that are complete; return how many were.

        A part's tallies and the mark that it is counted are one transaction, and opening is
        deterministic: work that is repeated, or done by two at once, counts once.
        """
        rows = self.storage.read("SELECT batch_id FROM batch WHERE state = ?", (COMPLETE,))
        for (batch_id,) in rows:
            self._count(batch_id)
        return len(rows)

    def _count(self, batch_id: bytes) -> None:
        header = self._header(batch_id)
        if header is None:
            return
        repeated = self._repeated_slots(batch_id, len(header.part_hashes))
        for part in range(len(header.part_hashes)):
            rows = self.storage.read(
                "SELECT bytes FROM part WHERE batch_id = ? AND part = ? AND counted = 0",
                (batch_id, part),
            )
            if rows:
                self._count_part(header, part, bytes(rows[0][0]), repeated)
        with self.storage.transaction() as change:
            left = change.execute(
                "SELECT count(*) FROM part WHERE batch_id = ? AND counted = 0", (batch_id,)
            )
            if left[0][0] == 0 and move_batch(change, batch_id, COMPLETE, COUNTED):
                # The ciphertexts are of no more use; the rows stay, to answer a repeated part.
                change.change("UPDATE part SET bytes = NULL WHERE batch_id = ?", (batch_id,))
        self.storage.forget()

    def _count_part(
        self, header: BatchHeader, part: int, data: bytes, repeated: frozenset[int]
    ) -> None:
        tally = self._tally(header, data, part * PART_SLOTS, repeated)
        with self.storage.transaction() as change:
            if not change.change(
                "UPDATE part SET counted = 1 WHERE batch_id = ? AND part = ? AND counted = 0",
                (header.batch_id, part),
            ):
                return
            change.change_many(
                "INSERT INTO tally (batch_id, part, value, n) VALUES (?, ?, ?, ?)",
                [(header.batch_id, part, value, n) for value, n in sorted(tally.items())],
            )
            self.reach("count: inside the transaction")

    def _tally(
        self, header: BatchHeader, data: bytes, first: int, repeated: frozenset[int]
    ) -> Counter[int]:
        task = self.tasks[header.task_id]
        info = inner_info(header.task_id, header.window)
        tally: Counter[int] = Counter()
        for slot in range(len(data) // SLOT_BYTES):
            if first + slot in repeated:
                tally[REPEATED] += 1
                continue
            try:
                value = open_slot(
                    data[slot * SLOT_BYTES : (slot + 1) * SLOT_BYTES], key=self._key, info=info
                )
            except DecodeError:
                value = INVALID
            tally[value if task.is_meant(value) else INVALID] += 1
        return tally

    def _repeated_slots(self, batch_id: bytes, n_parts: int) -> frozenset[int]:
        """Return the indices of slots equal to an earlier one: sealing never repeats itself.

        A shuffler that copies a user's message would learn more about that user than the
        guarantee says, so copies do not count.
        """
        marks = []
        for part in range(n_parts):
            data = self._part_bytes(batch_id, part)
            if data is None:
                return frozenset()
            # The last 8 bytes, of the authentication tag, tell almost all slots apart.
            table = np.frombuffer(data, dtype=np.uint8).reshape(-1, SLOT_BYTES)
            marks.append(np.ascontiguousarray(table[:, -8:]).view(np.uint64).ravel())
        joined = np.concatenate(marks)
        ordered = np.sort(joined)
        twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
        near = np.flatnonzero(np.isin(joined, twice)) if twice.size else twice
        known: set[bytes] = set()
        repeated = []
        for part in np.unique(near // PART_SLOTS).tolist():
            data = self._part_bytes(batch_id, part) or b""
            first = part * PART_SLOTS
            inside = near[(near >= first) & (near < first + PART_SLOTS)]
            for index in inside.tolist():
                at = (index - first) * SLOT_BYTES
                slot = data[at : at + SLOT_BYTES]
                if slot in known:
                    repeated.append(index)
                known.add(slot)
        return frozenset(repeated)

    def _part_bytes(self, batch_id: bytes, part: int) -> bytes | None:
        rows = self.storage.read(
            "SELECT bytes FROM part WHERE batch_id = ? AND part = ?", (batch_id, part)
        )
        return bytes(rows[0][0]) if rows and rows[0][0] is not None else None

    def tallies(self, batch_id: bytes) -> dict[int, int]:
        """Return value -> slots of a counted batch, with INVALID and REPEATED."""
        rows = self.storage.read(
            "SELECT value, sum(n) FROM tally WHERE batch_id = ? GROUP BY value", (batch_id,)
        )
        return {int(value): int(n) for value, n in rows}


def move_batch(change: Transaction, batch_id: bytes, before: str, after: str) -> int:
    """Move a batch from one state to the next; return 0 if it was not in the first."""
    return change.change(
        "UPDATE batch SET state = ? WHERE batch_id = ? AND state = ?", (after, batch_id, before)
    )
