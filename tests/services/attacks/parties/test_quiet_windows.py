"""The threat model, sentence by sentence from its end: what an issuer with many users sees."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from smoothdp.claims import ApproxDP
from smoothdp.errors import BudgetExceeded
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.formats.design.budget import windows_paid
from smoothdp.services.formats.marks import MarksFile, mark_of
from smoothdp.services.operations.clock_guard import ClockGuard, Verdict
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.clock_call import hear_clock
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import WINDOW
from tests.services.worlds.token_takers import take_tokens
from tests.services.worlds.whole_world import WholeWorld, weak_task

pytestmark = ONLY_SQLITE

SMALLEST, LARGEST = 3, 40


@pytest.mark.parametrize("others", [1, 4])
def test_an_issuer_whose_users_alone_are_a_batch_sees_that_nobody_else_sent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    others: int,
) -> None:
    """threats.md, of the issuer: it "does not see [...] whether the report was sent, unless [...]
    none but users of its own have (the result has no more users than these, or the window is
    destroyed, which one more would have kept)".

    Three users of the issuer send, which are the smallest batch. The others are served, and send
    nothing. The result has as many users as there are reports of the issuer's own, which it finds
    in the marks.
    """
    world = WholeWorld(tmp_path, weak_task(min_batch=SMALLEST, max_batch=LARGEST), fast=True)
    world.open_window()
    own = [f"its user {number}" for number in range(SMALLEST)]
    answers = [world.take_part(person) for person in own]
    for number in range(others):
        take_tokens(world, f"person {number}")
    own_marks = [mark_of(slot) for person in own for slot in world.report_of(person).slots]
    said = world.end()
    shown = world.shuffler.marks(WINDOW)
    world.close()
    assert shown is not None
    file = MarksFile.decode(shown)
    # Not one of the page's other exceptions.
    assert said["state"] == "RELEASED"
    assert said["users"] != said["accounts_served"] == SMALLEST + others
    assert said["accounts_served"] > SMALLEST
    assert answers == [202] * SMALLEST
    assert said["users"] == SMALLEST
    assert all(mark in file for mark in own_marks)
    assert on_the_page("or none but users of its own")


def test_an_issuer_with_one_user_less_than_a_batch_sees_by_a_410_that_nobody_else_sent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """threats.md, the same sentence: "or the window is destroyed".

    Its own users are one less than the smallest batch, and all send. Four others are served, and
    send nothing: the window is destroyed, of which everybody hears (410). One report of any of the
    four would have made a batch, so that not one of them sent.
    """
    world = WholeWorld(tmp_path, weak_task(min_batch=SMALLEST, max_batch=LARGEST), fast=True)
    world.open_window()
    assert [world.take_part(f"its user {number}") for number in range(SMALLEST - 1)] == [202] * 2
    for number in range(4):
        take_tokens(world, f"person {number}")
    world.end()
    is_destroyed = world.shuffler.is_expired(WINDOW)
    world.close()
    assert is_destroyed
    assert on_the_page("or the window is destroyed, which one more would have kept")


# ---- held off ----------------------------------------------------------------------------


PRICES = [
    ("1/3", "1e-6", "1", "3e-6"),
    ("1/7", "1/1000000007", "1", "7/1000000007"),
    ("0." + 30 * "3", "1e-9", "0." + 29 * "9" + "0", "3e-9"),
    ("1e-100", "1e-300", "7e-100", "7e-300"),
    ("2/3", "1e-6", "2", "2.9999999999999999999999999e-6"),
    ("1/3", "1e-6", "0." + 41 * "9", "1"),
    ("0.1", "1e-18", "0.7999999999999999999999", "1"),
]


@pytest.mark.parametrize(("epsilon", "delta", "all_epsilon", "all_delta"), PRICES)
def test_the_ledger_is_charged_as_often_as_the_budget_pays_for(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    epsilon: str,
    delta: str,
    all_epsilon: str,
    all_delta: str,
) -> None:
    """threats.md: "The ledger limits what is published"; protocol-2: budgets "pay for floor(min of
    the two quotients) windows": clients and ledger count the same, not one more, not one less.
    """
    task: Any = SimpleNamespace(
        task_id=b"t" * 32,
        guarantee=ApproxDP(epsilon, delta=delta),
        epsilon=epsilon,
        delta=delta,
        budget_epsilon=all_epsilon,
        budget_delta=all_delta,
        window_seconds=3600,
        grace_seconds=0,
    )
    by_hand = min(
        Fraction(all_epsilon) // Fraction(epsilon), Fraction(all_delta) // Fraction(delta)
    )
    ledger = TaskLedger(tmp_path, task)
    for window in range(by_hand):
        ledger.charge(window, batch=b"batch")
    with pytest.raises(BudgetExceeded):
        ledger.charge(by_hand, batch=b"batch")
    assert windows_paid(task) == by_hand == len(ledger.charged())


@pytest.mark.parametrize(
    "told", ["NaN", "Infinity", "-Infinity", "1e999", "-1", "true", '"3600"', "null", "[7200]"]
)
def test_no_time_that_is_none_closes_a_window_on_the_word_of_one_clock(
    storage_kind: str,  # noqa: ARG001
    told: str,
) -> None:
    """threats.md, of who sets one clock: "shuffler and analyser must agree".

    One clock is set ahead before the start, and the other party, which is dishonest, tells a time
    that no comparison refuses.
    """
    clocks = ClockGuard(wall=lambda: 1e6, boot=lambda: 5.0)
    with pytest.raises(ServiceError):
        hear_clock(f'{{"time": {told}}}'.encode(), clocks)
    assert clocks.verdict(9e5) is Verdict.HOLD
    hear_clock(b'{"time": 100}', clocks)
    with pytest.raises(ServiceError):
        hear_clock(f'{{"time": {told}}}'.encode(), clocks)
    assert clocks.verdict(9e5) is Verdict.HOLD


@pytest.mark.parametrize("share", ["0.8", "0.9"])
def test_where_the_page_says_so_nobody_who_sends_nothing_has_a_window_refused(
    storage_kind: str,  # noqa: ARG001
    share: str,
) -> None:
    """threats.md: "those that take tokens and send nothing can have it refused, unless
    (1 - 2 gamma) X and `max_batch` - floor(gamma X) reach h0, and the smallest batch is there
    without them", for all numbers of people by brute force.
    """
    released = refused = 0
    for largest in (12, 14, 20, 60):
        task = weak_task(honest_share=share, min_batch=12, max_batch=largest)
        gamma, h0 = 1 - Fraction(share), task.fewest_honest
        for served in range(12, 200):
            most_false = served * gamma.numerator // gamma.denominator
            said = (1 - 2 * gamma) * served >= h0 and largest - most_false >= h0
            for false in range(most_false + 1):
                users = min(served - false, largest)
                if users < task.min_batch:
                    continue
                state = rule(task, users=users, served=served, tally={1: users}).state
                assert not said or state == ""
                released, refused = released + (state == ""), refused + (state == "REFUSED")
    assert released > 1000
    assert refused > 10
