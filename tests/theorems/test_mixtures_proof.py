"""Statements 8 to 11 of docs/proofs/smoothed-brackets.md, by enumeration in exact rationals."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from smoothdp.smoothed.brackets.composition_cells import CompositionCell, log_within, mixed_law
from smoothdp.smoothed.brackets.pair_hulls import lower_left_hull
from tests.theorems.test_smoothed_brackets_proof import chance, delta, g, histograms, random_law

F = Fraction
Law = tuple[Fraction, ...]
Histogram = dict[tuple[int, ...], Fraction]
SETTINGS = [(6, 4, F(3, 2)), (6, 5, F(2)), (7, 3, F(11, 10)), (7, 6, F(1))]


@cache
def histogram(n: int, law: Law) -> Histogram:
    """Return the law of the counts of n records; what is missing in ``law`` is not counted."""
    rest = 1 - sum(law, F(0))
    full = {(*h[1:],): chance(h, (rest, *law)) for h in histograms(n, len(law) + 1)}
    return {counts: p for counts, p in full.items() if p}


def added(first: Histogram, second: Histogram) -> Histogram:
    total: Histogram = {}
    for (a, p), (b, q) in product(first.items(), second.items()):
        counts = tuple(x + y for x, y in zip(a, b, strict=True))
        total[counts] = total.get(counts, F(0)) + p * q
    return total


def composed(vertices: Sequence[Law], composition: Sequence[int]) -> Histogram:
    total: Histogram = {(0,) * len(vertices[0]): F(1)}
    for law, number in zip(vertices, composition, strict=True):
        total = added(total, histogram(number, law))
    return total


def below(n: int, counts: Histogram, draws: int, growth: Fraction) -> Fraction:
    """Return E g(v - 1, w - 1)."""
    total = F(0)
    for h, p in counts.items():
        v, w = sorted(h)[:2]
        total += p * g(v - 1, w - 1, n, draws, growth)
    return total


def means(
    n: int, vertices: Sequence[Law], draws: int, growth: Fraction
) -> dict[tuple[int, ...], Fraction]:
    """Return E delta of every composition."""
    return {
        k: sum((p * delta(h, draws, growth) for h, p in composed(vertices, k).items()), F(0))
        for k in histograms(n, len(vertices))
    }


def within(n: int, shares: Sequence[Fraction], least: Sequence[int]) -> Fraction:
    law = (1 - sum(shares, F(0)), *shares)
    return sum(
        (
            chance(j, law)
            for j in histograms(n, len(law))
            if all(a <= b for a, b in zip(j[1:], least, strict=True))
        ),
        F(0),
    )


def vertices_of(rng: random.Random, r: int) -> list[Law]:
    return [random_law(rng, 3, 6) for _ in range(r)]


@pytest.mark.parametrize(("n", "draws", "growth"), SETTINGS)
@pytest.mark.parametrize("r", [2, 3])
def test_cells_bound_every_composition(n: int, draws: int, growth: Fraction, r: int) -> None:
    rng = random.Random(f"{n} {draws} {r}")
    for _ in range(3 if r == 2 else 2):
        vertices = vertices_of(rng, r)
        truth = means(n, vertices, draws, growth)
        floors = tuple(min(chances) for chances in zip(*vertices, strict=True))
        assert mixed_law(vertices, [F(0)] * r) == floors
        for _ in range(12):
            k = rng.choice(list(truth))
            least = tuple(rng.randint(0, number) for number in k)
            shares = [F(rng.randint(0, 2 * number), 2 * n) for number in least]
            largest = max(
                value
                for j, value in truth.items()
                if all(a >= b for a, b in zip(j, least, strict=True))
            )
            mean = below(n, histogram(n, mixed_law(vertices, shares)), draws, growth)
            assert largest * within(n, shares, least) <= mean


def test_the_probability_is_needed() -> None:
    """Records that choose the vertex with larger counts too often are no bound by themselves."""
    n, draws, growth, k = 18, 9, F(3), (9, 9)
    vertices = [(F(1, 10), F(1, 10), F(8, 10)), (F(4, 10), F(3, 10), F(3, 10))]
    truth = sum((p * delta(h, draws, growth) for h, p in composed(vertices, k).items()), F(0))
    wrong = [F(0), F(1)]
    above = below(n, histogram(n, mixed_law(vertices, wrong)), draws, growth)
    assert truth > above
    assert truth * within(n, wrong, k) <= above


@pytest.mark.parametrize("r", [2, 3, 4])
def test_cells_cover(r: int) -> None:
    """Down to single compositions, every composition is in some leaf."""
    n = 9 if r < 4 else 6
    leaves, done = [CompositionCell(n, (0,) * r)], 0
    while leaves:
        cell = leaves.pop()
        children = cell.split() if cell.size else []
        inside = list(_inside(cell))
        assert sum(cell.centre) == n
        assert cell.centre in inside
        if children:
            assert {k for child in children for k in _inside(child)} == set(inside)
            assert all(child.size < cell.size for child in children)
        done += 1
        if done < 200:
            leaves.extend(children)


def _inside(cell: CompositionCell) -> Iterator[tuple[int, ...]]:
    for free in histograms(cell.size, len(cell.least)):
        yield tuple(a + b for a, b in zip(cell.least, free, strict=True))


@pytest.mark.parametrize("seed", range(30))
def test_chosen_too_often(seed: int) -> None:
    rng = random.Random(seed)
    n, r = rng.randint(2, 14), rng.randint(1, 3)
    weights = [rng.randint(0, 6) for _ in range(r + 1)]
    weights[0] += rng.choice([0, 1, 30])
    if not sum(weights):
        return
    shares = [F(w, sum(weights)) for w in weights[1:]]
    # As in a cell: a share is at most its number over n.
    least = [min(n, math.ceil(n * s) + rng.randint(0, 2)) for s in shares]
    truth = within(n, shares, least)
    found = log_within(n, shares, least)
    assert math.exp(found) <= float(truth) * (1 + 1e-12)
    if sum(s > 0 and k < n for s, k in zip(shares, least, strict=True)) <= 2:
        # Slabs of single numbers: nothing is lost at this size.
        assert math.exp(found) >= 0.97 * float(truth)


@pytest.mark.parametrize(("n", "draws", "growth"), SETTINGS[:3])
def test_only_the_hull_of_a_pair_matters(n: int, draws: int, growth: Fraction) -> None:
    rng = random.Random(n)
    fewer = 0
    for _ in range(4):
        points = [tuple(F(rng.randint(1, 8), 20) for _ in range(2)) for _ in range(4)]
        corners = lower_left_hull(points)  # type: ignore[arg-type]
        fewer += len(corners) < len(set(points))

        def largest(chosen: Sequence[Law]) -> Fraction:
            return max(
                below(n, composed(chosen, k), draws, growth) for k in histograms(n, len(chosen))
            )

        assert largest(points) == largest(corners)
        for point in points:
            others = [corner for corner in corners if corner != point]
            if point in corners and others:
                # A corner is needed: at some slope it is the least of all.
                assert lower_left_hull([*others, point]) == corners
    assert fewer


@pytest.mark.parametrize(("n", "draws", "growth"), SETTINGS[:2])
def test_laws_inside_are_means_over_compositions(n: int, draws: int, growth: Fraction) -> None:
    rng = random.Random(draws)
    for _ in range(4):
        vertices = vertices_of(rng, 2)
        truth = means(n, vertices, draws, growth)
        share = F(rng.randint(0, 6), 6)
        law = mixed_law(vertices, [share, 1 - share])
        mean = sum((p * delta(h, draws, growth) for h, p in histogram(n, law).items()), F(0))
        assert mean == sum((chance(k, (share, 1 - share)) * value for k, value in truth.items()))
        assert mean <= max(truth.values())
