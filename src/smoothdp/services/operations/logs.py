"""Logs: one JSON line for an event, with a cause of a closed list, and nothing about anybody.

A line is written when the cause of an event changes, and again after ten minutes: a fault that
lasts is seen, and does not fill a disk.
"""

from __future__ import annotations

import errno
import json
import logging
import sqlite3
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TextIO

from smoothdp.errors import BudgetExceeded, LedgerError, SmoothdpError
from smoothdp.services.operations.tls import BadCertificate
from smoothdp.services.store.storage import (
    StorageDamaged,
    StorageFull,
    StorageLost,
    StorageUnreachable,
)

AGAIN_SECONDS = 600.0
_LOGGERS = ("smoothdp.services", "uvicorn", "asyncio")
_MOST_EVENTS = 256


class Cause(StrEnum):
    """Why something was put off: a closed list, so that nothing of a request gets in."""

    REFUSED = "refused 401"
    TLS = "tls"
    CONNECTION = "connection"
    DISK = "disk"
    LOCKED = "locked"
    CLOCK = "clock"
    LEDGER = "ledger"
    OTHER = "other"
    """The name of the error says more."""


class PutOff(OSError):
    """Something to be tried again, whose cause is known.

    >>> raise PutOff("the analyser answered 401", Cause.REFUSED)
    Traceback (most recent call last):
    smoothdp.services.operations.logs.PutOff: the analyser answered 401
    """

    def __init__(self, words: str, cause: Cause) -> None:
        super().__init__(words)
        self.cause = cause


def cause_of(error: BaseException) -> Cause:
    """Return the cause behind an error: the first one known on the way to where it began.

    >>> cause_of(StorageFull("database or disk is full")).value
    'disk'
    >>> cause_of(sqlite3.OperationalError("database is locked")).value
    'locked'
    >>> cause_of(ConnectionRefusedError(111, "refused")).value
    'connection'
    >>> cause_of(ZeroDivisionError()).value
    'other'
    """
    found: set[Cause] = set()
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        cause = _own_cause(at)
        # A failed handshake is a failed connection too; the inner error tells them apart.
        if cause is not None and cause is not Cause.CONNECTION:
            return cause
        if cause is not None:
            found.add(cause)
        at = at.__cause__ or at.__context__
    return found.pop() if found else Cause.OTHER


def _own_cause(error: BaseException) -> Cause | None:
    if isinstance(error, PutOff):
        return error.cause
    if isinstance(error, LedgerError | BudgetExceeded):
        return Cause.LEDGER
    if isinstance(error, StorageFull | StorageDamaged | StorageLost):
        return Cause.DISK
    if isinstance(error, ssl.SSLError | BadCertificate):
        return Cause.TLS
    if isinstance(error, sqlite3.OperationalError):
        text = str(error)
        if "locked" in text or "busy" in text:
            return Cause.LOCKED
        return Cause.DISK if "full" in text or "disk I/O" in text else None
    if getattr(error, "sqlstate", None) in ("55P03", "57014", "40P01"):
        return Cause.LOCKED
    if isinstance(error, OSError):
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO):
            return Cause.DISK
        network = isinstance(error, ConnectionError | TimeoutError | StorageUnreachable)
        return Cause.CONNECTION if network or error.errno in _NETWORK else None
    # httpx's and our own, which are above this file.
    if type(error).__name__ in ("Unreachable", "ConnectError", "ConnectTimeout", "ReadTimeout"):
        return Cause.CONNECTION
    return None


_NETWORK = {
    getattr(errno, name)
    for name in ("ENETUNREACH", "EHOSTUNREACH", "EMFILE", "ENFILE", "EADDRNOTAVAIL")
}


_OURS = LedgerError | StorageUnreachable | StorageDamaged | StorageLost | PutOff
"""Errors whose words name files and windows alone."""


def said(
    log: logging.Logger,
    event: str,
    cause: Cause | None,
    *,
    error: BaseException | None = None,
    level: int = logging.WARNING,
) -> None:
    """Log an event with its cause. Of an error the name is said, and its words if they are ours.

    What strangers do is of level INFO: a service that runs logs it, a demonstration does not.
    """
    kind = "" if error is None else f": {type(error).__name__}"
    # A plain sentence names files and windows; the words of others could name anything.
    plain = isinstance(error, _OURS)
    words = f": {error}" if plain else ""
    log.log(
        level,
        "%s%s%s",
        event,
        kind,
        words,
        extra={
            "event": event,
            "cause": cause,
            "kind": kind[2:],
            "says": words[2:],
        },
    )


class JsonLines(logging.Handler):
    """Writes events as lines of JSON: time, party, level, event, cause, kind, says.

    What other libraries log may name addresses, so of that only the library and the name of
    the error are written.

    Args:
        party: "shuffler", "analyzer" or "issuer".
        stream: where to; standard error by default.
        seconds: a clock that cannot be set, for when to say something again.

    >>> import io
    >>> stream = io.StringIO()
    >>> log = logging.getLogger("smoothdp.services.example")
    >>> with json_lines("shuffler", stream=stream):
    ...     said(log, "work was put off", Cause.LOCKED)
    ...     said(log, "work was put off", Cause.LOCKED)  # said already
    ...     said(log, "work was put off", Cause.DISK)
    >>> [json.loads(line)["cause"] for line in stream.getvalue().splitlines()]
    ['locked', 'disk']
    """

    def __init__(
        self,
        party: str,
        *,
        stream: TextIO | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._party, self._stream, self._seconds = party, stream, seconds
        self._last: dict[str, tuple[Any, float]] = {}
        self._guard = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, unless the same was said a short time ago."""
        event = getattr(record, "event", None)
        line = {
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "party": self._party,
            "level": record.levelname.lower(),
        }
        if event is None:
            error = record.exc_info[1] if record.exc_info else None
            event = f"{record.name.partition('.')[0]} had trouble"
            line |= {
                "event": event,
                "cause": str(cause_of(error) if error else Cause.OTHER),
                "kind": type(error).__name__ if error else "",
            }
        else:
            line |= {
                name: str(value)
                for name in ("event", "cause", "kind", "says")
                if (value := getattr(record, name, None))
            }
        if self._is_new(str(event), (line.get("cause"), line.get("kind"))):
            try:
                print(json.dumps(line), file=self._stream or sys.stderr, flush=True)
            except (OSError, ValueError):
                self.handleError(record)

    def _is_new(self, event: str, cause: Any) -> bool:
        now = self._seconds()
        with self._guard:
            last = self._last.get(event)
            if last is not None and last[0] == cause and now - last[1] < AGAIN_SECONDS:
                return False
            if len(self._last) >= _MOST_EVENTS:
                self._last.clear()
            self._last[event] = (cause, now)
            return True


@contextmanager
def json_lines(party: str, *, stream: TextIO | None = None) -> Iterator[None]:
    """Log as JSON lines meanwhile; the logging of the program around is as before afterwards."""
    handler = JsonLines(party, stream=stream)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [log.propagate for log in loggers]
    level = loggers[0].level
    loggers[0].setLevel(logging.INFO)
    for log in loggers:
        log.addHandler(handler)
        log.propagate = False
    try:
        yield
    finally:
        loggers[0].setLevel(level)
        for log, propagate in zip(loggers, before, strict=True):
            log.removeHandler(handler)
            log.propagate = propagate


def words_of(error: Exception) -> str:
    """Return what may be shown of an error: its sentence if it is ours, else its name.

    >>> words_of(ZeroDivisionError("secret"))
    'ZeroDivisionError'
    """
    return str(error) if isinstance(error, SmoothdpError | PutOff) else type(error).__name__
