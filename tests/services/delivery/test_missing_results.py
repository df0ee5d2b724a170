"""Why there is no result: told apart by the analyser, and no more than a collector may know."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from smoothdp.cli.main import main
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.counting import count_complete
from smoothdp.services.analyzer.release import LAPSED, read_result, work
from smoothdp.services.client.collector import fetch_result
from smoothdp.services.client.inclusion import read_evidence
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.design.budget import KEY_SECONDS
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.wire.calls import ServiceError, Unreachable
from smoothdp.services.wire.running import on_loopback
from smoothdp.services.wire.window_state import (
    ARRIVING,
    COUNTING,
    LATE,
    NO_BATCH,
    NOT_BEGUN,
    OPEN,
    missing_sentence,
)
from tests.services.worlds.directories import party_directories
from tests.services.worlds.issuing_world import IssuingWorld
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task

START = WINDOW * HOUR
# The task has windows of an hour, and ten minutes of grace.
MOMENTS = [
    (START - 1, NOT_BEGUN),
    (START, OPEN),
    (START + HOUR - 1, OPEN),
    (START + HOUR, LATE),
    (START + HOUR + 599, LATE),
    (START + HOUR + 600, NO_BATCH),
    (START * 10, NO_BATCH),
]
LATER = START + 5 * HOUR


@pytest.fixture
def world(tmp_path: Path, storage_kind: str) -> Iterator[PartyWorld]:  # noqa: ARG001
    made = PartyWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


def state(world: PartyWorld, now: float, window: int = WINDOW) -> str:
    status, body = read_result(world.analyzer, window, now=now)
    assert status == 202
    found = json.loads(body)
    # One word of a fixed list, and nothing else: no number of reports, parts or users.
    assert set(found) == {"state"}
    return str(found["state"])


def test_a_window_without_a_batch_has_the_state_of_the_clock(world: PartyWorld) -> None:
    for _ in range(2):
        assert [state(world, now) for now, _ in MOMENTS] == [said for _, said in MOMENTS]
        # Reports that wait at the shuffler change nothing, nor how many people were served.
        world.send_many(3)
        world.tell_served(3)


def stop() -> int:
    raise OSError("stop")


def test_the_states_of_a_batch(world: PartyWorld) -> None:
    world.send_many(12)
    world.seal()
    assert state(world, LATER) == NO_BATCH
    # The header alone has come: the shuffler stops before the first part.
    with pytest.raises(OSError, match="stop"):
        deliver_batches(
            world.shuffler, lambda p, b: world.put(p, b) if "parts" not in p else stop()
        )
    assert state(world, LATER) == ARRIVING
    world.deliver()
    assert state(world, LATER) == COUNTING
    count_complete(world.analyzer)
    assert state(world, LATER) == COUNTING
    # The same while the issuer has not said how many it served.
    work(world.analyzer)
    assert state(world, LATER) == COUNTING
    world.tell_served(12)
    work(world.analyzer)
    assert read_result(world.analyzer, WINDOW, now=LATER)[0] == 200


def test_an_issuer_that_never_says_how_many_it_served_withholds_no_evidence(
    world: PartyWorld,
) -> None:
    """The batch was counted: what the two services signed about it is in the refusal."""
    world.send_many(12)
    world.seal()
    world.deliver()
    world.go_to(LATER + KEY_SECONDS)
    work(world.analyzer)
    status, body = read_result(world.analyzer, WINDOW, now=world.now)
    document = SignedResult.decode(body).document
    assert (status, document["reason"], document["accounts_served"]) == (403, LAPSED, None)
    said = read_evidence(world.task, WINDOW, body)
    marks = world.shuffler.marks(WINDOW)
    assert marks is not None
    assert said.marks_sha256 == said.header.marks_sha256 == hashlib.sha256(marks).digest()
    # It comes too late, and changes nothing.
    world.tell_served(12)
    work(world.analyzer)
    assert read_result(world.analyzer, WINDOW, now=world.now) == (status, body)


def test_a_window_that_was_destroyed_looks_like_one_in_which_nobody_sent(
    world: PartyWorld,
) -> None:
    """Nothing shows how many reports there were: not even whether there was one."""
    world.send_many(world.task.min_batch - 1)
    world.finish(world.task.min_batch - 1)
    answers = [read_result(world.analyzer, window, now=LATER) for window in (WINDOW, WINDOW - 1, 3)]
    assert answers == [answers[0]] * 3
    assert state(world, LATER) == NO_BATCH
    sentence = missing_sentence(world.task, WINDOW, state=NO_BATCH, now=LATER)
    assert f"the least number of {world.task.min_batch} reports" in sentence
    assert "destroyed for good" in sentence
    assert "Ask who runs the shuffler" in sentence
    assert f"the window now is {WINDOW + 5}" in sentence


def test_each_state_has_its_own_sentence() -> None:
    task = small_task()
    said = {
        name: missing_sentence(task, WINDOW, state=name, now=START)
        for name in (NOT_BEGUN, OPEN, LATE, NO_BATCH, ARRIVING, COUNTING, "anything else")
    }
    assert len(set(said.values())) == 7
    assert "begins at 1970-02-11 16:00:00 UTC" in said[NOT_BEGUN]
    assert "open until 1970-02-11 17:00:00 UTC" in said[OPEN]
    assert "late reports until 1970-02-11 17:10:00 UTC" in said[LATE]
    assert "not released yet" in said["anything else"]
    # What another end writes is never repeated, and no time is too far away.
    assert "\x1b" not in missing_sentence(task, 1, state="\x1b[2J", now=0)
    assert "year 9999" in missing_sentence(task, 2**32 - 1, state=NOT_BEGUN, now=0)


def test_the_command_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made, other = party_directories(tmp_path / "t"), party_directories(tmp_path / "u")
    analyzer = AnalyzerParty.from_directory(made.analyzer)
    with on_loopback(analyzer.app(work_seconds=3600)) as url:
        for directory, window, code, words in (
            (made, 5, 3, "until 1970-01-01 06:10:00 UTC, and no batch of it has come"),
            (made, 2**31, 3, "it begins at"),
            (other, 5, 2, "the token was refused"),
        ):
            who = ["--collector", str(directory.collector), "--analyzer", url]
            with pytest.raises(SystemExit) as caught:
                main(["results", str(window), *who])
            shown = capsys.readouterr()
            assert caught.value.code == code
            assert shown.out == ""
            assert words in shown.err
            assert shown.err.count("\n") == 1
    analyzer.close()


def refusal(reason: str, *, window: int = 7, stranger: bool = False) -> bytes:
    task_id = small_task().task_id.hex()
    said = {"task_id": task_id, "window": window, "state": "REFUSED", "reason": reason}
    return SignedResult.sign(said, SHUFFLER_SIGN if stranger else ANALYZER_SIGN).encode()


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, b"unauthorized", "the token was refused"),
        (404, b"", "a task that it does not know"),
        (403, refusal("the budget of the task is spent"),
         "refused for good: the budget of the task is spent"),
        (403, refusal("\x1b[2Jx"), "refused for good: [2Jx"),
        (403, refusal("no", window=8), "got something else"),
        (403, refusal("no", stranger=True), "got something else"),
        (403, b'{"reason": "no"}', "got something else"),
        (500, b"oh", "500 oh"),
    ],
)  # fmt: skip
def test_a_refusal_says_why_in_one_sentence(status: int, body: bytes, words: str) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(status, content=body))
    with (
        httpx.Client(base_url="https://x", transport=transport) as http,
        pytest.raises(ServiceError) as caught,
    ):
        fetch_result(http, small_task(), 7, token="t")
    text = str(caught.value)
    assert "of window 7" in text
    assert words in text
    assert text.isprintable()
    assert "{" not in text


# ---- submit ------------------------------------------------------------------------------


@pytest.fixture
def people(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


def handing_in(people: IssuingWorld, refusing: str, status: int) -> str:
    """Take part with a service that refuses at a path; return what the client says."""

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if path.startswith(refusing):
            if not status:
                raise httpx.ConnectError("[Errno 111] Connection refused")
            return httpx.Response(status, text="because")
        if path.startswith("/v2/tasks"):
            return httpx.Response(200, content=people.make_card())
        tokens = people.issuer.answer(people.account(), request.content)
        assert isinstance(tokens, bytes)
        return httpx.Response(200, content=tokens)

    transport = httpx.MockTransport(answer)
    with (
        httpx.Client(base_url="https://x", transport=transport) as http,
        pytest.raises(ServiceError) as caught,
    ):
        submit(
            *(people.client(), 1),
            shuffler=http,
            pass_secret="p" * 96,
            issuer=http,
            invitation="i" * 96,
            window=WINDOW,
            pause=lambda _: None,
        )
    assert isinstance(caught.value, Unreachable) == (not status)
    return str(caught.value)


@pytest.mark.parametrize("where", ["/v2/tasks", "/v2/tokens", "/v2/reports"])
def test_a_dead_service_is_one_plain_sentence(people: IssuingWorld, where: str) -> None:
    assert handing_in(people, where, 0) == (
        "Expected an answer from https://x; got none (ConnectError). Check the address, "
        "and that the service runs there."
    )


@pytest.mark.parametrize(
    ("where", "status", "remedy"),
    [
        ("/v2/tasks", 404, "no card of this window yet"),
        ("/v2/tokens", 401, "an invitation of this task"),
        ("/v2/tokens", 404, "another issuer"),
        ("/v2/tokens", 409, "used in this window: from another device"),
        ("/v2/tokens", 410, "next window"),
        ("/v2/tokens", 425, "clock"),
        ("/v2/tokens", 429, "six times"),
        ("/v2/tokens", 503, "Try again"),
        ("/v2/reports", 401, "a pass of this task"),
        ("/v2/reports", 403, "does not take the tokens"),
        ("/v2/reports", 404, "another card"),
        ("/v2/reports", 409, "Another report came with this pass"),
        ("/v2/reports", 410, "next window"),
        ("/v2/reports", 425, "clock"),
        ("/v2/reports", 429, "were not good"),
        ("/v2/reports", 503, "Try again"),
    ],
)
def test_a_refusal_says_what_to_do(
    people: IssuingWorld, where: str, status: int, remedy: str
) -> None:
    text = handing_in(people, where, status)
    assert text.count("Expected") == 1
    assert f"got {status} because." in text
    assert remedy in text
