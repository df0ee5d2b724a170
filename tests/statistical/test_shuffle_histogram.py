"""The binomial table and the protocols against their exact laws; a wrong law is rejected.

False-alarm rate: 1e-8 a test, fixed seeds.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.exact.random.binomial_table import _invert, _side, _table, binomial_draws
from smoothdp.exact.random.entropy import SeededRandom, SystemRandom
from smoothdp.shuffle.applications.finite_randomizer import FiniteRandomizer
from smoothdp.shuffle.applications.pointers import MultiPartyPointerJumping, PointerChasing
from smoothdp.shuffle.applications.support import identify_support, support_success
from smoothdp.shuffle.histogram.count import ZeroPreservingCount
from smoothdp.shuffle.histogram.histogram import Histogram
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram
from smoothdp.shuffle.histogram.zero_preserving import bernoulli_array
from smoothdp.testing import frequency_test

LEVEL = 1e-8


def p_value(draws: np.ndarray, n: int, p: Fraction) -> float:
    """Test draws of Bin(n, p): at most 60 cells around the mean, one below, one above."""
    spread = math.sqrt(n * p * (1 - p))
    low, high = max(0, int(n * p - 6 * spread) - 1), min(n, int(n * p + 6 * spread) + 1)
    edges = np.unique(np.linspace(low, high + 1, 60).astype(np.int64))
    pmf = np.exp(log_binomial_pmf(np.arange(low, high + 1), n, p).log_values)
    inside = np.add.reduceat(pmf, edges[:-1] - low)
    counts = np.histogram(draws, bins=np.append(edges[:-1], edges[-1] - 0.5))[0]
    law = np.append(inside, max(0.0, 1.0 - inside.sum()))
    return frequency_test(np.append(counts, draws.size - counts.sum()), law / law.sum())


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (1, Fraction(1, 2)),
        (3, Fraction(1, 10**6)),
        (7, Fraction(2, 5)),
        (40, Fraction(99, 100)),
        (10**6, Fraction(4265, 10**8)),
        (10**6, Fraction(1, 2)),
        (336_776, Fraction(1, 3)),
        (2**31 - 2, Fraction(1, 10**7)),
    ],
)
def test_binomial_table(n: int, p: Fraction) -> None:
    assert p_value(binomial_draws(n, p, 100_000, SeededRandom(7)), n, p) > LEVEL


def test_binomial_table_wrong_law_is_rejected() -> None:
    n, p = 10**6, Fraction(4265, 10**8)
    draws = binomial_draws(n, p * Fraction(102, 100), 100_000, SeededRandom(7))
    assert p_value(draws, n, p) < LEVEL


def test_words_that_the_table_does_not_decide() -> None:
    """Words next to every cumulated probability: the draw agrees with rationals."""
    n, p = 12, Fraction(1, 3)
    law = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    sums = [sum(law[: k + 1], Fraction(0)) for k in range(n + 1)]
    for k in range(n):
        word = math.floor(sums[k] * 2**64)
        assert _side(word, k, n, p, 64, 256) == 0
        assert _side(word - 1, k, n, p, 64, 256) == -1
        assert _side(word + 1, k, n, p, 64, 256) == 1
        for guess in (0, k, n):
            assert _invert(word - 1, guess, n, p, SeededRandom(1)) == k
            assert _invert(word + 1, guess, n, p, SeededRandom(1)) == k + 1
            assert _invert(word, guess, n, p, SeededRandom(1)) in (k, k + 1)
    first, complete, lower, upper = _table(n, p)
    assert (first, complete) == (0, True)
    for k, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
        assert low <= sums[k] * 2**64 <= high


def test_undecided_words_have_the_right_law() -> None:
    """At the word that holds P(K <= k), the rest of the bits decides with the right odds."""
    n, p = 4, Fraction(1, 3)
    place = (1 - p) ** 4 * 2**64
    word = math.floor(place)
    rng = SeededRandom(5)
    zeros = sum(_invert(word, 0, n, p, rng) == 0 for _ in range(2000))
    share = float(place - word)
    assert frequency_test([zeros, 2000 - zeros], [share, 1 - share]) > LEVEL


def test_bernoulli_array() -> None:
    for p in (Fraction(1, 3), Fraction(1, 2), Fraction(1, 1000)):
        hits = int(bernoulli_array(p, 200_000, SeededRandom(3)).sum())
        assert frequency_test([hits, 200_000 - hits], [float(p), 1 - float(p)]) > LEVEL
    assert bernoulli_array(Fraction(1), 5, SystemRandom()).all()


# ---- the three ways to run have one law ------------------------------------------------------


def law_of_an_estimate(protocol: Histogram, count: int) -> dict[float, float]:
    n, gamma = protocol.n_users, protocol.omission_probability
    law: dict[float, float] = {}
    for w in range(n + 1):
        p = math.comb(n, w) * gamma**w * (1 - gamma) ** (n - w)
        value = float(count - w + n * gamma) if count > w else 0.0
        law[value] = law.get(value, 0.0) + float(p)
    return law


def frequencies(values: list[float], law: dict[float, float]) -> float:
    keys = sorted(law)
    counts = [sum(abs(v - key) < 1e-9 for v in values) for key in keys]
    weights = np.array([law[key] for key in keys])
    return frequency_test([*counts, len(values) - sum(counts)], [*(weights / weights.sum()), 0.0])


@pytest.mark.parametrize("way", ["messages", "bits", "users", "counts", "view"])
def test_histogram_has_the_exact_law(way: str) -> None:
    protocol = Histogram(9, n_bins=3, omission_probability="0.3")
    data, rng = [0] * 4 + [2] * 5, SeededRandom(11)
    runs = {
        "messages": lambda: protocol.run_messages(data, rng=rng),
        "bits": lambda: protocol.estimate_counts(protocol.count_messages(data, rng=rng)),
        "users": lambda: protocol.release(data, rng=rng).value,
        "counts": lambda: protocol.simulate({0: 4, 2: 5}, rng=rng).value,
        "view": lambda: protocol.estimate_counts(protocol.shuffled_counts([4, 0, 5], rng=rng)),
    }
    estimates = [runs[way]() for _ in range(600)]
    for place, count in ((0, 4), (2, 5)):
        values = [estimate[place] for estimate in estimates]
        assert frequencies(values, law_of_an_estimate(protocol, count)) > LEVEL
        assert frequencies(values, law_of_an_estimate(protocol, count - 1)) < LEVEL


@pytest.mark.parametrize("way", ["messages", "users", "counts"])
def test_count_has_the_exact_law(way: str) -> None:
    protocol = ZeroPreservingCount(9, omission_probability="0.3")
    twin = Histogram(9, n_bins=2, omission_probability="0.3")
    data, rng = [1] * 4 + [0] * 5, SeededRandom(12)
    runs = {
        "messages": lambda: protocol.run_messages(data, rng=rng),
        "users": lambda: protocol.release(data, rng=rng).value,
        "counts": lambda: protocol.simulate(4, rng=rng).value,
    }
    values = [runs[way]() for _ in range(600)]
    assert frequencies(values, law_of_an_estimate(twin, 4)) > LEVEL
    assert frequencies(values, law_of_an_estimate(twin, 5)) < LEVEL


def test_low_communication_has_the_exact_law() -> None:
    n, gamma = 9, Fraction(3, 10)
    protocol = LowCommunicationHistogram(n, n_bins=2, noise_probability=gamma)
    law: dict[float, float] = {}
    for v in range(n + 1):
        p = math.comb(n, v) * gamma**v * (1 - gamma) ** (n - v)
        value = float(5 + v - n * gamma) if 5 + v > protocol.threshold else 0.0
        law[value] = law.get(value, 0.0) + float(p)
    rng = SeededRandom(13)
    by_messages = [protocol.run_messages([0] * 5 + [1] * 4, rng=rng) for _ in range(600)]
    by_counts = [protocol.simulate([5, 4], rng=rng).value for _ in range(600)]
    for estimates in (by_messages, by_counts):
        assert frequencies([estimate[0] for estimate in estimates], law) > LEVEL


# ---- applications ---------------------------------------------------------------------------


def share_of(successes: int, runs: int, success: tuple[float, float]) -> float:
    p = sum(success) / 2
    return frequency_test([successes, runs - successes], [p, 1 - p])


def test_support_is_found_as_often_as_computed() -> None:
    """Few samples and much noise, so that the probability is neither near 0 nor near 1."""
    n, rng = 40, SeededRandom(14)
    protocol = Histogram(n, n_bins=10**12, omission_probability="0.4")
    values = [7, 10**11]
    found = 0
    for _ in range(600):
        data = [values[rng.bits(1)] for _ in range(n)]
        found += identify_support(protocol, data, rng=rng).value == set(values)
    chance = support_success(n, support_size=2, omission_probability="0.4")
    assert 0.2 < chance.lower < 0.95
    assert share_of(found, 600, chance) > LEVEL
    assert share_of(found, 600, (chance.lower + 0.15,) * 2) < LEVEL


def test_pointer_chasing_is_solved() -> None:
    """l = 20 and k = 20 at 163 users: success .990 whatever l and k are."""
    problem = PointerChasing(20, length=20)
    protocol = Histogram(163, n_bins=problem.universe_size, omission_probability="0.355")
    rng, solved = SeededRandom(15), 0
    for _ in range(150):
        instance = problem.random_instance(rng=rng)
        data = problem.sample(*instance, 163, rng=rng)
        answer = problem.solve(identify_support(protocol, data, rng=rng).value)
        assert answer in (None, problem.answer(*instance))
        solved += answer is not None
    chance = support_success(163, support_size=2, omission_probability="0.355")
    assert share_of(solved, 150, chance) > LEVEL


def test_pointer_jumping_is_solved() -> None:
    problem = MultiPartyPointerJumping(3, height=3)
    protocol = Histogram(228, n_bins=problem.universe_size, omission_probability="0.25")
    rng, solved = SeededRandom(16), 0
    for _ in range(120):
        instance = problem.random_instance(rng=rng)
        data = problem.sample(instance, 228, rng=rng)
        answer = problem.solve(identify_support(protocol, data, rng=rng).value)
        assert answer in (None, problem.answer(instance))
        solved += answer is not None
    chance = support_success(228, support_size=3, omission_probability="0.25")
    assert share_of(solved, 120, chance) > LEVEL


def test_finite_randomizer() -> None:
    laws: dict[int, Any] = {0: {("a",): "1/2", ("b",): "1/3", ("c",): "1/6"}, 1: {("a",): 1}}
    randomizer, rng = FiniteRandomizer(laws), SeededRandom(17)
    draws = [randomizer.randomize(0, rng=rng)[0] for _ in range(5000)]
    counts = [draws.count(message) for message in "abc"]
    assert frequency_test(counts, [1 / 2, 1 / 3, 1 / 6]) > LEVEL
    assert frequency_test(counts, [1 / 3, 1 / 2, 1 / 6]) < LEVEL
    assert {randomizer.randomize(1, rng=rng) for _ in range(20)} == {("a",)}
