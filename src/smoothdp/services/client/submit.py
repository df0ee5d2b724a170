"""A client's report on its way: sealed to the shuffler's key, sent until it is acknowledged."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx

from smoothdp.services.client.client import Client
from smoothdp.services.wire.calls import Outcome, ServiceError, Unreachable, ask
from smoothdp.services.wire.hybrid import PublicKey

_REMEDIES = {
    Outcome.UNAUTHORIZED.value: "Ask who runs the shuffler for a token of this task",
    Outcome.UNKNOWN_TASK.value: "Check the address: this shuffler serves another task",
    Outcome.CLOSED.value: "Send in the next window",
    Outcome.TOO_EARLY.value: "Set this machine's clock right",
    Outcome.QUOTA.value: "A report of this token was taken in this window; send in the next",
}


def submit(
    client: Client,
    datum: Any,
    *,
    http: httpx.Client,
    token: str,
    window: int | None = None,
    attempts: int = 5,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Send a datum once for the present window; send the same again until it is acknowledged.

    Raises:
        InvalidData: a datum outside the task's domain.
        ServiceError: the shuffler refused it, or did not answer; calling again is safe.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from smoothdp.services import (
    ...     OutcomeStore, PrivateKey, ShufflerParty, connect, create_task, issue_tokens,
    ...     on_loopback, write_parties,
    ... )
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     directory = write_parties(Path(folder), task, key).shuffler
    ...     (token,) = issue_tokens(directory, 1)
    ...     party = ShufflerParty.from_directory(directory)
    ...     outcomes = OutcomeStore(Path(folder, "outcomes.sqlite"))
    ...     app = party.app("https://analyzer.example")
    ...     with on_loopback(app) as address, connect(address) as http:
    ...         submit(Client(task, outcomes), 1, http=http, token=token)
    ...     party.shuffler.totals()["accepted"]
    ...     outcomes.close()
    ...     party.shuffler.storage.close()
    1
    """
    path = f"/v1/tasks/{client.task.task_id.hex()}/reports"
    at = client.window_now() if window is None else window
    problem = ServiceError(
        expected="an attempt to send",
        got=f"attempts={attempts}",
        remedy="Give attempts of at least 1",
    )
    for attempt in range(attempts):
        if attempt:
            pause(min(30.0, 0.2 * 2**attempt))
        try:
            envelope = client.envelope(datum, shuffler_key=shuffler_key(http), window=at)
            answer = ask(http, "POST", path, token=token, body=envelope)
        except Unreachable as error:
            problem = error
            continue
        if answer.status == Outcome.ACCEPTED.value:
            client.accepted(at)
            return
        remedy = _REMEDIES.get(answer.status, "Try again: the same report is sent")
        problem = ServiceError(
            expected="the shuffler to take the report", got=answer.words(), remedy=remedy
        )
        if answer.status < 500 and answer.status not in (Outcome.OUTDATED_KEY.value, 408):
            break
    raise problem


def shuffler_key(http: httpx.Client) -> tuple[int, PublicKey]:
    """Ask the shuffler which key to seal to."""
    answer = ask(http, "GET", "/v1/keys")
    if answer.status >= 500:
        raise Unreachable(
            expected="the shuffler's key", got=answer.words(), remedy="Try again later"
        )
    if answer.status != 200:
        raise ServiceError(
            expected="the shuffler's key", got=answer.words(), remedy="Check the address"
        )
    document = answer.document()
    key_id, public = document.get("key_id"), document.get("public_key")
    try:
        if not isinstance(key_id, int) or not 0 <= key_id < 256:
            raise ValueError
        return key_id, PublicKey.from_bytes(bytes.fromhex(str(public)))
    except ValueError:
        raise ServiceError(
            expected="the shuffler's key", got="something else", remedy="Check the address"
        ) from None
