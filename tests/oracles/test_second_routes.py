"""The fast sums against a second route, at sizes that cannot be enumerated."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from math import comb

import pytest

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real, exact_real
from smoothdp.mechanisms.histogram.accounting.hockey_stick import (
    hypergeometric_line_divergence,
    multinomial_line_divergence,
)
from smoothdp.mechanisms.histogram.accounting.independent import independent_divergence
from smoothdp.mechanisms.histogram.accounting.line import BinomialLine, HypergeometricLine
from smoothdp.mechanisms.histogram.accounting.plane import plane_divergence
from smoothdp.mechanisms.histogram.accounting.plane_laws import (
    HypergeometricPlane,
    MultinomialPlane,
)
from tests.checkers.rationals import log_fraction

F = Fraction


def rational_sticks(a: int, b: int, rest: int, draws: int, growth: Fraction) -> dict[str, Fraction]:
    """Sum (P - growth P')_+ over all (i, j), in rationals, from the laws themselves."""
    n = a + b + rest
    keep = F(draws, n)
    totals = {"hypergeometric": F(0), "multinomial": F(0), "independent": F(0)}

    def without(x: int, y: int, i: int, j: int) -> Fraction:
        k = draws - i - j
        if k < 0 or k > rest or i > x or j > y:
            return F(0)
        return F(comb(x, i) * comb(y, j) * comb(rest, k), comb(n, draws))

    def replacing(x: int, y: int, i: int, j: int) -> Fraction:
        k = draws - i - j
        if k < 0:
            return F(0)
        ways = comb(draws, i) * comb(draws - i, j)
        return F(ways * x**i * y**j * rest**k, n**draws)

    def kept(x: int, y: int, i: int, j: int) -> Fraction:
        if i > x or j > y:
            return F(0)
        hits = i + j
        return comb(x, i) * comb(y, j) * keep**hits * (1 - keep) ** (x + y - hits)

    laws = {"hypergeometric": without, "multinomial": replacing, "independent": kept}
    for name, law in laws.items():
        top = draws if name == "multinomial" else max(a, b + 1)
        for i in range(top + 1):
            for j in range(top + 1):
                gain = law(a, b, i, j) - growth * law(a - 1, b + 1, i, j)
                totals[name] += max(F(0), gain)
    return totals


@pytest.mark.parametrize("seed", range(25))
def test_three_categories_against_rationals(seed: int) -> None:
    rng = random.Random(seed)
    a, b, rest = rng.randint(2, 14), rng.randint(1, 14), rng.randint(1, 20)
    draws = rng.randint(1, a + b + rest - 1)
    growth = rng.choice([F(1), F(1001, 1000), F(5, 4), F(3), F(20)])
    epsilon: Real = LogRatio(growth) if growth != 1 else F(0)
    exact = rational_sticks(a, b, rest, draws, growth)
    results = {
        "hypergeometric": plane_divergence(HypergeometricPlane(a, b, rest, draws), epsilon),
        "multinomial": plane_divergence(MultinomialPlane(a, b, rest, draws), epsilon),
        "independent": independent_divergence(a, b, F(draws, a + b + rest), epsilon),
    }
    for name, bounds in results.items():
        if exact[name] == 0:
            assert bounds.lower == -math.inf
            assert bounds.upper < -600
            continue
        truth = log_fraction(exact[name])
        assert bounds.lower - 4e-15 <= truth <= bounds.upper + 4e-15
        assert bounds.upper - bounds.lower < 1e-11


def mixture(parts: list[LogBounds], weights: list[LogBounds]) -> tuple[float, float]:
    """Return bounds of ln of the sum of products."""
    lows = [p.lower + w.lower for p, w in zip(parts, weights, strict=True)]
    highs = [p.upper + w.upper for p, w in zip(parts, weights, strict=True)]
    low, high = max(lows), max(highs)
    return (
        low + math.log(math.fsum(math.exp(v - low) for v in lows)),
        high + math.log(math.fsum(math.exp(v - high) for v in highs)),
    )


LARGE = [
    (3_000, 5_000, 12_000, 4_000, "0.2", False),
    (3_000, 5_000, 12_000, 19_900, "0.01", False),
    (20_000, 30_000, 100_000, 75_000, "0.3", False),
    (20_000, 30_000, 100_000, 149_000, "2", False),
    (3_000, 5_000, 12_000, 2_000, "0.05", True),
    (40, 9_000, 2_000, 6_000, "0.5", True),
]


@pytest.mark.parametrize(("a", "b", "rest", "draws", "eps", "replacing"), LARGE)
def test_three_categories_as_a_mixture_of_two(
    a: int, b: int, rest: int, draws: int, eps: str, replacing: bool
) -> None:
    """Two categories remain, given how many of the pair are drawn (proofs/two-smallest#1)."""
    epsilon = exact_real(eps, name="epsilon")
    law = MultinomialPlane if replacing else HypergeometricPlane
    bounds = plane_divergence(law(a, b, rest, draws), epsilon)
    size = (BinomialLine if replacing else HypergeometricLine)(a + b, rest, draws)
    line = multinomial_line_divergence if replacing else hypergeometric_line_divergence
    centre = draws * (a + b) // (a + b + rest)
    reach = 60 + int(60 * math.sqrt(1 / size.curvature(centre)))
    parts, weights = [], []
    for taken in range(max(1, size.lowest, centre - reach), min(size.highest, centre + reach) + 1):
        if not replacing and taken == a + b:
            part = LogBounds(0.0, 0.0)
        else:
            part = line(a, b, taken, epsilon)
        if part.upper > -math.inf:
            parts.append(part)
            weights.append(size.log_probability(taken))
    low, high = mixture(parts, weights)
    assert bounds.lower <= high + 1e-11
    assert bounds.upper >= low - 1e-11
    assert bounds.upper - bounds.lower < 5e-11


def test_ties_are_resolved_exactly() -> None:
    """e^epsilon equal to a likelihood ratio: the tied output contributes nothing.

    D(2, 2) for T = 2: ratios are 2 (3 - j) / (3 (2 - i)); (i, j) = (1, 1) has ratio 4/3.
    """
    tied = hypergeometric_line_divergence(2, 2, 2, LogRatio(F(4, 3)))
    assert math.exp(tied.upper) == pytest.approx(1 / 6, rel=1e-14)
    assert tied.lower <= math.log(1 / 6) <= tied.upper
    # With replacement, ln 2 = ln ratio at i = 1, j = 0 of counts (2, 5): a tie that
    # fixed-point logarithms cannot settle; the bounds still hold.
    law = multinomial_line_divergence(2, 5, 1, LogRatio(F(2)))
    assert law.lower == -math.inf
    assert law.upper < -600
