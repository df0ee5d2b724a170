"""Metrics that are no side channel: totals of windows that were let out, never of others."""

from __future__ import annotations

from smoothdp.services.shuffler import Shuffler

_STEP = 100


def shuffler_metrics(shuffler: Shuffler) -> str:
    """Return counters of sealed windows, rounded down to hundreds, as text lines.

    Windows that are open or were too small to leave are not shown, not even as a count.
    """
    rows = shuffler.storage.read(
        "SELECT c.reason, sum(c.n) FROM counter c JOIN batch b "
        "ON b.task_id = c.task_id AND b.window = c.window GROUP BY c.reason ORDER BY c.reason"
    )
    states = shuffler.storage.read(
        "SELECT state, count(*) FROM batch GROUP BY state ORDER BY state"
    )
    lines = [f'smoothdp_reports{{reason="{reason}"}} {n // _STEP * _STEP}' for reason, n in rows]
    lines += [f'smoothdp_batches{{state="{state}"}} {n}' for state, n in states]
    return "\n".join(lines) + "\n"
