"""Tests 20 to 28: whatever is sent again is answered like the first time and counted once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from smoothdp.services.analyzer.counting import check_batch, count_complete
from smoothdp.services.analyzer.release import read_result
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import FINAL, Kept
from smoothdp.services.formats.batch import PART_RECORDS, BatchHeader
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.shuffler.delivery import deliver_batches
from smoothdp.services.shuffler.ingest import OpenedReport, Taken
from smoothdp.services.shuffler.sealing import seal_window
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import SHUFFLER_SIGN, small_task


@pytest.fixture
def world(tmp_path: Path, storage_kind: str) -> Iterator[PartyWorld]:  # noqa: ARG001
    made = PartyWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


def test_20_a_thousand_replays_count_once(world: PartyWorld) -> None:
    """The same bytes, and the same report under fresh seals."""
    secret, report = world.new_pass(), world.report()
    assert {world.send(report, secret) for _ in range(500)} == {Taken.ACCEPTED}
    sealed, sender = seal_report(report.encode(), world.card()), world.shuffler.sender(secret)
    assert sender is not None
    for _ in range(500):
        assert world.shuffler.judge(WINDOW, sender, sealed) is Taken.ACCEPTED
    assert world.shuffler.totals()["pending"] == 1
    world.send_many(11)
    assert world.finish(12)["users"] == 12


def test_21_concurrent_copies_count_once(world: PartyWorld) -> None:
    secret, report = world.new_pass(), world.report()
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: world.send(report, secret), range(64)))
    assert set(answers) == {Taken.ACCEPTED}
    assert world.shuffler.totals()["pending"] == 1


def test_21_copies_in_one_group_count_once(world: PartyWorld) -> None:
    """None of a group is known when it is judged: the two unique keys tell them apart.

    A group is stored in the order of its passes' tags, those of one pass as they came.
    """
    report, other = world.report(), world.report()

    def judged(sender: bytes | None, sent: Report) -> OpenedReport:
        assert sender is not None
        opened = world.shuffler.judge(WINDOW, sender, seal_report(sent.encode(), world.card()))
        assert not isinstance(opened, Taken)
        return opened

    passes = [world.shuffler.sender(world.new_pass()) for _ in range(2)]
    mine, thief = sorted(passes, key=lambda one: judged(one, report).sender_tag)
    sent = ((mine, report), (thief, report), (mine, other), (mine, report))
    first, copied, second, again = world.shuffler.accept([judged(*one) for one in sent])
    assert (first, again) == (Taken.ACCEPTED, Taken.ACCEPTED)
    assert (copied, second) == (Taken.OTHER_REPORT, Taken.OTHER_REPORT)
    assert world.shuffler.totals()["pending"] == 1


@pytest.mark.parametrize("thief_first", [False, True])
def test_21_a_copy_that_comes_in_its_owners_place_costs_an_answer_alone(
    world: PartyWorld, thief_first: bool
) -> None:
    """In one group the lower tag is stored, whoever's it is: the slots count once, as the owner's.

    Leaving both out would let a thief knock people out; this way there is nothing to gain.
    """
    report = world.report()
    sealed = seal_report(report.encode(), world.card())
    passes = [world.shuffler.sender(world.new_pass()) or b"" for _ in range(2)]
    judged = [world.shuffler.judge(WINDOW, sender, sealed) for sender in passes]
    opened = [one for one in judged if isinstance(one, OpenedReport)]
    mine, thief = sorted(opened, key=lambda one: one.sender_tag, reverse=thief_first)
    answers = world.shuffler.accept([thief, mine])
    assert answers[thief_first] is Taken.OTHER_REPORT
    assert answers[not thief_first] is Taken.ACCEPTED
    world.send_many(13)
    document = world.finish(14)
    assert (document["state"], document["users"]) == ("RELEASED", 14)
    kept = Kept(world.card().digest, b"", b"", report.encode(), b"", FINAL)
    result = read_result(world.analyzer, WINDOW, now=world.now)[1]
    marks = world.shuffler.marks(WINDOW) or b""
    said = look_up(world.task, WINDOW, kept, result=result, marks=marks)
    assert said is Standing.INCLUDED


def test_22_a_replay_after_a_restart_counts_once(world: PartyWorld) -> None:
    secret, report = world.new_pass(), world.report()
    world.send(report, secret)
    world.restart()
    assert world.send(report, secret) is Taken.ACCEPTED
    assert world.shuffler.totals()["pending"] == 1


def test_23_a_report_is_of_one_window(world: PartyWorld) -> None:
    """In another window it has another key, card and tokens."""
    secret, report = world.new_pass(), world.report()
    world.send(report, secret)
    sealed = seal_report(report.encode(), world.card())
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    later = world.open_window(WINDOW + 1)
    sender = world.shuffler.sender(secret) or b""
    assert world.shuffler.judge(WINDOW + 1, sender, sealed) is Taken.MALFORMED
    renamed = bytes([sealed[0] + 1 & 255]) + sealed[1:]
    assert world.shuffler.judge(WINDOW + 1, sender, renamed) is Taken.MALFORMED
    # Who opens it and seals it to the other gateway has another card's digest inside, then
    # other tokens.
    assert world.send(report, secret, WINDOW + 1) is Taken.UNKNOWN
    moved = Report(later.digest, report.slots, report.signatures)
    assert world.send(moved, secret, WINDOW + 1) is Taken.UNSIGNED
    assert world.shuffler.totals()["pending"] == 1


def test_24_after_the_key_nothing_can_be_replayed(world: PartyWorld) -> None:
    report = world.report()
    sealed = seal_report(report.encode(), world.card())
    world.send_many(12)
    world.seal()
    assert world.shuffler.cards.opened(WINDOW) is None
    sender = world.shuffler.sender(world.new_pass()) or b""
    world.go_to(WINDOW * HOUR + 700.0)
    # Not even if time goes back, or by a call that skips the look at the clock.
    assert world.send(report) is Taken.CLOSED
    assert world.shuffler.judge(WINDOW, sender, sealed) is Taken.CLOSED
    assert world.shuffler.totals()["pending"] == 0


def test_25_another_report_of_the_same_pass(world: PartyWorld) -> None:
    secret = world.new_pass()
    world.send(world.report(), secret)
    assert world.send(world.report(), secret) is Taken.OTHER_REPORT
    assert world.shuffler.totals()["pending"] == 1
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    world.open_window(WINDOW + 1)
    assert world.send(world.report(window=WINDOW + 1), secret, WINDOW + 1) is Taken.ACCEPTED


def test_26_a_slot_held_back_for_another_window_is_not_counted(world: PartyWorld) -> None:
    """Signed anew by an account of the next window, it opens for nobody."""
    held = world.report().slots[0]
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    world.open_window(WINDOW + 1)
    world.send_many(14, window=WINDOW + 1)
    assert world.send(world.sign([held], WINDOW + 1), window=WINDOW + 1) is Taken.ACCEPTED
    document = world.finish(15, WINDOW + 1)
    assert (document["state"], document["invalid_slots"]) == ("RELEASED", 1)


def test_26_copies_are_found_across_parts(tmp_path: Path) -> None:
    """A shuffler without an issuer that copies a slot into another part of its batch."""
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    card = world.open_window()
    count = PART_RECORDS + 3
    slots = [number.to_bytes(52, "big") for number in range(count)]
    for place in (5, PART_RECORDS - 1, PART_RECORDS + 2):
        slots[place] = bytes(51) + b"\xff"
    parts = [b"".join(slots[:PART_RECORDS]), b"".join(slots[PART_RECORDS:])]
    header = BatchHeader(
        signed=False,
        card_digest=card.digest,
        batch_id=bytes(16),
        users=count,
        slots=count,
        part_hashes=tuple(hashlib.sha256(part).digest() for part in parts),
        marks_sha256=MarksFile.of(card.digest, slots).sha256,
    ).sign(SHUFFLER_SIGN)
    world.go_to((WINDOW + 2) * HOUR)
    assert world.analyzer.put_batch(bytes(16), header.encode()) == 201
    for number, part in enumerate(parts):
        assert world.analyzer.put_part(bytes(16), number, part) == 201
    reason, marks = check_batch(world.analyzer, header, card)
    assert "slots come more than once" in reason
    assert marks == header.marks_sha256
    world.close()


def test_27_a_batch_offered_again_is_taken_once(world: PartyWorld) -> None:
    world.send_many(12)
    world.seal()
    lost = [0, 0, 0]

    def put(path: str, body: bytes) -> int:
        status = world.put(path, body)
        if lost:
            lost.pop()
            raise OSError("the answer is lost")
        return status

    for _ in range(3):
        with pytest.raises(OSError, match="lost"):
            deliver_batches(world.shuffler, put)
    assert deliver_batches(world.shuffler, put) == 1
    assert deliver_batches(world.shuffler, put) == 0
    # The same bytes each time: nobody sees two orders of one batch.
    assert len({body for path, body in world.offers if "parts" in path}) == 1
    assert world.finish(12)["users"] == 12
    for path, body in list(world.offers):
        assert world.put(path, body) == 200
    count_complete(world.analyzer)
    assert world.charged() == [WINDOW]


def test_27_another_batch_of_that_name_or_window(world: PartyWorld) -> None:
    world.send_many(12)
    world.seal()
    world.deliver()
    (path, header), (part_path, part) = world.offers
    known = BatchHeader.decode(header)
    changed = replace(known, marks_sha256=bytes(32)).sign(SHUFFLER_SIGN)
    assert world.put(path, changed.encode()) == 409
    assert world.put(path, header[:-1] + bytes([header[-1] ^ 1])) == 400
    assert world.put(part_path, part[:-1] + bytes([part[-1] ^ 1])) == 422
    # A second batch of one window would be a second look at the same people.
    renamed = replace(known, batch_id=b"n" * 16).sign(SHUFFLER_SIGN)
    assert world.put(f"/v2/batches/{(b'n' * 16).hex()}", renamed.encode()) == 409


def test_28_a_part_damaged_on_the_way_is_sent_again(world: PartyWorld) -> None:
    world.send_many(12)
    world.seal()
    damage = [True]

    def put(path: str, body: bytes) -> int:
        if "parts" in path and damage:
            damage.clear()
            return world.put(path, body[:-1] + bytes([body[-1] ^ 1]))
        return world.put(path, body)

    with pytest.raises(OSError, match="422"):
        deliver_batches(world.shuffler, put)
    deliver_batches(world.shuffler, put)
    assert world.finish(12)["users"] == 12


def test_28_two_batches_are_never_made_of_one_window(world: PartyWorld) -> None:
    world.send_many(12)
    world.seal()
    world.deliver()
    assert seal_window(world.shuffler, WINDOW) is None
    world.restart()
    assert seal_window(world.shuffler, WINDOW) is None
    assert world.shuffler.totals()["batched"] == 12
