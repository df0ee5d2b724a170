"""A group of opened reports against what is stored: one statement stores, one reads what became.

A pass sends one report in a window, a report is of one pass; a repeated one is answered as the
first was. Reports that arrive beside each other, in other processes too, are told apart by the
two unique keys of the table alone. Before a group is stored it takes as many places of its window
as it has reports, in the window's own row: the next group waits for that row, and so does whoever
closes the window, so that no window is ever overfilled and none takes a report once it is closed.
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
_ADD = (
    "INSERT OR IGNORE INTO pending (task_id, window, sender_tag, report_id, slots) "
    "VALUES (?, ?, ?, ?, ?)"
)
_NAMES = (2, 3)
"""Of the values above, those that tell reports apart."""
_TAKE = (
    "UPDATE collecting SET reports = reports + ? "
    "WHERE task_id = ? AND window = ? AND state = ? AND reports + ? <= ?"
)
_GIVE_BACK = "UPDATE collecting SET reports = reports - ? WHERE task_id = ? AND window = ?"
_ROOM = "SELECT state, reports FROM collecting WHERE task_id = ? AND window = ?"
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


def store_group(change: Transaction, group: Sequence[OpenedReport], *, most: int) -> list[Taken]:
    """Store what of a group is to be stored; return what became of each.

    The statements are as many for a thousand reports as for one. What was not added is read
    again: a repeated report is answered as the first was, also when there is no room for more.

    Args:
        most: how many reports a window may hold.
    """
    answers = [Taken.ACCEPTED] * len(group)
    for window in sorted({item.task_window for item in group}):
        # By random tags: the order of arrival is not kept where it need not be.
        places = sorted(
            (place for place, item in enumerate(group) if item.task_window == window),
            key=lambda place: group[place].sender_tag,
        )
        stored = _stored(change, window, [group[place] for place in places], most=most)
        rest = [
            (place, taken)
            for place, taken in zip(places, stored, strict=True)
            if taken is not Taken.ACCEPTED
        ]
        if not rest:
            continue
        held = change.execute_many(HELD, [(*window, group[place].sender_tag) for place, _ in rest])
        for (place, taken), rows in zip(rest, held, strict=True):
            answers[place] = what_became(rows, group[place].report_id) if rows else taken
    return answers


def _stored(
    change: Transaction, window: TaskWindow, items: Sequence[OpenedReport], *, most: int
) -> list[Taken]:
    """Add reports to one window; OTHER_REPORT: it collides with one that is there.

    Where not all of them find room, those that are there already take none of it.
    """
    if change.change(_TAKE, (len(items), *window, OPEN, len(items), most)):
        return _added(change, window, items, taken=len(items))
    rows = change.hold(_ROOM, window)
    if not rows or rows[0][0] != OPEN:
        return [Taken.CLOSED] * len(items)
    answers, room = [Taken.LATER] * len(items), max(0, most - int(rows[0][1]))
    held = change.execute_many(HELD, [(*window, item.sender_tag) for item in items])
    new = [place for place, rows in enumerate(held) if not rows]
    while room and new:
        now, new = new[:room], new[room:]
        added = _added(change, window, [items[place] for place in now], taken=0)
        for place, taken in zip(now, added, strict=True):
            answers[place] = taken
        room -= added.count(Taken.ACCEPTED)
    return answers


def _added(
    change: Transaction, window: TaskWindow, items: Sequence[OpenedReport], *, taken: int
) -> list[Taken]:
    """Add reports that have room; make the places taken for them as many as were added."""
    added = change.add_many(
        _ADD,
        [(*window, item.sender_tag, item.report_id, item.records) for item in items],
        names=_NAMES,
    )
    if taken != sum(added):
        change.change(_GIVE_BACK, (taken - sum(added), *window))
    return [Taken.ACCEPTED if new else Taken.OTHER_REPORT for new in added]


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
