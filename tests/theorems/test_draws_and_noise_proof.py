"""Each statement of docs/proofs/draws-and-noise.md, by enumeration in exact rationals."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations, product

import pytest

from smoothdp import paper_bounds as pb
from smoothdp.testing.oracles import database, delta_by_enumeration, law_with_replacement

F = Fraction
Output = tuple[int, ...]
Law = dict[Output, Fraction]


def test_ordinary_privacy_with_replacement() -> None:
    for n, draws in product((2, 3, 10, 57), range(1, 40)):
        exact = 1 - (1 - F(1, n)) ** draws
        assert exact >= F(draws, n + draws)
        assert (exact < F(draws, n + 1)) == (draws >= 3)
    for draws in (1, 3):  # (i), one record alone: every database of 3 records
        counts = [c for c in product(range(4), repeat=2) if sum(c) == 3]
        for growth in (F(1), F(5)):
            worst = max(with_replacement(c, draws, growth) for c in counts)
            assert worst == 1 - (1 - F(1, 3)) ** draws


def with_replacement(counts: Output, draws: int, growth: Fraction) -> Fraction:
    m = len(counts)
    return delta_by_enumeration(
        database(counts), m, lambda x: law_with_replacement(x, m, draws), growth
    )


def test_with_replacement_at_every_small_database() -> None:
    used = 0
    for n, draws in ((6, 1), (9, 2), (12, 2), (5, 4)):
        for growth in (F(2719, 1000), F(4)):  # epsilon a little above 1
            for first in range(n + 1):
                counts = (first, n - first)
                truth = with_replacement(counts, draws, growth)
                simple = (math.e * draws / n) ** max(1, min(counts))
                if math.e * draws <= n:
                    assert float(truth) <= simple
                bound = pb.liu_theorem_5_upper(
                    counts=counts, n_draws=draws, epsilon=f"ln({growth})"
                )
                assert truth <= F(bound)
                used += bound < float(1 - (1 - F(1, n)) ** draws) * 0.99
    assert used > 10
    # (iii): at epsilon = 2 T / n the bound is false; e^(.2) < 1.2215.
    n, draws, growth = 100, 10, F(12215, 10000)
    total = F(0)
    for h in range(draws + 1):
        p = F(5, n) ** h * F(95, n) ** (draws - h)
        q = F(4, n) ** h * F(96, n) ** (draws - h)
        total += math.comb(draws, h) * max(F(0), p - growth * q)
    assert total > F(145, 10**4) > 6 * F((math.e / 10) ** 5 / (1 - math.e / 10))


# ---- noise ------------------------------------------------------------------------------


def one(o: int, h: int, q: Fraction, wide: bool) -> Fraction:
    """N(o | h) of one category."""
    norm = (1 + q) / (1 - q) if wide else (1 + q - q ** (h + 1)) / (1 - q)
    return q ** abs(o - h) / norm


def noise(o: Output, h: Output, q: Fraction, wide: bool) -> Fraction:
    return math.prod((one(a, b, q, wide) for a, b in zip(o, h, strict=True)), start=F(1))


def step(q: Fraction, draws: int, wide: bool) -> Fraction:
    """R of statement 3."""
    if wide:
        return q**-2
    return q**-2 * (1 + q - q**2) * (1 + q - q**draws) / (1 + q - q ** (draws + 1))


def outputs(draws: int, m: int, wide: bool, beyond: int = 2) -> list[Output]:
    first = -beyond if wide else 0
    return list(product(range(first, draws + beyond + 1), repeat=m))


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("q", [F(1, 5), F(3, 4)])
def test_one_record_of_the_sample(q: Fraction, wide: bool) -> None:
    if not wide:
        for h in (0, 1, 4):
            head = sum((q ** abs(o - h) for o in range(40)), F(0))
            rest = q ** (40 - h) / (1 - q)
            assert head + rest == (1 + q - q ** (h + 1)) / (1 - q)
    for draws in (1, 2, 3):
        bound, largest = step(q, draws, wide), F(0)
        for g in product(range(draws), repeat=3):
            if sum(g) != draws - 1:
                continue
            after = [tuple(c + (i == a) for i, c in enumerate(g)) for a in range(3)]
            for o in outputs(draws, 3, wide, 1):
                values = [noise(o, h, q, wide) for h in after]
                largest = max(largest, max(values) / min(values))
        assert largest == bound  # attained, with no record in b and all others in a
        assert q**-2 <= bound <= q**-2 * (1 + q - q**2) <= q**-4 or wide
        if not wide and draws > 1:
            assert largest > q**-2  # the normalisers matter


def sampled(x: Output, draws: int, replacing: bool) -> Law:
    picks: Iterable[Output] = product(x, repeat=draws) if replacing else combinations(x, draws)
    law: Law = {}
    every = 0
    for pick in picks:
        h = (pick.count(0), pick.count(1))
        law[h] = law.get(h, F(0)) + 1
        every += 1
    return {h: v / every for h, v in law.items()}


def noisy(x: Output, draws: int, q: Fraction, wide: bool, replacing: bool, o: Output) -> Fraction:
    law = sampled(x, draws, replacing)
    return sum((v * noise(o, h, q, wide) for h, v in law.items()), F(0))


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("replacing", [True, False])
def test_pure_privacy_of_noisy_histograms(wide: bool, replacing: bool) -> None:
    q = F(2, 5)
    for n, draws in ((2, 1), (3, 1), (3, 2), (4, 3), (3, 3)):
        excess = step(q, draws, wide) - 1
        bound = (1 + excess / n) ** draws if replacing else 1 + F(draws, n) * excess
        largest = F(0)
        for ones in range(n):
            x, y = (0,) * (n - ones) + (1,) * ones, (0,) * (n - ones - 1) + (1,) * (ones + 1)
            for o in outputs(draws, 2, wide):
                pair = [noisy(z, draws, q, wide, replacing, o) for z in (x, y)]
                largest = max(largest, max(pair) / min(pair))
        assert largest <= bound
        if wide or draws == 1:
            assert largest == bound  # (iii)
    assert math.log(1 + (math.exp(3) - 1) / 4) == pytest.approx(1.7529, abs=1e-4)
    assert math.exp(1.25) - 1 - 2.5 == pytest.approx(-0.0097, abs=1e-4)


@pytest.mark.parametrize("wide", [True, False])
def test_reduced_outputs(wide: bool) -> None:
    """Sums over a long window and the tails by hand: the hockey stick of the cells."""
    q, draws, growth = F(1, 2), 2, F(11, 10)
    x, y = (0, 0, 0, 1), (0, 0, 1, 1)

    def cell(o: int, h: int) -> Fraction:
        if o == draws:
            return one(draws, h, q, wide) / (1 - q)
        if o == 0 and wide:
            return one(0, h, q, wide) / (1 - q)
        return one(o, h, q, wide)

    for h in range(draws + 1):
        assert sum((cell(o, h) for o in range(draws + 1)), F(0)) == 1
    laws = [sampled(z, draws, False) for z in (x, y)]

    def stick(weights: dict[Output, list[Fraction]]) -> Fraction:
        return sum((max(F(0), p - growth * r) for p, r in weights.values()), F(0))

    cells = {
        o: [
            sum((v * cell(o[0], h[0]) * cell(o[1], h[1]) for h, v in law.items()), F(0))
            for law in laws
        ]
        for o in product(range(draws + 1), repeat=2)
    }
    beyond = 14
    full = {
        o: [sum((v * noise(o, h, q, wide) for h, v in law.items()), F(0)) for law in laws]
        for o in outputs(draws, 2, wide, beyond)
    }
    assert 0 <= stick(cells) - stick(full) < F(1, 2 ** (beyond - 4))
    # One cell fewer loses something: T is the last that differs.
    coarser: dict[Output, list[Fraction]] = {}
    for o, (p, r) in cells.items():
        key = (min(o[0], draws - 1), min(o[1], draws - 1))
        before = coarser.get(key, [F(0), F(0)])
        coarser[key] = [before[0] + p, before[1] + r]
    assert stick(coarser) < stick(cells)


def test_a_continuum_and_a_grid() -> None:
    def sums(x: tuple[Fraction, ...], draws: int) -> dict[Fraction, Fraction]:
        law: dict[Fraction, Fraction] = {}
        picks = [sum(pick, F(0)) for pick in combinations(x, draws)]
        for value in picks:
            law[value] = law.get(value, F(0)) + F(1, len(picks))
        return law

    def stick(p: dict[Fraction, Fraction], q: dict[Fraction, Fraction], e: int) -> Fraction:
        return sum((max(F(0), v - e * q.get(k, F(0))) for k, v in p.items()), F(0))

    for x in ((F(0),) * 4, (F(1), F(2), F(3), F(4)), (F(0), F(0), F(1), F(5, 2))):
        for draws in (1, 2, 3, 4):
            there = sums((*x[:3], F(1000)), draws)  # no difference of sums
            assert stick(there, sums(x, draws), 100) == F(draws, 4)
    grid = (F(0),) * 3 + (F(1),) * 3
    near = [sums((*grid[:i], 1 - grid[i], *grid[i + 1 :]), 3) for i in range(6)]
    here = sums(grid, 3)
    assert max(max(stick(here, y, 2), stick(y, here, 2)) for y in near) == F(1, 10)
