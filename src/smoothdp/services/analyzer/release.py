"""Release: the rule, then the ledger, then the result; the same bytes for ever after."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any

from smoothdp.errors import BudgetExceeded, LedgerError
from smoothdp.services.analyzer.analyzer import Analyzer, move_batch
from smoothdp.services.analyzer.analyzer_tables import (
    COMPLETE,
    COUNTED,
    ENDS,
    QUARANTINED,
    RECEIVING,
    REFUSED,
    RELEASED,
)
from smoothdp.services.analyzer.counting import (
    count_complete,
    erase_ciphertexts,
    erase_tallies,
    tallies,
)
from smoothdp.services.analyzer.counting_at_last import count_at_last
from smoothdp.services.analyzer.release_rule import Ruling, rule
from smoothdp.services.analyzer.result_document import describe_batch
from smoothdp.services.analyzer.task_ledger import OtherBatch
from smoothdp.services.analyzer.window_cards import key_scope
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.design.budget import KEY_SECONDS
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.operations.clock_guard import Verdict
from smoothdp.services.operations.every import do_all
from smoothdp.services.store.storage import Transaction
from smoothdp.services.wire.window_state import missing_state

LAPSED = "nothing more came of this window in seven days"
NOT_COUNTED = (
    "what came of this window could not be counted in seven days: the analyser's key of it was "
    "lost, or its storage is damaged"
)
CHARGED_BEFORE = (
    "the window was charged, and its result may be out: the analyser's database is an older copy"
)
ENDED_BEFORE = "the window has ended before: the analyser's database is an older copy"
OTHER_BATCH = (
    "the window was charged for another batch, whose result may be out: the analyser's database is "
    "an older copy"
)


def work(analyzer: Analyzer) -> int:
    """Count, release, end what has lapsed, erase the keys of all that has ended.

    Returns how many windows were released.

    Raises:
        SmoothdpError, OSError: what went wrong first; all that it was not needed for is done. A
            ledger that is damaged, say, keeps no key of a window that has ended.
    """
    # The log last: tallies of a release that was stopped in between may be in it.
    steps: list[Callable[[], Any]] = [
        partial(count_complete, analyzer),
        partial(release_counted, analyzer),
        partial(end_lapsed, analyzer),
        analyzer.cards.erase_ended,
        analyzer.ledger.empty_log,
        analyzer.storage.forget,
    ]
    return int(do_all(steps)[1])


def release_counted(analyzer: Analyzer) -> int:
    """Release the batches that are counted, or say why not; return how many were released.

    With an issuer a batch waits for its statement of the accounts that were served.
    """
    rows = analyzer.storage.read(
        "SELECT batch_id, window FROM batch WHERE task_id = ? AND state = ? ORDER BY window",
        (analyzer.task.task_id, COUNTED),
    )
    return sum(do_all(partial(_release, analyzer, bytes(row[0]), int(row[1])) for row in rows))


def end_lapsed(analyzer: Analyzer) -> None:
    """End the windows without an end, seven days after their end and grace."""
    do_all(partial(_end_if_lapsed, analyzer, window) for window in analyzer.cards.going_on())


def _end_if_lapsed(analyzer: Analyzer, window: int) -> None:
    if analyzer.verdict(window, after=KEY_SECONDS) is not Verdict.CLOSE:
        return
    tried = count_at_last(analyzer, window)
    charged = _was_charged(analyzer, window)
    with analyzer.storage.transaction() as change:
        rows = change.execute(
            "SELECT batch_id, header, marks_hash, state, reason FROM batch WHERE task_id = ? "
            "AND window = ? AND state NOT IN (?, ?, ?)",
            (analyzer.task.task_id, window, *ENDS),
        )
        if any(
            state == COMPLETE and bytes(batch_id) not in tried for batch_id, *_, state, _ in rows
        ):
            # Its last part came just now: it is counted in the next round.
            return
        # Asked here: who stores the number had the storage, perhaps, until this change began.
        waits = analyzer.task.signed and analyzer.accounts_served(window, change) is None
        if any(state == COUNTED and (reason or not waits) for *_, state, reason in rows):
            # All came, and its release has failed: it is tried again, and needs no key.
            rows = []
        for batch_id, header, marks_hash, state, _ in rows:
            if charged and _said_before(analyzer, window) is None:
                # No state leaves another end, and that one was signed.
                _end(change, bytes(batch_id), RELEASED, CHARGED_BEFORE, None)
                continue
            said = _refusal(analyzer, window, REFUSED, NOT_COUNTED if state == COMPLETE else LAPSED)
            if marks_hash is not None:
                # It was counted, and waited for the issuer: the marks of what came are known.
                said |= _evidence(BatchHeader.decode(bytes(header)), bytes(marks_hash), None)
            _refuse(analyzer, change, bytes(batch_id), said)
        analyzer.cards.end(change, window)
    analyzer.storage.forget()


def _was_charged(analyzer: Analyzer, window: int) -> bool:
    """Whether a window was charged; what was noted tells where the ledger cannot be read."""
    try:
        return window in analyzer.ledger.charged()
    except (LedgerError, OSError):
        return window in analyzer.noted()


def _release(analyzer: Analyzer, batch_id: bytes, window: int) -> bool:
    task, header = analyzer.task, analyzer.header(batch_id)
    served = analyzer.accounts_served(window)
    reason, marks_hash = analyzer.storage.read(
        "SELECT reason, marks_hash FROM batch WHERE batch_id = ?", (batch_id,)
    )[0]
    if header is None or (task.signed and served is None and not reason):
        return False
    ruling = Ruling(0, 0, QUARANTINED, reason)
    document: dict[str, Any] = {}
    if not reason:
        tally = tallies(analyzer, batch_id)
        ruling = rule(task, users=header.users, served=served, tally=tally)
    if not ruling.state:
        document = describe_batch(
            task, window=window, users=header.users, served=served, tally=tally, ruling=ruling
        )
    evidence = _evidence(header, bytes(marks_hash), served)
    with analyzer.storage.transaction() as change:
        # The first statement takes the batch: of two workers, one finds it gone.
        if not move_batch(change, batch_id, COUNTED, ruling.state or RELEASED):
            return False
        refused = ruling.reason
        if _said_before(analyzer, window) is not None:
            refused = ENDED_BEFORE
        if not refused:
            batch = hashlib.sha256(header.encode()).digest()
            refused = _publish(analyzer, change, window, document | evidence, batch=batch)
        if refused:
            said = _refusal(analyzer, window, ruling.state or REFUSED, refused) | evidence
            _refuse(analyzer, change, batch_id, said)
        erase_tallies(change, batch_id)
        analyzer.cards.end(change, window)
    analyzer.reach("release: after commit")
    analyzer.storage.forget()
    return not refused


def _end(change: Transaction, batch_id: bytes, state: str, reason: str, body: bytes | None) -> None:
    """Give a batch an end other than its release; what it held goes at once."""
    change.change(
        "UPDATE batch SET state = ?, reason = ?, body = ? WHERE batch_id = ?",
        (state, reason, body, batch_id),
    )
    erase_tallies(change, batch_id)
    erase_ciphertexts(change, batch_id)


def _refusal(analyzer: Analyzer, window: int, state: str, reason: str) -> dict[str, Any]:
    """Return what is said of a window that is not released."""
    task_id = analyzer.task.task_id.hex()
    return {"task_id": task_id, "window": window, "state": state, "reason": reason}


def _said_before(analyzer: Analyzer, window: int) -> bytes | None:
    """Return what was told of a window that was not released, or None."""
    return analyzer.keys.kept(key_scope(analyzer.task.task_id, window))


def _refuse(analyzer: Analyzer, change: Transaction, batch_id: bytes, said: dict[str, Any]) -> None:
    """Sign what is said of a batch that is not released, and end it: the same bytes for ever.

    What was told before counts: where the database is an older copy, in which nothing had ended.
    """
    fresh = SignedResult.sign(said, analyzer.sign_key).encode()
    signed = _said_before(analyzer, said["window"]) or fresh
    document = SignedResult.decode(signed).document
    _end(change, batch_id, document["state"], document["reason"], signed)


def _evidence(header: BatchHeader, marks_hash: bytes, served: int | None) -> dict[str, Any]:
    """Return what everybody can hold the two services to, beside what is released."""
    return {
        "card_digest": header.card_digest.hex(),
        "accounts_served": served,
        "marks_sha256": marks_hash.hex(),
        "batch_header": header.encode().hex(),
    }


def _publish(
    analyzer: Analyzer, change: Transaction, window: int, document: dict[str, Any], *, batch: bytes
) -> str:
    """Charge the ledger, then store the result; return why not, or an empty text.

    The charge is on disk before the transaction that publishes. If that is undone, the next
    try finds the charge, of this batch alone: its header has the hashes of all that is in it.
    """
    try:
        entry = analyzer.ledger.charge(window, batch=batch)
    except BudgetExceeded:
        return "the budget of the task is spent"
    except OtherBatch:
        return OTHER_BATCH
    analyzer.note_charges(window)
    analyzer.reach("release: between ledger and result")
    document["charged"] = analyzer.ledger.describe(entry)
    change.change(
        "INSERT INTO release (task_id, window, body) VALUES (?, ?, ?)",
        (analyzer.task.task_id, window, SignedResult.sign(document, analyzer.sign_key).encode()),
    )
    return ""


def read_result(analyzer: Analyzer, window: int, *, now: float) -> tuple[int, bytes]:
    """Return an HTTP status and body: 200 released, 202 none, 403 refused.

    A body of 202 has the state of the window, of those in `window_state`, at the time ``now``.
    """
    task_window = (analyzer.task.task_id, window)
    # Before the result: of a window that is released meanwhile both are seen, or neither is.
    batch = analyzer.storage.read(
        "SELECT state, reason, body FROM batch WHERE task_id = ? AND window = ?", task_window
    )
    rows = analyzer.storage.read(
        "SELECT body FROM release WHERE task_id = ? AND window = ?", task_window
    )
    if rows:
        return 200, bytes(rows[0][0])
    if batch and batch[0][0] in ENDS:
        state, reason, body = batch[0]
        if body is None:
            said = _refusal(analyzer, window, str(state), str(reason))
            body = SignedResult.sign(said, analyzer.sign_key).encode()
        # Before it is told, beside the keys: of an older copy of the database it is told again.
        return 403, analyzer.keys.keep(key_scope(*task_window), bytes(body))
    if (told := _said_before(analyzer, window)) is not None:
        return 403, told
    has_come = batch[0][0] != RECEIVING if batch else None
    missing = missing_state(analyzer.task, window, batch_has_come=has_come, now=now)
    return 202, json.dumps({"state": missing}).encode()
