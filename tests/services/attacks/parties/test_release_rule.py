"""Which batches are released: so many honest users, of so many who were served; nobody alone."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path

import pytest

from smoothdp.services.analyzer.release import work
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.slots import SLOT_BYTES, open_slot, seal_slots
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import SHUFFLER_SIGN, small_task
from tests.services.worlds.whole_world import WholeWorld


@pytest.mark.parametrize(
    ("accounts", "state"),
    [(0, "QUARANTINED"), (11, "QUARANTINED"), (12, "RELEASED"), (2**64 - 1, "REFUSED")],
)
def test_numbers_of_accounts_at_their_ends(tmp_path: Path, accounts: int, state: str) -> None:
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    document = world.finish(accounts)
    assert (document["state"], document["accounts_served"]) == (state, accounts)
    assert world.charged() == ([WINDOW] if state == "RELEASED" else [])
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize(("in_league", "kept"), [(10, True), (19, False)])
def test_what_the_analyser_sees_keeps_the_promise_if_so_many_of_the_batch_are_with_it(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    in_league: int,
    kept: bool,
) -> None:
    """The page spoke of the share gamma of those *served*: 19 of 40 were allowed.

    The shuffler is honest, and hands over the smallest batch without knowing how many were
    served. The rule refuses to release it, but the analyser has seen it.
    """
    task = small_task(epsilon="1", delta="0.01", min_batch=20, honest_share="0.5")
    world = WholeWorld(tmp_path, task, fast=True)
    world.open_window()
    league = [f"league {n}" for n in range(in_league)]
    for person in [*league, *(f"alone {n}" for n in range(20 - in_league))]:
        assert world.take_part(person) == 202
    for n in range(20):
        # They are served, and do not reach the shuffler: the fault is the network's.
        world.take_part(f"served {n}", lose=("reports request",))
    assert (in_league <= task.dishonest(20)) is kept
    assert in_league <= task.dishonest(40)
    key, card = world.analyzer.cards.inner_key(WINDOW), world.card()
    assert key is not None
    known = {slot for person in league for slot in world.report_of(person).slots}
    document = world.end()
    assert (document["state"], document["accounts_served"]) == ("REFUSED", 40)
    part = next(body for path, body in world.offers if "/parts/" in path)
    slots = [part[at : at + 52] for at in range(0, len(part), 52 + 256)]
    others = [open_slot(slot, card, key) for slot in slots if slot not in known]
    assert task.keeps_promise(len(others)) is kept
    world.close()


def hand_over(world: PartyWorld, records: list[bytes], users: int, marks: list[bytes]) -> bool:
    """Deliver records under a header that the shuffler signs; whether all of it was taken."""
    data, digest = b"".join(records), world.card().digest
    header = BatchHeader(
        signed=True,
        card_digest=digest,
        batch_id=bytes(16),
        users=users,
        slots=len(records),
        part_hashes=(hashlib.sha256(data).digest(),),
        marks_sha256=MarksFile.of(digest, marks).sha256,
    ).sign(SHUFFLER_SIGN)
    answers = [world.analyzer.put_batch(bytes(16), header.encode())]
    if answers == [201]:
        answers.append(world.analyzer.put_part(bytes(16), 0, data))
    return answers == [201, 201]


@ONLY_SQLITE
@pytest.mark.parametrize("seed", range(24))
def test_what_is_released_has_slots_of_so_many_honest_users_whatever_the_shuffler_did(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    seed: int,
) -> None:
    """Slots left out one by one, copied, invented, under other tokens, other numbers of users.

    Of what is released at least h0 M slots are those of honest people, none of them twice, and
    never more of them are false than the shuffler's accounts paid for.
    """
    dice = random.Random(seed)
    task = small_task("real_sum", size=2, epsilon="4", min_batch=12, honest_share="0.75")
    world = PartyWorld(tmp_path, task)
    world.open_window()
    n_honest, n_own = dice.randrange(9, 15), dice.randrange(0, 7)
    served = n_honest + n_own
    honest = [record for _ in range(n_honest) for record in world.report(0.5).records]
    own = [record for _ in range(n_own) for record in world.report(1).records]
    users = dice.randrange(11, 16)
    pool = dice.sample(honest, len(honest)) + own
    if dice.random() < 0.5:
        # As many of its own as there are, then honest ones.
        pool.reverse()
    records = pool[: 2 * users]
    trick = dice.choice(["none", "none", "none", "copy", "invent", "move", "marks", "users"])
    if trick == "copy":
        records[0] = records[-1]
    elif trick == "invent":
        records[0] = seal_slots([1], world.card())[0] + records[0][SLOT_BYTES:]
    elif trick == "move":
        first, second = records[:2]
        records[:2] = [first[:SLOT_BYTES] + second[SLOT_BYTES:], second[:52] + first[SLOT_BYTES:]]
    slots = [record[:SLOT_BYTES] for record in records]
    marks = [*slots[1:], honest[-1][:52] + b"x"] if trick == "marks" else slots
    told = len(records) // 2 + (trick == "users")
    world.seal()
    taken = hand_over(world, records, told, marks)
    assert world.tell_served(served) == 201
    work(world.analyzer)
    document = world.result()
    is_released = document["state"] == "RELEASED"
    of_honest = {record[:SLOT_BYTES] for record in honest} & set(slots)
    false = len(slots) - len(of_honest)
    enough = task.keeps_promise(told - served // 4)
    genuine = trick == "none" and len(records) == 2 * told and 12 <= told <= served
    assert is_released is (taken and genuine and enough)
    if is_released:
        assert false <= 2 * n_own
        if n_own <= served // 4:
            assert len(of_honest) >= 2 * task.fewest_honest
    world.close()


@ONLY_SQLITE
def test_a_shuffler_that_gives_its_card_late_decides_how_many_are_served(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Forty people ask in the window, and there is no card; at its end one of them, and 11 others.

    The 11 are the shuffler's: as the page and the result say, so many of the 12 *served* single
    somebody out. That 51 are invited changes nothing: how many are served is the shuffler's say.
    """
    world = WholeWorld(tmp_path, small_task(epsilon="4", honest_share="0.75"), fast=True)
    for person in range(40):
        assert world.take_part(f"person {person}") == 404
    world.go_to((WINDOW + 1) * HOUR - 30)
    world.clocks[-1].heard(world.now)
    world.open_window()
    for account in range(11):
        assert world.take_part(f"own {account}", 0) == 202
    assert world.take_part("person 0") == 202
    document = world.end()
    assert (document["state"], document["accounts_served"]) == ("RELEASED", 12)
    assert "A shuffler with 11 accounts" in document["sentence"]
    world.close()
