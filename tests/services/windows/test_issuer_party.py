"""The issuer's rounds with the real analyser and shuffler: keys, cards, the end of a window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.analyzer.windows.analyzer_party import WindowAnalyzerParty
from smoothdp.services.client.windows.client import Client
from smoothdp.services.client.windows.inclusion import Standing, look_up
from smoothdp.services.client.windows.outcomes import OutcomeStore
from smoothdp.services.client.windows.submit import submit
from smoothdp.services.formats.design.task_request import create_task
from smoothdp.services.formats.design.task_shape import TaskIssuer
from smoothdp.services.formats.party_files import (
    CALLERS,
    PARTIES,
    callers_of,
    make_keys,
    write_task,
)
from smoothdp.services.formats.signing import VerifyingKey
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_party import IssuerParty, issue_invitations
from smoothdp.services.issuer.window_keys import cards_to_come, cards_wanted, unsent
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.windows.shuffler_party import WindowShufflerParty, issue_passes
from smoothdp.services.store.revoked import REVOKED_FILE, revoke
from smoothdp.services.wire.calls import ServiceError, Unreachable, connect
from smoothdp.services.wire.running import on_loopback

HOUR, WINDOW, USERS = 3600, 1000, 12


class Parties:
    """Three parties, each in its directory, the analyser listening; time is one for all."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.now = folder, float(WINDOW * HOUR + 60)
        halves = {party: make_keys(party, folder / party) for party in PARTIES}
        self.task: Task = create_task(
            "boolean_sum",
            epsilon="4",
            delta="0.01",
            min_batch=USERS,
            window_seconds=HOUR,
            grace_seconds=600,
            windows=3,
            analyzer_sign_key=VerifyingKey.from_hex(halves["analyzer"].sign_key),
            shuffler_sign_key=VerifyingKey.from_hex(halves["shuffler"].sign_key),
            issuer=TaskIssuer(
                "issuer.example", "https://issuer.example", halves["issuer"].sign_key
            ),
            origin="analyzer.example",
        )
        for party in PARTIES:
            callers = {name: half for name, half in halves.items() if name in CALLERS}
            write_task(folder / party, self.task, callers_of(callers))
        self.analyzer = WindowAnalyzerParty.from_directory(
            folder / "analyzer", clocks=self.clocks()
        )
        self.shuffler = WindowShufflerParty.from_directory(
            folder / "shuffler", clocks=self.clocks()
        )
        self.issuer = IssuerParty.from_directory(folder / "issuer", clocks=self.clocks())
        self.url = stack.enter_context(on_loopback(self.analyzer.app(work_seconds=3600)))
        for opened in (self.analyzer, self.shuffler, self.issuer):
            stack.callback(opened.close)

    def clocks(self) -> ClockGuard:
        return ClockGuard(wall=lambda: self.now, boot=lambda: self.now - 1000)

    def round(self) -> None:
        """Let every party work once; the analyser's card needs both of the others."""
        for party in (self.shuffler, self.issuer, self.shuffler, self.issuer):
            party.work(self.url)
        self.analyzer.work()


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
    parties.issuer.work(parties.url)
    assert unsent(parties.issuer.issuer) == []
    told = "SELECT window, sent FROM served"
    assert parties.issuer.issuer.storage.read(told) == [(WINDOW, 1)]


def test_a_number_that_was_not_taken_is_told_again(parties: Parties) -> None:
    parties.round()
    parties.now = float((WINDOW + 1) * HOUR)
    true_put = parties.analyzer.analyzer.put_served
    parties.analyzer.analyzer.put_served = lambda *_: 503  # type: ignore[method-assign]
    with pytest.raises(ServiceError, match="number of accounts"):
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
    with pytest.raises(SmoothdpError):
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
        revoke(tmp_path / "issuer" / REVOKED_FILE, [bytes.fromhex(mine)[:16]])
        assert post(http) == 401
        (tmp_path / "issuer" / REVOKED_FILE).write_text("half of a li")
        assert post(http) == 401  # a damaged file lets nobody in again
