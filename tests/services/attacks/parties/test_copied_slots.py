"""Slots that are copied, signed again, spelt otherwise or sealed to no key: no second vote."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services.analyzer.release import work
from smoothdp.services.formats.reading import DecodeError
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import SLOT_BYTES, open_slot
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.tokens.token import parse_requests
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld, issuer_key
from tests.services.worlds.shufflers_batches import hand_over
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import WholeWorld, weak_task


@ONLY_SQLITE
def test_who_reads_the_store_knocks_people_out_with_an_account_of_its_own(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: "a report of one slot each of M people, by an account of one's own"; M may be 1.

    Another token is put on the one slot of somebody: that is another report.
    """
    world = WholeWorld(tmp_path, fast=True)
    world.open_window()
    for person in range(6):
        assert world.take_part(f"person {person}") == 202
    (row,) = world.shuffler.storage.read("SELECT slots FROM pending LIMIT 1")
    slots, card = (bytes(row[0])[:52],), world.card()
    assert world.task.issuer is not None
    tokens = SlotTokens(card, issuer_name=world.task.issuer.name, origin=world.task.origin)
    request = tokens.request(slots, seed=b"x" * 32)
    account = world.issuer.admit(world.invitation_of("reader"), WINDOW, len(request))
    assert isinstance(account, Account)
    answer = world.issuer.answer(account, request)
    assert isinstance(answer, bytes)
    signatures = tokens.finalize(slots, seed=b"x" * 32, answer=answer)
    copied = Report(card.digest, slots, tuple(signatures))
    world.post(WINDOW, world.pass_of("reader"), seal_report(copied.encode(), card))
    (sealed,) = world.seal()
    assert (sealed.users, sealed.shared) == (5, 2)
    world.close()


