"""What an analyser signs of windows that are not released, and what look-ups make of it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner
from starlette.applications import Starlette

from smoothdp.cli.serving.submit import results
from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.counting import count_complete
from smoothdp.services.analyzer.release import LAPSED, NOT_COUNTED, end_lapsed, read_result, work
from smoothdp.services.analyzer.window_cards import key_scope
from smoothdp.services.client.inclusion import Standing, look_up, read_evidence
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.task import Task
from smoothdp.services.shuffler.poll_routes import poll_routes
from smoothdp.services.shuffler.published_results import publish
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task
from tests.services.worlds.whole_world import WholeWorld


@ONLY_SQLITE
def test_an_analyser_that_denies_a_whole_batch_has_no_result_and_is_not_shown(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: that it "had all of a window that it refuses, is not shown".

    It takes all of the batch, opens it, and signs that nothing more came: whoever looks up is told
    that there is nothing to look up, and counts the window all the same.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(4):
        assert world.take_part(f"person {person}") == 202
    world.seal()
    assert world.deliver() == 1
    count_complete(world.analyzer)
    assert sum(world.tally().values()) == 4, "the analyser has seen what everybody sent"
    said = {"task_id": world.task.task_id.hex(), "window": WINDOW}
    denial = SignedResult.sign(said | {"state": "REFUSED", "reason": LAPSED}, ANALYZER_SIGN)
    marks, kept = world.shuffler.marks(WINDOW), world.client("person 0").kept(WINDOW)
    assert marks is not None
    with pytest.raises(InvalidData, match="nothing more came"):
        look_up(world.task, WINDOW, kept, result=denial.encode(), marks=marks)
    assert world.stores["clients"].windows(world.task.task_id, "person 0") == [WINDOW]
    world.close()


@ONLY_SQLITE
def test_an_analyser_that_cannot_open_what_came_does_not_sign_that_nothing_came(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Its file of window keys was lost: the whole batch came in time, and cannot be counted.

    That "nothing more came of this window" would be the shuffler's fault.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    world.seal()
    world.keys[1].erase([key_scope(world.task.task_id, WINDOW)])
    assert world.deliver() == 1
    assert world.tell_served(12) == 201
    work(world.analyzer)
    assert world.analyzer.batch_states() == {"COMPLETE": 1}
    world.go_to(world.now + 7 * 86_400)
    work(world.analyzer)
    document = world.result()
    assert document["state"] == "REFUSED"
    assert document["reason"] == NOT_COUNTED
    world.close()


@ONLY_SQLITE
def test_whatever_the_analyser_signs_is_looked_up_or_refused_in_words(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Fields of other kinds, none, too long; text that is no document: words, and no praise."""
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(3):
        assert world.take_part(f"person {person}") == 202
    assert world.end()["state"] == "RELEASED"
    _, body = read_result(world.analyzer, WINDOW, now=world.now)
    true, kept = SignedResult.decode(body).document, world.client("person 0").kept(WINDOW)
    values: list[Any] = [None, True, 1.5, "", "00", "zz", [], {}, "ab" * 40, 10**30, "0" * 99_999]
    texts = ['{"window":' + "9" * 5000 + "}", "[" * 100_000, '"\\ud800"', '{"window":NaN}', ""]
    for field in ("task_id", "window", "card_digest", "marks_sha256", "batch_header"):
        texts += [json.dumps(true | {field: value}) for value in values]
        texts.append(json.dumps({name: true[name] for name in true if name != field}))
    for text in texts:
        signature = ANALYZER_SIGN.sign("result", hashlib.sha256(text.encode()).digest())
        signed = json.dumps({"result": text, "signature": signature.hex()}).encode()
        try:
            said = look_up(world.task, WINDOW, kept, result=signed, marks=b"")
        except InvalidData:
            continue
        assert said in (Standing.DENIED, Standing.OTHER_CARD)
    assert read_evidence(world.task, WINDOW, body).header.users == 3
    world.close()


