"""Release: charge the ledger and publish in one transaction; the same bytes for ever after."""

from __future__ import annotations

import json
from fractions import Fraction

from smoothdp.services.analyzer import Analyzer
from smoothdp.services.analyzer_tables import COUNTED, QUARANTINED, REFUSED, RELEASED
from smoothdp.services.batch import BatchHeader
from smoothdp.services.result import describe_batch, refusal
from smoothdp.services.storage import Transaction
from smoothdp.services.task import Task


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
    body = b""
    if not reason:
        document = describe_batch(task, window=header.window, users=header.users, tally=tally)
        body = json.dumps(document, indent=2, allow_nan=False).encode()
    with analyzer.storage.transaction() as change:
        state = change.execute("SELECT state FROM batch WHERE batch_id = ?", (header.batch_id,))
        if state != [(COUNTED,)]:
            return False
        if not reason and not _affordable(change, task):
            reason = "the budget of the task is spent"
        if reason:
            change.change(
                "UPDATE batch SET state = ?, reason = ? WHERE batch_id = ?",
                (QUARANTINED if quarantined else REFUSED, reason, header.batch_id),
            )
            return False
        place = (header.task_id, header.window)
        change.change(
            "INSERT INTO ledger (task_id, window, epsilon, delta) VALUES (?, ?, ?, ?)",
            (*place, task.epsilon, task.delta),
        )
        analyzer.reach("release: between ledger and result")
        change.change(
            "INSERT INTO release (task_id, window, body) VALUES (?, ?, ?)", (*place, body)
        )
        change.change("UPDATE batch SET state = ? WHERE batch_id = ?", (RELEASED, header.batch_id))
    return True


def spent(change: Transaction, task: Task) -> tuple[Fraction, Fraction]:
    """Return epsilon and delta of all releases of a task together, by basic composition."""
    rows = change.execute("SELECT epsilon, delta FROM ledger WHERE task_id = ?", (task.task_id,))
    return (
        sum((Fraction(row[0]) for row in rows), Fraction(0)),
        sum((Fraction(row[1]) for row in rows), Fraction(0)),
    )


def _affordable(change: Transaction, task: Task) -> bool:
    epsilon, delta = spent(change, task)
    return epsilon + Fraction(task.epsilon) <= Fraction(task.budget_epsilon) and delta + Fraction(
        task.delta
    ) <= Fraction(task.budget_delta)


def read_result(analyzer: Analyzer, task_id: bytes, window: int) -> tuple[int, bytes]:
    """Return an HTTP status and body: 200 released, 202 not yet, 403 refused, 404 unknown."""
    if task_id not in analyzer.tasks:
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
    return 202, json.dumps({"state": "not released yet"}).encode()
