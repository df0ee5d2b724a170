"""Token requests that are stored in groups: as if each had come alone, and on disk before all."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.services.issuer.issuer import Account, Asked, Issuer
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.wire.problems import Problem
from smoothdp.services.wire.running import free_port, on_loopback
from tests.services.issuer.test_issuing import request, status
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


def asked(issuer: Issuer, account: Account, body: bytes) -> Asked:
    """Return a request as it is when it waits for its group."""
    read = issuer.asked(account, body)
    assert isinstance(read, Asked), read
    return read


class OneAtATime:
    """The rule, literally: one request an account and window, answered six times."""

    def __init__(self) -> None:
        self.request: dict[bytes, bytes] = {}
        self.answers: dict[bytes, int] = {}

    def answer(self, one: Asked) -> int:
        who = one.account.identity
        if one.account.window != WINDOW:
            return 410
        if self.request.setdefault(who, one.digest) != one.digest:
            return 409
        if self.answers.setdefault(who, 0) == 6:
            return 429
        self.answers[who] += 1
        return 200


@pytest.mark.parametrize("seed", range(3))
def test_groups_are_answered_as_one_after_the_other(world: IssuingWorld, seed: int) -> None:
    source, rule = random.Random(seed), OneAtATime()
    accounts = [world.account() for _ in range(5)]
    stream = [
        asked(world.issuer, source.choice(accounts), request(world, source.choice([5, 5, 5, 6])))
        for _ in range(120)
    ]
    # Of a window that another process closes while its requests wait.
    closed = Account(WINDOW - 1, accounts[0].identity)
    stream[60] = Asked(closed, stream[60].digest, stream[60].messages, stream[60].key)
    found: list[int] = []
    while stream[len(found) :]:
        group = stream[len(found) :][: source.choice([1, 2, 5, 40])]
        answers = world.issuer.charge(group)
        found += [200 if answer is None else answer.status for answer in answers]
    assert found == [rule.answer(one) for one in stream]
    assert set(found) == {200, 409, 410, 429}
    rows = world.storage.read("SELECT request_hash, answers FROM issued")
    assert sorted(rows) == sorted((rule.request[who], n) for who, n in rule.answers.items())


def test_a_window_that_ends_while_a_group_waits(world: IssuingWorld) -> None:
    group = [asked(world.issuer, world.account(), request(world, n)) for n in (5, 6)]
    world.go_to((WINDOW + 1) * HOUR)
    assert [problem and problem.status for problem in world.issuer.charge(group)] == [410, 410]
    assert close_windows(world.issuer) == [WINDOW]


# ---- stored before anything is signed


@pytest.mark.parametrize(
    ("point", "hit", "stored"),
    [
        ("issue: within the group", 3, 0),
        ("issue: before commit", 1, 0),
        ("issue: after commit", 1, 5),
        ("issue: before the answer", 2, 5),
    ],
)
def test_killed_within_a_group(world: IssuingWorld, point: str, hit: int, stored: int) -> None:
    """All of a group is stored or nothing; who was stored has made the one request."""
    people = [world.account() for _ in range(5)]
    child = os.fork()
    if child == 0:
        try:
            left = [hit]

            def reach(name: str) -> None:
                left[0] -= name == point
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            world.reach = reach
            issuer = world.another_process()
            group = [asked(issuer, person, request(world, 5)) for person in people]
            issuer.charge(group)
            for one in group:
                issuer.sign(one)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert world.storage.read("SELECT count(*) FROM issued") == [(stored,)]
    for person in people:
        first, second = (request(world, 6), request(world, 5))
        assert status(world.issuer.answer(person, first)) == (409 if stored else 200)
        assert status(world.issuer.answer(person, second)) == (200 if stored else 409)


class Watched(Issuer):
    """An issuer that looks, from another connection, whether what it signs is on disk."""

    def look(self, folder: Path) -> None:
        self.other = sqlite3.connect(folder / "issuer.sqlite", check_same_thread=False)
        self.lock = threading.Lock()
        self.signed = 0

    def sign(self, asked: Asked) -> bytes:
        with self.lock:
            rows = self.other.execute(
                "SELECT count(*) FROM issued WHERE request_hash = ?", (asked.digest,)
            ).fetchall()
            assert rows == [(1,)], "signed before it was stored"
            self.signed += 1
        return super().sign(asked)


def many_over_http(world: IssuingWorld, issuer: Issuer, count: int) -> tuple[list[int], list[int]]:
    """Ask for many accounts at once, the first being held up; return statuses and group sizes."""
    there, on, sizes = threading.Event(), threading.Event(), [0]

    def reach(name: str) -> None:
        sizes[-1] += name == "issue: within the group"
        if name == "issue: before commit":
            there.set()
            assert on.wait(20)
            sizes.append(0)

    world.reach = reach
    bodies = [request(world, 5 + number) for number in range(count)]
    heads = [{"authorization": f"Bearer {world.invitation()}"} for _ in range(count)]
    path = f"/v2/tokens/{world.task.task_id.hex()}/{WINDOW}"
    with (
        on_loopback(issuer_app(issuer)) as url,
        httpx.Client(base_url=url, timeout=20) as http,
        ThreadPoolExecutor(count) as pool,
    ):

        def ask(number: int) -> int:
            return http.post(path, content=bodies[number], headers=heads[number]).status_code

        first = pool.submit(ask, 0)
        assert there.wait(20)
        others = [pool.submit(ask, number) for number in range(1, count)]
        threading.Timer(0.5, on.set).start()
        statuses = [first.result(), *(one.result() for one in others)]
    return statuses, sizes[:-1]


def test_requests_that_come_while_one_is_stored_are_stored_together(world: IssuingWorld) -> None:
    issuer = world.another_process()
    issuer.__class__ = Watched
    assert isinstance(issuer, Watched)
    issuer.look(world.folder)
    statuses, sizes = many_over_http(world, issuer, 20)
    assert statuses == [200] * 20
    assert sum(sizes) == issuer.signed == 20
    assert sizes[0] == 1
    # Those that came meanwhile; some may have come late.
    assert len(sizes) < 10
    issuer.other.close()


def test_what_is_signed_before_it_is_stored_is_seen(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above, and the mutant that it is there for."""
    issuer = world.another_process()
    issuer.__class__ = Watched
    assert isinstance(issuer, Watched)
    issuer.look(world.folder)
    person, body = world.account(), request(world, 5)
    monkeypatch.setattr(issuer, "charge", lambda group: [None for _ in group])
    with pytest.raises(AssertionError, match="before it was stored"):
        issuer.answer(person, body)
    issuer.other.close()


