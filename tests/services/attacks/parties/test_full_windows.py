"""Windows with their largest batch: who finds a place, and what a window that is full is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.formats.report import seal_report
from smoothdp.services.shuffler.ingest import OpenedReport, Taken
from smoothdp.services.shuffler.shuffler import Shuffler
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.erasable_keys import ErasableKeys
from tests.services.storages import ONLY_SQLITE, open_state
from tests.services.worlds.party_world import PASS_KEY, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import SHUFFLER_SIGN, small_task
from tests.services.worlds.token_takers import take_tokens
from tests.services.worlds.whole_world import WholeWorld, weak_task


def test_one_above_the_largest_batch_is_to_come_later(full: PartyWorld) -> None:
    full.send_many(14)
    assert full.send(full.report()) is Taken.LATER
    assert full.finish()["users"] == 14


def judged(world: PartyWorld, count: int, shuffler: Shuffler | None = None) -> list[OpenedReport]:
    """Return reports that were judged and wait to be stored."""
    shuffler, found = shuffler or world.shuffler, []
    for person in range(count):
        sender = shuffler.sender(world.new_pass())
        assert sender is not None
        sealed = seal_report(world.report(person % 2).encode(), world.card())
        one = shuffler.judge(WINDOW, sender, sealed)
        assert isinstance(one, OpenedReport)
        found.append(one)
    return found


def test_reports_judged_beside_each_other_do_not_overfill_a_window(full: PartyWorld) -> None:
    """Sixteen found a place when there was one each: two too many would lose the window."""
    group = judged(full, 16)
    answers = [*full.shuffler.accept(group[:5]), *full.shuffler.accept(group[5:])]
    assert (answers.count(Taken.ACCEPTED), answers.count(Taken.LATER)) == (14, 2)
    (sealed,) = full.seal()
    assert sealed.users == 14
    document = full.finish()
    assert (document["state"], document["users"]) == ("RELEASED", 14)


def test_two_processes_of_the_shuffler_do_not_overfill_a_window(full: PartyWorld) -> None:
    other = Shuffler(
        open_state(full.folder, "shuffler", SHUFFLER_SCHEMA),
        task=full.task,
        keys=ErasableKeys(full.folder / "gateway.sqlite"),
        sign_key=SHUFFLER_SIGN,
        pass_key=PASS_KEY,
        clocks=full.clocks[0],
    )
    first, second = judged(full, 8), judged(full, 8, other)
    assert set(full.shuffler.accept(first)) == {Taken.ACCEPTED}
    answers = other.accept(second)
    assert (answers.count(Taken.ACCEPTED), answers.count(Taken.LATER)) == (6, 2)
    other.storage.close()
    assert full.finish()["state"] == "RELEASED"


def test_a_window_that_is_full_answers_those_who_are_in_it(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 6: "the same id 202, another id 409", before "the window holds `max_batch` reports:
    503"; also after a restart, and the smallest batch may be the largest.
    """
    world = PartyWorld(tmp_path, small_task(max_batch=12))
    world.open_window()
    passes = [world.new_pass() for _ in range(13)]
    reports = [world.report() for _ in passes]
    for secret, report in zip(passes[:12], reports, strict=False):
        assert world.send(report, secret) is Taken.ACCEPTED
    for _ in range(2):
        assert world.send(reports[12], passes[12]) is Taken.LATER
        assert world.send(reports[3], passes[3]) is Taken.ACCEPTED
        assert world.send(reports[12], passes[3]) is Taken.OTHER_REPORT
        world.restart()
    assert world.finish(12)["users"] == 12
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize("silent", [0, 2])
def test_those_who_send_nothing_have_a_full_window_refused_though_enough_are_there(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    silent: int,
) -> None:
    """The page: "those that take tokens and send nothing can have it refused, unless (1 - 2 gamma)
    X reaches h0 and the smallest batch is there without them."

    Both hold here: of 10 that were served 8 send, and 4 honest users are enough. But the window is
    full with 5, the other 3 are sent away and count as missing, so 2 silent ones in the share have
    it refused. What it takes besides is that max_batch - floor(gamma X) reaches h0.
    """
    world = WholeWorld(tmp_path, weak_task(honest_share="0.8", min_batch=5, max_batch=5), fast=True)
    task = world.task
    world.open_window()
    answers = [world.take_part(f"person {number}") for number in range(8)]
    assert answers == [202] * 5 + [503] * 3
    for number in range(silent):
        take_tokens(world, f"silent {number}")
    served = 8 + silent
    assert silent <= task.dishonest(served)
    assert (1 - 2 * 0.2) * served >= task.fewest_honest == 4
    said = world.end()
    assert said["accounts_served"] == served
    full = task.max_batch - task.dishonest(served) >= task.fewest_honest
    assert (said["state"], full) == (("REFUSED", False) if silent else ("RELEASED", True))
    world.close()


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("protocol", "largest"),
    [
        ("boolean_sum", 1),
        ("boolean_sum", 10),
        # As it is made where nothing is said of the largest batch: 100 times the smallest.
        ("paired_count", None),
    ],
)
def test_many_people_alone_have_every_window_refused_whose_batch_cannot_grow(
    storage_kind: str,  # noqa: ARG001
    protocol: str,
    largest: int | None,
) -> None:
    """The page: "The price is a task that may release nothing: if a share a of those served never
    sends, X must reach h0 / (1 - a - gamma)".

    Nor may X reach (max_batch - h0 + 1) / gamma: from there on nothing is released, though all
    that were served are honest and send.
    """
    options = {} if largest is None else {"max_batch": 60 * largest}
    task = small_task(protocol, min_batch=60, **options)
    most = task.max_batch
    assert (task.honest_share, most) == ("0.9", 60 * (largest or 100))
    ends = 10 * (most - task.fewest_honest + 1)
    for served, state in ((ends - 1, ""), (ends, "REFUSED"), (100 * ends, "REFUSED")):
        users = min(served, most)
        assert rule(task, users=users, served=served, tally={1: users}).state == state
