"""What `plan_collect` recommends goes straight to the engine, users in groups among it."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.engines import KeyedRandom, collect, run_here
from smoothdp.engines.collecting.level_groups import (
    Groups,
    drawn_groups,
    histogram_of_group,
    tree_of_groups,
)
from smoothdp.engines.collecting.marked_rows import marked_rows
from smoothdp.engines.collecting.string_levels import level_name
from smoothdp.engines.job import Run
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.planning import CollectPlan, Offer
from smoothdp.planning.collecting.offers import Limits
from smoothdp.shuffle import LowCommunicationHistogram, PrefixTree

SAID: dict[str, Any] = {"key": bytes(range(32)), "column": "x", "window": 1}
GOAL = sd.ApproxDP(1, delta="1e-6")


@pytest.mark.parametrize(
    ("task", "more", "kind"),
    [
        ("count", {"liars": 0}, "SplitSum"),
        ("histogram", {"n_bins": 3}, "LowCommunicationHistogram"),
    ],
)
def test_a_plan_is_its_protocol(task: Any, more: dict[str, Any], kind: str) -> None:
    plan = sd.plan_collect(task, n_users=1000, guarantee=GOAL, **more)
    assert type(plan.protocol).__name__ == kind
    run = run_here([[np.arange(1000), np.arange(1000) % 2]])
    found = collect(run, plan, **SAID)
    assert found == collect(run, plan.protocol, **SAID)
    assert plan.condition in found.condition
    assert found.guarantee == GOAL


def test_a_plan_of_all_levels_is_its_tree() -> None:
    tree = PrefixTree.calibrate(N, guarantee=PROMISE, n_levels=1, most_candidates=2)
    offer = Offer("PrefixTree, all levels", tree)
    plan, run = replace(PLAN, table=(offer,)), run_here([[np.arange(N), np.array(["a"] * N)]])
    found = collect(run, plan, **SAID)
    assert found == collect(run, tree, **SAID)
    assert set(found.value.texts()) == {"a"}
    assert plan.condition in found.condition


# ---- one level a user --------------------------------------------------------------------------

N, LEVELS = 302, 3
PROMISE = sd.ApproxDP(3, delta="1/20")
ONE = LowCommunicationHistogram.calibrate(N // LEVELS, n_bins=513, guarantee=PROMISE)
PLAN = CollectPlan(
    "strings",
    N,
    PROMISE,
    Fraction(9, 10),
    1,
    Limits(None, 10**6, None),
    (Offer("PrefixTree, one level a user", ONE, groups=LEVELS),),
)
TEXTS = np.array(["abc"] * 200 + ["xyz"] * 100 + ["\ud800", "too long"], dtype=object)


def runs_of(n_users: int = N, *, parts: int = 1) -> Run:
    order = np.random.default_rng(parts).permutation(n_users)
    return run_here(
        [[order[i], TEXTS[order[i]]] for i in np.array_split(np.arange(n_users), parts)]
    )


def test_strings_of_groups_are_found_in_any_cut() -> None:
    found = collect(runs_of(), PLAN, **SAID)
    assert found == collect(runs_of(parts=7), PLAN, **SAID) == collect(runs_of(), PLAN, **SAID)
    assert found != collect(runs_of(), PLAN, **SAID | {"window": 2})
    texts = found.value.texts()
    assert set(texts) == {"abc", "xyz"}
    assert found.value.top(1) == [((97, 98, 99), texts["abc"])]
    # Scaled from a third of the users: 3 deviations of noise and of the draw are below 90.
    assert abs(texts["abc"] - 200) < 90
    least, most = found.value.bars("0.999").listed[97, 98, 99]
    assert least <= texts["abc"] * 101 / N <= most
    assert found.guarantee == PROMISE
    assert "at least 90 of the 100 users follow the protocol" in found.condition
    assert "in each of the 3 groups of users" in found.condition
    assert "302 users in 3 groups, each user answering one level" in found.mechanism


def test_groups_are_the_literal_protocol() -> None:
    """Every user's envelope of the own group's level, by hand from the keyed bits."""
    tree = tree_of_groups(ONE, n_users=N, n_levels=LEVELS, honest_share=Fraction(9, 10))
    run = runs_of()
    rows = marked_rows(run, tree, users="check", n_answered=None, **SAID)
    groups = drawn_groups(run, rows, LEVELS)
    members = groups.of(list(range(N)))
    assert sorted(groups.sizes) == [100, 101, 101]
    assert Counter(members.tolist()) == dict(enumerate(groups.sizes))

    def ask(level: int, prefixes: Any) -> Any:
        n_bins = 256 * len(prefixes) + 1
        histogram = histogram_of_group(ONE, groups.sizes[level - 1], n_bins=n_bins)
        name = level_name(rows, level, prefixes, "groups=3")
        messages = [
            message
            for user in np.flatnonzero(members == level - 1).tolist()
            for message in histogram.randomize(
                tree.bin_of(TEXTS[user], level, prefixes),
                rng=KeyedRandom(SAID["key"], collection=name, user=user),
            )
        ]
        assert len(messages) == groups.sizes[level - 1] * ONE.n_slots
        return histogram.analyze(messages)

    assert collect(run, PLAN, **SAID).value.last == tree.climb(ask)


def test_a_group_keeps_the_promise_that_was_calibrated() -> None:
    """For each size of a group and of a level: never a larger delta than the promise has."""
    for n_users, n_bins in itertools.product((91, 100, 101), (1, 257, 513)):
        made = histogram_of_group(ONE, n_users, n_bins=n_bins)
        assert made.honest_assumed == ONE.honest_assumed == 90
        assert made.profile().delta(3) <= 0.05
    with pytest.raises(InvalidData, match="groups of at least 90 honest users"):
        histogram_of_group(ONE, 89, n_bins=257)


def test_users_of_groups_who_stay_away() -> None:
    found = collect(runs_of(280), PLAN, **SAID, n_answered=280)
    assert "at least 90 of the 93 users follow the protocol" in found.condition
    with pytest.raises(InvalidData, match="groups of at least 90 honest users"):
        collect(runs_of(265), PLAN, **SAID, n_answered=265)
    with pytest.raises(InvalidData, match="n_users=302 users; got 280"):
        collect(runs_of(280), PLAN, **SAID)


def test_groups_of_very_many_equal_words_and_of_one() -> None:
    """Users who come twice share a word and stay together; one group is all users."""
    users = np.array([1] * 4 + [2] * 3)
    run = run_here([[users, np.array(["abc"] * 7)]])
    for n_levels in (1, 2, 3):
        tree = tree_of_groups(ONE, n_users=7, n_levels=n_levels, honest_share=Fraction(1))
        if n_levels != 3:
            run = run_here([[users, np.array(["a" * n_levels] * 7)]])
        rows = marked_rows(run, tree, users="unique", n_answered=None, **SAID)
        groups = drawn_groups(run, rows, n_levels)
        assert isinstance(groups, Groups)
        counted = np.bincount(groups.of(users.tolist()), minlength=n_levels)
        assert counted.tolist() == list(groups.sizes)
        assert sum(groups.sizes) == 7


def test_a_histogram_of_a_plan_that_is_too_small_for_one_symbol() -> None:
    small = LowCommunicationHistogram.calibrate(N // LEVELS, n_bins=256, guarantee=PROMISE)
    with pytest.raises(InvalidParameter, match="most_candidates"):
        tree_of_groups(small, n_users=N, n_levels=LEVELS, honest_share=Fraction(1))
