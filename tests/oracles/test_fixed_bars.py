"""What intervals of counts, sums and means cover: exact probabilities, outcome by outcome."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import pytest

from smoothdp.claims import ZCDP, Neighbours, PureDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms import SumNoise
from smoothdp.mechanisms.additive.whole_laws import (
    DiscreteGaussianLaw,
    DiscreteLaplaceLaw,
    WholeLaw,
)
from smoothdp.queries import ClampedMean, Count, Mean, Sum, Variance
from smoothdp.queries.fixed.fixed_statistic import Sums

ADD = Neighbours.ADD_REMOVE
LAWS: list[WholeLaw] = [
    DiscreteLaplaceLaw(Fraction(1)),
    DiscreteLaplaceLaw(Fraction(4)),
    DiscreteGaussianLaw(Fraction(12)),
]
Bars = Callable[[Sums, Sequence[int], int], tuple[Fraction, Fraction]]


class CoarseMean(ClampedMean):
    """In four parts, so that rounding matters."""

    parts: ClassVar[int] = 4


def chances(law: WholeLaw) -> dict[int, float]:
    """The law, all but 1e-9 of it."""
    if isinstance(law, DiscreteLaplaceLaw):
        p, far = math.exp(-1 / law.scale), int(22 * law.scale)
        return {z: (1 - p) / (1 + p) * p ** abs(z) for z in range(-far, far + 1)}
    assert isinstance(law, DiscreteGaussianLaw)
    weights = {z: math.exp(-z * z / (2 * float(law.sigma_squared))) for z in range(-24, 25)}
    whole = sum(weights.values())
    return {z: weight / whole for z, weight in weights.items()}


def coverage(
    query: Sums, rows: list[float], truth: Fraction, law: WholeLaw, miss: Fraction, bars: Bars
) -> float:
    size = law.reach(miss, count=query.n_sums)
    sums = query.sums(query.read(rows, ADD))
    table = chances(law)
    covered = 0.0
    for noise in itertools.product(table, repeat=query.n_sums):
        low, high = bars(query, [s + z for s, z in zip(sums, noise, strict=True)], size)
        if low <= truth <= high:
            covered += math.prod(table[z] for z in noise)
    return covered


def honest(query: Sums, sums: Sequence[int], size: int) -> tuple[Fraction, Fraction]:
    return bars_of(query, tuple(sums), size)


# Most noisy sums of one database are those of another too.
@lru_cache(maxsize=1 << 16)
def bars_of(query: Sums, sums: tuple[int, ...], size: int) -> tuple[Fraction, Fraction]:
    return query.bars(sums, size)


def without_rounding(query: Sums, sums: Sequence[int], size: int) -> tuple[Fraction, Fraction]:
    """A wrong interval: it forgets that values were rounded."""
    low, high = query.bars(sums, size)
    half = Fraction(1, 8)
    both = sum(sums) > 0
    return (low + half, high - half) if both and low > 0 and high < 1 else (low, high)


def too_short(query: Sums, sums: Sequence[int], size: int) -> tuple[Fraction, Fraction]:
    return query.bars(sums, max(0, size - 2))


def without_half_of_it(query: Sums, sums: Sequence[int], size: int) -> tuple[Fraction, Fraction]:
    """A wrong interval: half as far, and nothing for the rounding."""
    del query
    above, both = sums[0], sum(sums)
    if both <= 0:
        return Fraction(0), Fraction(1)
    return Fraction(above - size // 2, both), Fraction(above + size // 2, both)


DATA = [[0.5], [0.1], [0.9, 0.95], [0.0, 1.0], [0.12] * 3, [0.37, 0.62, 1.0], [0.124] * 4]


@pytest.mark.parametrize(
    ("miss", "law"),
    [
        *((Fraction(1, 20), law) for law in LAWS),
        *((Fraction(1, 2), law) for law in LAWS[::2]),
        pytest.param(Fraction(1, 2), LAWS[1], marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_exact_coverage_of_the_mean(law: WholeLaw, miss: Fraction) -> None:
    """Every database of the list, the whole joint law of both draws."""
    query = CoarseMean((0, 1))
    for rows in DATA:
        truth = sum(map(Fraction, rows), Fraction(0)) / len(rows)
        assert coverage(query, rows, truth, law, miss, honest) >= 1 - miss - Fraction(2, 10**8)


def test_wrong_intervals_are_noticed() -> None:
    query = CoarseMean((0, 1))
    rows = [0.3] * 8
    truth = Fraction(0.3)
    small = DiscreteLaplaceLaw(Fraction(1, 2))
    miss = Fraction(1, 2)
    assert coverage(query, rows, truth, small, miss, honest) >= 0.5
    assert coverage(query, rows, truth, small, miss, without_rounding) < 0.5
    assert coverage(query, [0.25] * 8, Fraction(1, 4), LAWS[1], miss, without_half_of_it) < 0.5


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_counts_and_sums_are_covered(law: WholeLaw) -> None:
    queries: list[Sums] = [Count(), Sum((-3, 7), grid="1/2")]
    for query in queries:
        for rows in ([], [1.2], [-9.0, 5.0, 8.0]):
            truth = query.result(query.sums(query.read(rows, ADD)))
            for miss in (Fraction(1, 3), Fraction(1, 100)):
                found = coverage(query, rows, truth, law, miss, honest)
                assert found >= 1 - miss - Fraction(1, 10**8)
                assert coverage(query, rows, truth, law, miss, too_short) < found


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_sums_of_values_of_one_sign_have_intervals_of_that_sign(law: WholeLaw) -> None:
    above, below, both = Sum((0, 7), grid=1), Sum((-7, 0), grid=1), Sum((-7, 7), grid=1)
    for noisy in range(-9, 10):
        low, high = both.bars([noisy], 4)
        assert (low, high) == (Fraction(noisy - 4), Fraction(noisy + 4))
        assert above.bars([noisy], 4) == (max(0, low), max(0, high))
        assert below.bars([noisy], 4) == (min(0, low), min(0, high))
    miss = Fraction(1, 3)
    cases: list[tuple[Sums, list[float]]]
    cases = [(above, [1.2]), (above, [2.0, 5.0]), (below, [-1.0]), (below, [])]
    for query, rows in cases:
        truth = query.result(query.sums(query.read(rows, ADD)))
        assert coverage(query, rows, truth, law, miss, honest) >= 1 - miss - Fraction(1, 10**8)


def test_released_intervals() -> None:
    promise = PureDP(1, neighbours="add_remove")
    rows = [float(k % 11) for k in range(500)]
    found: Any
    for query, truth in (
        (Count(), 500.0),
        (Sum((0, 10), grid=1), sum(rows)),
        (ClampedMean((0, 10)), sum(rows) / 500),
    ):
        for claim in (promise, ZCDP("1/2", neighbours="add_remove")):
            mechanism = SumNoise(query, claim, confidence=Fraction(999, 1000))
            found = mechanism.release(rows, rng=SeededRandom(3))
            assert found.interval[0] <= truth <= found.interval[1]
            assert found.confidence == Fraction(999, 1000)
            assert "of these" in found.covers or "these rows" in found.covers
    none: Any = SumNoise(ClampedMean((2, 4)), promise, confidence=Fraction(1, 2)).release([])
    assert 2 <= none.interval[0] <= none.interval[1] <= 4


def test_a_variance_has_none() -> None:
    promise = PureDP(1, neighbours="add_remove")
    with pytest.raises(InvalidParameter, match=r"error bars for confidence=; got variance"):
        SumNoise(Variance((0, 1)), promise, confidence=Fraction(19, 20))
    assert not isinstance(Mean((0, 1)), Sums)
