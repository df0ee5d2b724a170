"""Twenty-eighth round, wren: false users that a batch shows, and that nobody counts.

`docs/threats.md`, row "one user": "a batch that *shows* more false users than assumed is
quarantined: slots that mean nothing, in histograms too little noise or too many messages, in paired
protocols too few signs (who sends what an honest user may is not seen)".
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

from scipy.stats import binom

from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.formats.design.values import INVALID
from smoothdp.services.formats.slots import seal_slots
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import small_task


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
