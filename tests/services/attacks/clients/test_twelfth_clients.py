"""A twelfth round of attacks on clients: what is said of secrets that nobody saw, damaged states.

Files exchanged where the issuer was not shown anything, a state of which a few bytes are wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from smoothdp.cli.main import main
from smoothdp.errors import SmoothdpError
from smoothdp.services import take_part
from smoothdp.services.formats.report import seal_report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.shuffler.poll_routes import poll_routes
from smoothdp.services.shuffler.published_results import publish
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.running import on_loopback
from tests.services.page.page_person import without_issuer
from tests.services.page.page_program import needs_node
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.quick_clients import hasty_world, submitting
from tests.services.worlds.small_tasks import ANALYZER_SIGN
from tests.services.worlds.whole_world import weak_task

_TWO = (
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
)
SMALL_ORDER = [
    *(number.to_bytes(32, "little") for number in (0, 1)),
    *(bytes.fromhex(digits) for digits in _TWO),
    *((2**255 - 19 + more).to_bytes(32, "little") for more in (-1, 0, 1)),
]


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IssuingWorld]:
    made = hasty_world(tmp_path, monkeypatch)
    yield made
    made.close()


# ---- files exchanged


@pytest.mark.parametrize("why", ["a datum that is none", "no card", "nobody there", "spent"])
def test_who_exchanges_the_files_is_not_told_that_an_issuer_saw_what_it_was_never_shown(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "The issuer was asked before ...: it has seen your pass": no request had a secret.

    A late report waits, and what keeps the present one back comes before any token request: the
    pass was shown to nobody but the shuffler, and is as good as before.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1 if why == "spent" else 20)
    try:
        shuffler = Recorder(world, [503, 401])
        own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        asked = partial(take_part, world.task, shuffler=shuffler.address)
        with pytest.raises(ServiceError):
            asked(1, issuer=world.address, **own)
        seen: list[str] = []
        admit = world.issuer.admit

        def noted(secret: str, *more: Any) -> Any:
            seen.append(secret)
            return admit(secret, *more)

        monkeypatch.setattr(world.issuer, "admit", noted)
        world.go_to((WINDOW + 1) * HOUR + 5.0)
        if why != "no card":
            world.open_window(WINDOW + 1)
        with pytest.raises(SmoothdpError) as said:
            asked(
                "x" if why.startswith("a datum") else 1,
                issuer="http://127.0.0.1:9" if why == "nobody there" else world.address,
                pass_secret=own["invitation"],
                invitation=own["pass_secret"],
            )
        assert f"Bearer {own['invitation']}" in shuffler.passes
        assert "the shuffler has seen it now" in str(said.value)
        assert not seen
        assert "it has seen your pass" not in str(said.value)
    finally:
        world.close()


def test_who_takes_the_issuers_other_address_for_the_shufflers_is_told_who_saw_the_pass(
    world: IssuingWorld,
) -> None:
    """ "Gives the issuer's address as the shuffler's": "the issuer's answer, 401, says so".

    Its answer to a report is 404, and the words are of another card or task: the pass, "which then
    counts as one that the analyser has, until it is revoked", is revoked by nobody.
    """
    with (
        on_loopback(issuer_app(world.issuer)) as another,
        pytest.raises(ServiceError) as said,
    ):
        take_part(
            *(world.task, 1),
            shuffler=another,
            issuer=world.address,
            pass_secret="0a" * 48,
            invitation=world.invitation(),
        )
    assert "your pass" in str(said.value)


# ---- the page without an issuer


@needs_node
def test_who_has_pressed_once_has_said_who_answers(tmp_path: Path) -> None:
    """ "Sent again under the next link, unless another person says that they are one" before.

    Under one link one report leaves, whatever is said later; the page asks it no more.
    """
    sent, waiting, adopted = without_issuer(
        tmp_path,
        """
        told.push(503, 503);
        await by("a", { attempts: 1 });
        await by("b", { attempts: 1 });
        const { window } = given, who = await smoothdp.outcomes.nameOf("b");
        const place = { taskId, window, who };
        const { adopted } = await smoothdp.outcomes.find(place);
        const waiting = await smoothdp.outcomes.isWaiting(place);
        await by("b", { anotherPerson: true, datum: 0 });
        return [sent, waiting, adopted];
        """,
    )
    assert [who[-1] for who, _ in sent] == ["a", "b", "b"]
    assert len({report for _, report in sent}) == 1
    assert (waiting, adopted) == (False, True)


def test_a_result_that_is_looked_at_again_is_not_checked_again(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "The same request a thousand times": each open page asks every three seconds, with no pass.

    Of 365 windows a request took 90 ms of the process that takes the reports.
    """
    for window in range(WINDOW, WINDOW + 30):
        document = {"task_id": world.task.task_id.hex(), "window": window, "users": 12}
        publish(world.folder / "published", SignedResult.sign(document, ANALYZER_SIGN))
    checked: list[bytes] = []
    verify = SignedResult.verify

    def counted(result: SignedResult, *key: Any) -> bool:
        checked.append(result.encode())
        return verify(result, *key)

    monkeypatch.setattr(SignedResult, "verify", counted)
    routes = poll_routes(world.task, "Tea?", world.folder / "published")
    with on_loopback(Starlette(routes=routes)) as page:
        for _ in range(10):
            answer = httpx.get(f"{page}/poll/{world.task.task_id.hex()}/results")
            assert len(answer.json()) == 30
    assert len(checked) <= 2 * 30


# ---- a user who follows no protocol


def test_slots_and_reports_under_points_of_small_order_cost_their_senders_alone(
    tmp_path: Path,
) -> None:
    """They have no shared secret: such slots mean nothing, such reports are malformed."""
    parties = PartyWorld(tmp_path, weak_task(honest_share="0.5", min_batch=20))
    parties.open_window()
    for point in SMALL_ORDER:
        assert parties.send(parties.sign([point + bytes(20)])) is Taken.ACCEPTED
    sender = parties.shuffler.sender(parties.new_pass())
    assert sender is not None
    sealed = seal_report(parties.report().encode(), parties.card())
    for point in SMALL_ORDER:
        bad = sealed[:7] + point + sealed[39:]
        assert parties.shuffler.judge(WINDOW, sender, bad) is Taken.MALFORMED
    parties.send_many(30)
    said = parties.finish(45)
    assert (said["state"], said["users"]) == ("RELEASED", 30 + len(SMALL_ORDER))
    assert said["invalid_slots"] == len(SMALL_ORDER)
    parties.close()


# ---- a state of which a few bytes are wrong


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda data: data.replace(b"outcome", b"outc\xffme"), id="a table's name"),
        pytest.param(lambda data: data.replace(b"CREATE", b"CR\xffATE"), id="a table's words"),
        pytest.param(lambda data: data.replace(b"\x00\x04\x00\x01\x00\x03", bytes(6)), id="a card"),
    ],
)
def test_a_state_with_a_few_wrong_bytes_is_said_to_a_person(
    harm: Callable[[bytes], bytes],
    world: IssuingWorld,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """ "A client's disk that is full, its file damaged or of a later program: words, one draw"."""
    shuffler = Recorder(world, [503])
    asked = submitting(world, shuffler.address)
    with pytest.raises(SystemExit):
        main(asked)
    file = tmp_path / "state" / "smoothdp" / "clients" / "windows.sqlite"
    harmed = harm(file.read_bytes())
    assert harmed != file.read_bytes()
    file.write_bytes(harmed)
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(asked)
    assert "state of this user's clients" in capsys.readouterr().err
    assert len({report.encode() for report in shuffler.reports()}) == 1
