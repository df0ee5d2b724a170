"""Joint releases of the same records against literal enumeration of joint outputs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from smoothdp import BernoulliHistogram, SamplingHistogram
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.exact.parameters.numbers import exact_real
from smoothdp.mechanisms.composed import Composed
from smoothdp.mechanisms.histogram.noisy_histogram import NoisySamplingHistogram
from smoothdp.mechanisms.histogram.post_processed import PostProcessed
from smoothdp.mechanisms.histogram.sample_law import SampledHistogram
from smoothdp.testing import oracles

pytestmark = pytest.mark.filterwarnings("ignore:n_draws = n_records")


def without(n: int, n_draws: int) -> SamplingHistogram:
    return SamplingHistogram(n, n_draws=n_draws)


def replacing(n: int, n_draws: int) -> SamplingHistogram:
    return SamplingHistogram(n, n_draws=n_draws, sampling="with_replacement")


def kept(n: int, n_draws: int) -> BernoulliHistogram:
    return BernoulliHistogram(n, keep_probability=Fraction(n_draws, n))


def first_is_ahead(h: tuple[int, ...]) -> bool:
    return h[0] > max(h[1:])


def ahead(n: int, n_draws: int) -> PostProcessed:
    return PostProcessed(without(n, n_draws), first_is_ahead)


def literal_law(build: Any, x: oracles.Database, m: int, n_draws: int) -> dict[Any, Fraction]:
    if build is kept:
        return dict(oracles.law_independent(x, m, Fraction(n_draws, len(x))))
    if build is replacing:
        return dict(oracles.law_with_replacement(x, m, n_draws))
    law = dict(oracles.law_without_replacement(x, m, n_draws))
    if build is without:
        return law
    yes = sum((mass for h, mass in law.items() if first_is_ahead(h)), Fraction(0))
    return {True: yes, False: 1 - yes}


def literal_delta(
    counts: tuple[int, ...], parts: list[tuple[Any, int]], growth: Fraction
) -> Fraction:
    """Definition 2 on the joint law: every output of every release, every neighbour."""
    m = len(counts)

    def law(x: oracles.Database) -> Any:
        joint: dict[Any, Fraction] = {(): Fraction(1)}
        for build, n_draws in parts:
            one = literal_law(build, x, m, n_draws)
            joint = {
                (*output, new): mass * more
                for output, mass in joint.items()
                for new, more in one.items()
            }
        return joint

    return oracles.delta_by_enumeration(oracles.database(counts), m, law, growth)


CASES: list[tuple[tuple[int, ...], list[tuple[Any, int]]]] = [
    ((3, 4), [(without, 3), (without, 5)]),
    ((3, 4), [(without, 2), (without, 2), (without, 4)]),
    ((2, 4), [(without, 3), (kept, 2)]),
    ((2, 2), [(replacing, 3), (without, 2)]),
    ((2, 3), [(kept, 3), (kept, 4)]),
    ((1, 4), [(without, 2), (without, 3)]),
    ((0, 5), [(without, 2), (replacing, 2)]),
    ((2, 3, 2), [(without, 3), (without, 4)]),
    ((2, 2, 3), [(without, 2), (kept, 3)]),
    ((0, 3, 2), [(without, 2), (without, 3)]),
    ((0, 2, 0, 3), [(without, 2), (without, 2)]),
    ((1, 1, 2), [(replacing, 2), (replacing, 3)]),
    ((3, 2, 2), [(ahead, 4), (without, 3)]),
    ((3, 3), [(ahead, 4), (ahead, 3)]),
    ((2, 3, 2), [(ahead, 5), (kept, 2)]),
    ((3, 3), [(without, 6), (without, 2)]),
]


@pytest.mark.parametrize(("counts", "parts"), CASES)
def test_delta_by_enumeration(counts: tuple[int, ...], parts: list[tuple[Any, int]]) -> None:
    n = sum(counts)
    profile = Composed(build(n, n_draws) for build, n_draws in parts).at(counts)
    for growth in (Fraction(1), Fraction(5, 4), Fraction(3)):
        truth = literal_delta(counts, parts, growth)
        lower, upper = profile.delta_bounds(f"ln({growth})")
        assert Fraction(lower) <= truth <= Fraction(upper)
        assert upper - lower <= 1e-11


def test_two_smallest_counts_suffice_for_joint_histograms() -> None:
    """Every histogram of 5 records over three categories, against all neighbours."""
    for counts in product(range(6), repeat=3):
        if sum(counts) == 5 and counts == tuple(sorted(counts)):
            cases: list[list[tuple[Any, int]]] = [
                [(without, 2), (without, 3)],
                [(without, 4), (kept, 1)],
            ]
            for parts in cases:
                truth = literal_delta(counts, parts, Fraction(6, 5))
                composed = Composed([build(5, n_draws) for build, n_draws in parts])
                lower, upper = composed.delta_bounds(counts, epsilon="ln(6/5)")
                assert Fraction(lower) <= truth <= Fraction(upper)
                assert upper - lower <= 1e-11


def test_the_order_of_categories_and_mechanisms_does_not_matter() -> None:
    parts: list[SampledHistogram] = [without(30, 10), kept(30, 20)]
    values = [
        Composed(mechanisms).delta(counts, epsilon="0.3")
        for mechanisms in (parts, parts[::-1])
        for counts in ((5, 9, 16), (16, 5, 9), (9, 16, 5))
    ]
    assert max(values) == pytest.approx(min(values), rel=1e-12)


@pytest.mark.parametrize("support", ["nonnegative", "integers"])
def test_with_noise(support: Any) -> None:
    """A noisy and a plain histogram, over a window of outputs that is not lumped."""
    counts, rate, n_draws = (2, 3), 4.0, 3
    reach = 10
    lowest = 0 if support == "nonnegative" else -reach
    outputs = np.arange(lowest, n_draws + reach)
    h = np.arange(n_draws + 1)[:, None]
    weights = np.exp(-rate * np.abs(outputs - h))
    weights /= weights.sum(axis=1)[:, None]

    def joint(at: tuple[int, ...]) -> np.ndarray:
        x = oracles.database(at)
        noisy = np.zeros((outputs.size, outputs.size))
        for (a, b), mass in oracles.law_without_replacement(x, 2, n_draws).items():
            noisy += float(mass) * np.multiply.outer(weights[a], weights[b])
        plain = np.zeros(3)
        for (a, _), mass in oracles.law_without_replacement(x, 2, 2).items():
            plain[a] = float(mass)
        both: np.ndarray = np.multiply.outer(noisy, plain)
        return both

    growth, truth = math.exp(0.4), 0.0
    here = joint(counts)
    for moved in ((1, 4), (3, 2)):
        there = joint(moved)
        for gain in (here - growth * there, there - growth * here):
            truth = max(truth, float(gain[gain > 0].sum()))
    composed = Composed(
        [
            NoisySamplingHistogram(5, n_draws=n_draws, noise_epsilon=16, noise_support=support),
            without(5, 2),
        ]
    )
    assert composed.delta(counts, epsilon="0.4") == pytest.approx(truth, rel=1e-12)


def test_proposition_5_is_an_upper_bound() -> None:
    """delta_1 + delta_2 at epsilon_1 + epsilon_2, and the joint release is not more private."""
    rng = np.random.default_rng(20261121)
    tightest = 0.0
    for _ in range(60):
        n = int(rng.integers(6, 30))
        m = int(rng.integers(2, 4))
        counts = tuple(int(c) for c in rng.multinomial(n, rng.dirichlet(np.ones(m))))
        parts: list[SampledHistogram] = [
            without(n, int(rng.integers(1, n))),
            kept(n, int(rng.integers(1, n))),
        ]
        composed = Composed(parts).at(counts)
        first, second = (Fraction(int(rng.integers(0, 20)), 10) for _ in range(2))
        lower, upper = composed.delta_bounds(first + second)
        bound = parts[0].delta(counts, epsilon=first) + parts[1].delta(counts, epsilon=second)
        assert lower <= bound
        for part in parts:
            single = part.delta_bounds(counts, epsilon=first + second)
            assert upper >= single[0]
        tightest = max(tightest, upper / bound)
    assert 0.5 < tightest <= 1 + 1e-9


def test_rare_category_shows_in_either_release() -> None:
    """One record of its kind: seen unless both samples miss it, 1 - (1 - T1/n)(1 - T2/n)."""
    composed = Composed([without(50, 20), without(50, 5)])
    lower, upper = composed.delta_bounds((1, 49), epsilon=5)
    truth = 1 - Fraction(30, 50) * Fraction(45, 50)
    assert Fraction(lower) <= truth <= Fraction(upper)
    assert upper - lower < 1e-11


def test_deep_and_moderate_sizes() -> None:
    """ln delta far below floats is still bounded on both sides, and repetition costs."""
    mechanism = without(2000, 1000)
    once = mechanism.at((900, 1100)).log_delta_bounds(exact_real("0.9", name="epsilon"))
    single = Composed([mechanism]).at((900, 1100)).log_delta_bounds(Fraction(9, 10))
    assert once.lower <= single.upper + 1e-8
    assert single.lower <= once.upper
    assert single.upper - single.lower < 1e-6
    assert single.upper < -100
    twice = Composed([mechanism, mechanism]).at((900, 1100)).log_delta_bounds(Fraction(9, 10))
    assert single.upper < twice.lower <= twice.upper < single.upper / 3


def test_out_of_reach() -> None:
    large = SamplingHistogram(10**8, sampling_rate="1/2")
    with pytest.raises(OutOfReach, match="Compose their profiles"):
        Composed([large, large]).delta((4 * 10**7, 6 * 10**7), epsilon=1)
    medium = without(10**4, 5000)
    with pytest.raises(OutOfReach, match="Compose their profiles"):
        Composed([medium, medium]).delta((4000, 6000), epsilon=1)


def test_bad_input() -> None:
    with pytest.raises(InvalidParameter, match="at least one mechanism"):
        Composed([])
    with pytest.raises(InvalidParameter, match=r"n_records=\[5, 6\]"):
        Composed([without(5, 2), without(6, 2)])
    with pytest.raises(InvalidParameter, match="output law; got float"):
        Composed([0.5])  # type: ignore[list-item]
    composed = Composed([without(5, 2), kept(5, 2)])
    assert composed.n_records == 5
    assert "2 of 5 records" in composed.describe()
    with pytest.raises(InvalidData, match="add up to 5"):
        composed.at((2, 2))
    with pytest.raises(InvalidParameter, match="epsilon >= 0"):
        composed.delta((2, 3), epsilon=-1)
