"""A fourteenth round of attacks on clients: words after a late report, what is published."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from smoothdp.cli.main import main
from smoothdp.services import take_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.running import on_loopback
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.quick_clients import hasty_world, state_of_me, submitting
from tests.services.worlds.small_tasks import small_task


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IssuingWorld]:
    made = hasty_world(tmp_path, monkeypatch)
    yield made
    made.close()


# ---- who is told that an issuer has seen a pass


@pytest.mark.parametrize("present", ["accepted before", "tokens refused"])
def test_a_late_report_to_another_address_of_the_issuer_is_told_whatever_the_present_one_is(
    present: str, world: IssuingWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "What is printed after the issuer's answer, ... 404 at another address of it, says so."

    A late report waits, and in the present window there is nothing to send: it has arrived, or its
    tokens were refused. The issuer's other address in the place of the shuffler's gets the pass.
    """
    asked = submitting(world, Recorder(world, [503]).address)
    with pytest.raises(SystemExit):
        main(asked)
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    world.open_window(WINDOW + 1)
    if present == "accepted before":
        # The late one is refused, then the present one is taken.
        main(to(Recorder(world, [503, 202]).address, asked))
    else:
        end_present_window(world)
    capsys.readouterr()
    shown: list[str] = []

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        shown.extend(v.decode() for k, v in scope.get("headers", ()) if k == b"authorization")
        await issuer_app(world.issuer)(scope, receive, send)

    app: Any = watched
    with on_loopback(app) as another, suppress(SystemExit):
        main(to(another, asked))
    assert "Bearer " + "0a" * 48 in shown
    said = capsys.readouterr()
    assert "your pass" in said.err, said


def test_a_late_report_that_was_sent_is_told_beside_a_present_one_that_was_not(
    world: IssuingWorld,
) -> None:
    """ "A report of a window before ... is sent after step 4": a person is told that it was."""
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
    own["issuer"] = world.address
    with pytest.raises(ServiceError):
        take_part(world.task, 1, shuffler=Recorder(world, [503]).address, **own)
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    world.open_window(WINDOW + 1)
    with pytest.raises(ServiceError) as said:
        take_part(world.task, 1, shuffler=Recorder(world, [202, 503]).address, **own)
    assert f"The report of window {WINDOW} was sent now" in str(said.value)


def to(shuffler: str, asked: list[str]) -> list[str]:
    """Return the same command with another address of the shuffler."""
    at = asked.index("--shuffler") + 1
    return [*asked[:at], shuffler, *asked[at + 1 :]]


def end_present_window(world: IssuingWorld) -> None:
    """Let the window after the first one end for this user, at answers that are no signatures."""
    store = OutcomeStore.of_user()
    client = Client(world.task, store, clock=lambda: world.now)
    client.take_part(1, card=world.make_card(WINDOW + 1), window=WINDOW + 1)
    with pytest.raises(TokenRefused):
        client.finish(WINDOW + 1, bytes(256))
    store.close()
    assert state_of_me(world, WINDOW + 1) == "ended"


# ---- a datum on a screen


def test_a_part_of_a_datum_is_not_repeated(
    world: IssuingWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A datum that is none "is not repeated in the words": nor half of one without its quotes."""
    asked = submitting(world, "http://127.0.0.1:9")
    asked[1:2] = ["New", "York"]
    with pytest.raises(SystemExit):
        main(asked)
    said = capsys.readouterr()
    assert "quotes" in said.err
    assert "New" not in said.err + said.out
    assert "York" not in said.err + said.out


# ---- what the page says


@needs_node
def test_the_page_says_no_smaller_share_of_followers_than_the_promise_needs() -> None:
    """ "At most the share gamma ... are false": the page said "at least 1%" where all must follow.

    Zeros before the point were cut off with those after it, and shares were rounded down.
    """
    needed = {"1": "100%", "0.9996": "99.96%", "0.9994": "99.94%", "2/3": "66.67%", "0.9": "90%"}
    tasks = [small_task(honest_share=share, min_batch=4000) for share in needed]
    said = _words([task.encoded.decode() for task in tasks])
    for share, words in zip(needed.values(), said, strict=True):
        promise = words["What the published result tells about you"]
        assert f"at least {share} of the participants follow the rules" in promise


@needs_node
def test_the_page_says_that_nearly_every_choice_is_made_up_where_it_is() -> None:
    """ "The page says so", of its noise: of choices added with probability .9998 it said 1%."""
    task = small_task("histogram", size=3, min_batch=16)
    document = json.loads(task.encoded) | {"noise": "0.0002"}
    (words,) = _words([json.dumps(document)])
    assert "added with probability 100%" in words["What happens on your device"]


def _words(tasks: list[str]) -> list[dict[str, str]]:
    found = run("return given.map((task) => smoothdp.privacyWords(JSON.parse(task)));", tasks)
    return [dict(words) for words in found]
