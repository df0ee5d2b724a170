"""A client beside another program of its user, and beside a shuffler that shows no marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from smoothdp import services
from smoothdp.errors import InvalidParameter
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.wire.calls import ServiceError, connect
from tests.services.worlds.issuing_world import WINDOW, IssuingWorld, Recorder, send
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


@pytest.mark.parametrize(("status", "size"), [(200, 256), (200, 0), (429, 0), (503, 0)])
def test_what_another_program_has_made_counts(world: IssuingWorld, status: int, size: int) -> None:
    """An issuer that answers the second one badly ends nothing: its report is on its way."""
    shuffler, mine = Recorder(world), world.invitation()

    def late(request: httpx.Request) -> httpx.Response:
        with connect(world.address) as issuer:
            if request.method == "GET":
                return issuer.get(request.url.path)
        send(world, world.client(), shuffler, invitation=mine)
        return httpx.Response(status, content=bytes(size))

    transport = httpx.MockTransport(late)
    with (
        httpx.Client(base_url="http://issuer", transport=transport) as issuer,
        connect(shuffler.address) as http,
    ):
        client = world.client()
        at = submit(
            *(client, 0),
            shuffler=http,
            pass_secret="p" * 96,
            issuer=issuer,
            invitation=mine,
            window=WINDOW,
            attempts=1,
        )
    kept = client.kept(at)
    assert kept is not None
    assert kept.state == "sent"
    assert len({report.encode() for report in shuffler.reports()}) == 1


def test_a_pass_is_no_invitation(world: IssuingWorld) -> None:
    with pytest.raises(InvalidParameter, match="one for both"):
        services.take_part(
            *(world.task, 1),
            shuffler="http://127.0.0.1:9",
            pass_secret="0a" * 48,
            invitation="0a" * 48,
        )


def test_a_shuffler_without_marks_hides_nothing_that_was_signed(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two cards, two lists: told from the signatures. What the marks decide is not."""
    shuffler = Recorder(world)
    send(world, world.client("clients"), shuffler, invitation=world.invitation())
    path = world.folder / "clients" / "windows.sqlite"
    monkeypatch.setattr(OutcomeStore, "of_user", classmethod(lambda cls: cls(path)))
    (report,) = shuffler.reports()
    digest = SignedCard.decode(world.make_card()).card.digest

    def result(change: Callable[[dict[str, object]], None], card: bytes = digest) -> bytes:
        file = MarksFile.of(card, report.slots)
        header = BatchHeader(True, card, bytes(16), 1, 1, (bytes(32),), file.sha256)
        document: dict[str, object] = {
            "task_id": world.task.task_id.hex(),
            "window": WINDOW,
            "card_digest": card.hex(),
            "marks_sha256": file.sha256.hex(),
            "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
        }
        change(document)
        return SignedResult.sign(document, ANALYZER_SIGN).encode()

    def said(signed: bytes, address: str) -> Standing:
        return services.look_up_report(world.task, WINDOW, result=signed, shuffler=address)

    # One that refuses all that it is asked, and one that is not there.
    for address in (shuffler.address, "http://127.0.0.1:9"):
        assert said(result(lambda _: None, bytes(32)), address) is Standing.OTHER_CARD
        denied = result(lambda document: document.update(marks_sha256="00" * 32))
        assert said(denied, address) is Standing.DENIED
        with pytest.raises(ServiceError):
            said(result(lambda _: None), address)
