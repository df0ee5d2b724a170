"""Draws of sums with noise against their exact law; a wrong law is rejected.

False-alarm rate: 1e-8 a test, fixed seeds.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import pytest

from smoothdp.claims import ZCDP, PureDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.sealed import Sealed
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms import (
    DiscreteGaussianMechanism,
    DiscreteLaplaceMechanism,
    GaussianMechanism,
    LaplaceMechanism,
    SumNoise,
)
from smoothdp.mechanisms.additive.whole_laws import DiscreteLaplaceLaw
from smoothdp.mechanisms.fixed.draws import noisy_sums
from smoothdp.queries import Count, Sum
from smoothdp.testing import frequency_test

LEVEL = 1e-8
DRAWS = 6000


def laplace(z: int, scale: float) -> float:
    p = math.exp(-1 / scale)
    return (1 - p) / (1 + p) * p ** abs(z)


def gaussian(z: int, variance: float) -> float:
    whole = sum(math.exp(-k * k / (2 * variance)) for k in range(-200, 201))
    return math.exp(-z * z / (2 * variance)) / whole


def p_value(values: list[int], law: dict[int, float]) -> float:
    tally = Counter(values)
    counts = [tally.pop(cell, 0) for cell in law]
    rest = max(0.0, 1 - sum(law.values()))
    chances = [*law.values(), rest]
    whole = sum(chances)
    return frequency_test([*counts, sum(tally.values())], [c / whole for c in chances])


CASES: list[tuple[Guarantee, dict[int, float], dict[int, float]]] = [
    (
        PureDP("1/2", neighbours="add_remove"),
        {3 + z: laplace(z, 2) for z in range(-30, 31)},
        {3 + z: laplace(z, 2.6) for z in range(-30, 31)},
    ),
    (
        ZCDP("1/8", neighbours="add_remove"),
        {3 + z: gaussian(z, 4) for z in range(-30, 31)},
        {3 + z: gaussian(z, 5.6) for z in range(-30, 31)},
    ),
]


@pytest.mark.parametrize(("claim", "law", "wrong"), CASES, ids=["laplace", "gaussian"])
def test_a_count_has_the_stated_law(
    claim: Guarantee, law: dict[int, float], wrong: dict[int, float]
) -> None:
    rng = SeededRandom(11)
    mechanism = SumNoise(Count(), claim)
    values = [int(mechanism.release([0, 0, 0], rng=rng).value) for _ in range(DRAWS)]
    assert p_value(values, law) > LEVEL
    assert p_value(values, wrong) < LEVEL
    assert p_value(values, {z + 1: p for z, p in law.items()}) < LEVEL


def test_a_sum_has_the_noise_of_its_larger_bound() -> None:
    rng = SeededRandom(12)
    mechanism = SumNoise(Sum((-2, 3), grid=1), PureDP(1, neighbours="add_remove"))
    values = [int(mechanism.release([1, 9], rng=rng).value) for _ in range(DRAWS)]
    assert p_value(values, {4 + z: laplace(z, 3) for z in range(-60, 61)}) > LEVEL
    # With b - a = 5 the noise would be larger.
    assert p_value(values, {4 + z: laplace(z, 5) for z in range(-90, 91)}) < LEVEL


def test_whole_mechanisms() -> None:
    rng = SeededRandom(13)
    one = [DiscreteLaplaceMechanism(2, 5).release(7, rng=rng).value for _ in range(DRAWS)]
    assert p_value(one, {7 + z: laplace(z, 2) for z in range(-40, 41)}) > LEVEL
    two = [DiscreteGaussianMechanism(4, 5).release(-7, rng=rng).value for _ in range(DRAWS)]
    assert p_value(two, {-7 + z: gaussian(z, 4) for z in range(-40, 41)}) > LEVEL


def normal_cdf(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def laplace_cdf(x: float) -> float:
    return math.exp(x) / 2 if x < 0 else 1 - math.exp(-x) / 2


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_real_mechanisms(kind: str) -> None:
    """In twenty cells; a scale that is a tenth off is rejected."""
    rng = SeededRandom(14)
    made = LaplaceMechanism(2) if kind == "laplace" else GaussianMechanism(2)
    cdf = laplace_cdf if kind == "laplace" else normal_cdf
    edges = [k / 4 for k in range(-9, 10)]
    values = [made.release(Fraction(21, 2), rng=rng).value for _ in range(DRAWS)]
    cells = [sum((v - 10.5) / 2 >= edge for edge in edges) for v in values]

    def law(factor: float) -> dict[int, float]:
        ends = [0.0, *(cdf(edge * factor) for edge in edges), 1.0]
        return {k: ends[k + 1] - ends[k] for k in range(len(edges) + 1)}

    assert p_value(cells, law(1)) > LEVEL
    assert p_value(cells, law(1.2)) < LEVEL
    step = 2.0**-29
    assert all((v / step).is_integer() for v in values)


def test_several_sums_have_draws_of_their_own() -> None:
    """The difference of two noises has the law of a difference; one draw for both is found."""
    law, rng = DiscreteLaplaceLaw(Fraction(1)), SeededRandom(7)
    gaps = []
    for _ in range(2000):
        first, second, third = noisy_sums(Sealed((10, 20, 40)), law, rng)
        gaps.append(second - first - 10)
        assert isinstance(third, int)
    cells = range(-40, 41)
    apart = {gap: sum(laplace(z, 1) * laplace(z + gap, 1) for z in cells) for gap in range(-12, 13)}
    assert p_value(gaps, apart) > LEVEL
    assert p_value([0] * len(gaps), apart) < LEVEL
