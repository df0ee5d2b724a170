"""A shuffler that wants several ciphertexts of one report, and a user who sends again and again.

Then the real analyser, on the batch that such a shuffler makes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from smoothdp.services.analyzer.window_release import read_result, release_counted
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.wire.batch import BatchHeader
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.envelope import INVALID, REPEATED, Header, open_envelope
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.task_request import create_task
from tests.services.world import KEY, WINDOW, World, hash_parts

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


def polled() -> Task:
    """Return a task of 200 users, of whom 20 may be dishonest."""
    return create_task(
        "boolean_sum", epsilon="1", delta="1e-6", min_batch=200, analyzer_key=KEY.public
    )


def check_copies_count_once(directory: Path, copies: list[bytes]) -> None:
    """Let the analyser take a batch of 200 slots, some of which were got from one user."""
    directory.mkdir(exist_ok=True)
    others = ChangingKeys(refusals=0)
    store = OutcomeStore(directory / "others.sqlite")
    with others.http() as http:
        for user in range(200 - len(copies)):
            client = Client(polled(), store, name=f"{user}")
            submit(client, user % 2, http=http, token="t", window=WINDOW)
    store.close()
    slots = [*copies, *(slots for _, slots in others.bundles)]
    random.Random(0).shuffle(slots)
    data, batch_id = b"".join(slots), b"b" * 16
    header = BatchHeader(1, polled().task_id, batch_id, WINDOW, 200, 200, hash_parts([data]))
    world = World(directory, polled())
    assert world.analyzer.put_batch(batch_id, header.encode()) == 201
    assert world.analyzer.put_part(batch_id, 0, data) == 201
    world.analyzer.count_complete()
    release_counted(world.analyzer)
    status, body = read_result(world.analyzer, world.task.task_id, WINDOW)
    tally, document = world.analyzer.tallies(batch_id), json.loads(body)
    world.close()
    assert tally[0] + tally[1] == 200 - len(copies) + 1
    assert tally[REPEATED] == len(copies) - 1
    assert tally.get(INVALID, 0) == 0
    if len(copies) > 21:
        assert status == 403
        assert document["state"] == "QUARANTINED"
        shown = len(copies) - 1
        assert f"at least {shown} users sent slots that are not genuine" in document["reason"]
    else:
        # No more than the task takes for dishonest: counted once, and said.
        assert status == 200
        assert document["repeated_slots"] == len(copies) - 1
        assert document["honest_users_assumed"] == 180
        assert f"{len(copies) - 1} slots were not genuine" in document["warning"]