def signed_texts(task: Task) -> Iterator[str]:
    """Yield documents that an analyser may sign to stop who reads them."""
    start = json.dumps({"task_id": task.task_id.hex(), "window": WINDOW})[:-1]
    deep = "[" * 100_000
    yield from (deep, start + ',"batch_header":' + deep + "]" * 100_000 + "}")
    yield from (start + ',"card_digest":' + "9" * 10_000 + "}", start + ',"card_digest":NaN}')
    # Of two fields of one name the last counts.
    yield start + ',"window":1001,"card_digest":"00"}'
    yield start + ',"card_digest":"\\ud800","marks_sha256":"00","batch_header":[]}'
    yield start + ',"state":[["RELEASED"]],"reason":{"a":["\\u001b[2J"]}}'


@ONLY_SQLITE
def test_items_within_items_of_a_signed_result_are_refused_in_words() -> None:
    """The proof: "a device looks up its report [...], and no refusal is raised", or it is told why:
    whatever the analyser has signed, it never stops the program in another way.
    """
    task = small_task()
    for text in signed_texts(task):
        signature = ANALYZER_SIGN.sign("result", hashlib.sha256(text.encode()).digest()).hex()
        result = json.dumps({"result": text, "signature": signature}).encode()
        with pytest.raises(InvalidData) as refused:
            look_up(task, WINDOW, None, result=result, marks=b"")
        assert "\x1b" not in str(refused.value)


@ONLY_SQLITE
def test_a_refusal_without_evidence_is_said_to_be_one(tmp_path: Path) -> None:
    """The batch was not counted in seven days: people were told to fetch the same file again."""
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    world.seal()
    world.deliver()
    # Its key is lost: with it, it would be counted at last.
    world.analyzer.keys.erase([key_scope(world.task.task_id, WINDOW)])
    world.go_to(world.now + 7 * 86_400)
    end_lapsed(world.analyzer)
    _, body = read_result(world.analyzer, WINDOW, now=world.now)
    with pytest.raises(
        InvalidData,
        match="a signed refusal without them: what came of this window could not be counted",
    ):
        read_evidence(world.task, WINDOW, body)
    world.close()


async def asked_of(page: Starlette, path: str) -> Any:
    """Return the document that a page answers to a request."""
    transport = httpx.ASGITransport(app=page)
    async with httpx.AsyncClient(transport=transport, base_url="https://x") as http:
        return (await http.get(path)).json()


@pytest.mark.parametrize("status", [200, 403])
def test_the_evidence_of_a_refused_window_comes_to_those_who_look_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """Whatever status stands before it: it is not a result, and `--signed` keeps it."""
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    assert world.finish(200)["state"] == "REFUSED"
    body = read_result(world.analyzer, WINDOW, now=world.now)[1]
    answers = httpx.MockTransport(lambda _: httpx.Response(status, content=body))
    monkeypatch.setattr("smoothdp.services.read_collector", lambda _: (world.task, "token"))
    monkeypatch.setattr(
        "smoothdp.services.connect",
        lambda url, **_: httpx.Client(base_url=url, transport=answers),
    )
    asked = [str(WINDOW), "--collector", str(tmp_path), "--analyzer", "https://x", "--signed"]
    outcome = CliRunner().invoke(results, [*asked, str(tmp_path / "signed.json")])
    assert outcome.exit_code == 1
    assert "of 200 accounts that were served 12 are here" in outcome.output
    kept = (tmp_path / "signed.json").read_bytes()
    evidence = read_evidence(world.task, WINDOW, kept)
    assert evidence.marks_sha256 == evidence.header.marks_sha256
    assert evidence.header.users == 12
    # A page that shows numbers has none to show of it.
    publish(tmp_path / "published", SignedResult.decode(kept))
    page = Starlette(routes=poll_routes(world.task, "Tea?", tmp_path / "published"))
    assert asyncio.run(asked_of(page, f"/poll/{world.task.task_id.hex()}/results")) == []
    world.close()
