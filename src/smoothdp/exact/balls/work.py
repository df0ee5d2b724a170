"""A limit of work: how much a computation may do before it is refused, counted and not timed.

Work is counted in units of about a microsecond on an ordinary machine, at the places where time
goes; the same call does the same work on every machine and at every run. So a refusal is a fact
about the call, not about what else the machine was doing. What a cache saves is counted all the
same: caches are kept for each limit (`scope`), or remember what they cost (`remembered`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from smoothdp.errors import Explanation, OutOfReach

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class WorkLimitReached(OutOfReach):
    """A computation came to its limit of work; nothing was decided."""


class Work:
    """What was spent, and the most that may be."""

    __slots__ = ("message", "most", "once", "scope", "spent")

    def __init__(self, most: int, message: Callable[[], Explanation]) -> None:
        self.spent, self.most, self.message = 0, most, message
        self.once: set[Hashable] = set()
        self.scope: object = self

    def spend(self, units: int) -> None:
        """Count some work.

        Raises:
            WorkLimitReached: more than the limit in all.
        """
        self.spent += units
        if self.spent > self.most:
            raise WorkLimitReached(**self.message()._asdict())


_current: ContextVar[Work | None] = ContextVar("work", default=None)


@contextmanager
def limited(most: int, message: Callable[[], Explanation]) -> Iterator[Work]:
    """Refuse work inside beyond ``most`` units; within another limit, beyond that one too.

    >>> with limited(10, lambda: Explanation("little", "much", "Do less")):
    ...     spend(11)
    Traceback (most recent call last):
    smoothdp.exact.balls.work.WorkLimitReached: Expected little; got much. Do less.
    """
    outer = _current.get()
    left = most if outer is None else min(most, outer.most - outer.spent)
    work = Work(left, message)
    token = _current.set(work)
    try:
        yield work
    finally:
        _current.reset(token)
        if outer is not None:
            outer.spent += work.spent


@contextmanager
def share(most: int) -> Iterator[None]:
    """Allow work inside at most ``most`` units of the present limit, if there is one.

    For a part that would use up the limit before other parts come to their turn: the whole is
    then refused early, in its own words.
    """
    whole = _current.get()
    if whole is None:
        yield
        return
    with limited(most, whole.message) as part:
        part.once, part.scope = whole.once, whole.scope
        yield


@contextmanager
def apart() -> Iterator[None]:
    """Count no work inside against the present limit: for a second look at counted work."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def spend(units: int) -> None:
    """Count some work against the present limit, if there is one."""
    work = _current.get()
    if work is not None:
        work.spend(units)


def spend_once(key: Hashable, units: int) -> None:
    """Count work that a cache keeps: the first time within a limit."""
    work = _current.get()
    if work is not None and key not in work.once:
        work.once.add(key)
        work.spend(units)


def scope() -> object:
    """Return a key of the present limit, for caches of what is counted while it is computed."""
    work = _current.get()
    return None if work is None else work.scope


def remembered(
    most: int, *, kept: int, message: Callable[..., Explanation]
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Limit a function of hashable arguments, and keep its results and refusals with their cost.

    A kept result costs as much as when it was computed: no decision within another limit
    depends on earlier questions.

    Args:
        most: units of work.
        kept: how many results are kept, those used last.
        message: of the refusal, from the arguments.
    """

    def decorate(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        known: OrderedDict[Hashable, tuple[int, Result | None, Explanation | None]] = OrderedDict()
        lock = threading.Lock()

        @wraps(function)
        def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            key = (args, tuple(sorted(kwargs.items())))
            with lock:
                entry = known.get(key)
                if entry is not None:
                    known.move_to_end(key)
            if entry is None:
                entry = run(*args, **kwargs)
                with lock:
                    known[key] = entry
                    while len(known) > kept:
                        known.popitem(last=False)
            else:
                spend(entry[0])
            _, result, refusal = entry
            if refusal is not None:
                raise WorkLimitReached(**refusal._asdict())
            return result  # type: ignore[return-value]

        def run(
            *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> tuple[int, Result | None, Explanation | None]:
            with limited(most, lambda: message(*args, **kwargs)) as work:
                try:
                    result = function(*args, **kwargs)
                    return work.spent, result, None
                except WorkLimitReached as error:
                    if work.most < most:
                        # The limit outside: with more room it might have gone on.
                        raise
                    return work.spent, None, error.explanation

        return call

    return decorate
