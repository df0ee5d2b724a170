"""What people find when they look up their report, whoever lies or withholds the marks.

(proofs/marks-and-erasure#2)
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.cli.main import main
from smoothdp.services import look_up_report, take_part
from smoothdp.services.analyzer.release import read_result
from smoothdp.services.client import taking_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.shuffler import sealing
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.issuing_world import IssuingWorld
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.people import PEOPLE
from tests.services.worlds.place import LONG, Place
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN
from tests.services.worlds.three_parties import USERS
from tests.services.worlds.whole_world import LOST, WholeWorld


class OtherMarks(MarksFile):
    """What a shuffler that lies about its batch puts into the header."""

    @property
    def sha256(self) -> bytes:
        return bytes(32)


@ONLY_SQLITE
def test_what_was_signed_of_a_refused_window_is_written_and_looked_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The evidence against who lied was thrown away: --signed wrote released results alone."""
    with ExitStack() as stack:
        place = Place(tmp_path, stack)
        place.submit()
        for number in range(1, USERS):
            take_part(
                place.parties.task,
                0,
                shuffler=place.shuffler,
                pass_secret=place.passes[number],
                invitation=place.invitations[number],
                issuer=place.issuer,
                person=str(number),
            )
        place.parties.now = float((place.window + 1) * LONG)
        place.parties.round()
        place.parties.now += 600
        with monkeypatch.context() as lying:
            lying.setattr(sealing, "MarksFile", OtherMarks)
            place.parties.round()
            place.parties.analyzer.work()
        file = tmp_path / "result.json"
        asked = ["results", str(place.window), "--collector", f"{tmp_path}/collector"]
        asked += ["--analyzer", place.parties.url, "--signed", str(file)]
        with pytest.raises(SystemExit) as refused:
            main(asked)
        assert refused.value.code == 2
        assert "refused for good" in capsys.readouterr().err
        assert SignedResult.decode(file.read_bytes()).document["state"] == "QUARANTINED"
        look_up = ["look-up", str(place.window), "--task", f"{tmp_path}/shuffler/task.json"]
        look_up += ["--result", str(file), "--shuffler", place.shuffler]
        with pytest.raises(SystemExit):
            main(look_up)
        assert "signed different lists" in capsys.readouterr().out


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("destroyed", Standing.DESTROYED),
        ("denied", Standing.DENIED),
        ("other card", Standing.OTHER_CARD),
        ("nothing sent", Standing.NOT_SENT),
        ("left out", None),
    ],
)
def test_a_shuffler_that_withholds_the_marks_withholds_no_other_lie(
    case: str, said: Standing | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who says 410 says so to both questions: that there is a batch all the same was never told."""
    world = IssuingWorld(tmp_path, issuer=None, proof="none")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    store = OutcomeStore.of_user()
    client = Client(world.task, store, clock=lambda: world.now)
    digest = SignedCard.decode(world.make_card()).card.digest
    if case != "nothing sent":
        client.take_part(1, card=world.make_card(), window=WINDOW)
        client.accepted(WINDOW)
        world.go_to((WINDOW + 2) * HOUR)
        client.settle()
    if case == "destroyed":
        client.destroyed(WINDOW)
    store.close()
    marks = MarksFile.of(digest, [bytes(52)])
    header = BatchHeader(False, digest, bytes(16), 20, 1, (bytes(32),), marks.sha256)
    document = {
        "task_id": world.task.task_id.hex(),
        "window": WINDOW,
        "card_digest": (bytes(32) if case == "other card" else digest).hex(),
        "marks_sha256": (bytes(32) if case == "denied" else marks.sha256).hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    result = SignedResult.sign(document, ANALYZER_SIGN).encode()
    gone = httpx.MockTransport(lambda _: httpx.Response(410))
    monkeypatch.setattr(
        taking_part, "connect", lambda _: httpx.Client(base_url="https://x", transport=gone)
    )

    def asked() -> Standing:
        return look_up_report(world.task, WINDOW, result=result, shuffler="https://x")

    if said is None:
        with pytest.raises(ServiceError, match="410"):
            asked()
    else:
        assert asked() is said
    world.close()


@contextmanager
def _slow_line(target: str, *, bytes_a_second: int) -> Iterator[str]:
    """Copy bytes to a service at once, and its answers no faster than a line of that speed."""
    port = int(target.rsplit(":", 1)[1])
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def up(here: socket.socket, there: socket.socket) -> None:
            with suppress(OSError):
                while data := here.recv(1 << 16):
                    there.sendall(data)

        def down(here: socket.socket, there: socket.socket) -> None:
            with here, there:
                with suppress(OSError):
                    while data := there.recv(bytes_a_second // 20):
                        here.sendall(data)
                        time.sleep(len(data) / bytes_a_second)
                # The other copy holds it open.
                here.shutdown(socket.SHUT_RDWR)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    here, _ = listening.accept()
                    there = socket.socket()
                    there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
                    there.connect(("127.0.0.1", port))
                    for copy in (up, down):
                        threading.Thread(target=copy, args=(here, there), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def test_who_was_left_out_sees_it_over_a_slow_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "People who were left out see it in the marks, afterwards": 8 MB of them, in two seconds.

    "An answer has a minute, and a second for each 64 kB that it and the request may have": all of
    it was handed over long before a connection has been silent for too long.
    """
    (tmp_path / "parties").mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    world = IssuingWorld(tmp_path, issuer=None, proof="none")
    parties = PartyWorld(tmp_path / "parties", world.task)
    store = OutcomeStore.of_user()
    client = Client(world.task, store, clock=lambda: world.now)
    digest = SignedCard.decode(world.make_card()).card.digest
    client.take_part(1, card=world.make_card(), window=WINDOW)
    client.accepted(WINDOW)
    world.go_to((WINDOW + 2) * HOUR)
    client.settle()
    store.close()
    n = 1 << 19
    every = sorted({os.urandom(16) for _ in range(n)})
    marks = MarksFile(digest, b"".join(every))
    header = BatchHeader(False, digest, bytes(16), n, n, (bytes(32),) * (n >> 14), marks.sha256)
    document = {
        "task_id": world.task.task_id.hex(),
        "window": WINDOW,
        "card_digest": digest.hex(),
        "marks_sha256": marks.sha256.hex(),
        "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
    }
    result = SignedResult.sign(document, ANALYZER_SIGN).encode()
    with parties.shuffler.storage.transaction() as change:
        row = (world.task.task_id, WINDOW, marks.encode())
        change.change("INSERT INTO marks VALUES (?, ?, ?)", row)
    with on_loopback(shuffler_app(parties.shuffler), header_seconds=0.3) as shuffler:
        at_once = look_up_report(world.task, WINDOW, result=result, shuffler=shuffler)
        assert at_once is Standing.LEFT_OUT
        with _slow_line(shuffler, bytes_a_second=4 << 20) as slow:
            said = look_up_report(world.task, WINDOW, result=result, shuffler=slow)
    assert said is Standing.LEFT_OUT
    parties.close()
    world.close()


class LeavesOut(WholeWorld):
    """A shuffler that leaves a person out, and shows this person no marks."""

    def answers(self, request: httpx.Request) -> httpx.Response:
        shown = request.url.host != "victim.example"
        marks = self.shuffler.marks(WINDOW) if shown else None
        return httpx.Response(200 if marks else 404, content=marks or b"")

    def connect(self, address: str) -> httpx.Client:
        return httpx.Client(base_url=address, transport=httpx.MockTransport(self.answers))


@ONLY_SQLITE
def test_who_was_left_out_sees_it_in_a_copy_of_the_marks_if_the_shuffler_shows_none(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The page, of a shuffler that leaves people out: they "see it in the marks, afterwards".

    It shows the file to others alone: the person who was left out is told that there is none, and
    sees it in what somebody else was given.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    world = LeavesOut(tmp_path, fast=True)
    monkeypatch.setattr(taking_part, "connect", world.connect)
    world.open_window()
    for person in PEOPLE:
        assert world.take_part(person) == 202
    card, digest = world.issuer.card(WINDOW) or b"", world.card().digest
    store = OutcomeStore.of_user()
    client = Client(world.task, store, clock=lambda: world.now)
    client.take_part(1, card=card, window=WINDOW)
    account = world.issuer.admit(world.invitation_of("me"), WINDOW, world.issuer.request_bytes)
    assert isinstance(account, Account)
    answer = world.issuer.answer(account, client.token_request(WINDOW))
    assert isinstance(answer, bytes)
    client.finish(WINDOW, answer)
    client.accepted(WINDOW)  # and is left out
    store.close()
    said = world.end()
    assert (said["state"], said["users"], said["card_digest"]) == ("RELEASED", 6, digest.hex())
    ((result,),) = world.analyzer.storage.read("SELECT body FROM release")

    def asked(**where: Any) -> Standing:
        return look_up_report(world.task, WINDOW, result=bytes(result), **where)

    with pytest.raises(ServiceError, match="404"):
        asked(shuffler="https://victim.example")
    assert asked(marks=world.shuffler.marks(WINDOW)) is Standing.LEFT_OUT
    world.close()
    assert on_the_page("after the window's grace (in a copy, if it shows them none;")


@ONLY_SQLITE
def test_a_report_that_is_sent_while_another_program_settles_keeps_its_marks(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its clock is ahead: it found a draw, and put no marks in the place of the report."""
    world = WholeWorld(tmp_path)
    world.open_window()
    assert world.take_part("anna", lose=("tokens answer",)) == LOST
    client, keep_marks = world.client("anna"), OutcomeStore.keep_marks

    def late(store: OutcomeStore, *row: Any) -> None:
        world.now = now
        assert world.take_part("anna") == 202
        keep_marks(store, *row)

    now = world.now
    world.now += 2 * HOUR
    monkeypatch.setattr(OutcomeStore, "keep_marks", late)
    client.settle()
    monkeypatch.setattr(OutcomeStore, "keep_marks", keep_marks)
    for person in range(13):
        assert world.take_part(f"{person}") == 202
    world.end()
    client.settle()
    kept = client.kept(WINDOW)
    assert kept is not None
    assert kept.acknowledged
    assert not kept.report
    status, result = read_result(world.analyzer, WINDOW, now=world.now)
    marks = world.shuffler.marks(WINDOW)
    assert status == 200
    assert marks is not None
    assert look_up(world.task, WINDOW, kept, result=result, marks=marks) is Standing.INCLUDED
    world.close()
