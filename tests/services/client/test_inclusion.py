"""Everybody looks up the own report: in a file whose hash both services signed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.result import SignedResult
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, ISSUER_SIGN, SHUFFLER_SIGN


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path, protocol="real_sum", issuer=None, proof="none")
    yield made
    made.close()


class Published:
    """What the two services publish of a window, and what a client says of it."""

    def __init__(self, world: IssuingWorld, client: Client) -> None:
        self.world, self.client = world, client
        self.digest = SignedCard.decode(world.make_card()).card.digest
        kept = client.kept(WINDOW)
        assert kept is not None
        self.own = Report.decode(kept.report, signed=False).slots
        self.others = [bytes([number]) * 52 for number in range(100)]
        self.change: dict[str, Any] = {}
        self.header_key, self.result_key = SHUFFLER_SIGN, ANALYZER_SIGN

    def marks(self, slots: list[bytes]) -> bytes:
        return MarksFile.of(self.digest, slots).encode()

    def standing(self, slots: list[bytes], *, marks: bytes | None = None) -> Standing:
        """Return what the client says if the batch has these slots."""
        file = MarksFile.of(self.digest, slots)
        header = BatchHeader(
            False, self.digest, bytes(16), 20, len(slots), (bytes(32),), file.sha256
        ).sign(self.header_key)
        document = {
            "task_id": self.world.task.task_id.hex(),
            "window": WINDOW,
            "card_digest": self.digest.hex(),
            "marks_sha256": file.sha256.hex(),
            "batch_header": header.encode().hex(),
        } | self.change
        result = SignedResult.sign(document, self.result_key).encode()
        return look_up(
            *(self.world.task, WINDOW, self.client.kept(WINDOW)),
            result=result,
            marks=file.encode() if marks is None else marks,
        )


@pytest.fixture
def published(world: IssuingWorld) -> Published:
    client = world.client()
    client.take_part("0.3", card=world.make_card(), window=WINDOW)
    return Published(world, client)


@pytest.mark.parametrize("after", [False, True])
def test_what_the_marks_say(world: IssuingWorld, published: Published, after: bool) -> None:
    """The same whether the report is there still or its marks alone."""
    own, others, client = list(published.own), published.others, published.client
    unsure = published.standing(others)
    client.accepted(WINDOW)
    if after:
        world.go_to((WINDOW + 1) * HOUR + 600)
        assert client.settle() == 1
        kept = client.kept(WINDOW)
        assert kept is not None
        assert (kept.report, len(kept.marks)) == (b"", 16 * len(own))
    assert published.standing(own + others) is Standing.INCLUDED
    assert published.standing(own) is Standing.INCLUDED
    assert published.standing(others) is Standing.LEFT_OUT
    assert published.standing(own[1:] + others) is Standing.IN_PART
    assert unsure is Standing.NOT_THERE


def test_an_analyser_that_denies_slots(published: Published) -> None:
    other = MarksFile.of(published.digest, published.others).sha256
    published.change = {"marks_sha256": other.hex()}
    said = published.standing([*published.own, *published.others])
    assert said is Standing.DENIED
    assert "Publish" in said


def test_another_card(published: Published) -> None:
    published.change = {"card_digest": bytes(32).hex()}
    assert published.standing([*published.own]) is Standing.OTHER_CARD


def test_who_sent_nothing(world: IssuingWorld, published: Published) -> None:
    published.client = world.client("another device")
    assert published.standing(published.others) is Standing.NOT_SENT


def test_what_nobody_signed(published: Published) -> None:
    own = list(published.own)
    with pytest.raises(InvalidData, match="marks file whose hash"):
        published.standing(own, marks=published.marks(published.others))
    with pytest.raises(InvalidData, match="marks file of the window"):
        published.standing(own, marks=b"\x02")
    published.header_key = ISSUER_SIGN
    with pytest.raises(InvalidData, match="shuffler"):
        published.standing(own)
    published.header_key, published.result_key = SHUFFLER_SIGN, SHUFFLER_SIGN
    with pytest.raises(InvalidData, match="analyser"):
        published.standing(own)
    published.result_key = ANALYZER_SIGN
    for change in ({"window": WINDOW + 1}, {"task_id": "00"}, {"batch_header": "00"}):
        published.change = change
        with pytest.raises(InvalidData):
            published.standing(own)
