"""The clock call of esa/2: a party tells the analyser its time and hears the analyser's.

POST /v2/clock, both ways ``{"time": seconds since 1970}``. Whose clock was set while it ran tells
none: it sends nothing, or answers 503. Who only looks sends ``{}``, and tells none either. An
issuer is told none while the shuffler does not confirm the analyser's.
"""

from __future__ import annotations

import json

import httpx

from smoothdp.errors import InvalidData
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.operations.logs import Cause, PutOff
from smoothdp.services.wire.calls import ServiceError, ask

CLOCK_PATH = "/v2/clock"
MOST_CLOCK_BYTES = 256
TELLS_NOTHING = b"{}"
"""Of somebody else than the service: a process that has just started has seen no clock move."""
WHY_NO_TIME = (
    "was its clock set while it ran, or, for an issuer, is the shuffler away or its clock another?"
)


def exchange_clocks(http: httpx.Client, clocks: ClockGuard, *, token: str) -> None:
    """Tell this machine's time to the analyser, and note what it tells.

    A clock that was set is told to nobody: this party holds, and its condition "clock" says why.

    Raises:
        ServiceError: no answer, or no time in it; what was heard before still counts.
        PutOff: the analyser does not know the token, or tells no time.
    """
    body = clock_body(clocks)
    if body is None:
        return
    answer = ask(http, "POST", CLOCK_PATH, token=token, body=body)
    if answer.status == 401:
        raise PutOff("the analyser answered 401 to the token of this party", Cause.REFUSED)
    if answer.status == 503:
        raise PutOff(f"the analyser tells no time: {WHY_NO_TIME}", Cause.CLOCK)
    if answer.status != 200:
        raise ServiceError(
            expected="the analyser's time",
            got=answer.words(),
            remedy="Check its address, and the token of this party",
        )
    hear_clock(answer.body, clocks)


def clock_body(clocks: ClockGuard) -> bytes | None:
    """Return what is told: this machine's time, or None if its clock was set.

    >>> clock_body(ClockGuard(wall=lambda: 1000.5, boot=lambda: 5.0))
    b'{"time": 1000.5}'
    """
    told = clocks.to_tell()
    return None if told is None else json.dumps({"time": told}).encode()


def hear_clock(body: bytes, clocks: ClockGuard) -> None:
    """Note the time that another party told.

    Raises:
        ServiceError: no time; what was heard before still counts.

    >>> clocks = ClockGuard(wall=lambda: 1000.0)
    >>> hear_clock(b'{"time": 1000.5}', clocks)
    >>> clocks.hold() is None
    True
    """
    try:
        document = json.loads(body[:MOST_CLOCK_BYTES])
        clocks.heard(document["time"])
    except (ValueError, KeyError, TypeError, RecursionError, InvalidData):
        raise ServiceError(
            expected="the other party's time, seconds since 1970",
            got="something else",
            remedy="Check that the address is the other party's",
        ) from None
