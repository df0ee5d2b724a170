"""The issuer's rounds with the real analyser and shuffler: keys, cards, the end of a window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from smoothdp.cli.main import main
from smoothdp.errors import InvalidData
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.party_files import make_keys, revoke_tokens
from smoothdp.services.issuer.issuer_party import IssuerParty, issue_invitations
from smoothdp.services.issuer.window_keys import cards_to_come, cards_wanted, unsent
from smoothdp.services.operations.logs import Cause, PutOff, cause_of
from smoothdp.services.shuffler.shuffler_party import issue_passes
from smoothdp.services.store.revoked import REVOKED_FILE
from smoothdp.services.wire.calls import Unreachable, connect
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.three_parties import HOUR, USERS, WINDOW, Parties


@pytest.fixture
def parties(tmp_path: Path) -> Iterator[Parties]:
    with ExitStack() as stack:
        yield Parties(tmp_path, stack)


def test_from_card_to_marks(parties: Parties, tmp_path: Path) -> None:
    """Twelve people take part; the issuer tells twelve; each finds the own report."""
    parties.round()
    issuer = parties.issuer.issuer
    # The budget pays for three windows: these have cards, and no other key was made but one.
    windows = [row[0] for row in issuer.storage.read("SELECT window FROM card ORDER BY window")]
    assert windows == [WINDOW, WINDOW + 1, WINDOW + 2]
    assert issuer.storage.read("SELECT count(*) FROM window_key") == [(4,)]
    assert (cards_to_come(issuer), cards_wanted(issuer)) == (2, 0)

    store = OutcomeStore(tmp_path / "clients.sqlite")
    people = [
        Client(parties.task, store, name=str(n), clock=lambda: parties.now) for n in range(12)
    ]
    invitations = issue_invitations(tmp_path / "issuer", USERS)
    passes = issue_passes(tmp_path / "shuffler", USERS)
    with (
        on_loopback(parties.issuer.app(parties.url, work_seconds=3600)) as issuer_url,
        on_loopback(parties.shuffler.app(parties.url, work_seconds=3600)) as shuffler_url,
        connect(issuer_url) as to_issuer,
        connect(shuffler_url) as to_shuffler,
    ):
        for person, invitation, secret in zip(people, invitations, passes, strict=True):
            sent = submit(
                *(person, 1),
                shuffler=to_shuffler,
                pass_secret=secret,
                issuer=to_issuer,
                invitation=invitation,
            )
            assert sent == WINDOW
        parties.now = float((WINDOW + 1) * HOUR)
        parties.round()
        assert unsent(issuer) == []
        parties.now += 600
        parties.round()
        parties.analyzer.work()
        marks = to_shuffler.get(f"/v2/tasks/{parties.task.task_id.hex()}/marks/{WINDOW}").content
    rows = parties.analyzer.analyzer.storage.read("SELECT body FROM release")
    assert len(rows) == 1
    result = bytes(rows[0][0])
    assert people[0].settle() == USERS
    for person in people:
        said = look_up(parties.task, WINDOW, person.kept(WINDOW), result=result, marks=marks)
        assert said is Standing.INCLUDED
    store.close()


def test_an_analyser_that_does_not_answer(parties: Parties) -> None:
    """What the analyser is not needed for is done; the rest is done when it is back."""
    parties.round()
    parties.now = float((WINDOW + 1) * HOUR)
    with pytest.raises(Unreachable):
        parties.issuer.work("http://127.0.0.1:1")
    # Without a peer's time of the last ten minutes nothing is closed.
    assert unsent(parties.issuer.issuer) == []
    # Nor while the analyser has none from the shuffler.
    with pytest.raises(PutOff, match="the analyser tells no time"):
        parties.issuer.work(parties.url)
    assert unsent(parties.issuer.issuer) == []
    parties.shuffler.work(parties.url)
    parties.issuer.work(parties.url)
    assert unsent(parties.issuer.issuer) == []
    told = "SELECT window, sent FROM served"
    assert parties.issuer.issuer.storage.read(told) == [(WINDOW, 1)]


def test_a_token_that_the_analyser_does_not_know(parties: Parties) -> None:
    stranger = replace(parties.issuer, analyzer_token="0" * 64)
    with pytest.raises(PutOff, match="401") as refused:
        stranger.work(parties.url)
    assert cause_of(refused.value) is Cause.REFUSED


def test_a_number_that_was_not_taken_is_told_again(parties: Parties) -> None:
    parties.round()
    parties.now = float((WINDOW + 1) * HOUR)
    parties.shuffler.work(parties.url)
    true_put = parties.analyzer.analyzer.put_served
    parties.analyzer.analyzer.put_served = lambda *_: 503  # type: ignore[method-assign]
    with pytest.raises(PutOff, match="answered 503 to the number of accounts"):
        parties.issuer.work(parties.url)
    ((window, statement),) = unsent(parties.issuer.issuer)
    parties.analyzer.analyzer.put_served = true_put  # type: ignore[method-assign]
    parties.issuer.work(parties.url)
    assert unsent(parties.issuer.issuer) == []
    stored = parties.analyzer.analyzer.storage.read("SELECT window, statement FROM served")
    assert [(row[0], bytes(row[1])) for row in stored] == [(window, statement)]


def test_after_a_loss_of_state_new_windows_only(parties: Parties, tmp_path: Path) -> None:
    """Keys that the analyser knows stay unanswered; windows without any are served."""
    parties.round()
    parties.issuer.close()
    for file in (tmp_path / "issuer").glob("issuer.sqlite*"):
        file.unlink()
    fresh = IssuerParty.from_directory(tmp_path / "issuer", clocks=parties.clocks())
    with pytest.raises(PutOff, match=f"answered 409 to the key of window {WINDOW}"):
        fresh.work(parties.url)
    assert fresh.issuer.card(WINDOW) is None
    assert fresh.issuer.storage.read("SELECT count(*) FROM card") == [(0,)]
    fresh.close()


def test_whose_directory_it_is(parties: Parties, tmp_path: Path) -> None:
    for other in ("shuffler", "analyzer", "collector"):
        with pytest.raises(InvalidData):
            IssuerParty.from_directory(tmp_path / other)
    make_keys("issuer", tmp_path / "another")
    (tmp_path / "another" / "task.json").write_bytes(parties.task.encoded)
    with pytest.raises(InvalidData, match="the task names"):
        IssuerParty.from_directory(tmp_path / "another")


def test_a_revoked_invitation_while_the_issuer_runs(parties: Parties, tmp_path: Path) -> None:
    parties.round()
    (mine,) = issue_invitations(tmp_path / "issuer", 1)
    issuer = parties.issuer.issuer

    def post(http: httpx.Client) -> int:
        path = f"/v2/tokens/{parties.task.task_id.hex()}/{WINDOW}"
        head = {"authorization": f"Bearer {mine}"}
        return http.post(path, content=bytes(issuer.request_bytes), headers=head).status_code

    app = parties.issuer.app(parties.url, work_seconds=3600)
    with on_loopback(app) as url, connect(url) as http:
        assert post(http) == 422
        (tmp_path / "lost").write_text(f"{mine}\n")
        main(["task", "revoke", f"{tmp_path}/issuer", f"{tmp_path}/lost"])
        assert post(http) == 401
        (tmp_path / "issuer" / REVOKED_FILE).write_text("half of a li")
        assert post(http) == 401  # a damaged file lets nobody in again


@pytest.mark.usefixtures("parties")
def test_only_what_a_party_made_is_revoked(tmp_path: Path) -> None:
    (invitation,) = issue_invitations(tmp_path / "issuer", 1)
    (a_pass,) = issue_passes(tmp_path / "shuffler", 1)
    assert revoke_tokens(tmp_path / "shuffler", [a_pass]) == 1
    for text in (a_pass, "0" * 96, ""):
        with pytest.raises(InvalidData, match="none was revoked"):
            revoke_tokens(tmp_path / "issuer", [invitation, text])
    assert not (tmp_path / "issuer" / REVOKED_FILE).exists()
    with pytest.raises(InvalidData):
        revoke_tokens(tmp_path / "analyzer", [a_pass])
