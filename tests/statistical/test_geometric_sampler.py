"""Geometric samplers against their exact law; the same test rejects declared wrong laws.

False-alarm rate: 1e-8 a test, fixed seeds; 1e-6 over the suite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from smoothdp.exact.random.entropy import Entropy, SeededRandom, SystemRandom
from smoothdp.exact.random.geometric import bernoulli_exp, geometric, two_sided_geometric
from smoothdp.testing import frequency_test

LEVEL = 1e-8
DRAWS = 10_000
RATES = [Fraction(3), Fraction(1), Fraction(2, 7), Fraction(5, 3), Fraction(1, 50)]


def p_value(draw: Callable[[Entropy], int], law: dict[int, float], seed: int) -> float:
    """Test 10,000 draws; what the law does not list is one more cell."""
    rng = SeededRandom(seed)
    tally = Counter(draw(rng) for _ in range(DRAWS))
    cells = sorted(law)
    counts = [tally.pop(cell, 0) for cell in cells]
    stated = [law[cell] for cell in cells]
    rest = max(0.0, 1.0 - sum(stated))
    total = sum(stated) + rest
    return frequency_test([*counts, sum(tally.values())], [p / total for p in [*stated, rest]])


def geometric_law(rate: Fraction, size: int) -> dict[int, float]:
    q = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
    return {k: float((1 - q) * q**k) for k in range(size)}


def two_sided_law(rate: Fraction, reach: int, lowest: int | None = None) -> dict[int, float]:
    """Weights e^(-rate |z|), summed literally far beyond the cells that are tested."""
    q = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
    start = -20 * reach if lowest is None else lowest
    weights = {z: q ** abs(z) for z in range(start, 20 * reach + 1)}
    total = mpmath.fsum(weights.values())
    return {z: float(w / total) for z, w in weights.items() if abs(z) <= reach}


def reach(rate: Fraction) -> int:
    return max(4, int(8 / rate))


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1, 3), Fraction(1), Fraction(7, 2)])
def test_bernoulli_exp(rate: Fraction) -> None:
    rng = SeededRandom(11)
    hits = sum(bernoulli_exp(rate, rng) for _ in range(DRAWS))
    chance = float(np.exp(-float(rate)))
    assert frequency_test([hits, DRAWS - hits], [chance, 1 - chance]) > LEVEL
    if rate:
        wrong = 1 - float(rate) / (1 + float(rate))
        assert frequency_test([hits, DRAWS - hits], [wrong, 1 - wrong]) < LEVEL


@pytest.mark.parametrize("rate", RATES)
def test_geometric(rate: Fraction) -> None:
    law = geometric_law(rate, reach(rate))
    assert p_value(lambda rng: geometric(rate, rng), law, 12) > LEVEL
    # Counted from 1: a geometric law as well, but another.
    assert p_value(lambda rng: geometric(rate, rng) + 1, law, 12) < LEVEL


@pytest.mark.parametrize("lowest", [None, 0, -3])
@pytest.mark.parametrize("rate", RATES)
def test_two_sided_geometric(rate: Fraction, lowest: int | None) -> None:
    law = two_sided_law(rate, reach(rate), lowest)
    assert p_value(lambda rng: two_sided_geometric(rate, rng, lowest=lowest), law, 13) > LEVEL


@pytest.mark.parametrize("rate", [Fraction(3), Fraction(1), Fraction(2, 7)])
def test_wrong_two_sided_laws_are_rejected(rate: Fraction) -> None:
    def zero_from_both_sides(rng: Entropy) -> int:
        size = geometric(rate, rng)
        return -size if rng.bits(1) else size

    assert p_value(zero_from_both_sides, two_sided_law(rate, reach(rate)), 14) < LEVEL


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(2, 7)])
def test_clamping_is_not_truncation(rate: Fraction) -> None:
    """At rate 3 the two laws are too close for this many draws."""
    law = two_sided_law(rate, reach(rate), -1)
    assert p_value(lambda rng: max(-1, two_sided_geometric(rate, rng)), law, 14) < LEVEL


def test_extreme_rates_end_quickly() -> None:
    """The cost does not grow with the denominator or with the rate."""
    rng = SystemRandom()
    tiny = Fraction(1, 10**60)
    assert any(abs(two_sided_geometric(tiny, rng)) > 10**50 for _ in range(20))
    assert two_sided_geometric(Fraction(10**9), rng) == 0
    assert all(two_sided_geometric(tiny, rng, lowest=0) >= 0 for _ in range(20))
    assert geometric(Fraction(10**12, 7), rng) == 0


def test_lowest_is_never_crossed() -> None:
    rng = SeededRandom(15)
    draws = [two_sided_geometric(Fraction(1, 9), rng, lowest=-2) for _ in range(2000)]
    assert min(draws) == -2
