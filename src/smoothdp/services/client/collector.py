"""The collector: reads its directory, and asks the analyser for the results of windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from smoothdp.services.wire.calls import ServiceError, ask, shown_words
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret, read_task
from smoothdp.services.wire.task import Task


def read_collector(directory: Path) -> tuple[Task, str]:
    """Return the task and the token of the collector whose directory it is.

    Raises:
        InvalidData: no directory of a collector, or one that others can read.

    >>> import tempfile
    >>> from smoothdp.services import PrivateKey, create_task, write_parties
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_parties(Path(folder), task, key)
    ...     task, token = read_collector(written.collector)
    >>> len(token)
    64
    """
    secrets = read_secret(directory / SECRETS_FILE, ("collector_token",))
    return read_task(directory), secrets["collector_token"]


def fetch_result(
    http: httpx.Client, *, task_id: bytes, window: int, token: str
) -> dict[str, Any] | None:
    """Return the result of a window as a document; None while there is none.

    Raises:
        ServiceError: it was refused, and why.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from smoothdp.services import (
    ...     AnalyzerParty, PrivateKey, connect, create_task, on_loopback, write_parties
    ... )
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_parties(Path(folder), task, key)
    ...     party = AnalyzerParty.from_directory(written.analyzer)
    ...     task, token = read_collector(written.collector)
    ...     with on_loopback(party.app()) as address, connect(address) as http:
    ...         result = fetch_result(http, task_id=task.task_id, window=0, token=token)
    ...     party.analyzer.storage.close()
    >>> result is None
    True
    """
    return look_up_result(http, task_id=task_id, window=window, token=token)[0]


def look_up_result(
    http: httpx.Client, *, task_id: bytes, window: int, token: str
) -> tuple[dict[str, Any] | None, str]:
    """Return (result, "") of a window, or (None, what the analyser says of its state).

    The state is one of those in `window_state`, or whatever else the other end wrote.

    Raises:
        ServiceError: it was refused, and why.

    >>> analyzer = httpx.MockTransport(lambda _: httpx.Response(202, json={"state": "open"}))
    >>> with httpx.Client(base_url="https://x", transport=analyzer) as http:
    ...     look_up_result(http, task_id=bytes(32), window=7, token="")
    (None, 'open')
    """
    path = f"/v1/tasks/{task_id.hex()}/results/{window}"
    answer = ask(http, "GET", path, token=token)
    if answer.status == 202:
        return None, str(answer.document().get("state"))
    if answer.status == 200:
        return answer.document(), ""
    expected, got, remedy = "a released result", answer.words(), "Ask who runs the analyser"
    if answer.status == 401:
        got, remedy = "401, the token was refused", "Give the directory of this task's collector"
    elif answer.status == 404:
        got, remedy = "404, a task that it does not know", "Check the address of the analyser"
    elif answer.status == 403:
        why = str(answer.document().get("reason"))
        got = f"a window that was refused for good: {shown_words(why)}"
        remedy = "Nothing of this window will be released"
    raise ServiceError(expected=f"{expected} of window {window}", got=got, remedy=remedy)
