"""Every step is done, whatever becomes of those before: what fails holds up no other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import monotonic
from typing import TypeVar

Result = TypeVar("Result")
BRINGING_SECONDS = 60.0
"""How long a round may bring keys: the word of the other party's clock lasts ten minutes."""


def do_all(steps: Iterable[Callable[[], Result]]) -> list[Result]:
    """Do every step and return what they returned; then raise what went wrong first.

    A window that cannot be closed must not keep the keys and rows of those that can.

    >>> done = []
    >>> do_all([lambda: done.append(1), lambda: 1 // 0, lambda: done.append(2)])
    Traceback (most recent call last):
        ...
    ZeroDivisionError: integer division or modulo by zero
    >>> done
    [1, 2]
    """
    problem: Exception | None = None
    results: list[Result] = []
    for step in steps:
        try:
            results.append(step())
        except Exception as error:  # the other steps do not need this one
            problem = problem or error
    if problem is not None:
        raise problem
    return results


def while_time(items: Iterable[Result], *, seconds: float = BRINGING_SECONDS) -> Iterator[Result]:
    """Yield items until so much time has passed since the first; the rest is for the next round.

    >>> list(while_time("abc")), list(while_time("abc", seconds=-1))
    (['a', 'b', 'c'], ['a'])
    """
    began = monotonic()
    for item in items:
        yield item
        if monotonic() - began > seconds:
            return
