"""Another address of one service in the place of the other one: who is told, and who is accused."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from smoothdp.cli.main import main
from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services import look_up_report, take_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.tokens.refusals import TokenRefused
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ON_BOTH_STORAGES
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.quick_clients import hasty_world, state_of_me, submitting
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN


@pytest.mark.parametrize("why", ["spent", "no card"])
def test_who_shows_the_pass_to_another_address_of_the_issuer_at_a_late_report_is_told(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "What is printed after the issuer's answer, ... 404 at another address of it, says so."

    The shuffler was away in a window that is the last one that the budget pays for, or of which the
    next has no card. In the grace the issuer's other address is given as the shuffler's: the late
    report goes there, with the pass, and the words are of the present window alone.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1 if why == "spent" else 20)
    try:
        own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        with pytest.raises(ServiceError):
            take_part(
                *(world.task, 1),
                shuffler=Recorder(world, [503]).address,
                issuer=world.address,
                **own,
            )
        world.go_to((WINDOW + 1) * HOUR + 5.0)
        if why == "spent":
            world.open_window(WINDOW + 1)
        shown: list[str] = []

        async def watched(scope: Any, receive: Any, send: Any) -> None:
            shown.extend(v.decode() for k, v in scope.get("headers", ()) if k == b"authorization")
            await issuer_app(world.issuer)(scope, receive, send)

        app: Any = watched
        with on_loopback(app) as another, pytest.raises(SmoothdpError) as said:
            take_part(world.task, 1, shuffler=another, issuer=world.address, **own)
        assert f"Bearer {own['pass_secret']}" in shown
        assert "your pass" in str(said.value), str(said.value)
    finally:
        world.close()


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


@pytest.mark.parametrize("present", ["accepted before", "tokens refused"])
def test_a_late_report_to_another_address_of_the_issuer_is_told_whatever_the_present_one_is(
    present: str, quick_world: IssuingWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "What is printed after the issuer's answer, ... 404 at another address of it, says so."

    A late report waits, and in the present window there is nothing to send: it has arrived, or its
    tokens were refused. The issuer's other address in the place of the shuffler's gets the pass.
    """
    asked = submitting(quick_world, Recorder(quick_world, [503]).address)
    with pytest.raises(SystemExit):
        main(asked)
    quick_world.go_to((WINDOW + 1) * HOUR + 5.0)
    quick_world.open_window(WINDOW + 1)
    if present == "accepted before":
        # The late one is refused, then the present one is taken.
        main(to(Recorder(quick_world, [503, 202]).address, asked))
    else:
        end_present_window(quick_world)
    capsys.readouterr()
    shown: list[str] = []

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        shown.extend(v.decode() for k, v in scope.get("headers", ()) if k == b"authorization")
        await issuer_app(quick_world.issuer)(scope, receive, send)

    app: Any = watched
    with on_loopback(app) as another, suppress(SystemExit):
        main(to(another, asked))
    assert "Bearer " + "0a" * 48 in shown
    said = capsys.readouterr()
    assert "your pass" in said.err, said


def test_who_shows_the_invitation_to_another_address_of_the_shuffler_is_told(
    quick_world: IssuingWorld,
) -> None:
    """ "The shuffler's address as the issuer's shows ... the invitation ...: its 404 says so."

    The draw is there since the issuer was away; so no card is asked for, which a shuffler has not.
    """
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    own["shuffler"] = Recorder(quick_world).address
    quick_world.clocks.heard(quick_world.now - 100)
    with pytest.raises(ServiceError):
        take_part(quick_world.task, 1, issuer=quick_world.address, **own)
    another = Recorder(quick_world, [404])
    with pytest.raises(ServiceError) as said:
        take_part(quick_world.task, 1, issuer=another.address, **own)
    assert another.passes == {f"Bearer {own['invitation']}"}
    assert "your invitation" in str(said.value), str(said.value)