# ---- killed under load


def serve_until_killed(world: IssuingWorld, port: Any, point: str, hit: int) -> None:
    left = [hit]

    def reach(name: str) -> None:
        left[0] -= name == point
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    world.reach = reach
    issuer = world.another_process()
    issuer.storage._connection.execute("PRAGMA synchronous=FULL")  # type: ignore[attr-defined]
    with on_loopback(issuer_app(issuer), listener=port):
        signal.pause()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("point", "hit"),
    [
        ("issue: within the group", 70),
        ("issue: before commit", 5),
        ("issue: after commit", 5),
        ("issue: before the answer", 40),
    ],
)
def test_who_was_answered_before_a_kill_under_load_has_made_the_one_request(
    world: IssuingWorld, point: str, hit: int
) -> None:
    people = [world.invitation() for _ in range(200)]
    bodies = [request(world, 5 + number) for number in range(len(people))]
    path = f"/v2/tokens/{world.task.task_id.hex()}/{WINDOW}"
    listener = free_port()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    child = os.fork()
    if child == 0:
        try:
            serve_until_killed(world, listener, point, hit)
        finally:
            os._exit(1)
    listener.close()

    def ask(number: int) -> int:
        head = {"authorization": f"Bearer {people[number]}"}
        try:
            answer = http.post(path, content=bodies[number], headers=head)
        except httpx.TransportError:
            return 0
        return answer.status_code

    with httpx.Client(base_url=url, timeout=20) as http, ThreadPoolExecutor(32) as pool:
        statuses = list(pool.map(ask, range(len(people))))
    if 0 not in statuses:
        os.kill(child, signal.SIGKILL)  # It never came to that point.
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    assert set(statuses) == {0, 200}
    stored = 0
    for person, body, answered in zip(people, bodies, statuses, strict=True):
        account = world.account(person)
        other = world.issuer.answer(account, request(world, 999_999))
        again = world.issuer.answer(account, body)
        is_stored = isinstance(other, Problem)
        stored += is_stored
        # An answer means it is stored; nobody has two requests; all may go on with their one.
        assert is_stored or not answered
        assert (status(other), status(again)) == ((409, 200) if is_stored else (200, 409))
    assert 0 < sum(map(bool, statuses)) <= stored < len(people)
    with closing(sqlite3.connect(world.folder / "issuer.sqlite")) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
