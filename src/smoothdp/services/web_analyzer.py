"""The analyser's HTTP face: batches from the shuffler, results for the collector."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.services.analyzer import Analyzer
from smoothdp.services.batch import PART_SLOTS
from smoothdp.services.envelope import SLOT_BYTES
from smoothdp.services.release import read_result
from smoothdp.services.tokens import matches
from smoothdp.services.web import (
    TooLarge,
    TooSlow,
    bearer,
    health,
    read_body,
    too_large,
    too_slow,
    working,
)

_MOST_HEADER = 1 << 20


def analyzer_app(
    analyzer: Analyzer,
    *,
    shuffler_tokens: Sequence[str],
    collector_tokens: Sequence[str],
    work: Callable[[], Any] | None = None,
    work_seconds: float = 10.0,
) -> Starlette:
    """Return the application.

    Args:
        shuffler_tokens: hashes of the tokens that may bring batches (`tokens.token_hash`).
        collector_tokens: hashes of the tokens that may read results.
        work: counting and releasing, repeated in a thread.
        work_seconds: pause between two rounds of work.
    """

    async def batch(request: Request) -> Response:
        if not matches(bearer(request), list(shuffler_tokens)):
            return PlainTextResponse("unauthorized", 401)
        data = await read_body(request, _MOST_HEADER)
        status = await asyncio.to_thread(analyzer.put_batch, _hex(request, "batch_id"), data)
        return PlainTextResponse("", status)

    async def part(request: Request) -> Response:
        if not matches(bearer(request), list(shuffler_tokens)):
            return PlainTextResponse("unauthorized", 401)
        data = await read_body(request, PART_SLOTS * SLOT_BYTES)
        place = request.path_params["part"]
        status = await asyncio.to_thread(analyzer.put_part, _hex(request, "batch_id"), place, data)
        return PlainTextResponse("", status)

    async def result(request: Request) -> Response:
        if not matches(bearer(request), list(collector_tokens)):
            return PlainTextResponse("unauthorized", 401)
        window = request.path_params["window"]
        task_id = _hex(request, "task_id")
        status, body = await asyncio.to_thread(read_result, analyzer, task_id, window)
        return Response(body, status, media_type="application/json")

    return Starlette(
        routes=[
            Route("/v1/batches/{batch_id}", batch, methods=["PUT"]),
            Route("/v1/batches/{batch_id}/parts/{part:int}", part, methods=["PUT"]),
            Route("/v1/tasks/{task_id}/results/{window:int}", result),
            Route("/healthz", health),
        ],
        exception_handlers={TooLarge: too_large, TooSlow: too_slow},
        lifespan=working(work, work_seconds),
    )


def _hex(request: Request, name: str) -> bytes:
    try:
        return bytes.fromhex(request.path_params[name])
    except ValueError:
        return b""
