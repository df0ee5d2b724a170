"""Running the protocols: three ways with one law, domains of any size, bad input."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from smoothdp.claims import ZCDP, ApproxDP, GaussianDP, PureDP
from smoothdp.errors import (
    IncompatibleClaims,
    InvalidData,
    InvalidParameter,
    OutOfReach,
    PrivacyWarning,
)
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle.applications.support import identify_support, samples_needed
from smoothdp.shuffle.histogram.count import ZeroPreservingCount
from smoothdp.shuffle.histogram.estimate import HistogramEstimate
from smoothdp.shuffle.histogram.histogram import Histogram
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram
from smoothdp.shuffle.messages import Message

GOAL = ApproxDP(1, delta="1e-6")


# ---- running ------------------------------------------------------------------------------


def test_empty_bins_are_exactly_zero_in_all_ways_to_run() -> None:
    protocol = Histogram(200, n_bins=6, omission_probability="0.4")
    data, rng = [2] * 100 + [5] * 100, SeededRandom(1)
    for _ in range(20):
        by_messages = protocol.run_messages(data, rng=rng)
        by_users = protocol.release(data, rng=rng).value
        by_counts = protocol.simulate([0, 0, 100, 0, 0, 100], rng=rng).value
        by_view = protocol.estimate_counts(protocol.shuffled_counts({2: 100, 5: 100}, rng=rng))
        for estimate in (by_messages, by_users, by_counts, by_view):
            assert estimate.support <= {2, 5}
            assert [estimate[j] for j in (0, 1, 3, 4)] == [0.0] * 4
    count = ZeroPreservingCount(200, omission_probability="0.4")
    assert {count.run_messages([0] * 200, rng=rng) for _ in range(20)} == {0.0}
    assert {count.release([0] * 200, rng=rng).value for _ in range(20)} == {0.0}


def test_estimate_is_the_analyser_of_the_paper() -> None:
    """c = M / n; c - p if c > 1 else 0, times n."""
    protocol = Histogram(10, n_bins=3, omission_probability="0.3")
    messages = [0] * 10 + [1] * 11 + [2] * 15
    estimate = protocol.analyze(messages)
    p = Fraction(7, 10)
    assert np.asarray(estimate).tolist() == [0.0, float(11 - 10 * p), float(15 - 10 * p)]
    count = ZeroPreservingCount(10, omission_probability="0.3")
    assert count.analyze([1] * 10) == 0.0
    assert count.analyze([1] * 11) == float(11 - 10 * p)


def test_domain_far_beyond_memory() -> None:
    n_bins = 2 * math.factorial(20)
    protocol = Histogram.calibrate(1000, n_bins=n_bins, guarantee=GOAL, honest_share=1)
    release = protocol.release([7] * 500 + [n_bins - 1] * 500)
    assert release.value.support == {7, n_bins - 1}
    assert len(release.value.top(1)) == 1
    assert release.value[12345] == 0.0
    assert protocol.error("0.05", simultaneous=True) == 62.0
    with pytest.raises(OutOfReach, match="bins"):
        protocol.randomize(7)
    with pytest.raises(OutOfReach, match="array"):
        release.value.to_array()
    beyond = Histogram(200, n_bins=10**40, omission_probability="0.3")
    assert beyond.simulate({10**39: 200}).value.support == {10**39}


def test_many_users_and_bins_from_counts() -> None:
    n, d = 336_776, 4_043
    counts = np.full(d, n // d)
    counts[0] += n - counts.sum()
    protocol = Histogram.calibrate(n, n_bins=d, guarantee=GOAL, honest_share=1)
    release = protocol.release(counts=counts)
    errors = np.abs(np.asarray(release.value) - counts)
    assert errors.max() <= protocol.error("1e-9", simultaneous=True)
    assert release.is_private
    assert release.guarantee.implies(GOAL)
    assert not protocol.simulate(counts).is_private
    assert not protocol.release(counts=counts, rng=SeededRandom(1)).is_private


def test_messages_of_a_user() -> None:
    protocol = Histogram(5, n_bins=8, omission_probability="1/2")
    rng = SeededRandom(3)
    for _ in range(50):
        sent = protocol.randomize(3, rng=rng)
        assert len(sent) == protocol.slots_per_user == protocol.most_messages == 9
        bins = [message for message in sent if message != 8]
        assert 3 in bins
        bins.remove(3)
        assert len(set(bins)) == len(bins)
    assert protocol.mean_messages == 5.0
    sparse = LowCommunicationHistogram(5, n_bins=8, noise_probability="1/8")
    assert sparse.mean_messages == 2.0
    assert max(len(sparse.randomize(0, rng=rng)) for _ in range(50)) <= 9


def test_bad_messages_are_counted_and_the_rest_is_analysed() -> None:
    protocol = Histogram(3, n_bins=2, omission_probability="1/2")
    good = [0, 0, 0, 0, 1]
    bad = ["x", -1, 3, None, 1.5, True, Message("Other", 1)]
    with pytest.warns(PrivacyWarning, match="1 of another protocol"):
        estimate = protocol.analyze([*good, *bad])
    assert estimate.counts == protocol.analyze(good).counts
    read = protocol.read([*good, *bad])
    assert read.n_rejected == 7
    assert protocol.read([0] * 100).rejected == {"more than the users can send": 91}
    count = ZeroPreservingCount(3, omission_probability="1/2")
    assert count.read([1, 0, 1, 5]).rejected == {"outside the alphabet": 1}
    assert protocol.read([2, 0, 2]).values.tolist() == [0]
    assert not protocol.read([2] * 100).rejected
    assert count.read([0] * 100 + [1] * 8).rejected == {"more than the users can send": 2}


@pytest.mark.parametrize("datum", [0, 1])
@pytest.mark.parametrize("kind", [Histogram, ZeroPreservingCount])
def test_the_slots_of_a_user_have_the_literal_law(kind: type[Any], datum: int) -> None:
    """Every list of slots as often as noise and a uniform order say; false alarm 1e-6.

    The law is listed: for every noise, all orders of its messages and dummies. A fair dummy that
    was always last, or a datum always first, is rejected by the same test.
    """
    gamma = Fraction(1, 3)
    if kind is Histogram:
        protocol: Any = Histogram(5, n_bins=2, omission_probability=gamma)
        noises = [(omitted, [b for b in range(2) if not omitted[b]]) for omitted in PATTERNS[2]]
        own, dummy, n_slots = [datum], 2, 3
    else:
        protocol = ZeroPreservingCount(5, omission_probability=gamma)
        noises = [(omitted, [1] * (not omitted[0])) for omitted in PATTERNS[1]]
        own, dummy, n_slots = [1] * datum, 0, 2
    law: defaultdict[Any, Fraction] = defaultdict(Fraction)
    for omitted, noise in noises:
        mass = Fraction(math.prod(gamma if one else 1 - gamma for one in omitted))
        filled = [*own, *noise, *[dummy] * (n_slots - len(own) - len(noise))]
        for order in itertools.permutations(filled):
            law[order] += mass / math.factorial(n_slots)
    assert sum(law.values()) == 1
    rng, runs = SeededRandom(11 + datum), 6000
    drawn = Counter(protocol.randomize(datum, rng=rng) for _ in range(runs))
    assert chi_squared(drawn, law, runs) < chi2.isf(1e-6, len(law) - 1)
    ordered = Counter(tuple(sorted(sent)) for sent in drawn.elements())
    assert chi_squared(ordered, law, runs) > chi2.isf(1e-6, len(law) - 1)


PATTERNS = {d: list(itertools.product((True, False), repeat=d)) for d in (1, 2)}


def chi_squared(drawn: Counter[Any], law: Mapping[Any, Fraction], runs: int) -> float:
    assert set(drawn) <= set(law)
    return sum(float((drawn[x] - runs * mass) ** 2 / (runs * mass)) for x, mass in law.items())


def test_one_malicious_user_moves_one_bin_by_at_most_d_plus_1() -> None:
    protocol = Histogram(20, n_bins=4, omission_probability="1/4")
    honest = [0] * 25 + [1] * 20
    moved = protocol.analyze([*honest, *[0] * protocol.most_messages])
    assert moved[0] - protocol.analyze(honest)[0] == protocol.most_messages == 5
    assert "nothing remains" in protocol.collusion_sentence()
    # A user's own messages: no noise of others hides them.
    assert protocol.local_profile().delta_bounds(100)[0] > 0.8


def test_low_communication_shows_no_empty_bin_mostly() -> None:
    protocol = LowCommunicationHistogram.calibrate(
        10_000, n_bins=500, guarantee=GOAL, honest_share=1
    )
    shown = sum(
        protocol.simulate({1: 10_000}, rng=SeededRandom(seed)).value.support != {1}
        for seed in range(100)
    )
    # At most 1/40 each: 12 or more have probability 4e-6.
    assert shown < 12
    data = [1] * 5000 + [2] * 5000
    assert protocol.release(data).value.support >= {1, 2}
    with pytest.raises(OutOfReach, match="Histogram has none"):
        LowCommunicationHistogram(100, n_bins=10**9, noise_probability="1/4").simulate({0: 100})


# ---- calibration ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "least", "paper"),
    [("0.05", 38391, 2432289), ("0.5", 524, 24323), (1, 148, 6081), (2, 45, 1521), (4, 22, None)],
)
def test_smallest_number_of_users(epsilon: Any, least: int, paper: int | None) -> None:
    goal = ApproxDP(epsilon, delta="1e-6")
    assert Histogram.smallest_n_users(guarantee=goal, honest_share=1) == least
    Histogram.calibrate(least, n_bins=5, guarantee=goal, honest_share=1)
    with pytest.raises(InvalidParameter, match=f"at least {least} .* got n_users={least - 1}"):
        Histogram.calibrate(least - 1, n_bins=5, guarantee=goal, honest_share=1)
    if paper is None:
        with pytest.raises(InvalidParameter, match="as paper 3 assumes"):
            Histogram.smallest_n_users(guarantee=goal, honest_share=1, method="paper")
    else:
        assert Histogram.smallest_n_users(guarantee=goal, honest_share=1, method="paper") == paper


@pytest.mark.parametrize("n", [30, 1000, 10**6, 10**9])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(4, "1e-6"), (1, "0.01"), (10, "1e-3"), ("ln(3)", "0.1")]
)
def test_calibration_is_tight(n: int, epsilon: Any, delta: str) -> None:
    goal = ApproxDP(epsilon, delta=delta)
    for build in (
        lambda: Histogram.calibrate(n, n_bins=3, guarantee=goal, honest_share=1),
        lambda: ZeroPreservingCount.calibrate(n, guarantee=goal, honest_share=1),
    ):
        protocol = build()
        assert protocol.profile().delta(epsilon) <= float(delta)
        assert protocol.guarantee.implies(goal)
        less = protocol.omission_probability * (1 - Fraction(1, 10**9))
        weaker = type(protocol)(n, omission_probability=less, **extra(protocol))
        assert weaker.profile().log_delta(epsilon) > math.log(float(delta)) - 1e-7


def extra(protocol: Any) -> dict[str, Any]:
    return {"n_bins": 3} if isinstance(protocol, Histogram) else {}


def test_the_paper_needs_much_more_noise() -> None:
    for n, epsilon, ratio in ((10**6, 1, 71), (10**6, "0.1", 114), (10**6, 2, 42)):
        goal = ApproxDP(epsilon, delta="1e-6")
        exact = Histogram.calibrate(n, n_bins=9, guarantee=goal, honest_share=1)
        paper = Histogram.calibrate(n, n_bins=9, guarantee=goal, honest_share=1, method="paper")
        factor = paper.omission_probability / exact.omission_probability
        assert ratio <= factor < ratio + 1


def test_support_needs_few_samples() -> None:
    assert samples_needed(support_size=2, guarantee=GOAL) == 163
    assert samples_needed(support_size=1, guarantee=GOAL) == 148
    with pytest.raises(InvalidParameter, match="success"):
        samples_needed(support_size=2, guarantee=GOAL, success=1)
    with pytest.raises(InvalidParameter, match="Histogram"):
        identify_support(LowCommunicationHistogram(5, n_bins=2, noise_probability="1/4"), [0] * 5)  # type: ignore[arg-type]


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0, -0.1, "0.51", 1, float("nan"), float("inf"), True, "x"])
def test_omission_outside_of_its_domain(gamma: Any) -> None:
    with pytest.raises(InvalidParameter, match="omission_probability"):
        Histogram(10, n_bins=2, omission_probability=gamma)
    with pytest.raises(InvalidParameter, match="omission_probability"):
        ZeroPreservingCount(10, omission_probability=gamma)
    with pytest.raises(InvalidParameter, match="noise_probability"):
        LowCommunicationHistogram(10, n_bins=2, noise_probability=gamma)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "10", 2**31, float("nan")])
def test_bad_number_of_users(n: Any) -> None:
    with pytest.raises(InvalidParameter, match="n_users"):
        Histogram(n, n_bins=2, omission_probability="1/4")


@pytest.mark.parametrize("d", [0, -3, 1.5, False])
def test_bad_number_of_bins(d: Any) -> None:
    with pytest.raises(InvalidParameter, match="n_bins"):
        Histogram(5, n_bins=d, omission_probability="1/4")


@pytest.mark.parametrize(
    ("data", "match"),
    [
        ([0, 1, 2, 3], r"in 0\.\.2"),
        ([0, 1, -1, 0], r"in 0\.\.2"),
        ([0, 1, 1.0, 0], r"in 0\.\.2"),
        ([0, 1, True, 0], r"in 0\.\.2"),
        ([0, "a", 0, 0], r"in 0\.\.2"),
        ([0, 1], "n_users=4"),
        ("0120", "one value per user"),
        (np.array([0.0, 1, 2, 1]), "whole numbers"),
        (np.zeros((2, 2), dtype=int), "one-dimensional"),
        (np.array([0, 1, 2, 3]), r"in 0\.\.2"),
    ],
)
def test_bad_data(data: Any, match: str) -> None:
    with pytest.raises(InvalidData, match=match):
        Histogram(4, n_bins=3, omission_probability="1/4").release(data)


@pytest.mark.parametrize(
    ("counts", "match"),
    [
        ([4, 0], "each of the 3 bins"),
        ([5, -1, 0], ">= 0"),
        ([1.5, 2.5, 0], "whole numbers"),
        ([True, 3, 0], "whole numbers"),
        ({3: 4}, r"in 0\.\.2"),
        ({0: 3}, "n_users=4"),
        (4, "sequence or a mapping"),
        (np.array([5, -1, 0]), ">= 0"),
        (np.array([5, 1, 0]), "n_users=4"),
        (np.array([4.0, 0.5, 0]), "whole numbers"),
        (np.array([4, 0]), "each of the 3 bins"),
    ],
)
def test_bad_counts(counts: Any, match: str) -> None:
    with pytest.raises(InvalidData, match=match):
        Histogram(4, n_bins=3, omission_probability="1/4").release(counts=counts)


def test_bad_counts_of_a_count() -> None:
    protocol = ZeroPreservingCount(4, omission_probability="1/4")
    for counts in (5, -1, 1.5, "x"):
        with pytest.raises(InvalidData):
            protocol.release(counts=counts)
    with pytest.raises(InvalidData, match="0 or 1"):
        protocol.randomize(2)
    with pytest.raises(InvalidData):
        protocol.release([0, 1, 2, 1])


@pytest.mark.parametrize(
    "guarantee", [PureDP(1), GaussianDP(1), ZCDP(1), ApproxDP(1, delta=0), ApproxDP(1, delta=1), 3]
)
def test_guarantees_that_cannot_be_met(guarantee: Any) -> None:
    with pytest.raises(InvalidParameter, match="ApproxDP"):
        Histogram.calibrate(1000, n_bins=2, guarantee=guarantee, honest_share=1)


def test_promises_are_checked() -> None:
    kept = Histogram(1000, n_bins=3, omission_probability="0.1", promise=GOAL)
    assert kept.release([0] * 1000).guarantee == GOAL
    with pytest.raises(InvalidParameter, match="promise"):
        Histogram(1000, n_bins=3, omission_probability="0.01", promise=GOAL)
    with pytest.raises(InvalidParameter, match="ApproxDP"):
        ZeroPreservingCount(1000, omission_probability="0.1", promise=PureDP(1))
    # Without a promise: the exact epsilon at 1e-6, or delta at 1 where there is none.
    stated = Histogram(1000, n_bins=3, omission_probability="0.1").guarantee
    assert isinstance(stated, ApproxDP)
    assert kept.profile().delta(stated.epsilon) <= 1e-6 == stated.delta
    assert stated.epsilon < 1
    few = Histogram(5, n_bins=3, omission_probability="0.1")
    assert isinstance(few.guarantee, ApproxDP)
    assert (few.guarantee.epsilon, few.guarantee.delta) == (1.0, few.profile().delta(1))


def test_other_refusals() -> None:
    with pytest.raises(IncompatibleClaims, match="replace_one"):
        Histogram.calibrate(
            1000,
            n_bins=2,
            guarantee=ApproxDP(1, delta="1e-6", neighbours="add_remove"),
            honest_share=1,
        )
    with pytest.raises(InvalidParameter, match="method"):
        Histogram.calibrate(1000, n_bins=2, guarantee=GOAL, honest_share=1, method="best")  # type: ignore[arg-type]
    protocol = Histogram(10, n_bins=2, omission_probability="1/4")
    for failure in (0, 1, -1, 2, "nan"):
        with pytest.raises(InvalidParameter):
            protocol.error(failure)
    for n_honest in (0, 11, 1.5):
        with pytest.raises(InvalidParameter, match="n_honest"):
            protocol.profile(n_honest=n_honest)  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="either"):
        protocol.release()
    with pytest.raises(IndexError):
        HistogramEstimate(3, {})[3]
    with pytest.raises(InvalidData, match=r"0\.\.10"):
        protocol.mse(11)
