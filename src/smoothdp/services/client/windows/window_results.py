"""The collector of the second protocol: asks for results, and checks who signed them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from smoothdp.services.client.collector import look_up_result, read_collector
from smoothdp.services.formats.party_files import PUBLIC_FILE, read_window_task
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.task import Task
from smoothdp.services.wire.calls import ServiceError, ask, shown_words
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret
from smoothdp.services.wire.window_state import Windowed

LookUp: TypeAlias = Callable[[httpx.Client, int], tuple[dict[str, Any] | None, str, bytes]]
"""Asks for the result of a window: document, state, and what the analyser signed as it came."""


def read_window_collector(directory: Path) -> tuple[Task, str]:
    """Return the task and the token of the collector whose directory it is.

    Raises:
        InvalidData: no directory of a collector, or one that others can read.
    """
    secrets = read_secret(directory / SECRETS_FILE, ("collector_token",))
    return read_window_task(directory), secrets["collector_token"]


def window_result(
    http: httpx.Client, task: Task, window: int, *, token: str
) -> tuple[SignedResult | None, str]:
    """Return (result, "") of a window, or (None, what the analyser says of its state).

    The signature is that of the task's analyser. The state is one of those in `window_state`, or
    whatever else the other end wrote.

    Raises:
        ServiceError: it was refused, and why; or it was not signed by the task's analyser.
    """
    path = f"/v2/tasks/{task.task_id.hex()}/results/{window}"
    answer = ask(http, "GET", path, token=token)
    if answer.status == 202:
        return None, str(answer.document().get("state"))
    expected, got, remedy = "a released result", answer.words(), "Ask who runs the analyser"
    if answer.status in (200, 403):
        signed = _signed(answer.body, task, window)
        if answer.status == 200:
            return signed, ""
        why = str(signed.document.get("reason"))
        got = f"a window that was refused for good: {shown_words(why)}"
        remedy = "Nothing of this window will be released"
    elif answer.status == 401:
        got, remedy = "401, the token was refused", "Give the directory of this task's collector"
    elif answer.status == 404:
        got, remedy = "404, a task that it does not know", "Check the address of the analyser"
    raise ServiceError(expected=f"{expected} of window {window}", got=got, remedy=remedy)


def _signed(body: bytes, task: Task, window: int) -> SignedResult:
    try:
        signed = SignedResult.decode(body)
        document = signed.document if signed.verify(task.analyzer_key) else {}
    except DecodeError:
        document = {}
    if (document.get("task_id"), document.get("window")) != (task.task_id.hex(), window):
        raise ServiceError(
            expected=f"what the analyser of the task signed of window {window}",
            got="something else",
            remedy="Check the address of the analyser",
        )
    return signed


def collector_of(directory: Path) -> tuple[Windowed, LookUp]:
    """Return a collector's task, of either format, and what asks for the result of a window.

    That returns (document, "", signed) or (None, state, b""). ``signed`` is the document with the
    analyser's signature, what `look_up_report` takes; tasks of format 1 have none.

    Args:
        directory: of the collector, as it was made.

    Raises:
        InvalidData: no directory of a collector, or one that others can read.

    >>> task, look_up = collector_of(Path("smokers/collector"))  # doctest: +SKIP
    """
    if not (directory / PUBLIC_FILE).is_file():
        first, first_token = read_collector(directory)

        def asked_first(
            http: httpx.Client, window: int
        ) -> tuple[dict[str, Any] | None, str, bytes]:
            found = look_up_result(http, task_id=first.task_id, window=window, token=first_token)
            return *found, b""

        return first, asked_first
    task, token = read_window_collector(directory)

    def asked(http: httpx.Client, window: int) -> tuple[dict[str, Any] | None, str, bytes]:
        signed, state = window_result(http, task, window, token=token)
        return (None, state, b"") if signed is None else (signed.document, "", signed.encode())

    return task, asked
