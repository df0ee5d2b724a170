"""The issuer's HTTP face: cards for everybody, tokens for invitations. Nothing is logged."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smoothdp.errors import InvalidParameter
from smoothdp.services.issuer.issuer import LATER, LONG, UNKNOWN, Asked, Issuer
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.bodies import (
    TooLarge,
    TooMany,
    TooSlow,
    announced_length,
    read_body,
)
from smoothdp.services.store.group_commit import GroupCommit
from smoothdp.services.store.storage import (
    StorageDamaged,
    StorageFull,
    StorageLost,
    StorageUnreachable,
)
from smoothdp.services.wire.http_faces import (
    bearer,
    exact_paths,
    hexadecimal,
    whole_number,
    working,
)
from smoothdp.services.wire.problems import Problem

SLOW = Problem(408, "slow", "The body did not arrive in time")
CARD_MEDIA_TYPE = "application/vnd.esa.card"
TOKENS_MEDIA_TYPE = "application/vnd.esa.tokens"
_FOR_EVER = {"cache-control": "public, max-age=86400, immutable"}
_PREFLIGHT_SECONDS = 600
Answer = TypeVar("Answer")


def issuer_app(
    issuer: Issuer,
    *,
    page_origin: str | None = None,
    work: Callable[[], Any] | None = None,
    work_seconds: float = 10.0,
    operations: Operations | None = None,
) -> Starlette:
    """Return the application: cards and tokens of one task.

    Args:
        issuer: who answers.
        page_origin: the one origin, ``https://host``, whose pages may ask from a browser.
        work: keys, cards and closing, repeated in a thread.
        work_seconds: pause between two rounds of work.
        operations: notes what became of a round, and is asked at the admin port.

    Raises:
        InvalidParameter: an origin with a path, a wildcard, or of another kind.
    """
    group = GroupCommit[Asked, Problem | None](issuer.charge, LATER)
    signers = _Signers()

    async def in_time(window: int, call: Callable[..., Answer], *values: Any) -> Answer:
        """Call at once what reads nothing, else in a thread."""
        if issuer.is_known(window):
            return call(*values)
        return await asyncio.to_thread(call, *values)

    async def card(request: Request) -> Response:
        window = _window_of(request, issuer)
        found = None if window is None else await in_time(window, issuer.card, window)
        if found is None:
            return UNKNOWN.response()
        return Response(found, media_type=CARD_MEDIA_TYPE, headers=_FOR_EVER)

    async def tokens(request: Request) -> Response:
        window = _window_of(request, issuer)
        if window is None:
            return UNKNOWN.response()
        # Without a length, or with one that is no number, there is nothing to reserve.
        length = announced_length(request) or 0
        account = await in_time(window, issuer.admit, bearer(request), window, length)
        if isinstance(account, Problem):
            return account.response()
        body = await read_body(request, issuer.request_bytes)
        asked = await in_time(window, issuer.asked, account, body)
        if isinstance(asked, Problem):
            return asked.response()
        problem = await group.submit(asked)
        if problem is not None:
            return problem.response()
        # On disk: now it is signed, beside others.
        answer = await signers.run(issuer.sign, asked)
        return Response(answer, media_type=TOKENS_MEDIA_TYPE, headers={"cache-control": "no-store"})

    app = Starlette(
        routes=[
            Route("/v2/tasks/{task_id}/cards/{window}", card),
            Route("/v2/tokens/{task_id}/{window}", tokens, methods=["POST"]),
        ],
        middleware=_for_pages_of(page_origin),
        lifespan=working(work, work_seconds, group, signers, operations=operations),
    )
    app.state.operations = operations
    return exact_paths(app, _PROBLEMS)


class _Signers:
    """Threads that sign, one for each core: the next group is stored without waiting for them."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    def start(self) -> None:
        self._threads = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="signer")

    async def stop(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def run(self, call: Callable[[Asked], bytes], asked: Asked) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, asked)


_PROBLEMS: dict[type[Exception], Problem] = {
    TooLarge: LONG,
    TooSlow: SLOW,
    TooMany: LATER,
    StorageFull: LATER,
    StorageUnreachable: LATER,
    StorageDamaged: LATER,
    StorageLost: LATER,
    # Another process holds the file: nothing was signed.
    sqlite3.OperationalError: LATER,
}


def _window_of(request: Request, issuer: Issuer) -> int | None:
    """Return the window in the path, None unless the task is the one served here."""
    if hexadecimal(request, "task_id") != issuer.task.task_id:
        return None
    return whole_number(request.path_params["window"])


def _for_pages_of(origin: str | None) -> list[Middleware]:
    if origin is None:
        return []
    scheme, _, host = origin.partition("://")
    if scheme not in ("https", "http") or not host or set(host) & set("/*?#@ ,"):
        raise InvalidParameter(
            expected="the origin of the poll page, such as https://poll.example",
            got=repr(origin[:80]),
            remedy="Write its scheme and host, without a path",
        )
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=[origin],
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
            expose_headers=["retry-after"],
            max_age=_PREFLIGHT_SECONDS,
        )
    ]
