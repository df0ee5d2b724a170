"""Each statement of docs/proofs/smoothed-brackets.md, by enumeration in exact rationals."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise
from math import comb

import pytest

from smoothdp.smoothed.brackets.one_law import OneLaw
from smoothdp.smoothed.brackets.shares import shares_of
from tests.theorems.test_boundary_walk_proof import stick

F = Fraction
Law = tuple[Fraction, ...]
Counts = tuple[int, ...]


@cache
def divergence(a: int, b: int, n: int, draws: int, growth: Fraction) -> Fraction:
    return stick(a, b, n - a - b, draws, growth)


def g(x: int, y: int, n: int, draws: int, growth: Fraction) -> Fraction:
    if min(x, y) <= 1:
        return F(draws, n)
    return max(divergence(x, y, n, draws, growth), divergence(y, x, n, draws, growth))


@cache
def delta(counts: Counts, draws: int, growth: Fraction) -> Fraction:
    """Return delta(x) over all ordered pairs, both directions."""
    n = sum(counts)
    best = F(0)
    for a, b in [(a, b) for a in range(len(counts)) for b in range(len(counts)) if a != b]:
        if counts[a]:
            best = max(best, divergence(counts[a], counts[b], n, draws, growth))
            best = max(best, divergence(counts[b] + 1, counts[a] - 1, n, draws, growth))
    return best


def histograms(n: int, m: int) -> Iterator[Counts]:
    if m == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in histograms(n - first, m - 1):
            yield (first, *rest)


def chance(counts: Counts, law: Sequence[Fraction]) -> Fraction:
    left, result = sum(counts), F(1)
    for count, p in zip(counts, law, strict=True):
        result *= comb(left, count) * p**count
        left -= count
    return result


def binomial(k: int, n: int, p: Fraction) -> Fraction:
    return comb(n, k) * p**k * (1 - p) ** (n - k) if 0 <= k <= n else F(0)


def between(low: int, high: int, n: int, p: Fraction) -> Fraction:
    """Return P(low < Bin(n, p) <= high)."""
    return sum((binomial(k, n, p) for k in range(max(low, -1) + 1, min(high, n) + 1)), F(0))


def random_law(rng: random.Random, m: int, top: int = 5) -> Law:
    weights = [rng.randint(1, top) for _ in range(m)]
    return tuple(F(w, sum(weights)) for w in weights)


SETTINGS = [(9, 6, F(11, 10)), (9, 7, F(2)), (8, 1, F(1)), (8, 7, F(20)), (9, 4, F(3, 2))]


@pytest.mark.parametrize(("n", "draws", "growth"), SETTINGS)
@pytest.mark.parametrize("m", [3, 4])
def test_delta_lies_between_two_values(n: int, draws: int, growth: Fraction, m: int) -> None:
    strict = 0
    for counts in histograms(n, m):
        v, w = sorted(counts)[:2]
        low, high = g(v, w, n, draws, growth), g(v - 1, w - 1, n, draws, growth)
        assert low <= delta(counts, draws, growth) <= high
        strict += low < high
    for x in range(-1, n + 1):
        for y in range(-1, n - x):
            assert g(x, y, n, draws, growth) >= g(x, y + 1, n, draws, growth)
    if draws > 1:
        assert strict


def upper(n: int, law: Law, knots: list[int], draws: int, growth: Fraction) -> Fraction:
    """Return the bound of statement 2, with the same knots both ways."""
    total = F(draws, n) * sum((between(-1, 1, n, p) for p in law), F(0))
    for a, b in combinations(range(len(law)), 2):
        rest = [p / (1 - law[a] - law[b]) for c, p in enumerate(law) if c not in (a, b)]
        for x0, x1 in pairwise(knots):
            if x1 <= 1:
                continue
            first = between(x0, x1, n, law[a])
            for y0, y1 in pairwise(knots):
                room = n - x0 - y0 - 2
                if room < 0:
                    continue
                above = math.prod((between(max(x0, y0), room, room, p) for p in rest), start=F(1))
                second = between(y0, y1, n - x1, law[b] / (1 - law[a]))
                total += first * second * g(x0, y0, n, draws, growth) * above
    return total


def lower(n: int, law: Law, knots: list[int], draws: int, growth: Fraction) -> Fraction:
    total = F(0)
    for a, b in combinations(range(len(law)), 2):
        rest = [p / (1 - law[a] - law[b]) for c, p in enumerate(law) if c not in (a, b)]
        for x0, x1 in pairwise(knots):
            first = between(x0, x1, n, law[a])
            for y0, y1 in pairwise(knots):
                room = n - x1 - y1
                if room < 0:
                    continue
                missed = sum((between(-1, max(x1, y1), room, p) for p in rest), F(0))
                second = between(y0, y1, n - x0 - 1, law[b] / (1 - law[a]))
                value = g(x1, y1, n, draws, growth)
                total += first * second * value * max(F(0), 1 - missed)
    return total


def random_knots(rng: random.Random, n: int) -> list[int]:
    return sorted({-1, 1, n, *rng.sample(range(n), rng.randint(1, n - 1))})


@pytest.mark.parametrize("seed", range(30))
def test_cells_bound_the_mean(seed: int) -> None:
    """Both bounds, with random knots, and with a category that is not counted."""
    rng = random.Random(seed)
    n, m = rng.randint(5, 8), rng.choice([3, 3, 4])
    law = random_law(rng, m)
    draws, growth = rng.randint(1, n - 1), rng.choice([F(1), F(11, 10), F(2), F(20)])
    knots = random_knots(rng, n)
    mean = sum((chance(x, law) * delta(x, draws, growth) for x in histograms(n, m)), start=F(0))
    assert lower(n, law, knots, draws, growth) <= mean <= upper(n, law, knots, draws, growth)
    thinned = tuple(p * F(rng.randint(1, 4), 4) for p in law)
    beside = 1 - sum(thinned, F(0))
    mean = F(0)
    for x in histograms(n, m + 1):
        v, w = sorted(x[1:])[:2]
        mean += chance(x, (beside, *thinned)) * g(v - 1, w - 1, n, draws, growth)
    assert mean <= upper(n, thinned, knots, draws, growth)


def test_the_wrong_corner_fails() -> None:
    """A falling function of H_b has the larger mean given the greatest H_a of a cell."""
    n, law = 10, (F(1, 5), F(2, 5), F(2, 5))
    given = law[1] / (1 - law[0])
    for x0, x1 in [(0, 3), (2, 6), (-1, 10)]:
        for level in range(1, 6):
            mean, mass = F(0), F(0)
            for x in range(x0 + 1, x1 + 1):
                mass += binomial(x, n, law[0])
                mean += binomial(x, n, law[0]) * between(-1, level, n - x, given)
            assert mean <= mass * between(-1, level, n - x1, given)
            assert mean > mass * between(-1, level, n - x0 - 1, given)


@pytest.mark.parametrize("seed", range(20))
def test_all_counts_above_a_level(seed: int) -> None:
    rng = random.Random(seed)
    n, m = rng.randint(1, 8), rng.randint(2, 4)
    law = random_law(rng, m)
    counted = m - rng.randint(0, 1)
    for t in range(4):
        truth = sum((chance(x, law) for x in histograms(n, m) if min(x[:counted]) >= t), start=F(0))
        tails = [between(t - 1, n, n, p) for p in law[:counted]]
        assert 1 - sum(1 - tail for tail in tails) <= truth <= math.prod(tails, start=F(1))


def test_some_count_is_small() -> None:
    for n, law in [(12, (F(1, 6), F(1, 3), F(1, 2))), (20, (F(1, 10), F(1, 5), F(7, 10)))]:
        truth = 1 - sum((chance(x, law) for x in histograms(n, 3) if min(x) >= 2), start=F(0))
        found = OneLaw(n, shares_of(law)).some_count_below_two()
        assert math.exp(found.lower) <= truth <= math.exp(found.upper) * (1 + 1e-12)
        assert truth <= sum(between(-1, 1, n, p) for p in law)
        assert math.exp(found.lower) > 0.6 * truth


@pytest.mark.parametrize("seed", range(25))
def test_least_shares_bound_every_composition(seed: int) -> None:
    rng = random.Random(seed)
    n, ways = rng.randint(5, 7), rng.choice([2, 2, 3])
    vertices = [random_law(rng, 3) for _ in range(ways)]
    draws, growth = rng.randint(1, n - 1), rng.choice([F(1), F(101, 100), F(2), F(20)])
    floors = tuple(min(shares) for shares in zip(*vertices, strict=True))
    above = F(0)
    for x in histograms(n, 4):
        v, w = sorted(x[1:])[:2]
        above += chance(x, (1 - sum(floors, F(0)), *floors)) * g(v - 1, w - 1, n, draws, growth)
    for composition in histograms(n, ways):
        law: dict[Counts, Fraction] = {(0, 0, 0): F(1)}
        for vertex, number in zip(vertices, composition, strict=True):
            for _ in range(number):
                grown: dict[Counts, Fraction] = {}
                for x, p in law.items():
                    for c in range(3):
                        key = (x[0] + (c == 0), x[1] + (c == 1), x[2] + (c == 2))
                        grown[key] = grown.get(key, F(0)) + p * vertex[c]
                law = grown
        mean = sum((p * delta(x, draws, growth) for x, p in law.items()), start=F(0))
        assert mean <= above


def test_rare_pairs() -> None:
    n = 8
    for law in [(F(1, 10), F(3, 10), F(3, 5)), (F(1, 20), F(9, 20), F(1, 2))]:
        for a, b, c in [(0, 2, 1), (1, 2, 0)]:
            truth = sum((chance(x, law) for x in histograms(n, 3) if x[c] >= max(x[a], x[b])), F(0))
            apart = math.sqrt(law[b]) - math.sqrt(law[c])
            bound = (1 - apart**2) ** n
            assert truth <= bound
            assert bound < 1


@pytest.mark.parametrize("seed", range(40))
def test_chords_of_concave_logarithms(seed: int) -> None:
    rng = random.Random(seed)
    slopes = sorted((rng.uniform(-3, 3) for _ in range(rng.randint(1, 30))), reverse=True)
    logs = [0.0]
    for slope in slopes:
        logs.append(logs[-1] + slope)
    h = len(slopes)
    chord = sum(math.exp(logs[-1] * i / h) for i in range(1, h + 1))
    truth = sum(math.exp(value) for value in logs[1:])
    assert chord * (1 - 1e-12) <= truth
    assert truth <= chord * math.exp((slopes[0] - slopes[-1]) * h / 4) * (1 + 1e-12)
