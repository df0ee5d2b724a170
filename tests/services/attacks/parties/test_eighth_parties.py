"""Who can do what, tried again: whom the share that is assumed counts, and what waits for what."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import work
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.result_document import describe_batch
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.check import check_party
from smoothdp.services.formats.design.budget import places_at_once, windows_paid
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.services.formats.party_files import PARTIES
from smoothdp.services.formats.slots import open_slot
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.operations.logs import Cause, PutOff
from smoothdp.services.shuffler.sealing import seal_due
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.shuffle import LowCommunicationHistogram
from smoothdp.text import number_up
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.three_parties import Parties
from tests.services.worlds.whole_world import WholeWorld

pytestmark = ONLY_SQLITE


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


def test_a_directory_with_windows_of_another_task_is_refused(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The budget is spent, a new task is made of the same halves and copied into the directories.

    Nothing refused that. What each party had of the windows of the first task that were not over
    was never closed, and the check of the directory found it good.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        for _ in range(2):
            parties.round()
        another = replace(parties.task, min_batch=parties.task.min_batch + 1)
        for party in PARTIES:
            (tmp_path / party / "task.json").write_bytes(another.encoded)
        for opened in (AnalyzerParty, ShufflerParty, IssuerParty):
            folder = tmp_path / opened.__name__.removesuffix("Party").lower()
            with pytest.raises(InvalidData, match="windows of another task"):
                opened.from_directory(folder)
            keys = {one.name: one for one in check_party(folder)}["keys"]
            assert not keys.good
            assert "windows of another task" in keys.says


def test_a_batch_that_arrives_damaged_each_time_holds_up_no_other(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """One part is damaged on the shuffler's disk: 422 in each round, until it is dropped.

    The batches of later windows wait behind it, and the analyser ends each of these windows after
    seven days, although its own batch is whole.
    """
    causes: list[Cause] = []
    world = PartyWorld(tmp_path, small_task(issuer=None, proof="none"))
    for window in (WINDOW, WINDOW + 1):
        world.open_window(window)
    world.send_many(12)
    world.seal()
    with world.shuffler.storage.transaction() as change:
        change.change("UPDATE batch_part SET bytes = ?", (bytes(52 * 12),))
    world.send_many(12, window=WINDOW + 1)
    world.seal(WINDOW + 1)
    for _ in range(3):
        try:
            world.deliver()
        except PutOff as error:
            causes.append(error.cause)
    work(world.analyzer)
    assert world.result(WINDOW)["state"] == "arriving"
    assert world.result(WINDOW + 1)["state"] == "RELEASED"
    # What the log would say: nobody answered, or not in time.
    assert Cause.CONNECTION not in causes
    world.close()


def test_a_result_takes_a_place_for_good(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The words were "With 11 places none waits": 11 are *left* until there are results."""
    day = 86_400
    options: dict[str, Any] = {"issuer": None, "proof": "none", "grace_seconds": HOUR}
    task = small_task(windows=11, window_seconds=day, **options)
    assert windows_paid(task) == places_at_once(task) == 11
    (words,) = [words for words in replace(task, budget_epsilon="40").advice if "none" in words]
    assert words.endswith("With 11 places left none waits; a result takes one.")
    world = PartyWorld(tmp_path, task)
    cards: set[int] = set()
    waited = []
    for window in range(WINDOW, WINDOW + 14):
        for hour in (0, 2):
            world.go_to(window * day + hour * HOUR + 1.0)
            seal_due(world.shuffler)
            world.deliver()
            work(world.analyzer)
            for ahead in sorted({window, window + 1, window + 2} - cards):
                key = world.shuffler.cards.offered_key(ahead)
                if world.analyzer.cards.put_key(GATEWAY, ahead, key) != 201:
                    break
                world.open_window(ahead)
                cards.add(ahead)
            if hour == 0 and window not in cards:
                waited.append(window)
        if window < WINDOW + 3:
            world.send_many(12, window=window)
    assert len(world.charged()) == 3
    # After three results eight are left.
    assert waited == [WINDOW + 11, WINDOW + 12, WINDOW + 13]
    world.close()


def test_the_curve_at_the_assumed_share_is_no_better_than_the_batch(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The task's share is of those *served*; the curve beside the figure is of those present."""
    world = PartyWorld(tmp_path, small_task(epsilon="1", delta="0.001", min_batch=40))
    world.open_window()
    world.send_many(60)
    document = world.finish(100)
    assert document["state"] == "RELEASED"
    assert document["honest_users_assumed"] == 50
    of_share = document["epsilon_by_honest_share"][world.task.honest_share]
    assert of_share >= document["epsilon_of_this_batch"]
    world.close()


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


def test_what_silent_users_do_to_every_count_is_what_is_said(
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Where noise is sent rarely, who sends none lowers a count by the rate of noise, not by 1.

    The words of a released result are those of the other histogram, where noise is rarely omitted.
    """
    names = ("a", "b", "c")
    options: dict[str, Any] = {"issuer": None, "proof": "none", "domain": names}
    task = small_task("low_communication_histogram", min_batch=240, honest_share="1/3", **options)
    true, silent, tally = {"a": 100, "b": 40}, 100, Counter[int]()
    for name, people in true.items():
        for _ in range(people):
            tally.update(task.values(names.index(name)))
    tally[DUMMY] += silent * task.slots
    ruling = rule(task, users=240, served=None, tally=tally)
    assert ruling.state == ""
    document = describe_batch(
        task, window=WINDOW, users=240, served=None, tally=tally, ruling=ruling
    )
    least = document["users_without_noise_at_least"]
    assert least > 40
    protocol = task.collect(240)
    assert isinstance(protocol, LowCommunicationHistogram)
    low = least * float(protocol.noise_probability)
    assert f"every count is too low by {number_up(low)} on average" in document["warning"]
    # It is of those 100 who sent none, of whom at least these are seen.
    assert low < 100 * float(protocol.noise_probability) < 6


def test_the_figures_of_a_sum_are_those_of_a_plain_convolution(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Epsilon by how many are honest, over all data of the others, by nothing of the library."""
    world = PartyWorld(tmp_path, small_task(epsilon="1", delta="0.001", min_batch=40))
    world.open_window()
    world.send_many(44)
    document = world.finish(44)
    flip = int(world.task.noise) / 2**64
    one, zero = np.array([flip, 1 - flip]), np.array([1 - flip, flip])

    def delta(epsilon: float, honest: int) -> float:
        worst = 0.0
        for ones in range(honest):
            others = [one] * ones + [zero] * (honest - 1 - ones)
            p, q = (reduce(np.convolve, [*others, own]) for own in (one, zero))
            for a, b in ((p, q), (q, p)):
                worst = max(worst, float(np.maximum(a - np.exp(epsilon) * b, 0).sum()))
        return worst

    shown = document["epsilon_by_honest_share"]
    assert document["honest_users_assumed"] == 40
    said = {44: shown["1"], 22: shown["0.5"], 11: shown["0.25"]}
    said[40] = document["epsilon_of_this_batch"]
    for honest, epsilon in said.items():
        assert delta(epsilon, honest) <= 0.001 * (1 + 1e-9)
        assert delta(epsilon - 1e-3, honest) > 0.001
    assert abs(document["most_one_false_user_moves_the_sum"] - 1 / (1 - 2 * flip)) < 1e-9
    world.close()