@ON_BOTH_STORAGES
def test_who_takes_the_issuers_other_address_for_the_shufflers_is_told_who_saw_the_pass(
    quick_world: IssuingWorld,
) -> None:
    """ "Gives the issuer's address as the shuffler's": "the issuer's answer, 401, says so".

    Its answer to a report is 404, and the words are of another card or task: the pass, "which then
    counts as one that the analyser has, until it is revoked", is revoked by nobody.
    """
    with (
        on_loopback(issuer_app(quick_world.issuer)) as another,
        pytest.raises(ServiceError) as said,
    ):
        take_part(
            *(quick_world.task, 1),
            shuffler=another,
            issuer=quick_world.address,
            pass_secret="0a" * 48,
            invitation=quick_world.invitation(),
        )
    assert "your pass" in str(said.value)


@pytest.fixture
def short_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[IssuingWorld]:
    made = hasty_world(tmp_path, monkeypatch, windows=1)
    yield made
    made.close()


class OtherAddress:
    """Another address of a dishonest issuer's side, which answers as a shuffler would."""

    def __init__(self, world: IssuingWorld, *, to_reports: int) -> None:
        self.shown = set[str]()
        shown = self.shown

        class Handler(BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._say(410)

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["content-length"]))
                shown.add(self.headers["authorization"])
                self._say(to_reports)

            def _say(self, status: int) -> None:
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=lambda: server.serve_forever(0.02), daemon=True).start()
        world.at_end(server.server_close)
        world.at_end(server.shutdown)
        self.address = f"http://127.0.0.1:{server.server_address[1]}"


def test_another_address_of_the_issuer_frees_a_place_of_the_budget(
    short_world: IssuingWorld,
) -> None:
    """ "Whoever ... gives the issuer's address as the shuffler's, shows the issuer the pass".

    That is not all. "A client answers in no more windows than the budget pays for; ... windows
    that the shuffler destroyed do not count": the word has no signature, and whoever is asked in
    the place of the shuffler gives it. An analyser's side to which somebody once goes astray so
    gets a second answer, by way of the honest shuffler, in a task that pays for one.
    """
    shuffler, astray = Recorder(short_world), OtherAddress(short_world, to_reports=503)
    asked = partial(
        take_part, short_world.task, 1, pass_secret="0a" * 48, issuer=short_world.address
    )
    asked = partial(asked, invitation=short_world.invitation())
    asked(shuffler=shuffler.address)
    later = WINDOW + 2
    short_world.go_to(later * HOUR + 5.0)
    short_world.open_window(later)
    with pytest.raises(InvalidData, match="pays for 1"):
        asked(shuffler=shuffler.address)
    with pytest.raises(ServiceError):
        asked(shuffler=astray.address)
    assert astray.shown == {"Bearer " + "0a" * 48}
    asked(shuffler=shuffler.address)
    # Two answers of one person with the honest shuffler, and so with the analyser.
    assert len(shuffler.bodies) == 2
    assert state_of_me(short_world) == "marks of a report that the shuffler destroyed"
    assert state_of_me(short_world, later) == "sent"


def test_another_address_of_the_issuer_has_an_honest_shuffler_accused(
    short_world: IssuingWorld,
) -> None:
    """ "Neither can tell the two apart otherwise": a 202 from there is taken for the shuffler's.

    The look-up then says of a shuffler that never heard of the report that it had said that it has
    it. The signed documents are good, and both services follow the protocol in them.
    """
    astray = OtherAddress(short_world, to_reports=202)
    secrets = {"pass_secret": "0a" * 48, "invitation": short_world.invitation()}
    take_part(short_world.task, 1, shuffler=astray.address, issuer=short_world.address, **secrets)
    short_world.go_to((WINDOW + 2) * HOUR)
    digest = SignedCard.decode(short_world.make_card()).card.digest
    marks = MarksFile.of(digest, [bytes([number]) * 52 for number in range(12)])
    header = BatchHeader(True, digest, bytes(16), 12, 12, (bytes(32),), marks.sha256)
    document = {
        "task_id": short_world.task.task_id.hex(),
        "window": WINDOW,
        "card_digest": digest.hex(),
        "marks_sha256": marks.sha256.hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    result = SignedResult.sign(document, ANALYZER_SIGN).encode()
    said = look_up_report(short_world.task, WINDOW, result=result, marks=marks.encode())
    assert said is Standing.LEFT_OUT
