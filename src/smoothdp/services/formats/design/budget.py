"""For how many windows a task's budget pays, and when places of that number are free again."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

DAY = 86_400
KEY_SECONDS = 7 * DAY
"""How long after its end and grace a window without a result keeps its key, and its place."""


class Budgeted(Protocol):
    """The fields of a task that say what its windows cost, and when they are."""

    @property
    def epsilon(self) -> str:
        """Of one window."""

    @property
    def delta(self) -> str:
        """Of one window."""

    @property
    def budget_epsilon(self) -> str:
        """Of all windows."""

    @property
    def budget_delta(self) -> str:
        """Of all windows."""

    @property
    def window_seconds(self) -> int:
        """Length of a window."""

    @property
    def grace_seconds(self) -> int:
        """How late a report may come."""


def windows_paid(task: Budgeted) -> int:
    """Return for how many windows the budget pays, by basic composition.

    >>> from types import SimpleNamespace
    >>> windows_paid(SimpleNamespace(
    ...     epsilon="1", delta="1e-6", budget_epsilon="3", budget_delta="3e-6"))
    3
    """
    epsilon = Fraction(task.budget_epsilon) / Fraction(task.epsilon)
    return math.floor(min(epsilon, Fraction(task.budget_delta) / Fraction(task.delta)))


def ahead_seconds(task: Budgeted) -> int:
    """Return how long before it begins a window may have a card: two windows, or a day."""
    return max(2 * task.window_seconds, DAY)


def places_at_once(task: Budgeted) -> int:
    """Return how many windows have a card at one moment, if none of them has a result.

    >>> from types import SimpleNamespace
    >>> places_at_once(SimpleNamespace(window_seconds=86400, grace_seconds=3600))
    11
    """
    held = ahead_seconds(task) + task.window_seconds + task.grace_seconds + KEY_SECONDS
    return math.ceil(Fraction(held, task.window_seconds))


def budget_sentence(task: Budgeted) -> str:
    """Return what a short budget does after windows with too few people; "" of a long one."""
    paid, places = windows_paid(task), places_at_once(task)
    if paid >= places:
        return ""
    return (
        f"The budget pays for {paid} window{'s' if paid > 1 else ''}. One with too few people "
        "costs nothing, but keeps its place until 7 days after its late reports: while all places "
        f"are kept so, no window opens. With {places} places left none waits; a result takes one."
    )
