"""A thirteenth round, on parties that do not follow the protocol, and what comes late."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.release import work
from smoothdp.services.formats import batch as batches
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import Card, sign_card
from smoothdp.services.formats.design.budget import KEY_SECONDS
from smoothdp.services.formats.marks import MarksFile, mark_of
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN

USERS = 14


def test_nothing_that_comes_seven_days_after_a_window_is_released(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The protocol: "A window without an end 7 days after end + grace ends, and what has come of
    its batch is REFUSED [...] no batch is taken then. (What was there whole before is counted and
    released also by an A that runs again only later"; the guide: "An analyser ends every window 7
    days after its end and grace, and takes no batch of it then (409)".

    The shuffler stops between two parts. Both parties run again a week later, and the shuffler is
    the first: the part that was missing comes before the analyser's next round.
    """
    monkeypatch.setattr(batches, "PART_RECORDS", 8)
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(USERS)
    world.seal()
    offered: list[tuple[str, bytes]] = []
    take = world.put

    def stops(path: str, body: bytes) -> int:
        offered.append((path, body))
        if len(offered) > 2:
            raise OSError("stopped")
        return take(path, body)

    monkeypatch.setattr(world, "put", stops)
    with pytest.raises(OSError, match="stopped"):
        world.deliver()
    monkeypatch.setattr(world, "put", take)
    assert world.tell_served(USERS) == 201
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds + KEY_SECONDS + 60)
    world.restart()
    late, part = offered[2]
    world.put(late, part)
    work(world.analyzer)
    said = world.result()
    world.close()
    assert said["state"] == "REFUSED"


def _second_header(world: PartyWorld, window: int = WINDOW) -> tuple[bytes, BatchHeader]:
    """Return another batch of a window that its shuffler has signed too: with a person less."""
    stored = world.shuffler.storage.read("SELECT header FROM batch WHERE window = ?", (window,))
    first = BatchHeader.decode(bytes(stored[0][0]))
    data = b"".join(
        bytes(row[0]) for row in world.shuffler.storage.read("SELECT bytes FROM batch_part")
    )
    less = data[: -world.shuffler.record_bytes]
    parts = list(batches.split_parts([less], signed=True))
    marks = batch_marks(first.card_digest, less, world.shuffler.record_bytes)
    header = BatchHeader(
        signed=True,
        card_digest=first.card_digest,
        batch_id=b"another batch id",
        users=first.users - 1,
        slots=first.slots - 1,
        part_hashes=tuple(sha256(part) for part in parts),
        marks_sha256=marks,
    )
    return less, header.sign(SHUFFLER_SIGN)


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def batch_marks(digest: bytes, data: bytes, width: int) -> bytes:
    marks = b"".join(mark_of(data[at : at + 52]) for at in range(0, len(data), width))
    return MarksFile.sorted(digest, marks).sha256


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("when", ["after the header", "after the parts", "after the result"])
def test_a_shuffler_that_signs_two_batches_of_a_window_has_one_of_them_counted(
    tmp_path: Path, when: str, restarts: bool
) -> None:
    """Two results that differ by one person would show that person's answer.

    The shuffler offers the second batch whenever the analyser has heard of the first, also when
    that has started again in between; it never gets another answer than that it is another one.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(USERS)
    world.seal()
    less, header = _second_header(world)
    second = f"/v2/batches/{header.batch_id.hex()}"

    def offer() -> None:
        if restarts:
            world.restart()
        assert world.put(second, header.encode()) == 409
        assert world.put(f"{second}/parts/0", less) == 404

    first: list[tuple[str, bytes]] = []
    for row in world.shuffler.storage.read("SELECT batch_id, header FROM batch"):
        first.append((f"/v2/batches/{bytes(row[0]).hex()}", bytes(row[1])))
    assert world.put(*first[0]) == 201
    if when == "after the header":
        offer()
    world.deliver()
    if when == "after the parts":
        offer()
    assert world.tell_served(USERS) == 201
    work(world.analyzer)
    if when == "after the result":
        offer()
        work(world.analyzer)
    said = world.result()
    assert (said["state"], said["users"]) == ("RELEASED", USERS)
    assert bytes.fromhex(said["batch_header"]) == first[0][1]
    assert world.charged() == [WINDOW]
    world.close()


@pytest.mark.parametrize("other", [1, 256])
def test_an_analyser_cannot_put_a_key_of_another_window_into_a_card(
    tmp_path: Path, other: int
) -> None:
    """A gateway key that lives longer than its window would open a recording of it for longer.

    The key's number is the window modulo 256: a key of 256 windows later has the same.
    """
    world = PartyWorld(tmp_path)
    world.shuffler.cards.offered_key(WINDOW)
    card = Card(
        task_id=world.task.task_id,
        window=WINDOW,
        gateway_key=world.shuffler.cards.offered_key(WINDOW + other),
        inner_key=PrivateKey.generate().public.to_bytes(),
        issuer_spki=issuer_key().public.spki,
    )
    with pytest.raises(InvalidData, match="another one"):
        world.shuffler.cards.sign(WINDOW, card.encode() + sign_card(card, ANALYZER_SIGN))
    assert world.shuffler.cards.stored(WINDOW) is None
    world.close()
