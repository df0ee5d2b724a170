"""The shuffler's HTTP face. Nothing about a request is logged or kept but its envelope."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.metrics import in_hundreds
from smoothdp.services.shuffler.group_commit import GroupCommit
from smoothdp.services.shuffler.shuffler import Shuffler, Upload
from smoothdp.services.store.storage import StorageUnreachable
from smoothdp.services.wire.calls import Outcome
from smoothdp.services.wire.envelope import envelope_bytes
from smoothdp.services.wire.http_faces import (
    bearer,
    exact_paths,
    health,
    hexadecimal,
    read_body,
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
    operations: Operations | None = None,
    more: Sequence[Route] = (),
) -> Starlette:
    """Return the application: keys, tasks, reports, health and coarse metrics.

    Args:
        work: sealing and delivery, repeated in a thread.
        work_seconds: pause between two rounds of work.
        operations: notes what became of a round, and is asked at the admin port.
        more: routes beside these, such as those of a poll page.
    """
    group = GroupCommit(shuffler.accept, Outcome.FULL)

    async def keys(_: Request) -> Response:
        key_id, public = await asyncio.to_thread(shuffler.keys.active)
        return JSONResponse(
            {"key_id": key_id, "public_key": public.hex()},
            headers={"cache-control": "max-age=300"},
        )

    async def task(request: Request) -> Response:
        known = shuffler.tasks.get(hexadecimal(request, "task_id"))
        if known is None:
            return PlainTextResponse("unknown task", 404)
        return Response(known.encoded, media_type="application/json")

    async def report(request: Request) -> Response:
        task_id = hexadecimal(request, "task_id")
        known = shuffler.tasks.get(task_id)
        if known is None:
            return PlainTextResponse("unknown task", 404)
        token = bearer(request)
        if not shuffler.knows(token, task_id):
            # Before a byte of the body is read: it costs memory.
            return PlainTextResponse(_WORDS[Outcome.UNAUTHORIZED], Outcome.UNAUTHORIZED.value)
        envelope = await read_body(request, envelope_bytes(known.slots))
        if envelope[4:36] != task_id:
            return PlainTextResponse("malformed", 400)
        outcome = await group.submit(Upload(token, envelope))
        headers = {"retry-after": "5"} if outcome is Outcome.FULL else None
        return PlainTextResponse(_WORDS[outcome], outcome.value, headers=headers)

    async def metrics(_: Request) -> Response:
        return PlainTextResponse(await asyncio.to_thread(shuffler_metrics, shuffler))

    app = exact_paths(
        Starlette(
            routes=[
                Route("/v1/keys", keys),
                Route("/v1/tasks/{task_id}", task),
                Route("/v1/tasks/{task_id}/reports", report, methods=["POST"]),
                Route("/healthz", health(shuffler.storage)),
                Route("/metrics", metrics),
                *more,
            ],
            exception_handlers={StorageUnreachable: unreachable},
            lifespan=working(work, work_seconds, group, operations=operations),
        )
    )
    app.state.operations = operations
    return app


def shuffler_metrics(shuffler: Shuffler) -> str:
    """Return counters of sealed windows, rounded down to hundreds, as text lines.

    They are no side channel: totals of windows that were let out. Windows that are open or were
    too small to leave are not shown, not even as a count.
    """
    reports, states = sealed_reports(shuffler), batch_states(shuffler)
    lines = [f'smoothdp_reports{{reason="{reason}"}} {n}' for reason, n in reports.items()]
    lines += [f'smoothdp_batches{{state="{state}"}} {n}' for state, n in states.items()]
    return "\n".join(lines) + "\n"


def sealed_reports(shuffler: Shuffler) -> dict[str, int]:
    """Return reports of sealed windows by what became of them, in whole hundreds."""
    rows = shuffler.storage.read(
        "SELECT c.reason, sum(c.n) FROM counter c JOIN batch b "
        "ON b.task_id = c.task_id AND b.window = c.window GROUP BY c.reason ORDER BY c.reason"
    )
    return {str(reason): in_hundreds(int(n)) for reason, n in rows}


def batch_states(shuffler: Shuffler) -> dict[str, int]:
    """Return how many batches are in each state."""
    rows = shuffler.storage.read("SELECT state, count(*) FROM batch GROUP BY state ORDER BY state")
    return {str(state): int(n) for state, n in rows}
