"""Health: does the loop answer, and is anything wrong that an operator should know of.

A condition is asked in a thread of its own with a time limit, so that a locked database makes
a party unready and does not make it silent.
"""

from __future__ import annotations

import asyncio
import logging
import math
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from cryptography import x509

from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.operations.logs import Cause, cause_of, said, words_of
from smoothdp.services.operations.tls import days_left, read_certificate
from smoothdp.services.store.erasable_keys import ErasableKeys
from smoothdp.services.store.storage import (
    Storage,
    StorageDamaged,
    StorageFull,
    StorageLocked,
    StorageLost,
)
from smoothdp.text import number_up

LOG = logging.getLogger("smoothdp.services")
ANSWER_SECONDS = 2.0
LEAST_DISK_PERCENT = 5
MOST_UNDELIVERED_SECONDS = 3600.0
LEAST_CERTIFICATE_DAYS = 7.0
_WATCH_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must hold for a party to work.

    Attributes:
        name: of a closed list, such as "disk".
        good: whether it holds.
        says: what is wrong and what to do, or what is right, in words; nothing about anybody.
        cause: for the log.
    """

    name: str
    good: bool
    says: str
    cause: Cause = Cause.OTHER

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object.

        >>> Condition("disk", True, "31 % free").to_json()
        {'name': 'disk', 'good': True, 'says': '31 % free'}
        """
        return {"name": self.name, "good": self.good, "says": self.says}


class _Unanswered(Condition):
    """Of which nothing is known: no answer in time, or an error in its place."""


Check: TypeAlias = Callable[[], Condition]
"""Asked in a thread; it may raise, or take its time."""


