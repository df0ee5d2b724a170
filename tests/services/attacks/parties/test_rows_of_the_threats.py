"""The page on threats, row by row and number by number, and what other pages say of the same."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from smoothdp.claims import ApproxDP
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.services.analyzer.estimates import estimate_of
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.formats.design.values import DUMMY, INVALID
from smoothdp.services.formats.report import Report
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.shuffle import Histogram, LowCommunicationHistogram, RealSum, SplitSum
from tests.services.attacks.parties.test_tables_of_the_page import paired_epsilon, printed
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.each_protocol import TASKS
from tests.services.worlds.page_of_threats import PAGE
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import OPEN_TASK, small_task

LIMITS = PAGE.with_name("limits.md")


def row(page: Path, start: str) -> str:
    """Return the one row of a table that begins so."""
    lines = page.read_text(encoding="utf-8").splitlines()
    (found,) = [line for line in lines if line.startswith(f"| {start}")]
    return found


@ONLY_SQLITE
def test_a_liar_moves_a_bin_by_no_more_than_the_limits_say() -> None:
    """limits.md, "Users who lie": "A liar moves [...] a bin of a histogram by the slots of an
    envelope."

    A bin of as many messages as there are users is shown as 0. With one envelope more of it, of 11
    slots, 59.6 users are shown in its place. (The result itself prints that a count may appear.)
    """
    task = small_task("histogram", size=10, epsilon="1", delta="1e-6", min_batch=1000, windows=1)
    users = task.min_batch
    others = Counter(dict.fromkeys(range(task.size), users - 1))
    others += Counter({0: users - 1, 1: 1})
    honest = estimate_of(task, users=users, tally=others + Counter({0: 1, DUMMY: task.slots - 1}))
    lied = estimate_of(task, users=users, tally=others + Counter({1: task.slots}))
    moved = abs(lied["counts"].get("1", 0) - honest["counts"].get("1", 0))
    assert moved <= lied["most_one_false_user_makes_appear_or_disappear"]
    said = row(LIMITS, "Users who lie")
    assert moved <= task.slots or "appear" in said, (moved, task.slots)


@ONLY_SQLITE
def test_a_sum_keeps_what_the_limits_say_where_both_services_work_together() -> None:
    """limits.md: "Shuffler and analyser work together | A histogram keeps nothing; a sum what one
    message promises."

    A real sum sends M bits: one of them promises 2.04, the envelope 16.303 (threats.md). One
    share of a split sum is uniform and promises 0, all shares of a person 12.358.
    """
    promise = ApproxDP(1, delta="1e-6")
    real = RealSum.calibrate(1000, n_bits=8, guarantee=promise, honest_share="0.9")
    flip = real.threshold / 2**64
    one_message = math.log((1 - flip) / flip)
    split = SplitSum.calibrate(1000, guarantee=promise, honest_share="0.9")
    left = [one.local_profile().epsilon("1e-6") for one in (real, split)]
    said = row(LIMITS, "Shuffler and analyser work together")
    assert "one message promises" not in said or (left[0] <= one_message and left[1] == 0), (
        one_message,
        left,
    )


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("protocol", "options"),
    [
        ("boolean_sum", {"min_batch": 1000, "max_batch": 1000}),
        # The largest batch as it is made where nothing is said of it: 156,250.
        ("histogram", {"min_batch": 156_000, "size": 127}),
    ],
)
def test_the_number_of_people_that_is_too_many_is_said_where_it_is_near(
    protocol: str, options: dict[str, Any]
) -> None:
    """threats.md: "Nor may X reach (`max_batch` - h0 + 1) / gamma: who finds a window full counts
    as missing, so let `max_batch` be large (`task create` says the number where it is near)."

    Of a batch of 1,000 with a share of .99 it is 1,100 people, all of them honest: nothing is
    said. Of a histogram of 127 bins it is 1.2 times the smallest batch.
    """
    task = small_task(
        protocol, epsilon="1", delta="1e-9", honest_share="0.99", windows=1, **options
    )
    too_many = 100 * (task.max_batch - task.fewest_honest + 1)
    assert too_many < 1.2 * task.min_batch
    omitted = Fraction(task.noise) if protocol == "histogram" else 0
    each = 1 + task.size * (1 - omitted) if protocol == "histogram" else 1
    for served, state in ((too_many - 1, ""), (too_many, "REFUSED")):
        users = min(served, task.max_batch)
        tally = {1: round(users * each)}
        assert rule(task, users=users, served=served, tally=tally).state == state
    assert f"{too_many:,} people" in " ".join(task.advice), (too_many, task.advice)


@ONLY_SQLITE
def test_the_number_of_people_that_is_too_many_is_not_said_where_it_is_far() -> None:
    """The same, from 100 times the smallest batch on: nothing is said."""
    near, far = (
        small_task(
            "boolean_sum", epsilon="1", min_batch=1000, max_batch=largest, honest_share="0.9"
        )
        for largest in (10_800, 11_000)
    )
    assert 10 * (near.max_batch - near.fewest_honest + 1) < 100 * near.min_batch
    assert 10 * (far.max_batch - far.fewest_honest + 1) > 100 * far.min_batch
    assert ["Once" in " ".join(task.advice) for task in (near, far)] == [True, False]


def copied(world: PartyWorld, people: int) -> tuple[list[Taken], Taken]:
    """Let people send, and a reader of the store send one report of one slot each of M of them."""
    reports = [world.report(0.5) for _ in range(people)]
    answers = [world.send(report) for report in reports]
    taken = [(one.slots[0], one.signatures[0]) for one in reports[: world.task.slots]]
    slots, signatures = zip(*sorted(taken), strict=True)
    return answers, world.send(Report(world.card().digest, slots, signatures))


def test_what_one_pass_of_a_reader_of_the_store_knocks_out_is_seen_in_the_marks(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """threats.md: "who reads the shuffler's store in an open window | link slots; knock people out
    (a pass of its own for each M of them [...]) | nothing; reports that share a slot are left out
    and counted, the marks show it."

    One pass takes more than M people out: where fewer than the smallest batch are left, all
    reports of the window are destroyed, those that share nothing too, and there are no marks.
    """
    world = PartyWorld(tmp_path, small_task("real_sum"))
    world.open_window()
    people = world.task.min_batch + world.task.slots - 1
    answers, answer = copied(world, people)
    assert {*answers, answer} == {Taken.ACCEPTED}
    (sealed,) = world.seal()
    assert (sealed.state, sealed.shared) == ("EXPIRED", world.task.slots + 1)
    lost = people if world.shuffler.marks(WINDOW) is None else world.task.slots
    world.close()
    said = row(PAGE, "who reads the shuffler's store")
    assert lost <= world.task.slots or "destroyed" in said, (lost, world.task.slots)


def test_where_enough_are_left_a_reader_of_the_store_takes_out_m_people_a_pass(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The same row, one person more: M people are out, the others are in the batch and its marks,
    and the report of the reader is in neither.
    """
    world = PartyWorld(tmp_path, small_task("real_sum"))
    world.open_window()
    copied(world, world.task.min_batch + world.task.slots)
    (sealed,) = world.seal()
    assert (sealed.users, sealed.shared) == (world.task.min_batch, world.task.slots + 1)
    assert world.shuffler.marks(WINDOW) is not None
    world.close()


