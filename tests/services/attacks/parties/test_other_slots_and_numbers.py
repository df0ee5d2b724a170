"""The threat model once more: what an issuer sees of a full window, slots of windows before."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.task import Task
from smoothdp.services.shuffler.ingest import Taken
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.token_takers import take_tokens
from tests.services.worlds.whole_world import WholeWorld, weak_task

pytestmark = ONLY_SQLITE

SMALLEST, LARGEST = 3, 5


def _seen_by_an_issuer(folder: Path, *, sends: bool) -> tuple[list[int], int, int]:
    """Return what an issuer with two users sees of a window: their answers, X, users."""
    folder.mkdir()
    task = weak_task(min_batch=SMALLEST, max_batch=LARGEST)
    world = WholeWorld(folder, task, fast=True)
    world.open_window()
    for person in ("first", "second", "third"):
        assert world.take_part(person) == 202
    if sends:
        assert world.take_part("victim") == 202
    else:
        take_tokens(world, "victim")
    answers = [world.take_part(own) for own in ("its user", "its other user")]
    # More honest people, who find the window full.
    assert [world.take_part(f"late {number}") for number in range(3)] == [503] * 3
    said = world.end()
    world.close()
    return answers, int(said["accounts_served"]), int(said["users"])


def test_an_issuer_whose_users_find_a_window_full_sees_how_many_reports_are_there(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """threats.md, of the issuer: it does not see "whether the report was sent, unless all whom it
    served have (users = X in the result), [...]; or users of its own find the window full: a 503
    tells how many reports are there".

    Nine are served, five are in the batch, three are the smallest batch, and
    both users of the issuer send. But a window with its largest batch answers 503, so the last of
    them is told how many reports the shuffler had at that moment: all of those served before, or
    one less.
    """
    sent = _seen_by_an_issuer(tmp_path / "sent", sends=True)
    silent = _seen_by_an_issuer(tmp_path / "silent", sends=False)
    for _, served, users in (sent, silent):
        assert users != served
        assert served > SMALLEST
    assert sent[0] != silent[0]
    assert on_the_page("a 503 tells how many reports are there")


def test_a_slot_of_a_window_before_is_no_second_vote(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """threats.md, the shuffler alone: "invent people; count somebody twice; exchange slots [...]
    every slot needs a token, which is for these bytes alone".

    A shuffler that has the slots of a person from the window before asks for tokens of the present
    window on these bytes, with an account of its own. They have tokens, and mean nothing.
    """
    world = PartyWorld(tmp_path, small_task(honest_share="0.9"))
    world.open_window()
    world.open_window(WINDOW + 1)
    before = world.report()
    assert world.send(before) is Taken.ACCEPTED
    world.go_to((WINDOW + 1) * HOUR + 700)
    again = world.sign(before.slots, WINDOW + 1)
    assert isinstance(again, Report)
    assert world.send(again, window=WINDOW + 1) is Taken.ACCEPTED
    world.send_many(19, window=WINDOW + 1)
    said = world.finish(20, WINDOW + 1)
    world.close()
    assert (said["state"], said["users"], said["invalid_slots"]) == ("RELEASED", 20, 1)


SHARES = ("1", "0.9", "2/3", "1e-9", "0.999999999999999999")


@pytest.mark.parametrize("share", SHARES)
def test_any_number_that_an_issuer_signs_is_ruled_exactly(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    share: str,
) -> None:
    """threats.md: "It releases a batch of u users only if u - floor(gamma X) of them keep the
    promise": exactly, up to the largest X that a statement holds.
    """
    task = _task_of_share(share)
    gamma = 1 - Fraction(share)
    for served in (14, 15, 10**9, 2**53 + 1, 2**64 - 1):
        expected = 14 - served * gamma.numerator // gamma.denominator
        ruled = rule(task, users=14, served=served, tally={1: 14})
        assert ruled.honest == expected
        assert (ruled.state == "") is (expected >= task.fewest_honest)
    world = PartyWorld(tmp_path, task)
    world.open_window()
    world.send_many(14)
    said = world.finish(2**64 - 1)
    assert said["accounts_served"] == 2**64 - 1
    assert said["state"] == ("RELEASED" if share == "1" else "REFUSED")
    work(world.analyzer)
    assert world.result() == said
    assert len(world.charged()) == (share == "1")
    world.close()


def _task_of_share(share: str) -> Task:
    # Where almost everybody may be false the promise must hold for fewer.
    return small_task(honest_share=share, epsilon="8" if share == "1e-9" else "4")
