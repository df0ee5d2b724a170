"""A group of reports against what is stored: read at once, judged in turn, written at once.

A database that is reached over a wire answers a group as fast as a single report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from smoothdp.services.batch import MOST_SLOTS_OF_BATCH
from smoothdp.services.envelope import Header
from smoothdp.services.shuffler_tables import OPEN
from smoothdp.services.storage import Transaction
from smoothdp.services.task import Task
from smoothdp.services.tokens import new_secret, tag

Place = tuple[bytes, int]
"""A task and a window of it."""

SEEN = "SELECT 1 FROM seen WHERE key_id = ? AND envelope_id = ?"


class Outcome(Enum):
    """What became of an envelope, with its HTTP status."""

    ACCEPTED = 202
    MALFORMED = 400
    UNAUTHORIZED = 401
    UNKNOWN_TASK = 404
    OUTDATED_KEY = 409
    CLOSED = 410
    TOO_EARLY = 425
    QUOTA = 429
    FULL = 503


@dataclass(frozen=True, slots=True)
class OpenedReport:
    """An envelope whose outer layer was opened, and who sent it."""

    client: bytes
    header: Header
    mark: bytes
    report_id: bytes
    slots: bytes

    @property
    def place(self) -> Place:
        """Return its task and window."""
        return self.header.task_id, self.header.window


@dataclass(slots=True)
class _Group:
    """What bears on a group: rows that are stored, and rows that are to be."""

    held: dict[Place, int]
    quotas: dict[tuple[Place, bytes], bytes]
    reports: set[tuple[Place, bytes]]
    seen: set[tuple[int, bytes]] = field(default_factory=set)
    counts: Counter[tuple[Place, str]] = field(default_factory=Counter)
    new_seen: list[tuple[int, bytes]] = field(default_factory=list)
    new_quotas: list[tuple[bytes, int, bytes, bytes]] = field(default_factory=list)
    new_pending: list[tuple[bytes, int, bytes, bytes]] = field(default_factory=list)


def store_group(
    change: Transaction,
    group: Sequence[OpenedReport],
    *,
    tasks: Mapping[bytes, Task],
    now: Callable[[], float],
) -> list[Outcome]:
    """Store what of a group is to be stored, in its order; return what became of each.

    The statements are as many for a thousand reports as for one.
    """
    keys = {
        int(row[0]) for row in change.execute("SELECT id FROM outer_key WHERE secret IS NOT NULL")
    }
    outcomes = [Outcome.ACCEPTED] * len(group)
    fresh: list[int] = []
    taken = change.execute_many(SEEN, [(item.header.key_id, item.mark) for item in group])
    for i, item in enumerate(group):
        if item.header.key_id not in keys:
            outcomes[i] = Outcome.OUTDATED_KEY
        elif not taken[i]:
            fresh.append(i)
    windows = {
        place: _open_window(change, place, tasks[place[0]], now())
        for place in {group[i].place for i in fresh}
    }
    marked: list[tuple[int, bytes, bytes]] = []
    for i in fresh:
        item, tag_key = group[i], windows[group[i].place]
        if isinstance(tag_key, Outcome):
            outcomes[i] = tag_key
        else:
            sender = tag(tag_key, b"sender", item.client)
            marked.append((i, sender, tag(tag_key, b"report", item.report_id)))
    if marked:
        state = _read_group(change, group, marked)
        for i, sender, report in marked:
            outcomes[i] = _judge(state, group[i], tasks[group[i].place[0]], sender, report)
        _write_group(change, state)
    return outcomes


def _open_window(change: Transaction, place: Place, task: Task, now: float) -> bytes | Outcome:
    """Return the key of the window's sender marks, or why it takes no reports."""
    rows = change.execute(
        "SELECT state, tag_key FROM collecting WHERE task_id = ? AND window = ?", place
    )
    if rows and rows[0][0] != OPEN:
        return Outcome.CLOSED
    if now < place[1] * task.window_seconds:
        return Outcome.TOO_EARLY
    if now >= (place[1] + 1) * task.window_seconds + task.grace_seconds:
        return Outcome.CLOSED
    if rows:
        return bytes(rows[0][1])
    key = new_secret()
    change.change(
        "INSERT INTO collecting (task_id, window, state, tag_key) VALUES (?, ?, ?, ?)",
        (*place, OPEN, key),
    )
    return key