class Health:
    """The conditions of a party, each asked in a thread of its own.

    Args:
        checks: name -> what to ask.
        seconds: how long an answer may take.

    >>> health = Health({"disk": lambda: disk_condition(Path("."), least_percent=0)})
    >>> [condition.good for condition in asyncio.run(health.conditions())]
    [True]
    """

    def __init__(self, checks: Mapping[str, Check], *, seconds: float = ANSWER_SECONDS) -> None:
        self._checks = dict(checks)
        self._seconds = seconds
        self._asked: dict[str, Future[Condition]] = {}
        self._threads = ThreadPoolExecutor(
            max_workers=max(1, len(self._checks)), thread_name_prefix="health"
        )
        self._wrong: dict[str, Condition] = {}

    async def conditions(self) -> list[Condition]:
        """Return all conditions, within the time that one may take.

        While the storage does not answer, what cannot be known without it is left out: lost keys
        or cards would be looked for that are there.
        """
        found = await asyncio.gather(*(self._ask(name) for name in self._checks))
        unknown = {condition.name for condition in found if isinstance(condition, _Unanswered)}
        if "storage" in unknown:
            unknown.remove("storage")
            return [condition for condition in found if condition.name not in unknown]
        return list(found)

    async def _ask(self, name: str) -> Condition:
        # One question at a time: threads that wait for a lock do not pile up.
        asked = self._asked.get(name)
        if asked is None or asked.done():
            asked = self._asked[name] = self._threads.submit(self._checks[name])
        try:
            answer = asyncio.wrap_future(asked)
            return await asyncio.wait_for(asyncio.shield(answer), self._seconds)
        except TimeoutError:
            answer.add_done_callback(_retrieved)
            return _Unanswered(
                name, False, f"no answer within {self._seconds:g} seconds", Cause.LOCKED
            )
        except Exception as error:  # whatever a condition meets is what is wrong
            return _Unanswered(name, False, words_of(error), cause_of(error))

    async def watch(self, *, seconds: float = _WATCH_SECONDS) -> None:
        """Log what becomes wrong and what is right again, until cancelled."""
        while True:
            for condition in await self.conditions():
                self._note(condition)
            await asyncio.sleep(seconds)

    def _note(self, condition: Condition) -> None:
        event = f"not ready: {condition.name}"
        if not condition.good:
            self._wrong[condition.name] = condition
            said(LOG, event, condition.cause)
        elif self._wrong.pop(condition.name, None) is not None:
            said(LOG, event.replace("not ready", "ready again"), None)

    def close(self) -> None:
        """Ask nothing any more."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _retrieved(answer: asyncio.Future[Condition]) -> None:
    if not answer.cancelled():
        answer.exception()


@dataclass(slots=True)
class Rounds:
    """What became of the rounds of work: seal, deliver, count, erase.

    >>> rounds = Rounds(pause=10)
    >>> rounds.condition().good
    True
    >>> rounds.failed(OSError("no route"))
    >>> rounds.condition().says
    'the last round of work failed: OSError'
    """

    pause: float
    seconds: Callable[[], float] = time.monotonic
    began: float | None = None
    last_good: float | None = None
    error: Exception | None = None

    def good(self) -> None:
        """Note that a round of work was done."""
        self.last_good, self.error = self.seconds(), None

    def failed(self, error: Exception) -> None:
        """Note why a round of work was put off."""
        self.error = error

    def condition(self) -> Condition:
        """Whether the last round was good, and not long ago."""
        if self.began is None:
            self.began = self.seconds()
        if self.error is not None:
            return Condition(
                "round",
                False,
                f"the last round of work failed: {words_of(self.error)}",
                cause_of(self.error),
            )
        since = self.seconds() - (self.began if self.last_good is None else self.last_good)
        most = max(300.0, 10 * self.pause)
        if since > most:
            return Condition("round", False, f"no round of work ended for {since:.0f} seconds")
        return Condition("round", True, "the last round of work was good")


def storage_condition(storage: Storage, keys: ErasableKeys | None = None) -> Condition:
    """Whether the storage, and the file of window keys, answer and take something.

    Its limit of time is that of `Health`.
    """
    storage.read("SELECT 1")
    try:
        storage.require_storable()
        if keys is not None:
            keys.require_storable()
    except (StorageDamaged, StorageLocked, StorageLost) as error:
        # Known of it, unlike of one that does not answer: other conditions are looked at.
        return Condition("storage", False, str(error), cause_of(error))
    except StorageFull as error:
        words = f"nothing can be stored ({error}): make room, or see that the disk is sound"
        return Condition("storage", False, words, Cause.DISK)
    return Condition("storage", True, "answers, and takes what is stored")


def disk_condition(directory: Path, *, least_percent: float = LEAST_DISK_PERCENT) -> Condition:
    """Whether the disk of a directory has room.

    >>> disk_condition(Path("."), least_percent=101).good
    False
    """
    usage = shutil.disk_usage(directory)
    percent = int(100 * usage.free // usage.total)
    if percent < least_percent:
        return Condition(
            "disk",
            False,
            f"{percent} % free, of {least_percent:g} % wanted: make room, nothing is lost so far",
            Cause.DISK,
        )
    return Condition("disk", True, f"{percent} % free")


def clock_condition(clocks: ClockGuard) -> Condition:
    """Whether the clocks are to be trusted.

    >>> clock_condition(ClockGuard()).says
    'no other party has told its time'
    """
    hold = clocks.hold()
    if hold is not None:
        return Condition("clock", False, hold.value, Cause.CLOCK)
    return Condition("clock", True, "agrees with the other party's")


def certificate_condition(
    file: Path,
    *,
    shown: x509.Certificate | None = None,
    least_days: float = LEAST_CERTIFICATE_DAYS,
) -> Condition:
    """Whether a certificate is good for another week.

    Args:
        file: PEM, of the service.
        shown: what callers see where a service runs; the file counts only from SIGHUP on.
        least_days: for how many days it must be good.
    """
    kept = read_certificate(file)
    seen = kept if shown is None else shown
    days = days_left(seen)
    if seen.not_valid_before_utc > datetime.now(UTC):
        words = f"begins at {seen.not_valid_before_utc:%Y-%m-%d %H:%M} UTC: nobody believes it yet"
        return Condition("certificate", False, words, Cause.TLS)
    if days < least_days:
        words = "has ended" if days < 0 else f"ends in {days:.1f} days"
        if seen != kept:
            words = f"the one that is shown {words}, and {file} has another: send SIGHUP"
        else:
            words = f"{words}: renew it, then send SIGHUP"
        return Condition("certificate", False, words, Cause.TLS)
    return Condition("certificate", True, f"good for {days:.0f} days")


def cards_condition(in_hand: int, *, least: int = 1) -> Condition:
    """Whether there are cards for the windows to come, ``in_hand`` after the present one.

    >>> cards_condition(0).says
    'cards for 0 windows to come, of 1 wanted: no party reachable, or no place in the budget?'
    """
    if in_hand < least:
        return Condition(
            "cards",
            False,
            f"cards for {in_hand} windows to come, of {least} wanted: no party reachable, "
            "or no place in the budget?",
            Cause.CONNECTION,
        )
    return Condition("cards", True, f"for {in_hand} windows to come")


def keys_condition(lost: int) -> Condition:
    """Whether the private keys of windows are there, ``lost`` of which are not.

    >>> keys_condition(2).says[:47]
    'the keys of 2 windows are lost, with what comes'
    """
    if lost:
        return Condition(
            "keys",
            False,
            f"the keys of {lost} windows are lost, with what comes in these windows: find the file "
            "of window keys; it has no copies, and later windows have keys of their own",
        )
    return Condition("keys", True, "of all windows that go on")


def delivery_condition(
    oldest_seconds: float | None,
    *,
    most_seconds: float = MOST_UNDELIVERED_SECONDS,
    taken_seconds: float = math.inf,
) -> Condition:
    """Whether a batch waits too long to be taken; None if none waits.

    Args:
        oldest_seconds: for how long the oldest batch has waited.
        most_seconds: how long one may.
        taken_seconds: after how long an analyser takes it no more.

    >>> delivery_condition(None).good, delivery_condition(7200).says
    (True, 'a batch waits for 2 hours: is the analyser reachable, and does it take batches?')
    """
    if oldest_seconds is None or oldest_seconds <= most_seconds:
        return Condition("delivery", True, "no batch waits for long")
    hours = number_up(oldest_seconds / 3600, digits=2)
    says = f"a batch waits for {hours} hours: is the analyser reachable, and does it take batches?"
    if oldest_seconds > taken_seconds:
        days, most = oldest_seconds // 86_400, taken_seconds // 86_400
        says = (
            f"a batch waits for {days:.0f} days, and an analyser ends a window after {most:.0f}: "
            "if it runs nothing comes of that batch any more. Ask who runs it; the batch is "
            "dropped 30 days after the window, and nothing else is to be done"
        )
    return Condition("delivery", False, says, Cause.CONNECTION)
