"""The analyser's HTTP face: batches from the shuffler, results for the collector."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.window_release import read_result
from smoothdp.services.operations.admin import Operations
from smoothdp.services.store.storage import StorageFull, StorageUnreachable
from smoothdp.services.wire.batch import PART_SLOTS
from smoothdp.services.wire.envelope import SLOT_BYTES
from smoothdp.services.wire.http_faces import (
    bearer,
    exact_paths,
    health,
    hexadecimal,
    read_body,
    unreachable,
    whole_number,
    working,
)
from smoothdp.services.wire.tokens import matches

_MOST_HEADER = 1 << 20


def analyzer_app(
    analyzer: Analyzer,
    *,
    shuffler_tokens: Sequence[str],
    collector_tokens: Sequence[str],
    work: Callable[[], Any] | None = None,
    work_seconds: float = 10.0,
    operations: Operations | None = None,
) -> Starlette:
    """Return the application.

    Args:
        shuffler_tokens: hashes of the tokens that may bring batches (`tokens.token_hash`).
        collector_tokens: hashes of the tokens that may read results.
        work: counting and releasing, repeated in a thread.
        work_seconds: pause between two rounds of work.
        operations: notes what became of a round, and is asked at the admin port.
    """

    async def store(put: Callable[..., int], *values: Any) -> int:
        try:
            return await asyncio.to_thread(put, *values)
        except StorageFull:
            return 503

    async def batch(request: Request) -> Response:
        if not matches(bearer(request), list(shuffler_tokens)):
            return PlainTextResponse("unauthorized", 401)
        data = await read_body(request, _MOST_HEADER)
        batch_id = hexadecimal(request, "batch_id")
        return PlainTextResponse("", await store(analyzer.put_batch, batch_id, data))

    async def part(request: Request) -> Response:
        if not matches(bearer(request), list(shuffler_tokens)):
            return PlainTextResponse("unauthorized", 401)
        data = await read_body(request, PART_SLOTS * SLOT_BYTES)
        number = whole_number(request.path_params["part"])
        if number is None:
            return PlainTextResponse("", 404)
        batch_id = hexadecimal(request, "batch_id")
        return PlainTextResponse("", await store(analyzer.put_part, batch_id, number, data))

    async def result(request: Request) -> Response:
        if not matches(bearer(request), list(collector_tokens)):
            return PlainTextResponse("unauthorized", 401)
        window = whole_number(request.path_params["window"])
        if window is None:
            return PlainTextResponse("", 404)
        task_id = hexadecimal(request, "task_id")
        status, body = await asyncio.to_thread(read_result, analyzer, task_id, window)
        return Response(body, status, media_type="application/json")

    app = exact_paths(
        Starlette(
            routes=[
                Route("/v1/batches/{batch_id}", batch, methods=["PUT"]),
                Route("/v1/batches/{batch_id}/parts/{part}", part, methods=["PUT"]),
                Route("/v1/tasks/{task_id}/results/{window}", result),
                Route("/healthz", health(analyzer.storage)),
            ],
            exception_handlers={StorageUnreachable: unreachable},
            lifespan=working(work, work_seconds, operations=operations),
        )
    )
    app.state.operations = operations
    return app


def batch_states(analyzer: Analyzer) -> dict[str, int]:
    """Return how many batches are in each state."""
    rows = analyzer.storage.read("SELECT state, count(*) FROM batch GROUP BY state ORDER BY state")
    return {str(state): int(n) for state, n in rows}
