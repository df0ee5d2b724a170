"""A group of opened reports against what is stored: one statement stores, one reads what became.

A pass sends one report in a window, a report is of one pass; a repeated one is answered as the
first was. Reports that arrive beside each other, in other processes too, are told apart by the
two unique keys of the table alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from smoothdp.services.shuffler.shuffler_tables import OPEN
from smoothdp.services.store.storage import Transaction

TaskWindow = tuple[bytes, int]
"""A task and a window of it."""

HELD = "SELECT report_id FROM pending WHERE task_id = ? AND window = ? AND sender_tag = ?"
COUNT = "SELECT count(*) FROM pending WHERE task_id = ? AND window = ?"
_ADD = (
    "INSERT OR IGNORE INTO pending (task_id, window, sender_tag, report_id, slots) "
    "VALUES (?, ?, ?, ?, ?)"
)
_NAMES = (2, 3)
"""Of the values above, those that tell reports apart."""
_IS_OPEN = "SELECT 1 FROM collecting WHERE task_id = ? AND window = ? AND state = ?"
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


def store_group(
    change: Transaction, group: Sequence[OpenedReport], *, room: Mapping[int, int]
) -> list[Taken]:
    """Store what of a group is to be stored; return what became of each.

    The statements are as many for a thousand reports as for one. Others may store, and one may
    seal, meanwhile: a window is open or not when its reports are added, and until they are
    committed; what was not added is read again. What a window has no room for is to come later: if
    it is there already, that is found before it is asked to be stored again.

    Args:
        room: window -> how many more reports it may hold.
    """
    answers = [Taken.ACCEPTED] * len(group)
    for window in sorted({item.task_window for item in group}):
        # Those who add the same rows do it in the same order: they wait, but not in a circle.
        places = sorted(
            (place for place, item in enumerate(group) if item.task_window == window),
            key=lambda place: group[place].sender_tag,
        )
        for place in places[room[window[1]] :]:
            answers[place] = Taken.LATER
        places = places[: room[window[1]]]
        if not places:
            continue
        items = [group[place] for place in places]
        added = change.add_many(
            _ADD,
            [(*window, item.sender_tag, item.report_id, item.records) for item in items],
            held=(_IS_OPEN, (*window, OPEN)),
            names=_NAMES,
        )
        rest = [place for place, new in zip(places, added, strict=True) if not new]
        if not rest:
            continue
        held = change.execute_many(HELD, [(*window, group[place].sender_tag) for place in rest])
        is_open = change.execute(STATE, window) == [(OPEN,)]
        for place, rows in zip(rest, held, strict=True):
            taken = what_became(rows, group[place].report_id)
            answers[place] = taken if is_open or rows else Taken.CLOSED
    return answers


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
