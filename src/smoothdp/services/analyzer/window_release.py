"""Release: charge the ledger, then publish; the same bytes for ever after."""

from __future__ import annotations

import json
import time
from typing import Any

from smoothdp.errors import BudgetExceeded
from smoothdp.services.analyzer.analyzer import Analyzer, move_batch
from smoothdp.services.analyzer.analyzer_tables import (
    COUNTED,
    QUARANTINED,
    RECEIVING,
    REFUSED,
    RELEASED,
)
from smoothdp.services.analyzer.batch_result import describe_batch, refusal
from smoothdp.services.store.storage import Transaction
from smoothdp.services.wire.batch import BatchHeader
from smoothdp.services.wire.window_state import missing_state


def release_counted(analyzer: Analyzer) -> int:
    """Release the batches that are counted, or say why not; return how many were released."""
    rows = analyzer.storage.read(
        "SELECT batch_id, header FROM batch WHERE state = ? ORDER BY window", (COUNTED,)
    )
    return sum(_release(analyzer, BatchHeader.decode(bytes(header))) for _, header in rows)


def _release(analyzer: Analyzer, header: BatchHeader) -> bool:
    task = analyzer.tasks[header.task_id]
    tally = analyzer.tallies(header.batch_id)
    quarantined, reason = refusal(task, users=header.users, tally=tally)
    document = {}
    if not reason:
        document = describe_batch(task, window=header.window, users=header.users, tally=tally)
    with analyzer.storage.transaction() as change:
        # The first statement takes the batch: of two workers, one finds it gone.
        if not move_batch(
            change, header.batch_id, COUNTED, QUARANTINED if quarantined else REFUSED
        ):
            return False
        if not reason:
            reason = _publish(analyzer, change, header, document)
        change.change("UPDATE batch SET reason = ? WHERE batch_id = ?", (reason, header.batch_id))
    return not reason


def _publish(
    analyzer: Analyzer, change: Transaction, header: BatchHeader, document: dict[str, Any]
) -> str:
    """Charge the ledger, then store the result; return why not, or an empty text.

    The charge is on disk before the transaction that publishes. If that is undone, the next
    try finds the charge.
    """
    ledger = analyzer.ledgers[header.task_id]
    try:
        entry = ledger.charge(header.window)
    except BudgetExceeded:
        return "the budget of the task is spent"
    analyzer.reach("release: between ledger and result")
    document["charged"] = ledger.describe(entry)
    body = json.dumps(document, indent=2, allow_nan=False).encode()
    change.change(
        "INSERT INTO release (task_id, window, body) VALUES (?, ?, ?)",
        (header.task_id, header.window, body),
    )
    move_batch(change, header.batch_id, REFUSED, RELEASED)
    return ""


def read_result(
    analyzer: Analyzer, task_id: bytes, window: int, *, now: float | None = None
) -> tuple[int, bytes]:
    """Return an HTTP status and body: 200 released, 202 none, 403 refused, 404 unknown task.

    A body of 202 has the state of the window, of those in `window_state`, at the time ``now``.
    """
    task = analyzer.tasks.get(task_id)
    if task is None:
        return 404, b""
    rows = analyzer.storage.read(
        "SELECT body FROM release WHERE task_id = ? AND window = ?", (task_id, window)
    )
    if rows:
        return 200, bytes(rows[0][0])
    state = analyzer.storage.read(
        "SELECT state, reason FROM batch WHERE task_id = ? AND window = ?", (task_id, window)
    )
    if state and state[0][0] in (REFUSED, QUARANTINED):
        return 403, json.dumps({"state": state[0][0], "reason": state[0][1]}).encode()
    batch_has_come = state[0][0] != RECEIVING if state else None
    seconds = time.time() if now is None else now
    missing = missing_state(task, window, batch_has_come=batch_has_come, now=seconds)
    return 202, json.dumps({"state": missing}).encode()
