"""Paper 3 (Balcer, Cheu), section 3.3: support identification and the pointer problems."""

from __future__ import annotations

import itertools
import math

import pytest

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidData, OutOfReach
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.papers.shuffled_histograms.table_1 import error_and_messages
from smoothdp.shuffle.applications.pointers import MultiPartyPointerJumping, PointerChasing
from smoothdp.shuffle.applications.support import (
    identify_support,
    samples_needed,
    support_success,
)
from smoothdp.shuffle.histogram.histogram import Histogram

GOAL = ApproxDP(1, delta="1e-6")


def test_definition_3_3_support_identification() -> None:
    """Nothing outside the support is ever returned; all of it is with probability >= .99."""
    n, rng = samples_needed(support_size=3, guarantee=GOAL), SeededRandom(1)
    protocol = Histogram.calibrate(n, n_bins=10**15, guarantee=GOAL, honest_share=1)
    support = [5, 10**9, 10**15 - 1]
    full = 0
    for _ in range(100):
        found = identify_support(protocol, [support[rng.below(3)] for _ in range(n)], rng=rng).value
        assert found <= set(support)
        full += found == set(support)
    # Below 90 of 100 has probability below 1e-7 at .99.
    assert full >= 90


@pytest.mark.parametrize(("h", "n"), [(1, 148), (2, 163), (3, 228), (8, 610)])
def test_claim_3_4_samples(h: int, n: int) -> None:
    """The exact number of samples at (1, 1e-6), which the universe does not enter; within the
    claimed order h log h log(1/delta) / epsilon^2, and below the paper's calibration."""
    assert samples_needed(support_size=h, guarantee=GOAL) == n
    assert n <= 20 * h * math.log(h + 1) * math.log(1e6)
    gamma = Histogram.calibrate(n, n_bins=2, guarantee=GOAL, honest_share=1).omission_probability
    assert support_success(n, support_size=h, omission_probability=gamma).lower >= 0.99
    if h > 1:
        gamma = Histogram.calibrate(
            n - 1, n_bins=2, guarantee=GOAL, honest_share=1
        ).omission_probability
        assert support_success(n - 1, support_size=h, omission_probability=gamma).upper < 0.99


def test_claim_3_4_the_paper_s_calibration_needs_forty_times_as_many() -> None:
    assert samples_needed(support_size=1, guarantee=GOAL, method="paper") == 6081
    assert samples_needed(support_size=2, guarantee=GOAL, method="paper") == 6373


def test_claim_3_4_too_many_users_for_the_search() -> None:
    """The refusal names the support, not a number of users that nobody asked for."""
    with pytest.raises(OutOfReach, match=r"support_size=8 for ApproxDP.* Lower support_size"):
        samples_needed(support_size=8, guarantee=GOAL, method="paper")


def test_claim_3_4_one_value_is_limited_by_privacy_alone() -> None:
    assert samples_needed(support_size=1, guarantee=GOAL) == Histogram.smallest_n_users(
        guarantee=GOAL, honest_share=1
    )


def test_definition_3_5_pointer_chasing() -> None:
    problem = PointerChasing(3, length=4)
    assert problem.universe_size == 2 * math.factorial(4)
    records = set()
    for side in (1, 2):
        for permutation in itertools.permutations(range(1, 5)):
            record = problem.encode(side, permutation)
            assert problem.decode(record) == (side, permutation)
            records.add(record)
    assert records == set(range(problem.universe_size))
    # a(1) = 3, b(3) = 4, a(4) = 2.
    a, b = (3, 1, 4, 2), (2, 1, 4, 3)
    chase = [PointerChasing(k, length=4).answer(a, b) for k in (1, 2, 3, 4)]
    assert chase == [3, 4, 2, 1]
    assert problem.solve([problem.encode(1, a), problem.encode(2, b)]) == 2
    assert problem.solve([problem.encode(1, a)]) is None
    for bad in ((1, 1, 2, 3), (1, 2, 3), (0, 1, 2, 3)):
        with pytest.raises(InvalidData, match="permutation"):
            problem.encode(1, bad)
    with pytest.raises(InvalidData, match="side"):
        problem.encode(3, a)


