"""In how many windows a client answers, and who may have it answer in more, or alone."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services import issue_invitations, take_part
from smoothdp.services.analyzer.release import read_result
from smoothdp.services.client.outcomes import DRAWN, OutcomeStore
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler.shuffler_party import issue_passes
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.other_issuers import failing_issuer, served_by
from tests.services.worlds.quick_clients import hasten, hasty_world, state_of_me
from tests.services.worlds.three_parties import USERS, Parties


def test_a_shuffler_sends_nobody_away_who_has_a_client_program(quick_world: IssuingWorld) -> None:
    """ "Send people away before they reach the issuer" is what "a client program" stands against.

    A shuffler that answers 503 in one window has everybody come to it first in the next.
    """
    shuffler = Recorder(quick_world, [503, 401])
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    asked: Callable[..., Any] = partial(
        take_part, shuffler=shuffler.address, issuer=quick_world.address, **own
    )
    with pytest.raises(ServiceError):
        asked(quick_world.task, 1)
    quick_world.go_to((WINDOW + 1) * HOUR + 5.0)
    quick_world.open_window(WINDOW + 1)
    with pytest.raises(ServiceError, match="Ask who runs the shuffler for a pass"):
        asked(quick_world.task, 1)
    rows = quick_world.storage.read("SELECT count(*) FROM issued WHERE window = ?", (WINDOW + 1,))
    assert rows[0][0] == 1


def test_a_shuffler_that_wastes_a_window_may_let_some_alone_have_one_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page: it may "tell some alone that a window was destroyed, so that few are served".

    All others are told that the budget is spent, before the issuer hears of them.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1)
    try:
        shuffler = Recorder(world, [503])  # and 501 to HEAD
        own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        asked: Callable[..., Any] = partial(
            take_part, shuffler=shuffler.address, issuer=world.address, **own
        )
        with pytest.raises(ServiceError):
            asked(world.task, 1)
        later = WINDOW + 9 * 24  # the first one has given its place in the budget back
        world.go_to(later * HOUR + 5.0)
        world.open_window(later)
        with contextlib.suppress(SmoothdpError):
            asked(world.task, 1)
        rows = world.storage.read("SELECT count(*) FROM issued WHERE window = ?", (later,))
        assert rows[0][0] == 0
    finally:
        world.close()


class Lying:
    """A shuffler of some accounts of its own, before the real one, and the one whom it wants."""

    def __init__(self, to: str, wanted: list[str], *, late: int) -> None:
        self.first = True
        lying, free = self, {f"Bearer {secret}" for secret in wanted}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                named = self.headers["authorization"]
                if lying.first:
                    status = 503
                elif self.path.endswith(f"/{WINDOW}"):
                    status = 410 if named in free else late
                elif named not in free:
                    status = 503
                else:
                    sent = {"authorization": named}
                    status = httpx.post(to + self.path, content=body, headers=sent).status_code
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=lambda: self.server.serve_forever(0.02), daemon=True).start()
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.mark.parametrize("late", [410, 401])
def test_a_shuffler_with_too_few_accounts_singles_nobody_out_among_client_programs(
    late: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 20 who take part 11 are the shuffler's: a batch of them and one more was released.

    It leaves out the other 8 in both cases. After 410 they are served and missing, and the rule
    refuses the batch; 401 to a late report keeps them from the issuer, and nobody misses them.
    """
    with contextlib.ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        parties.round()
        issuer, real = (
            stack.enter_context(on_loopback(party.app(parties.url, work_seconds=3600)))
            for party in (parties.issuer, parties.shuffler)
        )
        people = USERS + 8
        passes = issue_passes(tmp_path / "shuffler", people)
        invitations = issue_invitations(tmp_path / "issuer", people)
        shuffler = Lying(real, passes[:USERS], late=late)
        stack.callback(shuffler.close)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        hasten(monkeypatch, lambda: parties.now)

        def take_part_from(first: int) -> None:
            for number in range(first, people):
                with contextlib.suppress(SmoothdpError):
                    take_part(
                        parties.task,
                        1,
                        shuffler=shuffler.address,
                        pass_secret=passes[number],
                        invitation=invitations[number],
                        issuer=issuer,
                        person=str(number),
                    )

        take_part_from(USERS)
        shuffler.first = False
        parties.now = (WINDOW + 1) * HOUR + 30.0
        parties.round()
        take_part_from(0)
        parties.now = (WINDOW + 2) * HOUR + 0.0
        parties.round()
        parties.now += 600
        parties.round()
        parties.analyzer.work()
        status, body = read_result(parties.analyzer.analyzer, WINDOW + 1, now=parties.now)
        document = SignedResult.decode(body).document
    assert status != 200, (document["users"], document["accounts_served"])


