"""Numbers that the pages give of the fewest honest users, where more of them look worse."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.who_could import sentence
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.formats.task import Task
from smoothdp.services.shuffler.ingest import Taken
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import small_task


def noisy_split_sum() -> Task:
    """Return a split sum with more noise than its promise needs: one device alone keeps it.

    Of 2 to 8 honest users the accountant's bound is above delta, of 9 and more below again.
    """
    made = small_task("split_sum", size=8, bounds=("0", "1"), min_batch=30, epsilon="1")
    return replace(made, epsilon="8", budget_epsilon="160")


@ONLY_SQLITE
def test_h0_is_the_fewest_honest_users_that_keep_the_promise(storage_kind: str) -> None:  # noqa: ARG001
    """The threat model: "h0 the fewest that keep the promise"; the protocol, 1: "h0 is the fewest
    honest users with which the promise holds, by the accountant".
    """
    task = noisy_split_sum()
    enough = [h for h in range(1, task.honest(task.min_batch) + 1) if task.keeps_promise(h)]
    assert task.fewest_honest == enough[0]


@ONLY_SQLITE
def test_the_accounts_of_the_sentence_are_the_least_that_the_rule_lets_out(
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: a shuffler "to single somebody out [...] needs max(min_batch, h0 +
    floor(gamma X)) - 1 accounts", which the sentence with each result gives as a number.
    """
    task, served = noisy_split_sum(), 300
    released = [
        users
        for users in range(task.min_batch, served + 1)
        if not rule(task, users=users, served=served, tally={0: users * task.slots}).state
    ]
    ruling = rule(task, users=released[-1], served=served, tally={})
    text = sentence(task, users=released[-1], served=served, ruling=ruling)
    (accounts,) = re.findall(r"A shuffler with (\d+) accounts", text)
    assert int(accounts) == released[0] - 1


@ONLY_SQLITE
def test_a_batch_with_h0_honest_users_and_more_is_released(storage_kind: str) -> None:  # noqa: ARG001
    """The threat model: silent users can have a batch refused, "unless (1 - 2 gamma) X and
    `max_batch` - floor(gamma X) reach h0, and the smallest batch is there without them"; the
    proof: of more honest users a promise is kept that fewer keep.
    """
    task, served = noisy_split_sum(), 300
    states = [
        rule(task, users=users, served=served, tally={0: users * task.slots}).state
        for users in range(task.min_batch, served + 1)
    ]
    first = states.index("")
    assert set(states[first:]) == {""}


@ONLY_SQLITE
@pytest.mark.parametrize(
    "protocol", ["boolean_sum", "real_sum", "histogram", "low_communication_histogram"]
)
def test_of_other_protocols_each_number_from_h0_on_is_enough(
    storage_kind: str,  # noqa: ARG001
    protocol: str,
) -> None:
    """The protocol, 1: "h0 is the fewest honest users with which the promise holds", by trying
    each number, with as much noise as was made and with more than the promise needs.
    """
    options = {"size": 4} if "histogram" in protocol else {}
    made = small_task(protocol, epsilon="1" if protocol == "boolean_sum" else "4", **options)
    for epsilon, delta in ((made.epsilon, made.delta), ("6", "0.05"), ("8", "0.01")):
        task = replace(made, epsilon=epsilon, delta=delta, budget_epsilon="160", budget_delta="1")
        most = task.honest(task.min_batch)
        enough = [h for h in range(1, most + 1) if task.keeps_promise(h)]
        assert enough == list(range(task.fewest_honest, most + 1))


def test_another_spelling_of_an_ephemeral_key_is_another_slot_that_does_not_open(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The threat model: "count somebody twice [...] every slot needs a token, which is for these
    bytes alone: QUARANTINED".

    The highest bit of an X25519 key means nothing, so one slot has two spellings. Somebody with an
    account of their own who copies one in the other spelling, with a good token, sends what does
    not open, as HPKE binds the bytes.
    """
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12, data=(1,))
    (slot,) = seal_slots((1,), world.card())
    other = slot[:31] + bytes([slot[31] ^ 128]) + slot[32:]
    for spelt in (slot, other):
        assert world.send(world.sign([spelt])) is Taken.ACCEPTED
    said = world.finish(14)
    assert (said["state"], said["users"], said["invalid_slots"]) == ("RELEASED", 14, 1)
    world.close()
