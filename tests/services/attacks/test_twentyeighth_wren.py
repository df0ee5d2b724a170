"""Twenty-eighth round, wren: false users that a batch shows, and that nobody counts.

`docs/threats.md`, row "one user": "a batch that *shows* more false users than assumed is
quarantined: slots that mean nothing, in histograms too little noise or too many messages, in paired
protocols too few signs (who sends what an honest user may is not seen)".
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.formats.design.values import DUMMY, INVALID
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.wire.calls import ServiceError
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder, send
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import OPEN_TASK, small_task


def test_users_who_send_one_bin_alone_are_shown_by_the_noise_that_other_bins_lack(
    tmp_path: Path,
) -> None:
    """40 of 60 users send four messages of bin 0, which no honest user may: two at most are of one
    bin. Bins 1 and 2 then lack the noise of 40 users, and the batch is released all the same, as
    one in which 54 users followed the protocol.
    """
    task = small_task("histogram", size=3, min_batch=60)
    assert (task.slots, task.dishonest(60), task.honest(60, accounts=60)) == (4, 6, 54)
    world = PartyWorld(tmp_path, task)
    card = world.open_window()
    world.send_many(20, data=(0,))
    for _ in range(40):
        world.send(world.sign(seal_slots([0] * 4, card)))
    document = world.finish(accounts=60)
    world.close()
    # What the batch shows: of 54 honest users so few messages of a bin come in 1 of 10^30 windows.
    sends = 1 - float(Fraction(task.noise))
    assert binom.cdf(20, 54, sends) < 1e-20
    assert document["state"] == "QUARANTINED", document.get("sentence")


@ONLY_SQLITE
def test_false_users_of_one_bin_are_not_seen_at_the_sizes_of_the_page() -> None:
    """The histogram of the page: 10 bins, 1,000 users, epsilon 1 at 1e-6. 400 of 1,000 accounts, of
    which 100 are assumed false, send eleven messages of one bin.
    """
    task = small_task("histogram", size=10, min_batch=1000, epsilon="1", delta="1e-6")
    tally, rng = Counter[int](), SeededRandom(1)
    for person in range(600):
        tally.update(task.values(person % 10, rng=rng))
    tally[0] += 400 * task.slots
    fewest = min(tally[value] for value in range(1, 10))
    # Own answers are counted for noise here, so this is more than the chance.
    assert binom.cdf(fewest, 900, 1 - float(Fraction(task.noise))) < 1e-20
    ruling = rule(task, users=1000, served=1000, tally=tally)
    assert ruling.state == "QUARANTINED"


@ONLY_SQLITE
def test_slots_that_mean_nothing_hide_as_many_users_who_send_too_much() -> None:
    """Each kind of false user is counted as if the other kind were not there: 200 who send slots
    that mean nothing and 250 who send too many messages are 200 at most, not 450.
    """
    task = small_task(
        "low_communication_histogram", size=10, min_batch=2000, epsilon="1", delta="1e-6"
    )
    users, assumed = 2000, task.dishonest(2000)
    tally, rng = Counter[int](), SeededRandom(1)
    for person in range(users - assumed - 250):
        tally.update(task.values(person % 10, rng=rng))
    tally[INVALID] += assumed * task.slots
    tally[1] += 250 * task.slots
    # Honest users send no slot that means nothing, false ones fill M slots with both kinds.
    foreign = sum(n for value, n in tally.items() if 0 <= value < 10) + tally[INVALID]
    shown = users - task.collect(users).honest_despite(foreign)
    assert (assumed, shown > 400) == (200, True)
    assert rule(task, users=users, served=users, tally=tally).state == "QUARANTINED"


def _garbage(world: PartyWorld) -> Report:
    """Return what anybody makes of a card: slots without one good token, no account needed."""
    slots = tuple(sorted(seal_slots([1] * world.task.slots, world.card())))
    return Report(world.card().digest, slots, tuple(bytes(256) for _ in slots))


@ONLY_SQLITE
def test_whoever_was_shown_a_pass_sees_whether_its_owner_has_sent(tmp_path: Path) -> None:
    """Passes; the page's list of what an issuer may see by has no word of it. An issuer that was
    shown a pass (two files exchanged, the issuer's address given as the shuffler's) asks with it.
    """
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    owners, others = world.new_pass(), world.new_pass()
    assert world.send(world.report(1), owners) is Taken.ACCEPTED
    world.restart()
    assert world.send(_garbage(world), owners) is Taken.OTHER_REPORT
    assert world.send(_garbage(world), others) is Taken.UNSIGNED
    # Nothing of it is seen by the owner, whose report is answered as before.
    world.close()


@ONLY_SQLITE
def test_whoever_was_shown_a_pass_keeps_its_owner_out_without_an_account(tmp_path: Path) -> None:
    """Passes: five reports without a token, and the owner's good one is not looked at any more."""
    world = PartyWorld(tmp_path, small_task())
    world.open_window()
    owners = world.new_pass()
    for _ in range(5):
        assert world.send(_garbage(world), owners) is Taken.UNSIGNED
    assert world.send(world.report(1), owners) is Taken.TOO_MANY_UNSIGNED
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("protocol", "silent", "options"),
    [("paired_count", 500, {}), ("paired_histogram", 800, {"size": 10})],
)
def test_users_of_paired_protocols_who_send_nothing_are_shown_by_the_signs_that_are_missing(
    protocol: str, silent: int, options: dict[str, Any]
) -> None:
    """1,000 users at the promise of the page, 100 assumed false; 500, or 800, send dummies alone.

    How many signs an honest user sends does not depend on what it holds: more than two, or six, on
    average. The rule counts one for each, so that noise of one hides that others send nothing.
    """
    task = small_task(protocol, min_batch=1000, epsilon="1", delta="1e-6", **options)
    rng = SeededRandom(1)
    people = [task.values(person % 2, rng=rng) for person in range(1000)]
    signs = [sum(value != DUMMY for value in values) for values in people]
    tally = Counter({DUMMY: silent * task.slots})
    for values in people[silent:]:
        tally.update(values)
    sent = sum(n for value, n in tally.items() if value != DUMMY)
    # A sum of n numbers >= 0 is at most s with probability exp(-(mean - s)^2 / 2 n E X^2).
    honest, square = 900, sum(x * x for x in signs) / 1000
    short = honest * sum(signs) / 1000 - sent
    assert short > 0
    assert math.exp(-(short**2) / (2 * honest * square)) < 1e-12
    assert task.honest(1000, accounts=1000) == honest
    ruling = rule(task, users=1000, served=1000, tally=tally)
    assert ruling.state == "QUARANTINED"


def test_a_paired_count_half_of_whose_users_send_nothing_is_released_as_if_nine_in_ten_followed(
    tmp_path: Path,
) -> None:
    """The same with real parties, of 300 people: 150 envelopes of dummies alone."""
    task = small_task("paired_count", min_batch=300, epsilon="1", delta="1e-6", **OPEN_TASK)
    world = PartyWorld(tmp_path, task)
    card = world.open_window()
    world.send_many(150)
    for _ in range(150):
        world.send(world.sign(seal_slots([DUMMY] * world.task.slots, card)))
    document = world.finish()
    world.close()
    assert document["state"] == "QUARANTINED", document["sentence"]


@ONLY_SQLITE
def test_who_was_kept_out_so_has_spent_a_window_of_the_budget(tmp_path: Path) -> None:
    """Passes: 429 is no reason to give the place back, though nothing was ever sent to anybody."""
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    shuffler, client = Recorder(world, [429]), world.client()
    with pytest.raises(ServiceError, match="were not good"):
        send(world, client, shuffler, invitation=world.invitation())
    world.go_to((WINDOW + 2) * HOUR + 5.0)
    client.settle()
    assert client.spent() == [WINDOW]
    world.close()
