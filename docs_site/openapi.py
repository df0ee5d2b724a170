"""The OpenAPI document of the services: `python -m docs_site.openapi` writes it anew.

Paths and methods are those of the applications' own routes, titles of refusals those of their
tables; what is said beside a route is here. A route without words here, or words without a
route, is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route

from smoothdp.services.analyzer import analyzer_web
from smoothdp.services.issuer import issuer, issuer_web
from smoothdp.services.shuffler import shuffler_web
from smoothdp.services.wire.problems import PROBLEM_TYPE, Problem

DOCUMENT = Path(__file__).parents[1] / "docs" / "reference" / "services-openapi.json"
BYTES, JSON, PROBLEM = "application/octet-stream", "application/json", "application/problem+json"


@dataclass(frozen=True)
class Said:
    """What is said of a route.

    Attributes:
        summary: what it does.
        good: status -> (media type or "", what it means).
        refused: the statuses of its problems.
        secret: who must name a secret in the header, as Bearer; "" if nobody.
        body: media type of the request's body, or "".
    """

    summary: str
    good: Mapping[int, tuple[str, str]]
    refused: tuple[int, ...]
    secret: str = ""
    body: str = ""


CARD = Said(
    "The card of a window with both signatures; the same for everybody, for any cache",
    {200: ("application/vnd.esa.card", "card and signatures, immutable")},
    (404, 503),
)
KEPT = {200: ("", "known already, the same"), 201: ("", "stored, on disk")}
SAID: dict[str, dict[tuple[str, str], Said]] = {
    "issuer": {
        ("GET", "/v2/tasks/{task_id}/cards/{window}"): CARD,
        ("POST", "/v2/tokens/{task_id}/{window}"): Said(
            "Blind signatures on the M requests of an account; the same request, the same answer",
            {200: (issuer_web.TOKENS_MEDIA_TYPE, "M blind signatures, in the order of requests")},
            (400, 401, 404, 408, 409, 410, 413, 422, 425, 429, 503),
            secret="invitation",
            body="application/vnd.esa.token-requests",
        ),
    },
    "shuffler": {
        ("GET", "/v2/tasks/{task_id}"): Said(
            "The task, RFC 8785; its id is the SHA-256", {200: (JSON, "the task")}, (404,)
        ),
        ("GET", "/v2/tasks/{task_id}/cards/{window}"): Said(
            f"{CARD.summary}. Only of a task without an issuer", CARD.good, CARD.refused
        ),
        ("POST", "/v2/reports/{task_id}/{window}"): Said(
            "A sealed report; on disk before the answer. The same report again is answered alike",
            {202: ("", "the shuffler has it")},
            (400, 401, 403, 404, 408, 409, 410, 413, 425, 429, 503),
            secret="pass",
            body="application/vnd.esa.sealed-report",
        ),
        ("GET", "/v2/tasks/{task_id}/marks/{window}"): Said(
            "The marks file of a window that was sealed; 410 if too few people were in it",
            {200: (shuffler_web.MARKS_MEDIA_TYPE, "all marks, ascending")},
            (404, 410, 503),
        ),
    },
    "analyzer": {
        ("PUT", "/v2/gateway-keys/{task_id}/{window}"): Said(
            "The shuffler's gateway key of a window, as a key configuration of RFC 9458",
            KEPT,
            (400, 401, 404, 408, 409, 410, 413, 425, 503),
            secret="shuffler",
            body=BYTES,
        ),
        ("PUT", "/v2/issuer-keys/{task_id}/{window}"): Said(
            "The issuer's public key of a window, SPKI",
            KEPT,
            (400, 401, 404, 408, 409, 410, 413, 425, 503),
            secret="issuer",
            body=BYTES,
        ),
        ("GET", "/v2/cards/{task_id}/{window}"): Said(
            "The card with the analyser's signature; with both once the shuffler has signed",
            {200: (analyzer_web.CARD_MEDIA_TYPE, "card and one or two signatures")},
            (401, 404, 503),
            secret="shuffler or issuer",
        ),
        ("PUT", "/v2/cards/{task_id}/{window}"): Said(
            "The card with both signatures",
            KEPT,
            (401, 404, 408, 409, 413, 422, 503),
            secret="shuffler",
            body=analyzer_web.CARD_MEDIA_TYPE,
        ),
        ("PUT", "/v2/served/{task_id}/{window}"): Said(
            "How many accounts the issuer served in a window, signed",
            KEPT,
            (400, 401, 404, 408, 409, 413, 503),
            secret="issuer",
            body=BYTES,
        ),
        ("POST", "/v2/clock"): Said(
            "The caller's time for the analyser's; each guards its own clock with it",
            {200: (JSON, "the analyser's time, seconds since 1970")},
            (400, 401, 408, 413, 503),
            secret="shuffler or issuer",
            body=JSON,
        ),
        ("PUT", "/v2/batches/{batch_id}"): Said(
            "The signed header of a batch",
            KEPT,
            (400, 401, 408, 409, 413, 425, 503),
            secret="shuffler",
            body=BYTES,
        ),
        ("PUT", "/v2/batches/{batch_id}/parts/{part}"): Said(
            "A part of a batch, as its header announced it",
            KEPT,
            (401, 404, 408, 409, 413, 422, 503),
            secret="shuffler",
            body=BYTES,
        ),
        ("GET", "/v2/tasks/{task_id}/results/{window}"): Said(
            "The signed result of a window, or the state that it is in",
            {
                200: (JSON, "released: the result with the analyser's signature"),
                202: (JSON, "not yet: the state of the window"),
                403: (JSON, "refused or quarantined for good: why, with the analyser's signature"),
            },
            (401, 404, 503),
            secret="collector",
        ),
    },
}
PARTS = {
    "task_id": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    "batch_id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
    "window": {"type": "integer", "minimum": 0, "maximum": 2**32 - 1},
    "part": {"type": "integer", "minimum": 0},
}


def applications() -> dict[str, Starlette]:
    """Return the three applications; routes alone are looked at, so nobody answers behind them."""
    task = SimpleNamespace(slots=1, signed=True, issuer=None, task_id=bytes(32))
    nobody: Any = SimpleNamespace(task=task, accept=None, charge=None, marks=None)
    return {
        "issuer": issuer_web.issuer_app(nobody),
        "shuffler": shuffler_web.shuffler_app(nobody),
        "analyzer": analyzer_web.analyzer_app(nobody, callers={}),
    }


def problems() -> dict[str, dict[int, Problem]]:
    """Return what each party refuses with, by status."""
    shuffler = (*shuffler_web.PROBLEMS.values(), shuffler_web.LONG, shuffler_web.SLOW)
    of_issuer = [value for value in vars(issuer).values() if isinstance(value, Problem)]
    early = Problem(425, "too-early", "The window has not begun")
    return {
        "issuer": {p.status: p for p in (*of_issuer, issuer_web.SLOW, early)},
        "shuffler": {p.status: p for p in shuffler},
        "analyzer": dict(analyzer_web.PROBLEMS),
    }


def routes_of(app: Starlette) -> list[tuple[str, str]]:
    """Return (method, path) of an application."""
    return [
        (method, route.path)
        for route in app.routes
        if isinstance(route, Route)
        for method in sorted((route.methods or set()) - {"HEAD"})
    ]


def document() -> dict[str, Any]:
    """Return the document; a path that two parties have is theirs by its servers."""
    paths: dict[str, dict[str, Any]] = {}
    refusals = problems()
    for party, app in applications().items():
        routes = routes_of(app)
        if set(routes) != set(SAID[party]):
            raise ValueError(f"{party}: {sorted(set(routes) ^ set(SAID[party]))}")
        for method, path in routes:
            said = SAID[party][method, path]
            operation = _operation(party, path, said, refusals[party])
            # One path may be served by two parties: then each has its own prefix.
            paths.setdefault(f"/{party}{path}", {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "smoothdp services, esa/2",
            "version": "2",
            "description": (
                "Three parties, each on a host of its own. The first part of every path here, "
                "/issuer, /shuffler or /analyzer, stands for the party's address and is not "
                "sent. Refusals are RFC 9457 documents; Retry-After names a time in seconds."
            ),
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "hexadecimal"}
            },
            "schemas": {
                "problem": {
                    "type": "object",
                    "required": ["type", "title", "status"],
                    "additionalProperties": False,
                    "properties": {
                        "type": {"type": "string", "pattern": f"^{PROBLEM_TYPE}[a-z-]+$"},
                        "title": {"type": "string"},
                        "status": {"type": "integer"},
                    },
                }
            },
        },
    }


def _operation(
    party: str, path: str, said: Said, refusals: Mapping[int, Problem]
) -> dict[str, Any]:
    answers: dict[int, dict[str, Any]] = {}
    for status, (media_type, meaning) in said.good.items():
        answers[status] = {"description": meaning}
        if media_type:
            answers[status]["content"] = {media_type: {}}
    for status in said.refused:
        problem = refusals[status]
        answers[status] = {
            "description": f"{problem.title} ({PROBLEM_TYPE}{problem.word})",
            "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/problem"}}},
        }
    operation: dict[str, Any] = {
        "tags": [party],
        "summary": said.summary,
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": PARTS[name]}
            for name in _names(path)
        ],
        "responses": {str(status): answers[status] for status in sorted(answers)},
    }
    if said.secret:
        operation["security"] = [{"bearer": []}]
        operation["description"] = f"Bearer: the secret of this {said.secret}"
    if said.body:
        operation["requestBody"] = {"required": True, "content": {said.body: {}}}
    return operation


def _names(path: str) -> Iterable[str]:
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


def encoded() -> str:
    """Return the document as it is committed."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    DOCUMENT.write_text(encoded(), encoding="utf-8")
