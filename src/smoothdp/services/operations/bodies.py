"""Bodies of strangers: little is held of any, and of all together no more than a budget.

A route looks at credentials and length first and then calls `read_body`. The announced length
is reserved before the first byte is read, and given back when the request has ended.
"""

from __future__ import annotations

import asyncio

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from smoothdp.services.operations.patience import seconds_of

MOST_BODY_BYTES = 64 << 20
"""Of all bodies that a process holds at a time."""
BODY_SECONDS = 10.0
"""How long a body may take to arrive, beside the seconds of its bytes on a slow line."""
_PLACE = "smoothdp.bodies"


class TooLarge(Exception):
    """A body longer than anything that is meant."""


class TooSlow(Exception):
    """A body that did not arrive in time."""


class TooMany(Exception):
    """The budget of bodies is spent: try again later."""


class BodyBudget:
    """Bytes of bodies that a process may hold.

    >>> budget = BodyBudget(100)
    >>> budget.reserve(60), budget.reserve(60), budget.held
    (True, False, 60)
    >>> budget.give_back(60)
    >>> budget.reserve(60)
    True
    """

    def __init__(self, most: int = MOST_BODY_BYTES) -> None:
        self.most = most
        self.held = 0

    def reserve(self, n_bytes: int) -> bool:
        """Take bytes from the budget; False if it has not as many."""
        if self.held + n_bytes > self.most:
            return False
        self.held += n_bytes
        return True

    def give_back(self, n_bytes: int) -> None:
        """Return bytes to the budget."""
        self.held -= n_bytes


class BodyLimits:
    """ASGI: gives every request a share of the budget, and takes it back when it has ended."""

    def __init__(self, app: ASGIApp, *, budget: BodyBudget) -> None:
        self._app, self._budget = app, budget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        share = _Share(self._budget)
        scope[_PLACE] = share
        try:
            await self._app(scope, receive, send)
        finally:
            self._budget.give_back(share.reserved)


class _Share:
    def __init__(self, budget: BodyBudget) -> None:
        self.budget, self.reserved = budget, 0

    def reserve(self, n_bytes: int) -> None:
        if not self.budget.reserve(n_bytes):
            raise TooMany
        self.reserved += n_bytes


def limited(app: Starlette, *, budget: BodyBudget | None = None) -> Starlette:
    """Return the application with a budget of bodies; what is refused is the party's to answer."""
    app.add_middleware(BodyLimits, budget=budget or BodyBudget())
    return app


def announced_length(request: Request) -> int | None:
    """Return the length that a request announces, 0 without; None if it is no whole number."""
    text = request.headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else None


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body. Look at the credentials before: from here on it costs memory.

    Raises:
        TooLarge: it announces more than the limit, or no length.
        TooMany: the process holds as much as it may.
        TooSlow: it did not arrive in time.
    """
    announced = announced_length(request)
    if announced is None or announced > limit:
        raise TooLarge
    share = request.scope.get(_PLACE)
    if share is not None:
        share.reserve(announced)
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS + seconds_of(announced)):
            async for chunk in request.stream():
                data += chunk
                if len(data) > limit:
                    raise TooLarge
    except TimeoutError:
        raise TooSlow from None
    return bytes(data)