def _read_group(
    change: Transaction, group: Sequence[OpenedReport], marked: Sequence[tuple[int, bytes, bytes]]
) -> _Group:
    senders = [(group[i].place, sender) for i, sender, _ in marked]
    reports = [(group[i].place, group[i].report_id) for i, _, _ in marked]
    earlier = change.execute_many(
        "SELECT report_tag FROM quota WHERE task_id = ? AND window = ? AND sender_tag = ?",
        [(*place, sender) for place, sender in senders],
    )
    pending = change.execute_many(
        "SELECT 1 FROM pending WHERE task_id = ? AND window = ? AND report_id = ?",
        [(*place, report_id) for place, report_id in reports],
    )
    return _Group(
        held={place: read_counter(change, place, "accepted") for place, _ in set(senders)},
        quotas={key: bytes(rows[0][0]) for key, rows in zip(senders, earlier, strict=True) if rows},
        reports={key for key, rows in zip(reports, pending, strict=True) if rows},
    )


def _judge(state: _Group, item: OpenedReport, task: Task, sender: bytes, report: bytes) -> Outcome:
    """Return what becomes of a report, after those before it in the group."""
    place, seal = item.place, (item.header.key_id, item.mark)
    if seal in state.seen:
        return Outcome.ACCEPTED
    earlier = state.quotas.get((place, sender))
    if earlier is not None and earlier != report:
        state.counts[place, "over quota"] += 1
        return Outcome.QUOTA
    if earlier is not None:
        # The same report, sealed anew: for a new key, or because the answer was lost.
        state.counts[place, "repeated"] += 1
    else:
        if (state.held[place] + 1) * task.slots > MOST_SLOTS_OF_BATCH:
            return Outcome.FULL
        if (place, item.report_id) in state.reports:
            # Two senders with one 128-bit number: one of them copied it.
            state.counts[place, "over quota"] += 1
            return Outcome.QUOTA
        state.held[place] += 1
        state.counts[place, "accepted"] += 1
        state.quotas[place, sender] = report
        state.reports.add((place, item.report_id))
        state.new_quotas.append((*place, sender, report))
        state.new_pending.append((*place, item.report_id, item.slots))
    state.seen.add(seal)
    state.new_seen.append(seal)
    return Outcome.ACCEPTED


def _write_group(change: Transaction, state: _Group) -> None:
    change.change_many(
        "INSERT INTO pending (task_id, window, report_id, slots) VALUES (?, ?, ?, ?)",
        state.new_pending,
    )
    change.change_many(
        "INSERT INTO quota (task_id, window, sender_tag, report_tag) VALUES (?, ?, ?, ?)",
        state.new_quotas,
    )
    change.change_many("INSERT INTO seen (key_id, envelope_id) VALUES (?, ?)", state.new_seen)
    for (place, reason), n in state.counts.items():
        add_to_counter(change, place, reason, n)


# ---- counts that hide everything but totals -----------------------------------------------


def add_to_counter(change: Transaction, place: Place, reason: str, n: int) -> None:
    """Add to a counter of a window."""
    change.change(
        "INSERT INTO counter (task_id, window, reason, n) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (task_id, window, reason) DO UPDATE SET n = counter.n + excluded.n",
        (*place, reason, n),
    )


def read_counter(change: Transaction, place: Place, reason: str) -> int:
    """Return a counter of a window."""
    rows = change.execute(
        "SELECT n FROM counter WHERE task_id = ? AND window = ? AND reason = ?",
        (*place, reason),
    )
    return int(rows[0][0]) if rows else 0
