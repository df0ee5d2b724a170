"""The collector: asks for the results of windows, and checks who signed them."""

from __future__ import annotations

from pathlib import Path

import httpx

from smoothdp.services.formats.party_files import read_task
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.result import SignedResult, most_result_bytes
from smoothdp.services.formats.task import Task
from smoothdp.services.wire.calls import ServiceError, ask, shown_words
from smoothdp.services.wire.key_files import SECRETS_FILE, read_secret


class WindowRefused(ServiceError):
    """The analyser signed that it releases nothing of a window.

    Attributes:
        signed: what it signed: the reason, and the evidence in which people look up their reports.
    """

    signed: SignedResult


_NOTHING = "Nothing of this window will be released"
_BEFORE = (
    "Its result, if it was out, is with those who fetched it then: this analyser has it no more"
)


def read_collector(directory: Path) -> tuple[Task, str]:
    """Return the task and the token of the collector whose directory it is.

    Raises:
        InvalidData: no directory of a collector, or one that others can read.

    >>> import tempfile
    >>> from smoothdp.services import agree_on_one_host
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task = agree_on_one_host(Path(folder), "boolean_sum", epsilon="1", delta="1e-6",
    ...         min_batch=300, issuer_url="http://127.0.0.1:8603", origin="127.0.0.1")
    ...     agreed, token = read_collector(Path(folder, "collector"))
    >>> agreed == task, len(token)
    (True, 64)
    """
    secrets = read_secret(directory / SECRETS_FILE, ("collector_token",))
    return read_task(directory), secrets["collector_token"]


def fetch_result(
    http: httpx.Client, task: Task, window: int, *, token: str
) -> tuple[SignedResult | None, str]:
    """Return (result, "") of a window, or (None, what the analyser says of its state).

    The signature is that of the task's analyser. The state is one of those in `window_state`, or
    whatever else the other end wrote.

    Whether a window was released is read from what was signed, not from the status of the answer.

    Raises:
        WindowRefused: nothing of the window will be released; what was signed of that is with it.
        ServiceError: it was refused, and why; or it was not signed by the task's analyser.

    >>> from types import SimpleNamespace
    >>> analyzer = httpx.MockTransport(lambda _: httpx.Response(202, json={"state": "open"}))
    >>> with httpx.Client(base_url="https://x", transport=analyzer) as http:
    ...     fetch_result(http, SimpleNamespace(task_id=bytes(32), names_of_bins=()), 7, token="")
    (None, 'open')
    """
    path = f"/v2/tasks/{task.task_id.hex()}/results/{window}"
    answer = ask(http, "GET", path, token=token, most=most_result_bytes(task.names_of_bins))
    if answer.status == 202:
        return None, str(answer.document().get("state"))
    expected, got, remedy = "a released result", answer.words(), "Ask who runs the analyser"
    if answer.status in (200, 403):
        signed = _signed(answer.body, task, window)
        if "state" not in signed.document:
            return signed, ""
        why = shown_words(str(signed.document.get("reason")))
        got, remedy = f"a window that was refused for good: {why}", _NOTHING
        if signed.document["state"] == "RELEASED":
            got, remedy = f"a window that was released before: {why}", _BEFORE
        refusal = WindowRefused(expected=f"{expected} of window {window}", got=got, remedy=remedy)
        refusal.signed = signed
        raise refusal
    if answer.status == 401:
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
