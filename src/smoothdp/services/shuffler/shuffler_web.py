"""The shuffler's HTTP face. Nothing about a request is logged or kept but its report."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smoothdp.services.formats.report import sealed_bytes
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.bodies import (
    TooLarge,
    TooMany,
    TooSlow,
    announced_length,
    read_body,
)
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.marks_answers import MarksAnswers
from smoothdp.services.shuffler.shuffler import Shuffler
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

CARD_MEDIA_TYPE = "application/vnd.esa.card"
MARKS_MEDIA_TYPE = "application/vnd.esa.marks"
_FOR_EVER = {"cache-control": "public, max-age=86400, immutable"}
_LATER_SECONDS = 5.0

LONG = Problem(413, "long", "The body is longer than a sealed report of the task")
DESTROYED = Problem(410, "over", "Too few people: the reports of this window were destroyed")
SLOW = Problem(408, "slow", "The body did not arrive in time")
PROBLEMS = {
    Taken.MALFORMED: Problem(400, "malformed", "This is no sealed report of the task"),
    Taken.UNAUTHORIZED: Problem(401, "unauthorized", "No pass of this task, or a revoked one"),
    Taken.UNSIGNED: Problem(403, "unsigned", "A slot has no good token"),
    Taken.UNKNOWN: Problem(404, "unknown", "There is no such task here, or no such card"),
    Taken.OTHER_REPORT: Problem(409, "other-report", "This pass, or this report, came otherwise"),
    Taken.CLOSED: Problem(410, "over", "The window is over"),
    Taken.TOO_EARLY: Problem(425, "too-early", "The window has not begun"),
    Taken.TOO_MANY_UNSIGNED: Problem(429, "repeated", "Too many reports without good tokens"),
    Taken.LATER: Problem(503, "later", "Try again later", seconds=_LATER_SECONDS),
}


def shuffler_app(
    shuffler: Shuffler,
    *,
    work: Callable[[], Any] | None = None,
    work_seconds: float = 10.0,
    more: Sequence[Route] = (),
    operations: Operations | None = None,
) -> Starlette:
    """Return the application: the task, reports, marks, and cards where there is no issuer.

    Args:
        work: cards, sealing and delivery, repeated in a thread.
        work_seconds: pause between two rounds of work.
        more: routes beside these.
        operations: what an operator may ask.
    """
    group = GroupCommit(shuffler.accept, Taken.LATER)
    files = MarksAnswers(shuffler.marks, MARKS_MEDIA_TYPE, _FOR_EVER)
    length = sealed_bytes(shuffler.task.slots, shuffler.task.signed)

    def window_of(request: Request) -> int | None:
        if hexadecimal(request, "task_id") != shuffler.task.task_id:
            return None
        return whole_number(request.path_params["window"])

    async def task(request: Request) -> Response:
        if hexadecimal(request, "task_id") != shuffler.task.task_id:
            return PROBLEMS[Taken.UNKNOWN].response()
        return Response(shuffler.task.encoded, media_type="application/json")

    async def report(request: Request) -> Response:
        window = window_of(request)
        if window is None:
            return PROBLEMS[Taken.UNKNOWN].response()
        sender = shuffler.sender(bearer(request))
        if sender is None:
            return PROBLEMS[Taken.UNAUTHORIZED].response()
        announced = announced_length(request)
        if announced is None or announced > length:
            return LONG.response()
        if announced < length and "content-length" in request.headers:
            return PROBLEMS[Taken.MALFORMED].response()
        if shuffler.is_remembered(window):
            refused = shuffler.takes(window)
        else:
            refused = await asyncio.to_thread(shuffler.takes, window)
        if refused is not None:
            return answer(refused, window)
        sealed = await read_body(request, length)
        # Opened and checked before it waits for the group: what is refused holds nobody up.
        judged = await asyncio.to_thread(shuffler.judge, window, sender, sealed)
        if not isinstance(judged, Taken):
            judged = await group.submit(judged)
        return answer(judged, window)

    def answer(taken: Taken, window: int) -> Response:
        if taken is Taken.ACCEPTED:
            return Response(status_code=202, headers={"cache-control": "no-store"})
        if taken is Taken.TOO_EARLY:
            seconds = window * shuffler.task.window_seconds - shuffler.clocks.now()
            problem = PROBLEMS[taken]
            return Problem(problem.status, problem.word, problem.title, seconds).response()
        return PROBLEMS[taken].response()

    async def marks(request: Request) -> Response:
        window = window_of(request)
        if window is not None and await asyncio.to_thread(shuffler.is_expired, window):
            return DESTROYED.response()
        found = None if window is None else await asyncio.to_thread(files.of, window)
        return PROBLEMS[Taken.UNKNOWN].response() if found is None else found

    async def card(request: Request) -> Response:
        window = window_of(request)
        found = None if window is None else await asyncio.to_thread(shuffler.cards.stored, window)
        if found is None:
            return PROBLEMS[Taken.UNKNOWN].response()
        return Response(found, media_type=CARD_MEDIA_TYPE, headers=_FOR_EVER)

    cards = [Route("/v2/tasks/{task_id}/cards/{window}", card)]
    app = Starlette(
        routes=[
            Route("/v2/tasks/{task_id}", task),
            Route("/v2/reports/{task_id}/{window}", report, methods=["POST"]),
            Route("/v2/tasks/{task_id}/marks/{window}", marks),
            # With an issuer cards come from its side: the shuffler alone must not choose them.
            *(cards if shuffler.task.issuer is None else []),
            *more,
        ],
        lifespan=working(work, work_seconds, group, operations=operations),
    )
    app.state.operations = operations
    return exact_paths(app, _ERRORS)


_ERRORS: dict[type[Exception], Problem] = {
    TooLarge: LONG,
    TooSlow: SLOW,
    TooMany: PROBLEMS[Taken.LATER],
    StorageFull: PROBLEMS[Taken.LATER],
    StorageUnreachable: PROBLEMS[Taken.LATER],
    StorageDamaged: PROBLEMS[Taken.LATER],
    StorageLost: PROBLEMS[Taken.LATER],
    # Another process holds the file: nothing was stored.
    sqlite3.OperationalError: PROBLEMS[Taken.LATER],
}
