"""The shuffler's HTTP face. Nothing about a request is logged or kept but its envelope."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.services.envelope import envelope_bytes
from smoothdp.services.group_commit import GroupCommit
from smoothdp.services.ingest import Outcome
from smoothdp.services.metrics import shuffler_metrics
from smoothdp.services.shuffler import Shuffler, Upload
from smoothdp.services.storage import StorageUnreachable
from smoothdp.services.web import (
    TooLarge,
    TooSlow,
    bearer,
    exact_paths,
    health,
    hexadecimal,
    read_body,
    too_large,
    too_slow,
    unreachable,
    working,
)

_WORDS = {
    Outcome.ACCEPTED: "accepted",
    Outcome.MALFORMED: "malformed",
    Outcome.UNAUTHORIZED: "unauthorized",
    Outcome.UNKNOWN_TASK: "unknown task",
    Outcome.OUTDATED_KEY: "outdated key",
    Outcome.CLOSED: "the window is closed",
    Outcome.TOO_EARLY: "the window is not open yet",
    Outcome.QUOTA: "over quota",
    Outcome.FULL: "try again later",
}


def shuffler_app(
    shuffler: Shuffler,
    *,
    work: Callable[[], Any] | None = None,
    work_seconds: float = 10.0,
    more: Sequence[Route] = (),
) -> Starlette:
    """Return the application: keys, tasks, reports, health and coarse metrics.

    Args:
        work: sealing and delivery, repeated in a thread.
        work_seconds: pause between two rounds of work.
        more: routes beside these, such as those of a poll page.
    """
    group = GroupCommit(shuffler)

    async def keys(_: Request) -> Response:
        key_id, public = await asyncio.to_thread(shuffler.keys.active)
        return JSONResponse(
            {"key_id": key_id, "public_key": public.hex()},
            headers={"cache-control": "max-age=300"},
        )

    async def task(request: Request) -> Response:
        found = shuffler.tasks.get(hexadecimal(request, "task_id"))
        if found is None:
            return PlainTextResponse("unknown task", 404)
        return Response(found.encoded, media_type="application/json")

    async def report(request: Request) -> Response:
        task_id = hexadecimal(request, "task_id")
        found = shuffler.tasks.get(task_id)
        if found is None:
            return PlainTextResponse("unknown task", 404)
        envelope = await read_body(request, envelope_bytes(found.slots))
        if envelope[4:36] != task_id:
            return PlainTextResponse("malformed", 400)
        outcome = await group.submit(Upload(bearer(request), envelope))
        headers = {"retry-after": "5"} if outcome is Outcome.FULL else None
        return PlainTextResponse(_WORDS[outcome], outcome.value, headers=headers)

    async def metrics(_: Request) -> Response:
        return PlainTextResponse(await asyncio.to_thread(shuffler_metrics, shuffler))

    return exact_paths(
        Starlette(
            routes=[
                Route("/v1/keys", keys),
                Route("/v1/tasks/{task_id}", task),
                Route("/v1/tasks/{task_id}/reports", report, methods=["POST"]),
                Route("/healthz", health(shuffler.storage)),
                Route("/metrics", metrics),
                *more,
            ],
            exception_handlers={
                TooLarge: too_large,
                TooSlow: too_slow,
                StorageUnreachable: unreachable,
            },
            lifespan=working(work, work_seconds, group),
        )
    )
