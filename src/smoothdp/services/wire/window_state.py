"""Why a window has no result: what the analyser says, and the sentence that a collector reads.

The analyser says no more than whether the batch of a window has come, which shows in any case by
there being a result or a refusal in the end. It never says how many reports there are, and does not
know why there is no batch: that is the shuffler's knowledge.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Protocol


class Windowed(Protocol):
    """A task with windows."""

    @property
    def window_seconds(self) -> int:
        """Length of a window."""

    @property
    def grace_seconds(self) -> int:
        """How late a report may come."""

    @property
    def min_batch(self) -> int:
        """Users in the smallest batch."""


NOT_BEGUN, OPEN, LATE, NO_BATCH = "not begun", "open", "taking late reports", "no batch"
ARRIVING, COUNTING = "arriving", "counting"

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def missing_state(task: Windowed, window: int, *, batch_has_come: bool | None, now: float) -> str:
    """Return the state of a window without a result.

    Args:
        batch_has_come: whether all of its batch is with the analyser; None if nothing of it is.
        now: seconds since 1970.
    """
    if batch_has_come is not None:
        return COUNTING if batch_has_come else ARRIVING
    start = window * task.window_seconds
    if now < start:
        return NOT_BEGUN
    if now < start + task.window_seconds:
        return OPEN
    return LATE if now < start + task.window_seconds + task.grace_seconds else NO_BATCH


def missing_sentence(task: Windowed, window: int, *, state: str, now: float) -> str:
    """Return why there is no result, and what to do, for a state that an analyser named.

    >>> from types import SimpleNamespace
    >>> task = SimpleNamespace(window_seconds=86400, grace_seconds=3600, min_batch=1000)
    >>> print(missing_sentence(task, 20778, state="not begun", now=20777.5 * 86400))
    No result of window 20778: it begins at 2026-11-21 00:00:00 UTC. The window now is 20777.
    """
    end = (window + 1) * task.window_seconds
    closing = _moment(end + task.grace_seconds)
    if state == NOT_BEGUN:
        why = (
            f"it begins at {_moment(window * task.window_seconds)}. The window now is "
            f"{int(now // task.window_seconds)}"
        )
    elif state == OPEN:
        late = f", and takes late reports until {closing}" if task.grace_seconds else ""
        why = f"it is open until {_moment(end)}{late}. Ask then"
    elif state == LATE:
        why = f"it takes late reports until {closing}. Ask then"
    elif state == NO_BATCH:
        why = (
            f"it took reports until {closing}, and no batch of it has come to the analyser. Either "
            f"it had fewer than the least number of {task.min_batch} reports (or none), and was "
            "destroyed for good, or the shuffler has not handed it over yet. Ask who runs the "
            "shuffler; the window now is "
            f"{int(now // task.window_seconds)}"
        )
    elif state == ARRIVING:
        why = "its batch is arriving. Ask again soon; if this lasts, ask who runs the shuffler"
    elif state == COUNTING:
        why = (
            "its batch has come and is counted now. Ask again soon; if this lasts, ask who runs "
            "the analyser"
        )
    else:
        why = "not released yet. Ask again later"
    return f"No result of window {window}: {why}."


def _moment(seconds: int) -> str:
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d %H:%M:%S} UTC"
    except OverflowError:
        return "a time beyond the year 9999"