@pytest.mark.parametrize(("column", "honest"), [(0, 900), (1, 750), (2, 500)])
def test_each_number_of_the_row_of_paired_counts_is_exact_or_at_most_that_above(
    column: int, honest: int
) -> None:
    """threats.md: "of the paired count at most .012 above, a bound that allows for noise drawn
    again": the columns of many honest users, from the law of what devices send.
    """
    said = printed("paired count")[column]
    left = paired_epsilon(honest, {900: 900, 750: 800, 500: 600}[honest])
    assert left - 1e-6 <= said <= math.ceil(1000 * left - 1e-3) / 1000 + 0.012


@pytest.mark.parametrize("protocol", ["real_sum", "paired_count", "histogram"])
def test_no_mixed_envelope_moves_more_than_is_printed(protocol: str) -> None:
    """threats.md, one user: "send slots that mean nothing, or any values | the most one user moves
    is printed": envelopes of two values in all parts, in the place of an honest one with its noise.
    """
    task, dice = small_task(protocol, **TASKS[protocol], **OPEN_TASK), random.Random(5)
    users, worst = task.min_batch, 0.0
    values = [*range(task.design.n_values), INVALID, *([DUMMY] * task.design.has_dummies)]
    for trial in range(20):
        tally, rng = Counter[int](), SeededRandom(trial)
        for person in range(users - 1):
            tally.update(task.values(person % 2, rng=rng))
        own = Counter(task.values(0, rng=rng))
        shown = estimate_of(task, users=users, tally=tally + own)
        for _ in range(6):
            (first, second), part = dice.sample(values, 2), dice.randint(0, task.slots)
            false = Counter({first: part, second: task.slots - part})
            lied = estimate_of(task, users=users, tally=tally + false)
            if "sum" in shown:
                most = shown["most_one_false_user_moves_the_sum"]
                worst = max(worst, abs(lied["sum"] - shown["sum"]) / most)
                continue
            most = shown["most_one_false_user_moves_a_count"]
            appears = shown["most_one_false_user_makes_appear_or_disappear"]
            for name in {*shown["counts"], *lied["counts"]}:
                before, after = (one["counts"].get(name, 0) for one in (shown, lied))
                worst = max(worst, abs(after - before) / (most if before and after else appears))
    assert 0.7 < worst <= 1 + 1e-9


@ONLY_SQLITE
@pytest.mark.parametrize("protocol", ["histogram", "low_communication_histogram"])
@pytest.mark.parametrize("users", [60, 200, 1000])
def test_honest_users_are_taken_for_false_once_in_a_million_million_windows(
    protocol: str, users: int
) -> None:
    """protocol-2.md, f: "honest users break either in 1 of 10^12 windows", so that those in the
    share "cannot have a batch of the two sums or a histogram quarantined": the binomial law.
    """
    task = small_task(protocol, **TASKS[protocol])
    made = task.collect(users)
    assert isinstance(made, Histogram | LowCommunicationHistogram)
    bits = users * task.size
    law = binom(bits, float(made.noise_share))
    few = [n for n in range(bits + 1) if made.honest_at_most(users + n) < users]
    many = [n for n in range(bits + 1) if made.honest_despite(users + n) < users]
    assert few or many
    assert law.cdf(max(few, default=-1)) <= 1e-12
    assert law.sf(min(many, default=bits + 1) - 1) <= 1e-12
