"""The analyser: takes one batch of each card's window, once it is over, however often offered."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from smoothdp.services.analyzer.analyzer_tables import COMPLETE, RECEIVING
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.analyzer.window_cards import WindowCards, key_scope
from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.design.budget import KEY_SECONDS
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.served import Served
from smoothdp.services.formats.signing import SigningKey, VerifyingKey
from smoothdp.services.formats.task import Task
from smoothdp.services.operations.clock_guard import ClockGuard, Verdict
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import Storage, Transaction


class Analyzer:
    """Receive cards' halves, batches and the issuer's statements of one task.

    Args:
        storage: with the tables of `ANALYZER_SCHEMA`.
        task: what it analyses.
        keys: where the inner keys are, so that they can be erased.
        sign_key: the one that the task names.
        ledgers: the directory with the task's ledger; made if it is not there.
        clocks: nothing is taken, closed or destroyed unless two of them agree.
        reach: called at the named points of `faults.POINTS`.

    Raises:
        LedgerError: a ledger that is damaged, or lacks the charge of a window that was released,
            or was noted as charged beside the keys: it is an older copy.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        task: Task,
        keys: ErasableKeys,
        sign_key: SigningKey,
        ledgers: Path,
        clocks: ClockGuard,
        reach: Reach = pass_by,
    ) -> None:
        self.storage, self.task, self.sign_key = storage, task, sign_key
        self.clocks, self.reach = clocks, reach
        self.ledger = TaskLedger(ledgers, task)
        self.keys = keys
        rows = storage.read("SELECT window FROM release WHERE task_id = ?", (task.task_id,))
        self.ledger.require({int(window) for (window,) in rows} | self.noted())
        # Of a program before, or beside a file of keys that is new: all that is known now.
        self.note_charges(*self.ledger.charged())
        self.cards = WindowCards(
            storage, task=task, keys=keys, sign_key=sign_key, ledger=self.ledger, clocks=clocks
        )
        self._shuffler_key = task.shuffler_key

    def verdict(self, window: int, *, after: float = 0.0) -> Verdict:
        """Return what two clocks say about the end of a window with its grace, and some more."""
        close = (window + 1) * self.task.window_seconds + self.task.grace_seconds
        return self.clocks.verdict(close + after)

    def note_charges(self, *windows: int) -> None:
        """Note beside the keys that windows were charged."""
        self.keys.note(*(key_scope(self.task.task_id, window) for window in windows))

    def noted(self) -> set[int]:
        """Return the windows whose charge was noted beside the keys."""
        return noted(self.keys.notes(), self.task)

    # ---- batches ---------------------------------------------------------------------------

    def put_batch(self, batch_id: bytes, data: bytes) -> int:
        """Take the header of a batch; the HTTP status.

        201 new, 200 known with the same bytes, 409 no card, another batch of this name or
        window, or a window that was over seven days ago, 425 one that is not over, 503 while the
        clocks do not agree, 400 anything that makes it no batch of the task.
        """
        try:
            header = BatchHeader.decode(data)
        except DecodeError:
            return 400
        window = self.cards.window_of(header.card_digest)
        if window is None:
            return 409
        if (
            header.batch_id != batch_id
            or header.signed != self.task.signed
            or not self.task.min_batch <= header.users <= self.task.max_batch
            or header.slots != header.users * self.task.slots
            or not header.verify(self._shuffler_key)
        ):
            return 400
        with self.storage.transaction() as change:
            known = change.execute(
                "SELECT header FROM batch WHERE batch_id = ? OR (task_id = ? AND window = ?)",
                (batch_id, self.task.task_id, window),
            )
            if known:
                return 200 if [bytes(row[0]) for row in known] == [data] else 409
            verdict = self.verdict(window)
            if verdict is not Verdict.CLOSE:
                return 503 if verdict is Verdict.HOLD else 425
            if self._has_lapsed(window) or window not in self.cards.going_on():
                return 409
            change.change(
                "INSERT INTO batch (batch_id, task_id, window, header, state) "
                "VALUES (?, ?, ?, ?, ?)",
                (batch_id, self.task.task_id, window, data, RECEIVING),
            )
        return 201

    def put_part(self, batch_id: bytes, part: int, data: bytes) -> int:
        """Take a part of a batch; the HTTP status.

        201 new, 200 known, 404 no such batch or part, 422 not the bytes that were announced, 409 a
        part that was missing when the window had been over for seven days; 503 if it may be one: by
        this clock alone, and no other confirms it.
        """
        header = self.header(batch_id)
        if header is None or not 0 <= part < len(header.part_hashes):
            return 404
        if hashlib.sha256(data).digest() != header.part_hashes[part]:
            return 422
        if len(data) != header.part_bytes(part):
            return 422
        with self.storage.transaction() as change:
            # Of a batch that has ended the row alone: nothing of it is opened or kept.
            ((state, window),) = change.execute(
                "SELECT state, window FROM batch WHERE batch_id = ?", (batch_id,)
            )
            here = "SELECT 1 FROM part WHERE batch_id = ? AND part = ?"
            if change.execute(here, (batch_id, part)):
                return 200
            if state == RECEIVING and (refused := self._too_late(int(window))):
                return refused
            kept = data if state == RECEIVING else None
            change.change(
                "INSERT INTO part (batch_id, part, bytes) VALUES (?, ?, ?)", (batch_id, part, kept)
            )
            have = change.execute("SELECT count(*) FROM part WHERE batch_id = ?", (batch_id,))
            if have[0][0] == len(header.part_hashes):
                move_batch(change, batch_id, RECEIVING, COMPLETE)
        return 201

    def _has_lapsed(self, window: int) -> bool:
        """Whether a window has been over for so long that nothing more is taken of it."""
        return self.verdict(window, after=KEY_SECONDS) is Verdict.CLOSE

    def _too_late(self, window: int) -> int | None:
        """Return why a part of a batch that is not whole is not taken, or None."""
        if self._has_lapsed(window):
            return 409
        over = (window + 1) * self.task.window_seconds + self.task.grace_seconds
        held = self.clocks.hold() is not None and self.clocks.now() >= over + KEY_SECONDS
        return 503 if held else None

    def header(self, batch_id: bytes) -> BatchHeader | None:
        """Return the header of a batch, or None."""
        rows = self.storage.read("SELECT header FROM batch WHERE batch_id = ?", (batch_id,))
        return BatchHeader.decode(bytes(rows[0][0])) if rows else None

    def part_bytes(self, batch_id: bytes, part: int) -> bytes | None:
        """Return the bytes of a part that is here; None once its batch was counted."""
        rows = self.storage.read(
            "SELECT bytes FROM part WHERE batch_id = ? AND part = ?", (batch_id, part)
        )
        return None if rows[0][0] is None else bytes(rows[0][0])

    def batch_states(self) -> dict[str, int]:
        """Return how many batches are in each state."""
        rows = self.storage.read("SELECT state, count(*) FROM batch GROUP BY state ORDER BY state")
        return {str(state): int(n) for state, n in rows}

    # ---- what the issuer says --------------------------------------------------------------

    def put_served(self, window: int, data: bytes) -> int:
        """Take the issuer's statement of the accounts that it served; the HTTP status.

        201 new, 200 known, 409 no card or another statement, 400 one that is not the issuer's.
        """
        card = self.cards.card(window)
        if card is None or self.task.issuer is None:
            return 409
        try:
            served = Served.decode(data)
        except DecodeError:
            return 400
        key = VerifyingKey.from_hex(self.task.issuer.sign_key)
        if served.card_digest != card.digest or not served.verify(key):
            return 400
        task_window = (self.task.task_id, window)
        with self.storage.transaction() as change:
            rows = change.execute(
                "SELECT statement FROM served WHERE task_id = ? AND window = ?", task_window
            )
            if rows:
                return 200 if bytes(rows[0][0]) == data else 409
            change.change(
                "INSERT INTO served (task_id, window, statement) VALUES (?, ?, ?)",
                (*task_window, data),
            )
        return 201

    def accounts_served(self, window: int, change: Transaction | None = None) -> int | None:
        """Return how many accounts got tokens in a window; None until the issuer has said it.

        Args:
            change: the transaction that what is done with it is in.
        """
        read = self.storage.read if change is None else change.execute
        rows = read(
            "SELECT statement FROM served WHERE task_id = ? AND window = ?",
            (self.task.task_id, window),
        )
        return Served.decode(bytes(rows[0][0])).accounts if rows else None


def noted(notes: Iterable[bytes], task: Task) -> set[int]:
    """Return the windows of a task whose charge was noted."""
    name = task.task_id
    return {int.from_bytes(note[len(name) :], "big") for note in notes if note.startswith(name)}


def move_batch(change: Transaction, batch_id: bytes, before: str, after: str) -> int:
    """Move a batch from one state to the next; return 0 if it was not in the first."""
    return change.change(
        "UPDATE batch SET state = ? WHERE batch_id = ? AND state = ?", (after, batch_id, before)
    )