@pytest.mark.parametrize("length", [3, 7, 12, 20])
def test_theorem_1_2_samples_do_not_depend_on_the_universe(length: int) -> None:
    """163 samples for every l (universe 12 to 4.9e18), where local protocols need Omega(l)."""
    problem = PointerChasing(2, length=length)
    protocol, rng = problem.protocol(163, guarantee=GOAL, honest_share=1), SeededRandom(length)
    solved = 0
    for _ in range(60):
        instance = problem.random_instance(rng=rng)
        data = problem.sample(*instance, 163, rng=rng)
        answer = problem.solve(identify_support(protocol, data, rng=rng).value)
        assert answer in (None, problem.answer(*instance))
        solved += answer is not None
    # Below 52 of 60 has probability below 1e-7 at .99.
    assert solved >= 52
    chance = support_success(
        163, support_size=2, omission_probability=protocol.omission_probability
    )
    assert chance.lower >= 0.99


def test_definition_3_6_pointer_jumping() -> None:
    sizes = {(2, 2): 6, (2, 3): 22, (2, 4): 278, (3, 3): 19713}
    for (s, h), size in sizes.items():
        problem = MultiPartyPointerJumping(s, height=h)
        assert problem.universe_size == size
        assert problem.support_size == h
        step = max(1, size // 50)
        for record in range(0, size, step):
            assert problem.encode(*problem.decode(record)) == record
    problem = MultiPartyPointerJumping(3, height=3)
    instance = ((2,), (0, 1, 1), (0, 0, 0, 0, 0, 0, 0, 2, 0))
    # Root label 2, its third child (node 2) has label 1, then node 3 * 2 + 1 = 7 has label 2.
    assert problem.answer(instance) == (2, 1, 2)
    records = [problem.encode(i + 1, labels) for i, labels in enumerate(instance)]
    assert problem.solve(records) == (2, 1, 2)
    assert problem.solve(records[:2]) is None
    with pytest.raises(InvalidData, match="labels"):
        problem.encode(2, (0, 3, 1))
    with pytest.raises(OutOfReach, match="tree"):
        MultiPartyPointerJumping(100, height=9)


@pytest.mark.parametrize(("s", "h", "n"), [(2, 2, 163), (2, 3, 228), (2, 4, 301), (3, 3, 228)])
def test_section_3_3_pointer_jumping_is_solved(s: int, h: int, n: int) -> None:
    problem = MultiPartyPointerJumping(s, height=h)
    protocol, rng = problem.protocol(n, guarantee=GOAL, honest_share=1), SeededRandom(s * h)
    solved = 0
    for _ in range(60):
        instance = problem.random_instance(rng=rng)
        data = problem.sample(instance, n, rng=rng)
        answer = problem.solve(identify_support(protocol, data, rng=rng).value)
        assert answer in (None, problem.answer(instance))
        solved += answer is not None
    assert solved >= 52


@pytest.mark.parametrize("n", [1000, 100_000])
def test_section_3_2_error_close_to_the_central_model(n: int) -> None:
    """Against the stability-based algorithm, which a trusted curator runs: 1.8 to 4.4 times."""
    for d in (100, 10_000):
        ours, _ = error_and_messages(("zero-preserving, exact", n, d))
        central, _ = error_and_messages(("stability", n, d))
        assert ours is not None
        assert central is not None
        assert 1.8 < ours / central < 4.4


def test_section_3_3_noise_in_every_bin_makes_samples_grow_with_the_domain() -> None:
    """Two values among d, noise in every bin: the error is below n/4 from some n on, which grows
    with ln d; in a zero-preserving histogram that n does not move."""

    def users(protocol: str, d: int, n: int) -> int:
        while (found := error_and_messages((protocol, n, d))[0]) is None or found >= n / 4:
            n += 10
        return n

    domains = (10**2, 10**4, 10**6)
    everywhere = [users("a Boolean sum a bin", d, 100) for d in domains]
    assert everywhere[0] < everywhere[1] < everywhere[2]
    assert len({users("zero-preserving, exact", d, 150) for d in domains}) == 1
