"""Prefix trees: all transcripts of two levels, enumerated; what is found; what is refused."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from smoothdp.claims import ApproxDP, PureDP
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle import PrefixTree
from smoothdp.shuffle.histogram.estimate import HistogramEstimate
from smoothdp.shuffle.strings.found_strings import FoundStrings
from tests.checkers.rationals import binomial_law

GOAL = ApproxDP(1, delta="1e-6")
SMALL = PrefixTree(
    2, n_levels=2, fan_out=2, noise_probability="1/4", most_candidates=2, false_positive="9/10"
)
STRINGS = [(0, 0), (1, 0), None]


def transcript_law(tree: PrefixTree, data: tuple[Any, ...]) -> dict[Any, float]:
    """The law of (counts of level 1, counts of level 2), noise user by user summed to binomials."""
    noise = [float(p) for p in binomial_law(len(data), tree.noise_probability)]
    law: dict[Any, float] = defaultdict(float)
    for first, survivors, mass in level_one(tree, data, tuple(noise)):
        bins = [tree.bin_of(string, 2, survivors) for string in data]
        d = len(survivors) * tree.fan_out + 1
        for drawn in itertools.product(range(len(noise)), repeat=d):
            seen = tuple(v + bins.count(index) for index, v in enumerate(drawn))
            law[first, seen] += mass * math.prod(noise[v] for v in drawn)
    return law


def level_one(tree: PrefixTree, data: tuple[Any, ...], noise: tuple[float, ...]) -> list[Any]:
    bins = [tree.bin_of(string, 1, ()) for string in data]
    found = []
    for drawn in itertools.product(range(len(noise)), repeat=tree.fan_out + 1):
        seen = tuple(v + bins.count(index) for index, v in enumerate(drawn))
        found.append((seen, surviving(tree, seen), math.prod(noise[v] for v in drawn)))
    return found


@cache
def surviving(tree: PrefixTree, seen: tuple[int, ...]) -> Any:
    estimate = tree.round(1, ()).estimate_counts(np.array(seen), warn=False)
    return tree.survivors(1, (), estimate)[0]


def test_two_levels_against_all_their_transcripts() -> None:
    """What one user changes is never more than two exchanged bins, and may be more than one."""
    assert SMALL.round(1, ()).threshold == 1
    attained = 0.0
    bounds = {epsilon: SMALL.profile().delta(epsilon) for epsilon in (0, 1, 2)}
    for other in STRINGS[1:]:
        laws = [transcript_law(SMALL, (string, other)) for string in STRINGS]
        for epsilon, bound in bounds.items():
            for p, q in itertools.permutations(laws, 2):
                truth = sum(max(0.0, m - math.exp(epsilon) * q.get(key, 0)) for key, m in p.items())
                assert truth <= bound * (1 + 1e-9)
                if epsilon == 1:
                    attained = max(attained, truth)
    # The bound of one level alone is false, and that of two is not far off.
    assert attained > SMALL.round(1, ()).profile().delta(1) * 1.05
    assert attained > 0.8 * bounds[1]


def test_what_is_found_and_what_is_listed_falsely() -> None:
    tree = PrefixTree(1000, n_levels=3, fan_out=4, noise_probability="0.01", most_candidates=8)
    s = tree.found_count("1/20")
    others = {(3, 3, 3): 1000 - s}
    rng, missed, false = SeededRandom(8), 0, 0
    for _ in range(100):
        found = tree.simulate({(1, 2, 3): s} | others, rng=rng).value
        missed += (1, 2, 3) not in found.counts
        false += any(string not in {(1, 2, 3), (3, 3, 3)} for string in found.counts)
    # At most 5 each on average: 21 have probability below 1e-7.
    assert missed < 21
    assert false < 21
    # One user fewer than half as many is mostly not found: the count is no empty bound.
    few = sum(
        (1, 2, 3)
        in tree.simulate({(1, 2, 3): s // 4, (3, 3, 3): 1000 - s // 4}, rng=rng).value.counts
        for _ in range(20)
    )
    assert few < 10


def test_message_by_message() -> None:
    tree = PrefixTree(
        60, n_levels=2, fan_out=3, noise_probability="0.01", most_candidates=2, n_slots=4
    )
    rng = SeededRandom(3)
    data = [(0, 1)] * 40 + [(2, 2)] * 19 + ["no string of the tree"]
    found = tree.run_messages(data, rng=rng)
    assert set(found.counts) == {(0, 1), (2, 2)}
    assert abs(found.counts[0, 1] - 40) < 12
    assert found.bars("0.9").listed.keys() == found.counts.keys()
    assert found.n_dropped == (0, 0)
    sent = {len(tree.randomize(x, level=1, survivors=(), rng=rng)) for x in [*data, None, 3.5]}
    assert sent == {tree.round(1, ()).slots_per_user} == {4}
    assert tree.slots_per_user == 8
    assert tree.bytes_per_user == 8 * 52


def test_too_many_prefixes_are_dropped_and_said() -> None:
    tree = PrefixTree(3000, n_levels=2, fan_out=3, noise_probability="0.01", most_candidates=2)
    counts = {(a, b): 1000 if b == 0 else 0 for a in range(3) for b in range(3)}
    found = tree.simulate(counts, rng=SeededRandom(1)).value
    assert found.n_dropped[0] == 1
    assert len(found.counts) == 2


def test_calibration_and_the_table_of_the_levels() -> None:
    tree = PrefixTree.calibrate(10**6, guarantee=GOAL, string_bits=32, most_candidates=39)
    assert (tree.n_levels, tree.fan_out, tree.honest_assumed) == (4, 256, 900_000)
    assert float(10**6 * tree.noise_probability) == pytest.approx(161, abs=0.5)
    assert (tree.slots_per_user, tree.bytes_per_user) == (84, 4368)
    assert tree.messages_per_user == pytest.approx(10.43, abs=0.01)
    assert tree.found_count("1/100") == 98
    assert 0.985e-6 < tree.profile().delta(1) <= 1e-6
    assert tree.guarantee == GOAL
    assert tree.influence_of_one_liar == 21
    assert "at least 900,000 of the 1,000,000 users" in tree.condition()
    counts = {"JFK": 600_000, "EWR": 399_000, "TEB": 1000}
    found = tree.release(counts=counts)
    # That it lists no other string is no certainty: about two runs in a hundred do.
    assert {"JFK", "EWR"} <= set(found.value.texts())
    assert set(tree.simulate(counts, rng=SeededRandom(1)).value.texts()) == {"JFK", "EWR", "TEB"}
    assert found.sentence().endswith("in each of the 4 levels.")
    with pytest.raises(InvalidParameter, match="most_slots of at least"):
        PrefixTree.calibrate(10**4, guarantee=GOAL, n_levels=1, most_slots=3)


def test_what_is_refused() -> None:
    for bad in ({}, {"string_bits": 8, "n_levels": 1}):
        with pytest.raises(InvalidParameter, match="either string_bits or n_levels"):
            PrefixTree.calibrate(10**4, guarantee=GOAL, **bad)
    with pytest.raises(InvalidParameter, match="ApproxDP"):
        PrefixTree.calibrate(10**4, guarantee=PureDP(1), n_levels=1)
    with pytest.raises(InvalidParameter, match="n_users"):
        PrefixTree.calibrate(50, guarantee=GOAL, n_levels=2)
    for level, survivors in ((0, ()), (3, ((0, 0),)), (2, ((0,), (0,))), (2, ((2,),)), (2, ((),))):
        with pytest.raises(InvalidParameter, match="level"):
            SMALL.round(level, survivors)
    with pytest.raises(InvalidParameter, match="promise"):
        PrefixTree(100, n_levels=2, noise_probability="0.01", promise=GOAL)
    with pytest.raises(InvalidData, match="n_users"):
        SMALL.simulate({(0, 0): 3})
    with pytest.raises(InvalidData, match="data or counts"):
        SMALL.release()
    with pytest.raises(InvalidParameter, match="n_slots"):
        PrefixTree(100, n_levels=2, noise_probability="1/2", n_slots=2)


def test_a_round_is_padded_as_the_tree_says() -> None:
    tree = PrefixTree(
        100, n_levels=2, fan_out=3, noise_probability="1/100", most_candidates=3, n_slots=7
    )
    for survivors in ((), ((0,),), ((0,), (2,))):
        histogram = tree.round(2, survivors)
        assert histogram.n_bins == 3 * len(survivors) + 1
        assert histogram.slots_per_user == 7
        assert histogram.catch_all
    assert Fraction(1) > tree.redraw_probability >= 0


def test_redrawing_in_two_levels() -> None:
    """Noise that must fit, two levels, one user: the exact law against the bound of redrawing."""
    tree = PrefixTree(
        1, n_levels=2, fan_out=2, noise_probability="1/4", most_candidates=1, n_slots=3
    )
    bits = {
        drawn: 0.25 ** sum(drawn) * 0.75 ** (3 - sum(drawn))
        for drawn in itertools.product((0, 1), repeat=3)
        if sum(drawn) < tree.n_slots
    }
    fit = sum(bits.values())
    assert 1 - fit <= float(tree.redraw_probability) / 2 * (1 + 1e-12)

    def law(string: Any) -> dict[Any, float]:
        found: dict[Any, float] = defaultdict(float)
        first_bin = tree.bin_of(string, 1, ())
        for first, mass in bits.items():
            seen = tuple(v + (index == first_bin) for index, v in enumerate(first))
            survivors = surviving(tree, seen)
            second_bin = tree.bin_of(string, 2, survivors)
            d = 2 * len(survivors) + 1
            seconds = [drawn for drawn in bits if d == 3 or not any(drawn[1:])]
            total = sum(bits[drawn] for drawn in seconds)
            for second in seconds:
                after = tuple(v + (index == second_bin) for index, v in enumerate(second[:d]))
                found[seen, after] += mass / fit * bits[second] / total
        return found

    for epsilon in (0, 1):
        bound = tree.profile().delta(epsilon)
        for one, two in itertools.permutations(STRINGS, 2):
            p, q = law(one), law(two)
            truth = sum(max(0.0, m - math.exp(epsilon) * q.get(key, 0)) for key, m in p.items())
            assert truth <= bound + 1e-12


def test_no_two_strings_share_a_text() -> None:
    """All 65,536 strings of two bytes, most of them no UTF-8, and back."""
    strings = list(itertools.product(range(256), repeat=2))
    last = HistogramEstimate(2, {})
    found = FoundStrings(dict.fromkeys(strings, 1.0), (), last, (), 256)
    texts = found.texts()
    assert len(texts) == len(strings)
    back = {tuple(text.encode(errors="surrogateescape").ljust(2, b"\0")) for text in texts}
    assert back == set(strings)