@pytest.mark.parametrize("who", ["shuffler", "issuer"])
def test_trying_again_sends_the_same_and_no_more(who: str, quick_world: IssuingWorld) -> None:
    """ "Try again: the same is sent" is said at the end of a window, and tried again in the next.

    A second, fresh draw of the same datum leaves then: one who was told to repeat has answered in
    two windows of the budget.
    """
    shuffler = Recorder(quick_world, [503] if who == "shuffler" else [])
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    drawn: list[bytes] = []
    store = OutcomeStore.of_user()
    if who == "issuer":
        quick_world.clocks.heard(quick_world.now + 3600)  # it answers 503 until clocks agree
    with pytest.raises(ServiceError) as said:
        take_part(quick_world.task, 1, shuffler=shuffler.address, issuer=quick_world.address, **own)
    row = store.get(quick_world.task.task_id, WINDOW, "me")
    assert row is not None
    drawn.append(row.slots or Report.decode(row.report, signed=True).slots[0])
    quick_world.go_to((WINDOW + 1) * HOUR + 5.0)
    quick_world.open_window(WINDOW + 1)
    take_part(quick_world.task, 1, shuffler=shuffler.address, issuer=quick_world.address, **own)
    row = store.get(quick_world.task.task_id, WINDOW + 1, "me")
    store.close()
    assert "Try again: the same is sent" not in str(said.value) or row is None


def _card_alone(world: IssuingWorld, window: int) -> str:
    """Return the address of an issuer that hands out cards, and then fails."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            card = world.make_card(window)
            self.send_response(200)
            self.send_header("content-length", str(len(card)))
            self.end_headers()
            self.wfile.write(card)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(503)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    return served_by(world, Handler)


def test_a_window_in_which_the_issuer_was_away_is_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A budget of two windows, one of them answered: "one more, after answers in windows" two.

    The analyser refused the first window, so that there are cards for two more. Tokens are not
    given in the grace: what was drawn while the issuer was away can reach nobody any more.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=2)
    try:
        shuffler = Recorder(world)
        own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        asked: Callable[..., Any] = partial(
            take_part, world.task, 1, shuffler=shuffler.address, **own
        )
        asked(issuer=world.address)
        world.go_to((WINDOW + 1) * HOUR + 3000.0)
        with pytest.raises(ServiceError):
            asked(issuer=_card_alone(world, WINDOW + 1))
        world.go_to((WINDOW + 2) * HOUR + 305.0)
        world.open_window(WINDOW + 2)
        assert (state_of_me(world), state_of_me(world, WINDOW + 1)) == ("marks", DRAWN)
        said = ""
        try:
            asked(issuer=world.address)
        except InvalidData as error:
            said = str(error)
        assert "answers drawn for windows 1000, 1001" not in said
        assert len(shuffler.bodies) == 2
    finally:
        world.close()


@pytest.mark.parametrize("after", [305.0])
def test_an_issuer_that_was_away_at_the_end_of_a_window_ends_no_task(
    after: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told to "take part in the next window" at its begin, then "one more, after answers in" one.

    No answer was given in it: 300 s later the same command is taken.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1)
    try:
        shuffler = Recorder(world)
        own = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        asked = partial(take_part, world.task, 1, shuffler=shuffler.address, **own)
        world.go_to((WINDOW + 1) * HOUR - 5.0)
        failing = failing_issuer(world, b"503 Service Unavailable", [])
        with pytest.raises(ServiceError):
            asked(issuer=failing)
        assert (state_of_me(world), shuffler.bodies) == (DRAWN, [])
        world.go_to((WINDOW + 1) * HOUR + after)
        world.open_window(WINDOW + 1)
        said = ""
        try:
            asked(issuer=world.address)
        except SmoothdpError as error:
            said = str(error)
        assert "after answers in window" not in said
        assert "ask who runs it for a new task" not in said
    finally:
        world.close()
