"""Small tasks of format 2, with signing keys of fixed bytes."""

from __future__ import annotations

from functools import cache
from typing import Any

from smoothdp.services.formats.design.task_request import create_task
from smoothdp.services.formats.design.task_shape import TaskIssuer
from smoothdp.services.formats.signing import SigningKey
from smoothdp.services.formats.task import Task

ANALYZER_SIGN, SHUFFLER_SIGN, ISSUER_SIGN = (
    SigningKey.from_bytes(bytes([number]) * 32) for number in (1, 2, 3)
)
ISSUER = TaskIssuer("issuer.example", "https://issuer.example", ISSUER_SIGN.public.hex)
OPEN_TASK: dict[str, Any] = {"issuer": None, "proof": "none"}
"""Options of a task that everybody may answer."""


@cache
def _task(protocol: str, options: tuple[tuple[str, Any], ...]) -> Task:
    fields: dict[str, Any] = {
        "epsilon": "4",
        "delta": "0.01",
        "min_batch": 12,
        "window_seconds": 3600,
        "grace_seconds": 600,
        "windows": 20,
        "analyzer_sign_key": ANALYZER_SIGN.public,
        "shuffler_sign_key": SHUFFLER_SIGN.public,
        "origin": "analyzer.example",
        "issuer": ISSUER,
    }
    if protocol == "real_sum":
        fields |= {"size": 8, "bounds": ("0", "1")}
    return create_task(protocol, **(fields | dict(options)))


def small_task(protocol: str = "boolean_sum", **options: Any) -> Task:
    """Return a task of few users, with an issuer unless ``issuer=None``."""
    return _task(protocol, tuple(sorted(options.items())))


def open_task(**options: Any) -> Any:
    """Return a small task without an issuer: its reports cost nothing."""
    return small_task(issuer=None, proof="none", **options)
