"""What both services' HTTP faces share: bodies with a limit, bearer tokens, work in between."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from smoothdp.errors import LedgerError
from smoothdp.services.store.storage import Storage, StorageUnreachable

LOG = logging.getLogger("smoothdp.services")
BODY_SECONDS = 20.0
"""How long a body may take to arrive."""


class TooLarge(Exception):
    """A body longer than anything that is meant."""


class TooSlow(Exception):
    """A body that did not arrive in time."""


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body, or raise TooLarge before more than the limit is held."""
    announced = whole_number(request.headers.get("content-length", "0"))
    if announced is None or announced > limit:
        raise TooLarge
    data = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                data += chunk
                if len(data) > limit:
                    raise TooLarge
    except TimeoutError:
        raise TooSlow from None
    return bytes(data)


def exact_paths(app: Starlette) -> Starlette:
    """Return an application that redirects nobody to a path that differs by a slash."""
    app.router.redirect_slashes = False
    return app


def whole_number(text: str) -> int | None:
    """Return a whole number below 2^32, or None."""
    if not (text.isascii() and text.isdigit()) or len(text) > 10:
        return None
    return number if (number := int(text)) < 1 << 32 else None


def hexadecimal(request: Request, name: str) -> bytes:
    """Return a part of the path as bytes; nothing if it is not hexadecimal."""
    try:
        return bytes.fromhex(request.path_params[name])
    except ValueError:
        return b""


def bearer(request: Request) -> str:
    """Return the token of the request, or an empty string."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else ""


async def too_large(_: Request, __: Exception) -> Response:
    """Answer 413."""
    return PlainTextResponse("too large", 413)


async def too_slow(_: Request, __: Exception) -> Response:
    """Answer 408."""
    return PlainTextResponse("too slow", 408)


async def unreachable(_: Request, __: Exception) -> Response:
    """Answer 503: the storage does not answer now."""
    return PlainTextResponse("try again later", 503, headers={"retry-after": "5"})


def health(storage: Storage) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers that the service runs and its storage answers."""

    async def answer(_: Request) -> Response:
        await asyncio.to_thread(storage.read, "SELECT 1")
        return PlainTextResponse("ok")

    return answer


def working(
    work: Callable[[], Any] | None, seconds: float, *more: Any
) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """Return a lifespan that starts ``more`` and repeats ``work`` in a thread until the end.

    Work that fails is logged, by the name of the error alone unless it is about the ledger, and
    tried again.
    """

    async def repeat() -> None:
        assert work is not None
        while True:
            try:
                await asyncio.to_thread(work)
            except Exception as error:
                # Its sentence names files and windows; others could name anything.
                plain = isinstance(error, LedgerError | StorageUnreachable)
                detail = f": {error}" if plain else ""
                LOG.warning("work was put off: %s%s", type(error).__name__, detail)
            await asyncio.sleep(seconds)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        for item in more:
            item.start()
        task = asyncio.create_task(repeat()) if work is not None else None
        try:
            yield
        finally:
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            for item in more:
                await item.stop()

    return lifespan
