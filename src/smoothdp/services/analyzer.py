"""The analyser: takes each batch once, however often it is offered, and counts each slot once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

import numpy as np

from smoothdp.services.analyzer_tables import (
    COMPLETE,
    COUNTED,
    INVALID,
    RECEIVING,
    REPEATED,
)
from smoothdp.services.batch import PART_SLOTS, BatchHeader
from smoothdp.services.envelope import DUMMY, SLOT_BYTES, DecodeError, inner_info, open_slot
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.hybrid import PrivateKey
from smoothdp.services.storage import Storage, Transaction
from smoothdp.services.task import Task


class Analyzer:
    """Receive and count. What may be shown of it is made in `release`.

    Args:
        storage: with the tables of `ANALYZER_SCHEMA`.
        tasks: the tasks that it analyses.
        key: the key that the tasks name; other tasks are refused.
        reach: called at the named points of `faults.POINTS`.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        tasks: Iterable[Task],
        key: PrivateKey,
        reach: Reach = pass_by,
    ) -> None:
        self.storage = storage
        self.reach = reach
        public = key.public.to_bytes().hex()
        self.tasks = {task.task_id: task for task in tasks if task.analyzer_key == public}
        self._key = key

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
                _move(change, batch_id, RECEIVING, COMPLETE)
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
        repeated = self._repeated_places(batch_id)
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
            if left[0][0] == 0 and _move(change, batch_id, COMPLETE, COUNTED):
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
        n_values = task.size if task.protocol == "histogram" else 2
        dummies = task.protocol == "histogram"
        tally: Counter[int] = Counter()
        for place in range(len(data) // SLOT_BYTES):
            if first + place in repeated:
                tally[REPEATED] += 1
                continue
            try:
                value = open_slot(
                    data[place * SLOT_BYTES : (place + 1) * SLOT_BYTES], key=self._key, info=info
                )
            except DecodeError:
                value = INVALID
            is_meant = 0 <= value < n_values or (dummies and value == DUMMY)
            tally[value if is_meant else INVALID] += 1
        return tally

    def _repeated_places(self, batch_id: bytes) -> frozenset[int]:
        """Return the places of slots equal to an earlier one: sealing never repeats itself.

        A shuffler that copies a user's message would learn more about that user than the
        guarantee says, so copies do not count.
        """
        rows = self.storage.read(
            "SELECT bytes FROM part WHERE batch_id = ? ORDER BY part", (batch_id,)
        )
        if any(row[0] is None for row in rows):
            return frozenset()
        table = np.frombuffer(b"".join(row[0] for row in rows), dtype=np.uint8)
        table = table.reshape(-1, SLOT_BYTES)
        # The last 8 bytes, of the authentication tag, tell almost all slots apart.
        marks = np.ascontiguousarray(table[:, -8:]).view(np.uint64).ravel()
        order = np.argsort(marks, kind="stable")
        same = marks[order][1:] == marks[order][:-1]
        near = np.unique(np.concatenate([order[1:][same], order[:-1][same]]))
        known: set[bytes] = set()
        repeated = []
        for place in near.tolist():
            slot = table[place].tobytes()
            if slot in known:
                repeated.append(place)
            known.add(slot)
        return frozenset(repeated)

    def tallies(self, batch_id: bytes) -> dict[int, int]:
        """Return value -> slots of a counted batch, with INVALID and REPEATED."""
        rows = self.storage.read(
            "SELECT value, sum(n) FROM tally WHERE batch_id = ? GROUP BY value", (batch_id,)
        )
        return {int(value): int(n) for value, n in rows}


def _move(change: Transaction, batch_id: bytes, before: str, after: str) -> int:
    return change.change(
        "UPDATE batch SET state = ? WHERE batch_id = ? AND state = ?", (after, batch_id, before)
    )
