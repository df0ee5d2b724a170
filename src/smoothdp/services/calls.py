"""Calls between the parties: a client's report, a shuffler's batch, a collector's question."""

from __future__ import annotations

import ipaddress
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from smoothdp.errors import InvalidParameter, SmoothdpError
from smoothdp.services.client import Client
from smoothdp.services.delivery import Put
from smoothdp.services.hybrid import PublicKey
from smoothdp.services.ingest import Outcome

_SECONDS = 30.0
_MOST_ANSWER = 1 << 22
_MOST_WORDS = 300


_REMEDIES = {
    Outcome.UNAUTHORIZED.value: "Ask who runs the shuffler for a token of this task",
    Outcome.UNKNOWN_TASK.value: "Check the address: this shuffler serves another task",
    Outcome.CLOSED.value: "Send in the next window",
    Outcome.TOO_EARLY.value: "Set this machine's clock right",
    Outcome.QUOTA.value: "A report of this token was taken in this window; send in the next",
}


class ServiceError(SmoothdpError, RuntimeError):
    """A service refused a request, or could not be reached."""


class Unreachable(ServiceError):
    """A service did not answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered, read up to a limit: the other end may be hostile."""

    status: int
    body: bytes

    def document(self) -> dict[str, Any]:
        """Return the body as a JSON object, or raise ServiceError."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ServiceError(
                expected="a JSON object from the service",
                got="something else",
                remedy="Check the address",
            )
        return found

    def words(self) -> str:
        """Return the status and the start of the body, without what could steer a terminal."""
        text = self.body[:_MOST_WORDS].decode("utf-8", "replace")
        return f"{self.status} {''.join(c for c in text if c.isprintable())}".strip()


def ask(
    http: httpx.Client, method: str, path: str, *, token: str = "", body: bytes = b""
) -> Answer:
    """Send a request and return the answer.

    Raises:
        ServiceError: no answer, or one that is longer than anything that is meant.
    """
    headers = {"authorization": f"Bearer {token}"} if token else {}
    data = bytearray()
    try:
        with http.stream(method, path, content=body or None, headers=headers) as answer:
            for piece in answer.iter_bytes(1 << 16):
                data += piece
                if len(data) > _MOST_ANSWER:
                    raise ServiceError(
                        expected=f"at most {_MOST_ANSWER} bytes",
                        got="more",
                        remedy="Check the address",
                    )
        return Answer(answer.status_code, bytes(data))
    except httpx.TransportError as error:
        raise Unreachable(
            expected=f"an answer from {http.base_url}",
            got=f"none ({type(error).__name__})",
            remedy="Check the address, and that the service runs there",
        ) from None


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
    ...     OutcomeStore, PrivateKey, ShufflerParty, create_task, issue_tokens, on_loopback,
    ...     write_parties,
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
        expected="an attempt to send", got=f"attempts={attempts}", remedy="Allow one"
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


def putting(http: httpx.Client, token: str) -> Put:
    """Return how a shuffler hands over batches."""

    def put(path: str, body: bytes) -> int:
        try:
            return ask(http, "PUT", path, token=token, body=body).status
        except ServiceError as error:
            raise OSError(str(error)) from None

    return put


def fetch_result(
    http: httpx.Client, *, task_id: bytes, window: int, token: str
) -> dict[str, Any] | None:
    """Return the result of a window as a document; None while there is none.

    Raises:
        ServiceError: it was refused, and why.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from smoothdp.services import (
    ...     AnalyzerParty, PrivateKey, create_task, on_loopback, read_collector, write_parties
    ... )
    >>> key = PrivateKey.generate()
    >>> task = create_task("boolean_sum", epsilon="1", delta="1e-6", min_batch=500,
    ...     analyzer_key=key.public)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_parties(Path(folder), task, key)
    ...     party = AnalyzerParty.from_directory(written.analyzer)
    ...     task, token = read_collector(written.collector)
    ...     with on_loopback(party.app()) as address, connect(address) as http:
    ...         found = fetch_result(http, task_id=task.task_id, window=0, token=token)
    ...     party.analyzer.storage.close()
    >>> found is None
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
        got = f"a window that was refused for good: {_refusal(answer)}"
        remedy = "Nothing of this window will be released"
    raise ServiceError(expected=f"{expected} of window {window}", got=got, remedy=remedy)


def _refusal(answer: Answer) -> str:
    """Return why, without what could steer a terminal."""
    why = str(answer.document().get("reason"))[:_MOST_WORDS]
    return "".join(c for c in why if c.isprintable())


def connect(url: str) -> httpx.Client:
    """Return a connection to a service; what it sends says nothing about the sender's program.

    Raises:
        InvalidParameter: no http or https address; http to another machine, where tokens
            would travel in the clear.

    >>> with connect("https://shuffler.example") as http:
    ...     str(http.base_url)
    'https://shuffler.example'
    """
    if not isinstance(url, str):
        raise InvalidParameter(
            expected="an address such as https://shuffler.example",
            got=repr(url)[:80],
            remedy="Give a text",
        )
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        good = good and url.isascii() and url.isprintable() and "@" not in parts.netloc
    except ValueError:
        good = False
    if not good:
        raise InvalidParameter(
            expected="an address such as https://shuffler.example",
            got=repr(url[:80]),
            remedy="Mend it",
        )
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise InvalidParameter(
            expected="https:// to another machine",
            got=url,
            remedy="Tokens would travel in the clear",
        )
    return httpx.Client(
        base_url=url,
        timeout=_SECONDS,
        headers={"user-agent": "-", "accept": "*/*", "accept-encoding": "identity"},
    )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
