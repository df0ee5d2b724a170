"""A group of reports against what is stored: read at once, judged in turn, written at once.

A database that is reached over a wire answers a group as fast as a single report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from smoothdp.services.shuffler.shuffler_tables import OPEN
from smoothdp.services.store.storage import Transaction
from smoothdp.services.wire.batch import MOST_SLOTS_OF_BATCH
from smoothdp.services.wire.calls import Outcome
from smoothdp.services.wire.envelope import Header
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.tokens import new_secret, tag

TaskWindow = tuple[bytes, int]
"""A task and a window of it."""

SEEN = "SELECT 1 FROM seen WHERE key_id = ? AND envelope_id = ?"


@dataclass(frozen=True, slots=True)
class OpenedReport:
    """An envelope whose outer layer was opened, and who sent it."""

    client: bytes
    header: Header
    mark: bytes
    report_id: bytes
    slots: bytes

    @property
    def task_window(self) -> TaskWindow:
        """Return its task and window."""
        return self.header.task_id, self.header.window


@dataclass(slots=True)
class _Group:
    """What bears on a group: rows that are stored, and rows that are to be."""

    held: dict[TaskWindow, int]
    quotas: dict[tuple[TaskWindow, bytes], bytes]
    reports: set[tuple[TaskWindow, bytes]]
    seen: set[tuple[int, bytes]] = field(default_factory=set)
    counts: Counter[tuple[TaskWindow, str]] = field(default_factory=Counter)
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
        task_window: _open_window(change, task_window, tasks[task_window[0]], now())
        for task_window in {group[i].task_window for i in fresh}
    }
    marked: list[tuple[int, bytes, bytes]] = []
    for i in fresh:
        item, tag_key = group[i], windows[group[i].task_window]
        if isinstance(tag_key, Outcome):
            outcomes[i] = tag_key
        else:
            sender = tag(tag_key, b"sender", item.client)
            marked.append((i, sender, tag(tag_key, b"report", item.report_id)))
    if marked:
        state = _read_group(change, group, marked)
        for i, sender, report in marked:
            outcomes[i] = _judge(state, group[i], tasks[group[i].task_window[0]], sender, report)
        _write_group(change, state)
    return outcomes


def _open_window(
    change: Transaction, task_window: TaskWindow, task: Task, now: float
) -> bytes | Outcome:
    """Return the key of the window's sender marks, or why it takes no reports."""
    rows = change.execute(
        "SELECT state, tag_key FROM collecting WHERE task_id = ? AND window = ?", task_window
    )
    if rows and rows[0][0] != OPEN:
        return Outcome.CLOSED
    if now < task_window[1] * task.window_seconds:
        return Outcome.TOO_EARLY
    if now >= (task_window[1] + 1) * task.window_seconds + task.grace_seconds:
        return Outcome.CLOSED
    if rows:
        return bytes(rows[0][1])
    key = new_secret()
    change.change(
        "INSERT INTO collecting (task_id, window, state, tag_key) VALUES (?, ?, ?, ?)",
        (*task_window, OPEN, key),
    )
    return key


def _read_group(
    change: Transaction, group: Sequence[OpenedReport], marked: Sequence[tuple[int, bytes, bytes]]
) -> _Group:
    senders = [(group[i].task_window, sender) for i, sender, _ in marked]
    reports = [(group[i].task_window, group[i].report_id) for i, _, _ in marked]
    earlier = change.execute_many(
        "SELECT report_tag FROM quota WHERE task_id = ? AND window = ? AND sender_tag = ?",
        [(*task_window, sender) for task_window, sender in senders],
    )
    pending = change.execute_many(
        "SELECT 1 FROM pending WHERE task_id = ? AND window = ? AND report_id = ?",
        [(*task_window, report_id) for task_window, report_id in reports],
    )
    return _Group(
        held={
            task_window: read_counter(change, task_window, "accepted")
            for task_window, _ in set(senders)
        },
        quotas={key: bytes(rows[0][0]) for key, rows in zip(senders, earlier, strict=True) if rows},
        reports={key for key, rows in zip(reports, pending, strict=True) if rows},
    )


def _judge(state: _Group, item: OpenedReport, task: Task, sender: bytes, report: bytes) -> Outcome:
    """Return what becomes of a report, after those before it in the group."""
    task_window, seal = item.task_window, (item.header.key_id, item.mark)
    if seal in state.seen:
        return Outcome.ACCEPTED
    earlier = state.quotas.get((task_window, sender))
    if earlier is not None and earlier != report:
        state.counts[task_window, "over quota"] += 1
        return Outcome.QUOTA
    if earlier is not None:
        # The same report, sealed anew: for a new key, or because the answer was lost.
        state.counts[task_window, "repeated"] += 1
    else:
        if (state.held[task_window] + 1) * task.slots > MOST_SLOTS_OF_BATCH:
            return Outcome.FULL
        if (task_window, item.report_id) in state.reports:
            # Two senders with one 128-bit number: one of them copied it.
            state.counts[task_window, "over quota"] += 1
            return Outcome.QUOTA
        state.held[task_window] += 1
        state.counts[task_window, "accepted"] += 1
        state.quotas[task_window, sender] = report
        state.reports.add((task_window, item.report_id))
        state.new_quotas.append((*task_window, sender, report))
        state.new_pending.append((*task_window, item.report_id, item.slots))
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
    for (task_window, reason), n in state.counts.items():
        add_to_counter(change, task_window, reason, n)


# ---- counts that hide everything but totals -----------------------------------------------


def add_to_counter(change: Transaction, task_window: TaskWindow, reason: str, n: int) -> None:
    """Add to a counter of a window."""
    change.change(
        "INSERT INTO counter (task_id, window, reason, n) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (task_id, window, reason) DO UPDATE SET n = counter.n + excluded.n",
        (*task_window, reason, n),
    )


def read_counter(change: Transaction, task_window: TaskWindow, reason: str) -> int:
    """Return a counter of a window."""
    rows = change.execute(
        "SELECT n FROM counter WHERE task_id = ? AND window = ? AND reason = ?",
        (*task_window, reason),
    )
    return int(rows[0][0]) if rows else 0
