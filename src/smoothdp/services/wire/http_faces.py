"""What both services' HTTP faces share: bodies with a limit, bearer tokens, work in between."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response

from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.bodies import BodyBudget, limited
from smoothdp.services.operations.logs import cause_of, said
from smoothdp.services.wire.problems import Problem

LOG = logging.getLogger("smoothdp.services")


def exact_paths(
    app: Starlette,
    answers: Mapping[type[Exception], Problem],
    *,
    budget: BodyBudget | None = None,
) -> Starlette:
    """Return an application that redirects nobody to a path that differs by a slash.

    It holds bodies up to a budget, and answers what a route raises with the party's own words.
    """
    app.router.redirect_slashes = False
    for error, problem in answers.items():
        app.add_exception_handler(error, _answering(problem))
    return limited(app, budget=budget)


def _answering(problem: Problem) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def answer(_: Request, __: Exception) -> Response:
        return problem.response()

    return answer


def whole_number(text: str) -> int | None:
    """Return a whole number below 2^32 in its one spelling, or None.

    >>> whole_number("10"), whole_number("010"), whole_number("0")
    (10, None, 0)
    """
    if not (text.isascii() and text.isdigit()) or len(text) > 10:
        return None
    number = int(text)
    return number if number < 1 << 32 and str(number) == text else None


def hexadecimal(request: Request, name: str) -> bytes:
    """Return a part of the path as bytes; nothing if it is not lower-case hexadecimal."""
    text = request.path_params[name]
    # One thing has one path: caches and limits of a proxy in front go by its spelling.
    if b"%" in request.scope.get("raw_path", b""):
        return b""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        return b""
    return found if found.hex() == text else b""


def bearer(request: Request) -> str:
    """Return the token of the request, or an empty string."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token if kind.lower() == "bearer" else ""


def working(
    work: Callable[[], Any] | None,
    seconds: float,
    *more: Any,
    operations: Operations | None = None,
) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """Return a lifespan that starts ``more`` and repeats ``work`` in a thread until the end.

    Work that fails is logged with its cause, by the name of the error alone unless its words are
    ours, and tried again; ``operations`` notes what became of it.
    """

    async def repeat() -> None:
        assert work is not None
        while True:
            try:
                await asyncio.to_thread(work)
                if operations is not None:
                    operations.rounds.good()
            except Exception as error:
                said(LOG, "work was put off", cause_of(error), error=error)
                if operations is not None:
                    operations.failed(error)
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
