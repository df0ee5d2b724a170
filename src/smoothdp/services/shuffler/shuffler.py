"""The shuffler: one report a pass and window, opened and checked before it is stored."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Container, Sequence
from itertools import repeat

from smoothdp.services.faults import Reach, pass_by
from smoothdp.services.formats.card import Card
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.report import Report, open_report, record_bytes
from smoothdp.services.formats.secrets import check_secret, tag
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.task import Task
from smoothdp.services.operations.clock_guard import ClockGuard, Verdict
from smoothdp.services.operations.logs import Cause, said
from smoothdp.services.shuffler.gateway_cards import GatewayCards
from smoothdp.services.shuffler.ingest import (
    HELD,
    OpenedReport,
    Taken,
    TaskWindow,
    store_group,
    what_became,
)
from smoothdp.services.shuffler.recent import Recent
from smoothdp.services.shuffler.shuffler_tables import (
    DROPPED,
    EXPIRED,
    OPEN,
    SEALED,
    name_by_tags,
)
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import Row, Storage, Transaction

LOG = logging.getLogger("smoothdp.services")
MOST_UNSIGNED = 5
"""Reports whose signatures are not good, under one pass in one window, that are looked at."""

REMEMBERED_SECONDS = 1.0
"""How long a window that was open need not be read again before a report is opened."""
REMEMBERED_PEOPLE = 1 << 15
"""How many of the last people who sent are known to have sent, so that it is read what."""
KEPT_SECONDS = 30 * 86_400
"""How long marks, counts and a batch that nobody takes are kept after a window and its grace."""


class Shuffler:
    """Ingest of one task: pass, outer layer, order, repetition, signatures, then the disk.

    Args:
        storage: with the tables of `SHUFFLER_SCHEMA`.
        task: what it serves.
        keys: where the gateway keys are, so that they can be erased.
        sign_key: the one that the task names.
        pass_key: what passes are made from.
        clocks: nothing is closed unless two of them agree.
        revoked: identifiers of passes that count no more.
        reach: called at the named points of `faults.POINTS`.
    """

    def __init__(
        self,
        storage: Storage,
        *,
        task: Task,
        keys: ErasableKeys,
        sign_key: SigningKey,
        pass_key: bytes,
        clocks: ClockGuard,
        revoked: Container[bytes] = frozenset(),
        reach: Reach = pass_by,
    ) -> None:
        self.storage, self.task, self.sign_key = storage, task, sign_key
        self.clocks, self.reach = clocks, reach
        self.cards = GatewayCards(storage, keys=keys, task=task, sign_key=sign_key, reach=reach)
        self.record_bytes = record_bytes(task.signed)
        name_by_tags(storage)
        self._pass_key, self._revoked = pass_key, revoked
        self._unsigned: Counter[tuple[int, bytes]] = Counter()
        self._senders = Recent(REMEMBERED_PEOPLE)
        self._open: dict[int, tuple[float, list[Row]]] = {}
        self._counting = threading.Lock()

    # ---- before the body is read ------------------------------------------------------------

    def sender(self, secret: str) -> bytes | None:
        """Return the identifier of a pass, or None if it is none or was revoked."""
        identity = check_secret(secret, key=self._pass_key, use="pass", task_id=self.task.task_id)
        return None if identity is None or identity in self._revoked else identity

    def verdict(self, window: int, *, after: float = 0.0) -> Verdict:
        """Return what two clocks say about the end of a window with its grace, and some more."""
        task = self.task
        return self.clocks.verdict((window + 1) * task.window_seconds + task.grace_seconds + after)

    def takes(self, window: int) -> Taken | None:
        """Return why a window takes no reports now, or None."""
        verdict = self.verdict(window)
        if verdict is Verdict.HOLD:
            return Taken.LATER
        if self.clocks.now() < window * self.task.window_seconds:
            return Taken.TOO_EARLY
        rows = self._window_row(window)
        if not rows:
            # Of a window with a card the row goes 30 days after its end; the card stays.
            return Taken.UNKNOWN if self.cards.stored(window) is None else Taken.CLOSED
        return Taken.CLOSED if verdict is Verdict.CLOSE or rows[0][0] != OPEN else None

    # ---- the report --------------------------------------------------------------------------

    def judge(self, window: int, sender: bytes, sealed: bytes) -> OpenedReport | Taken:
        """Open a report and check it; what is returned opened may be stored.

        Answers come in this order: outer layer, form and order of slots; the card; whether the
        pass has sent this report or another one; signatures, at most `MOST_UNSIGNED` times in
        vain. What the pass has sent is read first if it sent something lately. Else a report
        with good signatures is not looked up: whoever stores it finds out.
        """
        self.reach("ingest: before opening")
        opened, rows = self.cards.opened(window), self._window_row(window)
        if opened is None or not rows:
            return self.takes(window) or Taken.CLOSED
        if rows[0][0] != OPEN:
            return Taken.CLOSED
        signed, key = opened
        try:
            report = open_report(sealed, signed.card, key)
        except DecodeError:
            return Taken.MALFORMED
        if len(report.slots) != self.task.slots:
            return Taken.MALFORMED
        if report.card_digest != signed.card.digest:
            return Taken.UNKNOWN
        task_window = (self.task.task_id, window)
        # Under the window's key both: a database that keeps deleted rows tells nothing by them,
        # not even which slots of the batch came together (proofs/marks-and-erasure#4).
        sender_tag, report_tag = (
            tag(bytes(rows[0][1]), name) for name in (sender, report.report_id)
        )
        is_known = self._senders.met(sender_tag)
        if is_known and (sent := self._sent(task_window, sender_tag, report_tag)) is not None:
            return sent
        good = self._has_signatures(report, signed.card, (window, sender_tag))
        if good:
            records = b"".join(report.records)
            return OpenedReport(task_window, sender_tag, report_tag, records)
        if not is_known and (sent := self._sent(task_window, sender_tag, report_tag)) is not None:
            if good is not None:
                self._give_back((window, sender_tag))
            return sent
        return Taken.TOO_MANY_UNSIGNED if good is None else Taken.UNSIGNED

    def _sent(self, task_window: TaskWindow, sender_tag: bytes, report_tag: bytes) -> Taken | None:
        """Return the answer to a report from what its pass has sent, None if that is nothing."""
        held = self.storage.read(HELD, (*task_window, sender_tag))
        return what_became(held, report_tag) if held else None

    def _has_signatures(self, report: Report, card: Card, sender: tuple[int, bytes]) -> bool | None:
        """Whether all slots have good signatures; None if that is not looked at any more."""
        issuer = self.task.issuer
        if issuer is None:
            return True
        with self._counting:
            # Counted before it is looked at, and given back: a hundred at once are five too.
            if self._unsigned[sender] >= MOST_UNSIGNED:
                return None
            self._unsigned[sender] += 1
        tokens = SlotTokens(card, issuer_name=issuer.name, origin=self.task.origin)
        good = all(map(self.is_signed, repeat(tokens), report.slots, report.signatures))
        if good:
            self._give_back(sender)
        return good

    def _give_back(self, sender: tuple[int, bytes]) -> None:
        """Count one report less whose signatures were looked at in vain."""
        with self._counting:
            self._unsigned[sender] -= 1
            # Almost everybody: they take no memory.
            if self._unsigned[sender] <= 0:
                del self._unsigned[sender]

    @staticmethod
    def is_signed(tokens: SlotTokens, slot: bytes, signature: bytes) -> bool:
        """Whether a signature is the issuer's for this slot."""
        return tokens.verify(slot, signature)

    def is_remembered(self, window: int) -> bool:
        """Whether a window was open within the last second: then `takes` reads nothing."""
        known = self._open.get(window)
        return known is not None and time.monotonic() - known[0] < REMEMBERED_SECONDS

    def _window_row(self, window: int) -> list[Row]:
        """Return state and tag key of a window; an open one is remembered for a second.

        Nothing rests on that: whoever stores a group holds the window's own row.
        """
        known = self._open.get(window)
        if known is not None and time.monotonic() - known[0] < REMEMBERED_SECONDS:
            return known[1]
        rows = self.storage.read(
            "SELECT state, tag_key FROM collecting WHERE task_id = ? AND window = ?",
            (self.task.task_id, window),
        )
        if rows and rows[0][0] == OPEN:
            self._open[window] = time.monotonic(), rows
        return rows

    def accept(self, group: Sequence[OpenedReport]) -> list[Taken]:
        """Store a group of reports; those accepted are on disk when this returns."""
        with self.storage.adding() as change:
            stored = store_group(change, group, most=self.task.max_batch)
            self.reach("ingest: before commit")
        self.reach("ingest: after commit")
        return stored

    # ---- what is over ------------------------------------------------------------------------

    def erase_closed(self) -> None:
        """Erase the gateway keys of windows that are sealed, expired, or over without a card."""
        rows = self.storage.read(
            "SELECT window, state FROM collecting WHERE task_id = ?", (self.task.task_id,)
        )
        states = {int(window): state for window, state in rows}
        kept = self.cards.kept()
        # Without any too: a program that was stopped in between left them in the file's log.
        self.cards.erase([window for window in kept if states.get(window, OPEN) != OPEN])
        without = [window for window in kept if window not in states]
        self.cards.erase_unsigned(
            [window for window in without if self.verdict(window) is Verdict.CLOSE]
        )
        self._open.clear()
        with self._counting:
            for known in [key for key in self._unsigned if states.get(key[0]) != OPEN]:
                del self._unsigned[known]

    def forget_old(self) -> None:
        """Delete what is kept of windows that were over 30 days ago.

        Cards stay for ever, and that a window was destroyed: clients count it until they hear so.
        A batch that was not handed over goes too: the analyser has ended the window long before.
        So do reports that nothing could seal, such as beside a damaged one: nothing else would
        ever erase them.
        """
        task_id = self.task.task_id
        rows = self.storage.read(
            "SELECT window FROM collecting WHERE task_id = ? AND (state <> ? OR window IN "
            "(SELECT window FROM counter WHERE task_id = ?))",
            (task_id, EXPIRED, task_id),
        )
        for (window,) in rows:
            if self.verdict(int(window), after=KEPT_SECONDS) is not Verdict.CLOSE:
                continue
            with self.storage.transaction() as change:
                dropped = _drop_batch(change, task_id, int(window))
                unsealed = _drop_reports(change, task_id, int(window))
                for table in ("counter", "marks"):
                    change.change(
                        f"DELETE FROM {table} WHERE task_id = ? AND window = ?", (task_id, window)
                    )
                change.change(
                    "DELETE FROM collecting WHERE task_id = ? AND window = ? AND state <> ?",
                    (task_id, window, EXPIRED),
                )
                if unsealed:
                    # With the key that named their senders.
                    for table in ("pending", "collecting"):
                        change.rewrite(table)
            days = KEPT_SECONDS // 86_400
            if dropped:
                self.storage.forget()
                why = f"the analyser had not taken it {days} days after the window"
                said(LOG, f"the batch of window {window} was dropped: {why}", Cause.OTHER)
            if unsealed:
                self.storage.forget()
                why = f"the window could not be sealed in {days} days"
                said(LOG, f"the reports of window {window} were dropped: {why}", Cause.OTHER)

    def marks(self, window: int) -> bytes | None:
        """Return the marks file of a window that was sealed, or None.

        It is noted beside the keys before: an older copy of the storage would make another one.
        """
        rows = self.storage.read(
            "SELECT bytes FROM marks WHERE task_id = ? AND window = ?",
            (self.task.task_id, window),
        )
        if not rows:
            return None
        self.cards.note_end(window)
        return bytes(rows[0][0])

    def is_expired(self, window: int) -> bool:
        """Whether the reports of a window were too few, and destroyed.

        Clients count no window against the budget of which this is said. It is noted beside the
        keys before: an older copy of the storage would hand the window over.
        """
        rows = self.storage.read(
            "SELECT state FROM collecting WHERE task_id = ? AND window = ?",
            (self.task.task_id, window),
        )
        if rows != [(EXPIRED,)]:
            return False
        self.cards.note_end(window)
        return True

    def batch_states(self) -> dict[str, int]:
        """Return how many batches are in each state."""
        rows = self.storage.read("SELECT state, count(*) FROM batch GROUP BY state ORDER BY state")
        return {str(state): int(n) for state, n in rows}

    def totals(self) -> dict[str, int]:
        """Return pending, batched, shared and expired reports, for operators and tests."""
        rows = self.storage.read(
            "SELECT (SELECT count(*) FROM pending), (SELECT coalesce(sum(users), 0) FROM batch),"
            " (SELECT coalesce(sum(n), 0) FROM counter WHERE reason = 'shared'),"
            " (SELECT coalesce(sum(n), 0) FROM counter WHERE reason = ?)",
            (EXPIRED,),
        )
        return dict(zip(("pending", "batched", "shared", "expired"), rows[0], strict=True))


def _drop_reports(change: Transaction, task_id: bytes, window: int) -> int:
    """Delete the reports of a window that nothing sealed; return how many there were."""
    return change.change("DELETE FROM pending WHERE task_id = ? AND window = ?", (task_id, window))


def _drop_batch(change: Transaction, task_id: bytes, window: int) -> bool:
    """Erase the batch of a window if it was not handed over; whether it was there."""
    waiting = "FROM batch WHERE task_id = ? AND window = ? AND state = ?"
    at = (task_id, window, SEALED)
    change.change(f"DELETE FROM batch_part WHERE batch_id IN (SELECT batch_id {waiting})", at)
    if not change.change(
        "UPDATE batch SET state = ? WHERE task_id = ? AND window = ? AND state = ?",
        (DROPPED, *at),
    ):
        return False
    change.rewrite("batch_part")
    return True
