"""A group of opened reports against what is stored: one statement stores, one reads what became.

A pass sends one report in a window, a report is of one pass; a repeated one is answered as the
first was. Reports that arrive beside each other, in other processes too, are told apart by the
two unique keys of the table alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from smoothdp.services.shuffler.shuffler_tables import OPEN
from smoothdp.services.store.storage import Transaction

TaskWindow = tuple[bytes, int]
"""A task and a window of it."""

HELD = "SELECT report_id FROM pending WHERE task_id = ? AND window = ? AND sender_tag = ?"
STATE = "SELECT state FROM collecting WHERE task_id = ? AND window = ?"


class Taken(Enum):
    """What became of a report, with its HTTP status."""

    ACCEPTED = 202
    MALFORMED = 400
    UNAUTHORIZED = 401
    UNSIGNED = 403
    UNKNOWN = 404
    OTHER_REPORT = 409
    CLOSED = 410
    TOO_EARLY = 425
    TOO_MANY_UNSIGNED = 429
    LATER = 503


@dataclass(frozen=True, slots=True)
class OpenedReport:
    """A report whose outer layer was opened and whose signatures are good.

    Attributes:
        sender_tag: whose pass it came with; nobody can link it to the pass once the window's
            key is erased.
        records: its slots, each with its signature if there is an issuer.
    """

    task_window: TaskWindow
    sender_tag: bytes
    report_id: bytes
    records: bytes


def store_group(change: Transaction, group: Sequence[OpenedReport]) -> list[Taken]:
    """Store what of a group is to be stored; return what became of each.

    The statements are as many for a thousand reports as for one.
    """
    windows = {item.task_window for item in group}
    is_open = {window: change.execute(STATE, window) == [(OPEN,)] for window in windows}
    wanted = [item for item in group if is_open[item.task_window]]
    change.change_many(
        "INSERT OR IGNORE INTO pending (task_id, window, sender_tag, report_id, slots) "
        "VALUES (?, ?, ?, ?, ?)",
        [(*item.task_window, item.sender_tag, item.report_id, item.records) for item in wanted],
    )
    held = iter(
        change.execute_many(HELD, [(*item.task_window, item.sender_tag) for item in wanted])
    )
    return [
        what_became(next(held), item.report_id) if is_open[item.task_window] else Taken.CLOSED
        for item in group
    ]


def what_became(held: Sequence[tuple[bytes, ...]], report_id: bytes) -> Taken:
    """Return the answer to a report, from the report that its pass has in the window.

    Without any, the same report came with another pass: one of the two copied it.

    >>> what_became([(b"one",)], b"one").name, what_became([(b"one",)], b"two").name
    ('ACCEPTED', 'OTHER_REPORT')
    """
    same = bool(held) and bytes(held[0][0]) == report_id
    return Taken.ACCEPTED if same else Taken.OTHER_REPORT


def add_to_counter(change: Transaction, task_window: TaskWindow, reason: str, n: int) -> None:
    """Add to a counter of a window."""
    change.change(
        "INSERT INTO counter (task_id, window, reason, n) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (task_id, window, reason) DO UPDATE SET n = counter.n + excluded.n",
        (*task_window, reason, n),
    )
