"""The collector of the second protocol: asks for results, and checks who signed them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import httpx

from smoothdp.errors import InvalidData
from smoothdp.services.client.collector import look_up_result, read_collector
from smoothdp.services.formats.party_files import PUBLIC_FILE, read_window_task
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.task import Task
from smoothdp.services.wire.calls import ServiceError, ask, shown_words
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret
from smoothdp.services.wire.window_state import Windowed

LookUp: TypeAlias = Callable[[httpx.Client, int], tuple[dict[str, Any] | None, str]]
"""Asks for the result of a window."""


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


def collector_of(directory: Path, *, signed: bool = False) -> tuple[Windowed, LookUp]:
    """Return a collector's task, of either format, and what asks for the result of a window.

    It returns (document, "") or (None, state), as `window_result` and `look_up_result` do.

    Args:
        directory: the collector's.
        signed: whether the document is what the analyser hands out, {"result", "signature"}.

    Raises:
        InvalidData: no directory of a collector, one that others can read, or ``signed`` for a
            task of the first protocol, whose results have no signature.

    >>> import tempfile
    >>> from smoothdp.services import agree_on_one_host
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task = agree_on_one_host(Path(folder), "boolean_sum", epsilon="1", delta="1e-6",
    ...         min_batch=300, issuer_url="http://127.0.0.1:8603", origin="127.0.0.1")
    ...     agreed, look_up = collector_of(Path(folder, "collector"))
    >>> agreed == task
    True
    """
    if not (directory / PUBLIC_FILE).is_file():
        if signed:
            raise InvalidData(
                expected="a task whose results are signed",
                got="one of format 1",
                remedy="Ask for the result without its signature",
            )
        first, first_token = read_collector(directory)

        def asked_first(http: httpx.Client, window: int) -> tuple[dict[str, Any] | None, str]:
            return look_up_result(http, task_id=first.task_id, window=window, token=first_token)

        return first, asked_first
    task, token = read_window_collector(directory)

    def asked(http: httpx.Client, window: int) -> tuple[dict[str, Any] | None, str]:
        result, state = window_result(http, task, window, token=token)
        if result is None:
            return None, state
        return (json.loads(result.encode()) if signed else result.document), ""

    return task, asked