@ONLY_SQLITE
def test_who_reads_the_store_knocks_people_out_with_a_pass_alone(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The page: "knock people out (a pass of its own for each M of them".

    Where reports have more slots than one, records of several people, with the tokens that are on
    them, are a report of nobody's: a pass is enough, and the issuer has never seen the reader.
    """
    task = small_task("real_sum", size=4, epsilon="60", min_batch=3, honest_share="1")
    world = WholeWorld(tmp_path, task, fast=True)
    world.open_window()
    for person in range(8):
        assert world.take_part(f"person {person}", 0.5) == 202
    rows = world.shuffler.storage.read("SELECT slots FROM pending")
    width = world.shuffler.record_bytes
    records = sorted(bytes(row[0])[:width] for row in rows[:4])
    copied = Report(
        world.card().digest,
        tuple(record[:SLOT_BYTES] for record in records),
        tuple(record[SLOT_BYTES:] for record in records),
    )
    world.post(WINDOW, world.pass_of("reader"), seal_report(copied.encode(), world.card()))
    (sealed,) = world.seal()
    close_windows(world.issuer)
    world.tell()
    assert world.analyzer.accounts_served(WINDOW) == 8, "the reader asked for no token"
    assert (sealed.users, sealed.shared) == (4, 5)
    world.close()


@ONLY_SQLITE
def test_a_slot_with_another_spelling_of_its_key_is_no_second_vote(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A shuffler with an account copies somebody's slot, with the bit that X25519 ignores set.

    The bytes are others, and so are nonce and mark, and a token of its own is good for them; were
    the shared secret all that is hashed, it would be the same vote once more.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    victim = world.report(1)
    world.send_many(11)
    ((slot,),) = (victim.slots,)
    copy = slot[:31] + bytes([slot[31] ^ 0x80]) + slot[32:]
    key = world.analyzer.cards.inner_key(WINDOW)
    assert key is not None
    assert open_slot(slot, world.card(), key) in (0, 1)
    with pytest.raises(DecodeError):
        open_slot(copy, world.card(), key)
    assert world.send(victim).value == 202
    assert world.send(world.sign([copy])).value == 202
    document = world.finish(accounts=13)
    assert (document["state"], document["users"], document["invalid_slots"]) == ("RELEASED", 13, 1)
    world.close()


def signed_again(world: PartyWorld, slot: bytes) -> bytes:
    """Return another signature of the issuer on a slot, from an account of the shuffler."""
    assert world.task.issuer is not None
    tokens = SlotTokens(world.card(), issuer_name=world.task.issuer.name, origin=world.task.origin)
    asked = parse_requests(tokens.request([slot], seed=b"S" * 32), key=tokens.key, slots=1)
    answer = b"".join(issuer_key().sign(message) for message in asked)
    (signature,) = tokens.finalize([slot], seed=b"S" * 32, answer=answer)
    return bytes(signature)


@ONLY_SQLITE
@pytest.mark.parametrize("twice", [False, True])
def test_a_slot_that_an_account_of_the_shuffler_gets_signed_again_counts_once(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    twice: bool,
) -> None:
    """The page: "count somebody twice; exchange slots [...] every slot needs a token, which is for
    these bytes alone". The shuffler asks for another token for a slot that it was sent: good, but
    with both nothing is released, and in the place of the first it changes nothing.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    records = [record for _ in range(14) for record in world.report(1).records]
    slot = records[0][:SLOT_BYTES]
    again = slot + signed_again(world, slot)
    assert again != records[0]
    batch = [again, *records[1:], *(records[:1] if twice else [])]
    world.go_to((WINDOW + 2) * HOUR)
    assert hand_over(world, batch, WINDOW, bytes(16)) == [201, 201]
    world.tell_served(15)
    work(world.analyzer)
    said = world.result()
    assert said["state"] == ("QUARANTINED" if twice else "RELEASED")
    assert said.get("users") == (None if twice else 14)
    assert world.charged() == ([] if twice else [WINDOW])
    world.close()


@ONLY_SQLITE
def test_slots_to_points_of_small_order_mean_nothing_and_stop_nothing(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A user's token is good for any bytes: also for such that no key agrees on a secret with."""
    prime = 2**255 - 19
    points = [0, 1, prime - 1, prime, prime + 1, 1 << 255, (1 << 255) + prime]
    world = PartyWorld(tmp_path, small_task(honest_share="0.5", min_batch=24))
    world.open_window()
    world.send_many(24)
    for point in points:
        slot = point.to_bytes(32, "little") + bytes(20)
        assert world.send(world.sign([slot])).value == 202
    document = world.finish(24 + len(points))
    assert (document["state"], document["invalid_slots"]) == ("RELEASED", len(points))
    world.close()


_TWO = (
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
)
SMALL_ORDER = [
    *(number.to_bytes(32, "little") for number in (0, 1)),
    *(bytes.fromhex(digits) for digits in _TWO),
    *((2**255 - 19 + more).to_bytes(32, "little") for more in (-1, 0, 1)),
]


def test_slots_and_reports_under_points_of_small_order_cost_their_senders_alone(
    tmp_path: Path,
) -> None:
    """They have no shared secret: such slots mean nothing, such reports are malformed."""
    parties = PartyWorld(tmp_path, weak_task(honest_share="0.5", min_batch=20))
    parties.open_window()
    for point in SMALL_ORDER:
        assert parties.send(parties.sign([point + bytes(20)])) is Taken.ACCEPTED
    sender = parties.shuffler.sender(parties.new_pass())
    assert sender is not None
    sealed = seal_report(parties.report().encode(), parties.card())
    for point in SMALL_ORDER:
        bad = sealed[:7] + point + sealed[39:]
        assert parties.shuffler.judge(WINDOW, sender, bad) is Taken.MALFORMED
    parties.send_many(30)
    said = parties.finish(45)
    assert (said["state"], said["users"]) == ("RELEASED", 30 + len(SMALL_ORDER))
    assert said["invalid_slots"] == len(SMALL_ORDER)
    parties.close()
