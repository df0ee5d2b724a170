"""Why there is no result: told apart by the analyser, and no more than a collector may know."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from smoothdp.cli import main
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.window_release import read_result, release_counted
from smoothdp.services.client.client import Client
from smoothdp.services.client.collector import look_up_result
from smoothdp.services.client.submit import submit
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.shuffler_party import issue_tokens
from smoothdp.services.wire.calls import Unreachable
from smoothdp.services.wire.key_files import write_parties
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
from tests.services.world import HOUR, KEY, WINDOW, World, small_task

START = WINDOW * HOUR
# The task has windows of an hour, and a minute of grace.
MOMENTS = [
    (START - 1, NOT_BEGUN),
    (START, OPEN),
    (START + HOUR - 1, OPEN),
    (START + HOUR, LATE),
    (START + HOUR + 59, LATE),
    (START + HOUR + 60, NO_BATCH),
    (START * 10, NO_BATCH),
]


def state(world: World, now: float, window: int = WINDOW) -> str:
    status, body = read_result(world.analyzer, world.task.task_id, window, now=now)
    assert status == 202
    found = json.loads(body)
    # One word of a fixed list, and nothing else: no number of reports, parts or users.
    assert set(found) == {"state"}
    return str(found["state"])


@pytest.mark.parametrize(("now", "expected"), MOMENTS)
def test_a_window_without_a_batch_has_the_state_of_the_clock(
    tmp_path: Path, now: float, expected: str
) -> None:
    world = World(tmp_path)
    assert state(world, now) == expected
    # Reports that wait at the shuffler change nothing: the analyser does not know of them.
    world.send_many(9)
    assert state(world, now) == expected
    world.close()


def test_the_states_of_a_batch(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.send_many(5)
    world.seal()
    later = START + 5 * HOUR
    assert state(world, later) == NO_BATCH
    # The header alone has come: the shuffler stops before the first part.
    with pytest.raises(OSError, match="stop"):
        deliver_batches(
            world.shuffler, lambda p, b: world.put(p, b) if "parts" not in p else stop()
        )
    assert state(world, later) == ARRIVING
    deliver_batches(world.shuffler, world.put)
    assert state(world, later) == COUNTING
    world.analyzer.count_complete()
    assert state(world, later) == COUNTING
    release_counted(world.analyzer)
    assert read_result(world.analyzer, world.task.task_id, WINDOW)[0] == 200
    world.close()


def stop() -> int:
    raise OSError("stop")


def test_a_window_that_was_destroyed_looks_like_one_in_which_nobody_sent(tmp_path: Path) -> None:
    """Nothing shows how many reports there were: not even whether there was one."""
    world = World(tmp_path)
    world.send_many(world.task.min_batch - 1)
    sealed = world.seal()
    assert sealed is not None
    assert sealed.state == "EXPIRED"
    deliver_batches(world.shuffler, world.put)
    later = START + 5 * HOUR
    answers = [
        read_result(world.analyzer, world.task.task_id, window, now=later)
        for window in (WINDOW, WINDOW - 1, 3)
    ]
    assert answers == [answers[0]] * 3
    assert state(world, later) == NO_BATCH
    sentence = missing_sentence(world.task, WINDOW, state=NO_BATCH, now=later)
    assert f"the least number of {world.task.min_batch} reports" in sentence
    assert "destroyed for good" in sentence
    assert "Ask who runs the shuffler" in sentence
    assert f"the window now is {WINDOW + 5}" in sentence
    world.close()


def test_each_state_has_its_own_sentence() -> None:
    task = small_task()
    said = {
        name: missing_sentence(task, WINDOW, state=name, now=START)
        for name in (NOT_BEGUN, OPEN, LATE, NO_BATCH, ARRIVING, COUNTING, "anything else")
    }
    assert len(set(said.values())) == 7
    assert "begins at 1970-02-11 16:00:00 UTC" in said[NOT_BEGUN]
    assert "open until 1970-02-11 17:00:00 UTC" in said[OPEN]
    assert "late reports until 1970-02-11 17:01:00 UTC" in said[LATE]
    assert "not released yet" in said["anything else"]
    # What another end writes is never repeated, and no time is too far away.
    assert "\x1b" not in missing_sentence(task, 1, state="\x1b[2J", now=0)
    assert "year 9999" in missing_sentence(task, 2**32 - 1, state=NOT_BEGUN, now=0)


def test_the_command_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_parties(Path("t"), small_task(min_batch=10), KEY)
    analyzer = AnalyzerParty.from_directory(Path("t/analyzer"))
    with on_loopback(analyzer.app(work_seconds=3600)) as url:
        for window, words in (
            (5, "it took reports until 1970-01-01 06:01:00 UTC, and no batch of it has come"),
            (2**31, "it begins at"),
        ):
            with pytest.raises(SystemExit) as caught:
                main(["results", str(window), "--collector", "t/collector", "--analyzer", url])
            shown = capsys.readouterr()
            assert caught.value.code == 3
            assert shown.out == ""
            assert words in shown.err
            assert shown.err.count("\n") == 1
    analyzer.analyzer.storage.close()


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, b"unauthorized", "the token was refused"),
        (404, b"", "a task that it does not know"),
        (403, b'{"state": "REFUSED", "reason": "the budget of the task is spent"}',
         "refused for good: the budget of the task is spent"),
        (403, b'{"state": "REFUSED", "reason": "\\u001b[2Jx"}', "refused for good: [2Jx"),
        (500, b"oh", "500 oh"),
    ],
)  # fmt: skip
def test_a_refusal_says_why_in_one_sentence(status: int, body: bytes, words: str) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(status, content=body))
    with (
        httpx.Client(base_url="https://x", transport=transport) as http,
        pytest.raises(Exception, match="Expected a released result of window 7") as caught,
    ):
        look_up_result(http, task_id=b"i" * 32, window=7, token="t")
    assert words in str(caught.value)
    assert str(caught.value).isprintable()
    assert "{" not in str(caught.value)


# ---- submit ------------------------------------------------------------------------------


def test_a_dead_server_is_one_plain_sentence(tmp_path: Path) -> None:
    world = World(tmp_path)
    client = Client(world.task, world.outcomes, clock=lambda: world.now)

    def dead(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[Errno 111] Connection refused")

    with (
        httpx.Client(base_url="http://127.0.0.1:1", transport=httpx.MockTransport(dead)) as http,
        pytest.raises(Unreachable) as caught,
    ):
        submit(client, 1, http=http, token="t", pause=lambda _: None)
    assert str(caught.value) == (
        "Expected an answer from http://127.0.0.1:1; got none (ConnectError). Check the address, "
        "and that the service runs there."
    )
    world.close()


@pytest.mark.parametrize(
    ("status", "remedy"),
    [(401, "token of this task"), (404, "another task"), (410, "next window"), (425, "clock"),
     (429, "was taken in this window"), (503, "Try again")],
)  # fmt: skip
def test_a_refused_report_says_what_to_do(tmp_path: Path, status: int, remedy: str) -> None:
    world = World(tmp_path)
    client = Client(world.task, world.outcomes, clock=lambda: world.now)
    key_id, public = world.shuffler.keys.active()

    def refusing(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"key_id": key_id, "public_key": public.hex()})
        return httpx.Response(status, text="because")

    transport = httpx.MockTransport(refusing)
    with (
        httpx.Client(base_url="https://x", transport=transport) as http,
        pytest.raises(Exception, match="the shuffler to take the report") as caught,
    ):
        submit(client, 1, http=http, token="t", pause=lambda _: None)
    text = str(caught.value)
    assert text.count("Expected") == 1
    assert f"got {status} because." in text
    assert remedy in text
    world.close()


def test_tokens_of_another_task_are_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, least in (("t", 10), ("u", 12)):
        write_parties(Path(name), small_task(min_batch=least), KEY)
    analyzer = AnalyzerParty.from_directory(Path("t/analyzer"))
    assert issue_tokens(Path("u/shuffler"), 1)
    with (
        on_loopback(analyzer.app(work_seconds=3600)) as url,
        pytest.raises(SystemExit) as caught,
    ):
        main(["results", "5", "--collector", "u/collector", "--analyzer", url])
    assert caught.value.code == 2
    assert "the token was refused" in capsys.readouterr().err
    analyzer.analyzer.storage.close()
