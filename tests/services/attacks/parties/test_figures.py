"""Figures that a result prints, against the laws they are of."""

from __future__ import annotations

import math
import re
from collections import Counter
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.result_document import describe_batch
from smoothdp.services.analyzer.who_could import sentence
from smoothdp.services.formats.design.values import DUMMY
from smoothdp.services.formats.task import Task
from smoothdp.shuffle import LowCommunicationHistogram
from smoothdp.text import number_up
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.each_protocol import BY_SPEED, TASKS
from tests.services.worlds.laws import Floats
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task


def many() -> Task:
    return small_task(
        "low_communication_histogram", size=50, epsilon="1", delta="1e-6", min_batch=1000
    )


def full_batch(task: Task) -> Counter[int]:
    """Return the tally of the largest batch, whose users all hold 0, with the mean of the noise."""
    users = task.max_batch
    noise = int(users * Fraction(task.noise))
    return Counter(dict.fromkeys(range(task.size), noise)) + Counter({0: users})


@ONLY_SQLITE
def test_a_million_honest_users_keep_the_promise_that_nine_hundred_keep() -> None:
    """A batch of the largest size was refused: with many users somebody draws noise anew."""
    task = many()
    users = task.max_batch
    assert users > 10**6
    assert task.design.delta(task.epsilon, users) > Fraction(task.delta)
    assert rule(task, users=users, served=users, tally=full_batch(task)).state == ""
    assert not task.keeps_promise(task.fewest_honest - 1)


@ONLY_SQLITE
@pytest.mark.slow
def test_no_figure_of_a_result_grows_with_more_honest_users() -> None:
    """Of the largest batch a share of 1 had a larger epsilon than one of 3/4."""
    task = many()
    users, tally = task.max_batch, full_batch(task)
    ruling = rule(task, users=users, served=users, tally=tally)
    told = describe_batch(task, window=1, users=users, served=users, tally=tally, ruling=ruling)
    curve = list(told["epsilon_by_honest_share"].values())
    assert curve == sorted(curve)
    assert told["epsilon_of_this_batch"] <= told["epsilon_by_honest_share"]["0.75"] < 0.1


@ONLY_SQLITE
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


@ONLY_SQLITE
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


@ONLY_SQLITE
def test_few_honest_users_of_a_split_sum_have_what_one_device_has() -> None:
    """Of a quarter of the users the result said that nothing is left, of both services 7.11."""
    task = small_task("split_sum", bounds=("0", "1"), epsilon="0.5", min_batch=60, honest_share="1")
    tally = {0: 60 * task.slots}
    ruling = rule(task, users=60, served=60, tally=tally)
    told = describe_batch(task, window=1, users=60, served=60, tally=tally, ruling=ruling)
    curve = list(told["epsilon_by_honest_share"].values())
    assert curve == sorted(curve)
    assert 7 < curve[-1] == told["epsilon_if_shuffler_and_analyzer_collude"] < 7.2


@ONLY_SQLITE
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


@pytest.mark.parametrize("share", ["1/3", "0.99999999999999999999"])
@pytest.mark.parametrize("protocol", BY_SPEED)
def test_the_sentence_is_the_least_that_the_rule_lets_out(protocol: str, share: str) -> None:
    """By trying every number of accounts of the shuffler, for three numbers of accounts served."""
    options = TASKS[protocol] | {"honest_share": share}
    if share == "1/3":
        options["min_batch"] = 3 * options.get("min_batch", 12)
    task = small_task(protocol, **options)
    for served in (task.min_batch, task.min_batch + 7, 3 * task.min_batch):
        released = [
            users
            for users in range(task.min_batch, served + 1)
            if not rule(task, users=users, served=served, tally={0: users * task.slots}).state
            or task.keeps_promise(task.honest(users, accounts=served))
        ]
        if not released:
            continue
        assert released == list(range(released[0], served + 1))
        users = released[-1]
        ruling = rule(task, users=users, served=served, tally={})
        text = sentence(task, users=users, served=served, ruling=ruling)
        (accounts,) = re.findall(r"A shuffler with (\d+) accounts", text)
        (passes,) = re.findall(r"accounts, an analyser with (\d+) passes", text)
        assert (int(accounts), int(passes)) == (released[0] - 1, task.min_batch - 1)


def worst_failure(fails: Floats, bins: int) -> float:
    """Return the largest probability that any bin fails, over all true counts of all users."""
    users = len(fails) - 1
    costs, best = -np.log1p(-fails), np.full(users + 1, -np.inf)
    best[0] = 0.0
    for _ in range(bins):
        step = np.full(users + 1, -np.inf)
        for count in range(users + 1):
            step[count:] = np.maximum(step[count:], best[: users + 1 - count] + costs[count])
        best = step
    return -math.expm1(-float(best[users]))


@ONLY_SQLITE
@pytest.mark.parametrize("protocol", ["histogram", "low_communication_histogram"])
@pytest.mark.parametrize(("bins", "users"), [(2, 120), (5, 60), (12, 67)])
def test_all_counts_are_as_near_as_is_printed_whatever_people_hold(
    protocol: str, bins: int, users: int
) -> None:
    """What a result prints as `error_of_all_counts` fails with probability 0.05 at most: over all
    ways in which people may be in the bins, hidden bins and bins that nobody is in among them.
    """
    task = small_task(protocol, size=bins, min_batch=60)
    made, chance = task.collect(users), float(Fraction(task.noise))
    noise, error = np.arange(users + 1), made.error("0.05", simultaneous=True)
    weights, hidden = binom.pmf(noise, users, chance), made.hidden_up_to
    fails = np.zeros(users + 1)
    for count in range(users + 1):
        off = noise - users * chance if protocol != "histogram" else users * chance - noise
        # Up to the threshold a count is shown as 0.
        shown = np.where(count + off > hidden + 1e-9, count + off, 0.0)
        fails[count] = weights[abs(shown - count) > error + 1e-9].sum()
    assert worst_failure(fails, bins) <= 0.05
