"""Calls between the parties: a client's report, a shuffler's batch, a collector's question."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx

from smoothdp.errors import InvalidData, SmoothdpError, explain
from smoothdp.services.client import Client
from smoothdp.services.delivery import Put
from smoothdp.services.hybrid import PublicKey
from smoothdp.services.shuffler import Outcome

_SECONDS = 30.0


class ServiceError(SmoothdpError, RuntimeError):
    """A service refused a request, or could not be reached."""


def shuffler_key(http: httpx.Client) -> tuple[int, PublicKey]:
    """Ask the shuffler which key to seal to."""
    answer = http.get("/v1/keys")
    if answer.status_code != 200:
        raise ServiceError(explain("the shuffler's key", f"{answer.status_code}", "Try later"))
    document = answer.json()
    return int(document["key_id"]), PublicKey.from_bytes(bytes.fromhex(document["public_key"]))


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
    """
    path = f"/v1/tasks/{client.task.task_id.hex()}/reports"
    at = client.window_now() if window is None else window
    problem = "no answer"
    for attempt in range(attempts):
        if attempt:
            pause(min(30.0, 0.2 * 2**attempt))
        try:
            envelope = client.envelope(datum, shuffler_key=shuffler_key(http), window=at)
            answer = http.post(path, content=envelope, headers=_bearer(token))
        except httpx.TransportError as error:
            problem = type(error).__name__
            continue
        if answer.status_code == Outcome.ACCEPTED.value:
            return
        problem = f"{answer.status_code} {answer.text}"
        if answer.status_code < 500 and answer.status_code not in (
            Outcome.OUTDATED_KEY.value,
            408,
        ):
            break
    raise ServiceError(explain("the shuffler to take the report", problem, "Try again"))


def putting(http: httpx.Client, token: str) -> Put:
    """Return how a shuffler hands over batches."""

    def put(path: str, body: bytes) -> int:
        try:
            return http.put(path, content=body, headers=_bearer(token)).status_code
        except httpx.TransportError as error:
            raise OSError(type(error).__name__) from error

    return put


def fetch_result(
    http: httpx.Client, *, task_id: bytes, window: int, token: str
) -> dict[str, Any] | None:
    """Return the result of a window as a document; None while there is none yet.

    Raises:
        ServiceError: it was refused, and why.
    """
    answer = http.get(f"/v1/tasks/{task_id.hex()}/results/{window}", headers=_bearer(token))
    if answer.status_code == 202:
        return None
    if answer.status_code != 200:
        raise ServiceError(
            explain("a released result", f"{answer.status_code} {answer.text}", "Ask the analyser")
        )
    document = answer.json()
    if not isinstance(document, dict):
        raise InvalidData(explain("a result", type(document).__name__, "Check the address"))
    return document


def connect(url: str) -> httpx.Client:
    """Return a connection to a service; what it sends says nothing about the sender's program."""
    return httpx.Client(
        base_url=url, timeout=_SECONDS, headers={"user-agent": "-", "accept": "*/*"}
    )


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}
