"""Named points at which tests stop a service; nothing happens there otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

Reach: TypeAlias = Callable[[str], None]
"""Called with the name of the point that was reached."""

POINTS = (
    "card: key stored",
    "card: signature stored",
    "ingest: before opening",
    "ingest: before commit",
    "ingest: after commit",
    "seal: inside the transaction",
    "seal: after commit",
    "deliver: between parts",
    "deliver: before acknowledgement",
    "purge: after commit",
    "count: inside the transaction",
    "release: between ledger and result",
    "release: after commit",
)
"""Of shuffler and analyser."""
ISSUER_POINTS = (
    "issue: within the group",
    "issue: before commit",
    "issue: after commit",
    "issue: before the answer",
    "close: inside the transaction",
    "close: after commit",
    "served: before it is kept as told",
)
CLIENT_POINTS = (
    "client: before the draw is stored",
    "client: after the draw is stored",
    "client: before the report is stored",
    "client: after the report is stored",
    "client: before sent is stored",
)


def pass_by(_: str) -> None:
    """Go on."""
