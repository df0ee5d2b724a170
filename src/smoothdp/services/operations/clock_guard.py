"""Two clocks before anything is closed or destroyed: one that jumps would end windows early.

A service erases keys and rows when a window is over, and a wall clock that is two days ahead
would erase what is still being collected. Each party therefore asks another one for the time
every round, and trusts a moment only when both agree that it has come.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from smoothdp.errors import InvalidData

MOST_AGE_SECONDS = 600.0
"""The oldest time of a peer that counts."""

MOST_DIFFERENCE_SECONDS = 60.0
"""How far two clocks may be apart, and how far one may move against the time since boot."""


class Verdict(StrEnum):
    """What may be done about something that is to be closed at a given time."""

    OPEN = "open"
    """It is not over."""
    CLOSE = "close"
    """It is over by both clocks: it may be closed, and what belongs to it destroyed."""
    HOLD = "hold"
    """The clocks are not to be trusted: nothing is closed, destroyed or taken."""


class Hold(StrEnum):
    """Why a clock is not to be trusted."""

    NO_PEER = "no other party has told its time"
    OLD_PEER = "no other party has told its time for ten minutes"
    APART = "this clock and the other party's differ by more than a minute"
    MOVED = "this clock was set while the service ran; check it, then start the service again"


def guard(*, wall: float, peer: float | None, close: float, age: float) -> Verdict:
    """Return what may be done about something that closes at ``close``.

    Hold unless there is a peer's time, it is at most 600 s old, and the two are at most 60 s
    apart. Else close if min(wall, peer) >= close, so the later of two honest clocks never
    closes anything early.

    Args:
        wall: this machine's clock, seconds since 1970.
        peer: the other party's clock at the same moment: what it told, and the time since; None
            if it has told nothing.
        close: when the thing is over, seconds since 1970.
        age: seconds since the peer told its time, by a clock that cannot be set.

    >>> guard(wall=1000, peer=1000, close=1000, age=0).value
    'close'
    >>> guard(wall=1000, peer=999, close=1000, age=0).value
    'open'
    >>> guard(wall=173800, peer=1000, close=1000, age=0).value  # two days ahead
    'hold'
    """
    if reason_to_hold(wall=wall, peer=peer, age=age) is not None or peer is None:
        return Verdict.HOLD
    return Verdict.CLOSE if min(wall, peer) >= close else Verdict.OPEN


def reason_to_hold(*, wall: float, peer: float | None, age: float) -> Hold | None:
    """Return why these clocks are not to be trusted, or None.

    >>> reason_to_hold(wall=1000, peer=1000, age=601).name
    'OLD_PEER'
    """
    if peer is None:
        return Hold.NO_PEER
    # What is no number is trusted by neither comparison.
    if not 0 <= age <= MOST_AGE_SECONDS:
        return Hold.OLD_PEER
    return None if abs(wall - peer) <= MOST_DIFFERENCE_SECONDS else Hold.APART


def seconds_since_boot() -> float:
    """Return the seconds since this machine started, its sleep included; nobody can set them.

    >>> seconds_since_boot() <= seconds_since_boot()
    True
    """
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    if sys.platform == "darwin":
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.monotonic()


@dataclass(frozen=True, slots=True)
class _Heard:
    """A peer's time, and this machine's time since boot when it came."""

    time: float
    boot: float


class ClockGuard:
    """The clocks of one process: its own, that of the other party, and the time since boot.

    The drift rule comes on top of `guard`: once wall clock minus time since boot has moved by
    more than 60 s since the start, hold until an operator starts the service again. Two
    parties may follow one wrong source, and would agree.

    May be used from several threads. Every question also looks whether the clock moved.

    Args:
        wall: seconds since 1970.
        boot: seconds that run on in sleep and that nobody can set.

    >>> seconds = {"wall": 1000.0, "boot": 5.0}
    >>> clocks = ClockGuard(wall=lambda: seconds["wall"], boot=lambda: seconds["boot"])
    >>> clocks.verdict(990).value, clocks.hold().name
    ('hold', 'NO_PEER')
    >>> clocks.heard(1000.0)
    >>> clocks.verdict(990).value
    'close'
    >>> seconds["wall"] += 172800  # set two days ahead
    >>> clocks.heard(seconds["wall"])  # and the other party agrees
    >>> clocks.hold().name
    'MOVED'
    """

    def __init__(
        self,
        *,
        wall: Callable[[], float] = time.time,
        boot: Callable[[], float] = seconds_since_boot,
    ) -> None:
        self._wall, self._boot = wall, boot
        at, since = self._read()
        self._start = at - since
        self._moved = False
        self._heard: _Heard | None = None
        self._lock = threading.Lock()

    def now(self) -> float:
        """Return this machine's clock, seconds since 1970."""
        return self._wall()

    def to_tell(self) -> float | None:
        """Return what is told to the other party: this clock, or None once it was set.

        A party that started after its clock was set wrong has seen nothing move. If both follow
        one wrong source, only this silence keeps it from taking two wrong clocks for two.

        >>> seconds = {"wall": 1000.0}
        >>> clocks = ClockGuard(wall=lambda: seconds["wall"], boot=lambda: 5.0)
        >>> clocks.to_tell()
        1000.0
        >>> seconds["wall"] += 172800
        >>> clocks.to_tell() is None
        True
        """
        hold, wall, _, _ = self._look()
        return None if hold is Hold.MOVED else wall

    def heard(self, told: float) -> None:
        """Note the time that the other party has just told, seconds since 1970.

        Raises:
            InvalidData: no finite number; what was told before still counts.
        """
        if isinstance(told, bool) or not isinstance(told, int | float) or not _is_time(told):
            raise InvalidData(
                expected="the other party's time, seconds since 1970",
                got="something else",
                remedy="Check that the address is the other party's",
            )
        heard = _Heard(float(told), self._boot())
        with self._lock:
            self._heard = heard

    def word_age(self) -> float:
        """Return how many seconds ago the other party told its time; infinite if it has not."""
        with self._lock:
            return math.inf if self._heard is None else self._boot() - self._heard.boot

    def hold(self) -> Hold | None:
        """Return why nothing may be closed, destroyed or taken now, or None."""
        return self._look()[0]

    def verdict(self, close: float) -> Verdict:
        """Return what may be done about something that closes at ``close``, seconds since 1970.

        Ask again before each thing that is destroyed: the answer is of this moment.
        """
        hold, wall, peer, age = self._look()
        if hold is not None:
            return Verdict.HOLD
        return guard(wall=wall, peer=peer, close=close, age=age)

    def _read(self) -> tuple[float, float]:
        """Return both clocks as of one moment: a process may be stopped between two readings."""
        while True:
            before, wall, boot = self._boot(), self._wall(), self._boot()
            if not boot - before > 1:
                return wall, boot

    def _look(self) -> tuple[Hold | None, float, float | None, float]:
        with self._lock:
            (wall, boot), heard = self._read(), self._heard
            if not abs(wall - boot - self._start) <= MOST_DIFFERENCE_SECONDS:
                self._moved = True
            age = boot - heard.boot if heard else 0.0
            peer = heard.time + age if heard else None
            hold = Hold.MOVED if self._moved else reason_to_hold(wall=wall, peer=peer, age=age)
            return hold, wall, peer, age


def _is_time(told: float) -> bool:
    try:
        return math.isfinite(told) and 0 <= told < 2**53
    except OverflowError:
        return False
