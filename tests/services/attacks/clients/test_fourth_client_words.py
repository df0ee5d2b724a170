"""A fourth round of attacks on clients: what people look up, and what they are told."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.cli.main import main
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services import look_up_report, take_part
from smoothdp.services.client import taking_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.outcomes import (
    OutcomeStore,
)
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler import sealing
from smoothdp.services.wire.calls import ServiceError
from tests.services.client.test_client_commands import LONG, Place
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder, send
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task
from tests.services.worlds.three_parties import USERS


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


# ---- what people look up


class OtherMarks(MarksFile):
    """What a shuffler that lies about its batch puts into the header."""

    @property
    def sha256(self) -> bytes:
        return bytes(32)


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


# ---- the client's words


def test_a_full_disk_is_said_in_words_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """It was a traceback of SQLite."""
    made = IssuingWorld(tmp_path, protocol="real_sum")  # a report of several pages
    made.open_window()
    shuffler, mine = Recorder(made), made.invitation()
    ends: list[str] = []
    words: set[str] = set()
    client = made.client("a disk that is filled, page by page")
    connection = client._outcomes._storage._connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    for room in range(12):
        connection.execute(f"PRAGMA max_page_count={pages + room}")
        try:
            send(made, client, shuffler, invitation=mine)
            ends.append("sent")
        except InvalidData as error:
            words.add(str(error.got) + error.remedy[:9])
            row = client.kept(WINDOW)
            ends.append("none" if row is None else row.state)
            assert not shuffler.bodies
    assert words == {"database or disk is fullMake room"}
    # One draw: what was stored before there was room for more is what was sent.
    assert len({report.encode() for report in shuffler.reports()}) == 1
    assert ends == sorted(ends, key=["none", "drawn", "sent"].index)
    assert {"drawn", "sent"} <= set(ends)
    made.close()


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda data: os.urandom(len(data)), "not a database"),
        (lambda data: data[: len(data) // 2], "malformed"),
        (lambda data: data[:4096] + os.urandom(len(data) - 4096), "malformed"),
    ],
)
def test_a_damaged_state_is_said_to_a_person(
    harm: Callable[[bytes], bytes], words: str, world: IssuingWorld
) -> None:
    world.client()._outcomes.close()
    file = world.folder / "client" / "windows.sqlite"
    file.write_bytes(harm(file.read_bytes()))
    with pytest.raises(InvalidData, match=f"{words}.*begins anew"):
        world.client()


def test_a_later_state_is_no_reason_for_an_older_copy(world: IssuingWorld) -> None:
    """An older copy of it would be a second draw."""
    world.client()._outcomes.close()
    with closing(sqlite3.connect(world.folder / "client" / "windows.sqlite")) as file:
        file.execute("PRAGMA user_version = 99")
    with pytest.raises(InvalidData) as caught:
        world.client()
    assert str(caught.value).endswith("Upgrade smoothdp.")


@pytest.mark.parametrize("name", ["\udcff", None, 5, b"me"])
def test_a_name_that_is_no_text_is_nobody(name: Any, world: IssuingWorld) -> None:
    with pytest.raises(InvalidParameter, match="a person's name as text"):
        world.client(name=name)


def test_secrets_that_are_none_are_refused_before_anything_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line end stored a draw, and was called a service that does not answer."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    good, other = "0a" * 48, "0b" * 48
    for given in ((good + "\n", other), (good, "é" * 96), (good.upper(), other), (good, good)):
        with pytest.raises(InvalidParameter):
            take_part(
                small_task(),
                1,
                shuffler="https://x.example",
                pass_secret=given[0],
                invitation=given[1],
            )
    with pytest.raises(InvalidParameter, match="which differ"):
        take_part(
            small_task(),
            1,
            shuffler="https://x.example/",
            issuer="https://x.example",
            pass_secret=good,
            invitation=other,
        )
    assert not (tmp_path / "state").exists()


def test_a_relative_home_gives_each_folder_no_state_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "somewhere")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidData, match="a home folder"):
        OutcomeStore.of_user()
    assert list(tmp_path.iterdir()) == []


def test_a_pass_in_the_place_of_the_invitation_is_said_to_be_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The two files exchanged: the analyser's side has the pass then."""
    with ExitStack() as stack:
        place = Place(tmp_path, stack)
        with pytest.raises(SystemExit):
            place.submit(**{"pass": "invitation", "invitation": "pass"})
        assert "ask who runs the shuffler for another one" in capsys.readouterr().err
        # The other half did not leave: the shuffler has not seen the invitation.
        assert place.parties.shuffler.shuffler.totals()["pending"] == 0
