"""False users that a batch shows, and those that it does not: silent ones, one bin, two kinds."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.formats.design.values import DUMMY, INVALID
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.formats.task import Task
from smoothdp.shuffle import PairedCount, PairedHistogram
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.signs_of_the_page import honest_by_signs, noise_of_a_user
from tests.services.worlds.small_tasks import OPEN_TASK, small_task

STRICT: dict[str, Any] = {"epsilon": "1", "delta": "1e-6"}
"""The promise of the page of threats."""


def tally_of(task: Task, honest: int, false: dict[int, int]) -> Counter[int]:
    tally, rng = Counter(false), SeededRandom(1)
    for person in range(honest):
        tally.update(task.values(person % max(2, task.size), rng=rng))
    return tally


def law_of(task: Task) -> Any:
    chance, largest, design = map(Fraction, task.parameters)
    rate, cells = float(Fraction(task.noise)), task.size
    return noise_of_a_user(cells, int(design), rate, float(chance), int(largest), task.slots - 1)


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("protocol", "silent", "options"),
    [("paired_count", 500, {}), ("paired_histogram", 400, {"size": 10})],
)
def test_noise_of_a_user_does_not_hide_that_others_send_nothing(
    protocol: str, silent: int, options: dict[str, Any]
) -> None:
    """1,000 users, 100 assumed false; half of the signs, or more, are missing."""
    task = small_task(protocol, min_batch=1000, **STRICT, **options)
    tally = tally_of(task, 1000 - silent, {DUMMY: silent * task.slots})
    ruling = rule(task, users=1000, served=1000, tally=tally)
    assert (ruling.state, ruling.honest) == ("QUARANTINED", 900)
    assert "sent too few signs" in ruling.reason


def test_a_paired_count_most_of_whose_users_send_nothing_is_quarantined(tmp_path: Path) -> None:
    """With real parties: 250 of 300 send dummies alone, where 30 are assumed false. Fifty honest
    ones send so many signs as would hide it with probability below 1e-6.
    """
    task = small_task("paired_count", min_batch=300, **STRICT, **OPEN_TASK)
    world = PartyWorld(tmp_path, task)
    card = world.open_window()
    world.send_many(50)
    for _ in range(250):
        world.send(world.sign(seal_slots([DUMMY] * world.task.slots, card)))
    document = world.finish()
    assert (document["state"], world.charged()) == ("QUARANTINED", [])
    assert "sent too few signs" in document["reason"]
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("name", "options"), [("paired_count", {}), ("paired_histogram", {"size": 4})]
)
def test_f_of_paired_protocols_is_the_number_of_the_page(
    name: str, options: dict[str, Any]
) -> None:
    """At each number of signs that a batch can have, by the formula and a law made anew."""
    task = small_task(name, min_batch=60, **options)
    users, law, seen = 60, law_of(task), Counter[str]()
    protocol = task.collect(users)
    assert isinstance(protocol, PairedCount | PairedHistogram)
    for nothing in (0, 3 * task.slots + 1):
        slots = users * task.slots
        for signs in range(0, slots - nothing + 1, 17):
            tally = {0: signs, INVALID: nothing, DUMMY: slots - signs - nothing}
            few, many = honest_by_signs(law, users, signs, nothing)
            assert few <= protocol.honest_by_few_signs(signs) <= few + 1
            assert many <= protocol.honest_by_many_signs(signs + nothing) <= many + 1
            false = max(-(-nothing // task.slots), users - few, users - many)
            state = rule(task, users=users, served=users, tally=tally).state
            seen[state] += 1
            if abs(false - task.dishonest(users)) > 1:
                assert (state == "QUARANTINED") == (false > task.dishonest(users))
    assert min(seen["QUARANTINED"], seen[""]) > 5


@ONLY_SQLITE
def test_slots_that_mean_nothing_do_not_hide_users_who_send_too_much() -> None:
    """200 who send slots that mean nothing and 250 who fill M slots are not 200 at most."""
    task = small_task("low_communication_histogram", size=10, min_batch=2000, **STRICT)
    assumed = task.dishonest(2000)
    tally = tally_of(task, 1750 - assumed, {INVALID: assumed * task.slots, 1: 250 * task.slots})
    ruling = rule(task, users=2000, served=2000, tally=tally)
    assert (assumed, ruling.state) == (200, "QUARANTINED")
    assert "sent too many messages" in ruling.reason


def test_users_who_send_one_bin_alone_are_not_shown(tmp_path: Path) -> None:
    """40 of 60 send four messages of bin 0, an honest one at most two: bins 1 and 2 lack their
    noise, and nothing looks at single bins, as that would tell of a count without a charge.
    """
    assert on_the_page("of all users and bins together")
    task = small_task("histogram", size=3, min_batch=60)
    assert (task.slots, task.dishonest(60)) == (4, 6)
    world = PartyWorld(tmp_path, task)
    card = world.open_window()
    world.send_many(20, data=(0,))
    for _ in range(40):
        world.send(world.sign(seal_slots([0] * 4, card)))
    document = world.finish(accounts=60)
    world.close()
    # Of 54 honest users so little noise of a bin comes in 1 of 10^20 windows.
    assert binom.cdf(20, 54, 1 - float(Fraction(task.noise))) < 1e-20
    assert document["state"] == "RELEASED"
