"""What an operator asks on the machine itself: is it alive, is it ready, what are the figures."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from smoothdp.errors import InvalidParameter
from smoothdp.services.operations.health import Check, Health, Rounds
from smoothdp.services.operations.logs import cause_of
from smoothdp.services.operations.metrics import Metrics, Totals


@dataclass(slots=True)
class Operations:
    """What is asked of a party while it runs; the party's application carries it.

    Attributes:
        party: "shuffler", "analyzer" or "issuer".
        rounds: what became of its rounds of work.
        checks: its conditions; `run` adds that of the certificate.
        totals: for metrics, of what was let out only.

    >>> operations = Operations("shuffler", Rounds(pause=10))
    >>> operations.failed(ZeroDivisionError())
    >>> sorted(operations.checks)
    ['round']
    """

    party: str
    rounds: Rounds
    checks: dict[str, Check] = field(default_factory=dict)
    totals: dict[str, Totals] = field(default_factory=dict)
    metrics: Metrics = field(init=False)

    def __post_init__(self) -> None:
        """Add what every party has."""
        self.checks.setdefault("round", self.rounds.condition)
        self.metrics = Metrics(self.party, totals=self.totals)

    def failed(self, error: Exception) -> None:
        """Note that a round of work was put off."""
        self.rounds.failed(error)
        self.metrics.put_off(cause_of(error))


def admin_app(operations: Operations, health: Health) -> Starlette:
    """Return ``/livez``, ``/readyz`` and ``/metrics``."""

    async def livez(_: Request) -> Response:
        return PlainTextResponse("ok")

    async def readyz(_: Request) -> Response:
        conditions = await health.conditions()
        ready = all(condition.good for condition in conditions)
        return JSONResponse(
            {
                "party": operations.party,
                "ready": ready,
                "wrong": [c.name for c in conditions if not c.good],
                "conditions": [condition.to_json() for condition in conditions],
            },
            200 if ready else 503,
        )

    async def metrics(_: Request) -> Response:
        conditions = await health.conditions()
        try:
            # Totals read the storage, which may be locked.
            async with asyncio.timeout(4):
                text = await asyncio.to_thread(operations.metrics.text, conditions)
        except TimeoutError:
            return PlainTextResponse("", 503)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    return Starlette(
        routes=[Route("/livez", livez), Route("/readyz", readyz), Route("/metrics", metrics)]
    )


def admin_address(text: str) -> tuple[str, int]:
    """Return host and port of ``--admin``: an address of this machine alone.

    Raises:
        InvalidParameter: another address, or none.

    >>> admin_address("127.0.0.1:9601")
    ('127.0.0.1', 9601)
    >>> admin_address("0.0.0.0:9601")
    Traceback (most recent call last):
        ...
    smoothdp.errors.InvalidParameter: Expected --admin 127.0.0.1:PORT; got 0.0.0.0:9601. ...
    """
    host, _, port = text.rpartition(":")
    good = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) < 1 << 16
    if host not in ("127.0.0.1", "[::1]", "localhost") or not good:
        raise InvalidParameter(
            expected="--admin 127.0.0.1:PORT",
            got=text[:80],
            remedy="Give a port of this machine: whoever reaches it sees how the service is",
        )
    return host.strip("[]"), int(port)
