"""A shuffler that wants several ciphertexts of one report, and a user who sends again and again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from smoothdp.services.calls import ServiceError, submit
from smoothdp.services.client import Client
from smoothdp.services.envelope import Header, open_envelope
from smoothdp.services.hybrid import PrivateKey
from smoothdp.services.outcomes import OutcomeStore
from smoothdp.services.task import Task
from tests.services.world import WINDOW

LOST = 0


class ChangingKeys:
    """A shuffler with a new key for every question, that opens what it is sent and refuses it."""

    def __init__(self, *, refusals: int, one_number: bool = False) -> None:
        self.bundles: list[tuple[bytes, bytes]] = []
        self.envelopes: list[bytes] = []
        self.before_answer: Callable[[], None] = lambda: None
        self._refusals = refusals
        self._one_number = one_number
        self._keys: dict[int, list[PrivateKey]] = {}
        self._asked = 0

    def http(self) -> httpx.Client:
        """Return a connection to it."""
        return httpx.Client(base_url="https://x", transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            key, self._asked = PrivateKey.generate(), self._asked + 1
            key_id = 7 if self._one_number else self._asked % 256
            self._keys.setdefault(key_id, []).insert(0, key)
            public = key.public.to_bytes().hex()
            return httpx.Response(200, json={"key_id": key_id, "public_key": public})
        envelope = request.read()
        self.before_answer()
        for key in self._keys[Header.of(envelope).key_id]:
            with suppress(Exception):
                self.bundles.append(open_envelope(envelope, key=key))
                self.envelopes.append(envelope)
                break
        if len(self.bundles) > self._refusals:
            return httpx.Response(202)
        status = (409, 503, LOST)[len(self.bundles) % 3]
        if status == LOST:
            raise httpx.ReadError("lost", request=request)
        return httpx.Response(status)


def press(
    task: Task, place: Path, shuffler: ChangingKeys, *, times: int, name: str = "u", datum: Any = 1
) -> None:
    """Let one user send again and again, each time as a program that was just started."""
    with shuffler.http() as http:
        for _ in range(times):
            store = OutcomeStore(place)
            client = Client(task, store, name=name, clock=lambda: 0)
            with suppress(ServiceError):
                submit(client, datum, http=http, token="t", window=WINDOW, pause=lambda _: None)
            store.close()
