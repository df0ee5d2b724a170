"""The analyser's HTTP face: keys, cards, batches of the other parties; results for collectors."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smoothdp.errors import InvalidParameter, LedgerError
from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.release import read_result
from smoothdp.services.analyzer.window_cards import GATEWAY, ISSUER
from smoothdp.services.formats.batch import PART_RECORDS
from smoothdp.services.formats.card import key_config
from smoothdp.services.formats.report import record_bytes
from smoothdp.services.formats.served import SERVED_BYTES
from smoothdp.services.operations.admin import Operations
from smoothdp.services.operations.bodies import TooLarge, TooMany, TooSlow, read_body
from smoothdp.services.store.storage import (
    StorageDamaged,
    StorageFull,
    StorageLost,
    StorageUnreachable,
)
from smoothdp.services.tokens.issuer_key import SPKI_BYTES, IssuerPublicKey
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.clock_call import (
    CLOCK_PATH,
    MOST_CLOCK_BYTES,
    TELLS_NOTHING,
    clock_body,
    hear_clock,
)
from smoothdp.services.wire.http_faces import (
    bearer,
    exact_paths,
    hexadecimal,
    whole_number,
    working,
)
from smoothdp.services.wire.hybrid import PublicKey
from smoothdp.services.wire.problems import Problem
from smoothdp.services.wire.tokens import matches

SHUFFLER_ROLE, ISSUER_ROLE, COLLECTOR_ROLE = "shuffler", "issuer", "collector"
CARD_MEDIA_TYPE = "application/vnd.esa.card"
_MOST_CARD = 1024
_MOST_HEADER = 1 << 20
_CONFIG_BYTES = 41

PROBLEMS = {
    400: Problem(400, "malformed", "This is nothing of the task's"),
    401: Problem(401, "unauthorized", "No token of a party of this task"),
    404: Problem(404, "unknown", "There is no such task, window or card, or it is not paid for"),
    408: Problem(408, "slow", "The body did not arrive in time"),
    409: Problem(409, "other", "Another one is known, or there is no card"),
    410: Problem(410, "over", "The window is over"),
    413: Problem(413, "long", "The body is longer than anything that is meant"),
    422: Problem(422, "damaged", "Not the bytes that were announced, or no good signature"),
    425: Problem(425, "too-early", "The window is too far ahead, or not over", seconds=10.0),
    503: Problem(503, "later", "Try again later", seconds=5.0),
}


def analyzer_app(
    analyzer: Analyzer,
    *,
    callers: Mapping[str, str],
    work: Callable[[], Any] | None = None,
    work_seconds: float = 10.0,
    operations: Operations | None = None,
) -> Starlette:
    """Return the application.

    Args:
        callers: "shuffler", "issuer" and "collector" -> the hash of its token (`token_hash`).
        work: counting and releasing, repeated in a thread.
        work_seconds: pause between two rounds of work.
        operations: what an operator may ask.
    """

    def is_from(request: Request, *roles: str) -> bool:
        return matches(bearer(request), [callers[role] for role in roles if role in callers])

    def window_of(request: Request) -> int | None:
        if hexadecimal(request, "task_id") != analyzer.task.task_id:
            return None
        return whole_number(request.path_params["window"])

    async def done(put: Callable[..., int], *values: Any) -> Response:
        return _status(await asyncio.to_thread(put, *values))

    async def gateway_key(request: Request) -> Response:
        if not is_from(request, SHUFFLER_ROLE):
            return _status(401)
        if (window := window_of(request)) is None:
            return _status(404)
        config = await read_body(request, _CONFIG_BYTES)
        key = config[3:35]
        if not _is_gateway_key(key) or config != key_config(window, key):
            return _status(400)
        return await done(analyzer.cards.put_key, GATEWAY, window, key)

    async def issuer_key(request: Request) -> Response:
        if not is_from(request, ISSUER_ROLE):
            return _status(401)
        if (window := window_of(request)) is None or analyzer.task.issuer is None:
            return _status(404)
        spki = await read_body(request, SPKI_BYTES)
        try:
            IssuerPublicKey.from_spki(spki)
        except TokenRefused:
            return _status(400)
        return await done(analyzer.cards.put_key, ISSUER, window, spki)

    async def card(request: Request) -> Response:
        if not is_from(request, SHUFFLER_ROLE, ISSUER_ROLE):
            return _status(401)
        window = window_of(request)
        found = None if window is None else await asyncio.to_thread(analyzer.cards.shown, window)
        if found is None:
            return _status(404)
        return Response(found, media_type=CARD_MEDIA_TYPE, headers={"cache-control": "no-store"})

    async def signed_card(request: Request) -> Response:
        if not is_from(request, SHUFFLER_ROLE):
            return _status(401)
        if (window := window_of(request)) is None:
            return _status(404)
        data = await read_body(request, _MOST_CARD)
        return await done(analyzer.cards.put_signed, window, data)

    async def served(request: Request) -> Response:
        if not is_from(request, ISSUER_ROLE):
            return _status(401)
        if (window := window_of(request)) is None:
            return _status(404)
        return await done(analyzer.put_served, window, await read_body(request, SERVED_BYTES))

    async def clock(request: Request) -> Response:
        from_shuffler = is_from(request, SHUFFLER_ROLE)
        if not from_shuffler and not is_from(request, ISSUER_ROLE):
            return _status(401)
        body = await read_body(request, MOST_CLOCK_BYTES)
        if from_shuffler and body != TELLS_NOTHING:
            # The issuer is run by the same operator: its clock would be no second one.
            try:
                hear_clock(body, analyzer.clocks)
            except ServiceError:
                return _status(400)
        told = clock_body(analyzer.clocks)
        # Two parties may follow one wrong source: a clock that was set is no second one. Nor is
        # one that the shuffler does not confirm, to the issuer, which hears no other.
        if told is None or (not from_shuffler and analyzer.clocks.hold() is not None):
            return _status(503)
        return Response(told, media_type="application/json")

    async def batch(request: Request) -> Response:
        if not is_from(request, SHUFFLER_ROLE):
            return _status(401)
        data = await read_body(request, _MOST_HEADER)
        return await done(analyzer.put_batch, hexadecimal(request, "batch_id"), data)

    async def part(request: Request) -> Response:
        if not is_from(request, SHUFFLER_ROLE):
            return _status(401)
        if (number := whole_number(request.path_params["part"])) is None:
            return _status(404)
        most = PART_RECORDS * record_bytes(analyzer.task.signed)
        data = await read_body(request, most)
        return await done(analyzer.put_part, hexadecimal(request, "batch_id"), number, data)

    async def result(request: Request) -> Response:
        if not is_from(request, COLLECTOR_ROLE):
            return _status(401)
        if (window := window_of(request)) is None:
            return _status(404)
        now = analyzer.clocks.now()
        status, body = await asyncio.to_thread(read_result, analyzer, window, now=now)
        return Response(body, status, media_type="application/json")

    app = Starlette(
        routes=[
            Route("/v2/gateway-keys/{task_id}/{window}", gateway_key, methods=["PUT"]),
            Route("/v2/issuer-keys/{task_id}/{window}", issuer_key, methods=["PUT"]),
            Route("/v2/cards/{task_id}/{window}", card),
            Route("/v2/cards/{task_id}/{window}", signed_card, methods=["PUT"]),
            Route("/v2/served/{task_id}/{window}", served, methods=["PUT"]),
            Route(CLOCK_PATH, clock, methods=["POST"]),
            Route("/v2/batches/{batch_id}", batch, methods=["PUT"]),
            Route("/v2/batches/{batch_id}/parts/{part}", part, methods=["PUT"]),
            Route("/v2/tasks/{task_id}/results/{window}", result),
        ],
        lifespan=working(work, work_seconds, operations=operations),
    )
    app.state.operations = operations
    return exact_paths(app, {error: PROBLEMS[status] for error, status in _ERRORS.items()})


_ERRORS: dict[type[Exception], int] = {
    TooLarge: 413,
    TooSlow: 408,
    TooMany: 503,
    StorageFull: 503,
    StorageUnreachable: 503,
    StorageDamaged: 503,
    StorageLost: 503,
    # Another process holds the file: nothing was stored.
    sqlite3.OperationalError: 503,
    # It was lost, say: an operator's matter, which the condition "ledger" names.
    LedgerError: 503,
}


def _status(status: int) -> Response:
    return PROBLEMS[status].response() if status in PROBLEMS else Response(status_code=status)


def _is_gateway_key(key: bytes) -> bool:
    try:
        PublicKey.from_bytes(key)
    except InvalidParameter:
        return False
    return True
