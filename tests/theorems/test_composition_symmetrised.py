"""Composition symmetrises every item: all-forward and all-reversed are not enough.

proofs/symmetrised-composition#5: two sampling histograms of different attributes of the same 16
people, T = 2 each; counts 15 against 14 and 2 against 1; epsilon = 1.
"""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from smoothdp import Pair, compose

F = Fraction


def law(count: int, n: int = 16, draws: int = 2) -> list[F]:
    """The hypergeometric law of the records of a category among the drawn."""
    return [
        F(math.comb(count, k) * math.comb(n - count, draws - k), math.comb(n, draws))
        for k in range(draws + 1)
    ]


def log_law(masses: list[F]) -> list[float]:
    return [math.log(mass) if mass else -math.inf for mass in masses]


def stick(p: list[F], q: list[F], growth: float) -> float:
    return sum(max(0.0, float(a) - growth * float(b)) for a, b in zip(p, q, strict=True))


def product(p: list[F], q: list[F]) -> list[F]:
    return [a * b for a, b in itertools.product(p, q)]


FIRST = (law(15), law(14))
SECOND = (law(2), law(1))
PAIRS = [Pair(log_law(p), log_law(q)) for p, q in (FIRST, SECOND)]


def test_the_sixteen_records() -> None:
    """All-forward and all-reversed: .00833. Truly, with one item reversed: .02857."""
    e = math.e
    forward = stick(product(FIRST[0], SECOND[0]), product(FIRST[1], SECOND[1]), e)
    reverse = stick(product(FIRST[1], SECOND[1]), product(FIRST[0], SECOND[0]), e)
    mixed = max(
        stick(product(FIRST[0], SECOND[1]), product(FIRST[1], SECOND[0]), e),
        stick(product(FIRST[1], SECOND[0]), product(FIRST[0], SECOND[1]), e),
    )
    assert round(max(forward, reverse), 5) == 0.00833
    assert round(mixed, 5) == 0.02857
    safe = compose(PAIRS).delta(1)
    assert safe >= mixed
    # Who states that all items share one orientation gets the smaller number, no less.
    aligned = compose(PAIRS, orientation="common").delta_bounds(1)
    assert aligned[0] <= max(forward, reverse) <= aligned[1] < 0.00834


@pytest.mark.parametrize("seed", range(40))
def test_no_choice_of_directions_exceeds_the_symmetrised_composition(seed: int) -> None:
    """Random pairs, every assignment of directions, several epsilons."""
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(int(rng.integers(2, 4))):
        n = int(rng.integers(2, 5))
        pairs.append((rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))))
    composed = compose([Pair(np.log(p), np.log(q)) for p, q in pairs])
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        worst = 0.0
        for turned in itertools.product((False, True), repeat=len(pairs)):
            p = q = np.ones(1)
            for (a, b), turn in zip(pairs, turned, strict=True):
                p, q = np.outer(p, b if turn else a).ravel(), np.outer(q, a if turn else b).ravel()
            worst = max(worst, float(np.maximum(p - math.exp(epsilon) * q, 0).sum()))
        assert worst <= composed.delta(epsilon) * (1 + 1e-12) + 1e-15


def test_a_pair_that_is_its_own_mirror_image_loses_nothing() -> None:
    pair = Pair(np.log([0.75, 0.25]), np.log([0.25, 0.75]))
    lower, upper = compose([(pair, 2)]).delta_bounds(0)
    assert lower <= 0.5 <= upper <= 0.5 * (1 + 1e-12)


# ---- the statements of docs/proofs/symmetrised-composition.md, in exact rationals ---------------

Exact = list[F]


def d(p: Exact, q: Exact, growth: Fraction) -> Fraction:
    return sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0))


def random_law(rng: np.random.Generator, size: int) -> Exact:
    weights = [int(w) for w in rng.integers(0, 6, size)]
    weights[int(rng.integers(size))] += 1
    return [F(w, sum(weights)) for w in weights]


def larger_pair(p: Exact, q: Exact) -> tuple[Exact, Exact]:
    """The pair of statement 2, by statement 1: from kinks, crossings and changes of slope."""

    def larger(growth: Fraction) -> Fraction:
        return max(d(p, q, growth), d(q, p, growth))

    ratios = {a / b for a, b in zip(p, q, strict=True) if a and b}
    kinks = sorted({F(0), *ratios, *(1 / r for r in ratios)})
    crossings = set()
    for left, right in itertools.pairwise([*kinks, kinks[-1] + 1]):
        gaps = [d(p, q, at) - d(q, p, at) for at in (left, right)]
        if gaps[0] * gaps[1] < 0:
            crossings.add(left + (right - left) * gaps[0] / (gaps[0] - gaps[1]))
    points = sorted({*kinks, *crossings, kinks[-1] + 1, kinks[-1] + 2})
    values = [larger(at) for at in points]
    slopes = [
        (after - before) / (right - left)
        for (left, right), (before, after) in zip(
            itertools.pairwise(points), itertools.pairwise(values), strict=True
        )
    ]
    changes = [after - before for before, after in itertools.pairwise(slopes)]
    assert slopes[-1] == 0
    assert all(change >= 0 for change in changes)
    new_p = [at * change for at, change in zip(points[1:], changes, strict=False)]
    return [*new_p, values[-1], F(0)], [*changes, F(0), 1 - sum(changes, F(0))]


@pytest.mark.parametrize("seed", range(30))
def test_every_hockey_stick_is_that_of_a_pair(seed: int) -> None:
    """Statements 1 and 2: the larger of both directions is a pair, and its own mirror image."""
    rng = np.random.default_rng(seed)
    p, q = random_law(rng, 4), random_law(rng, 4)
    new_p, new_q = larger_pair(p, q)
    assert sum(new_p) == sum(new_q) == 1
    assert min(*new_p, *new_q) >= 0
    for growth in (F(0), F(1, 9), F(2, 5), F(9, 10), F(1), F(3, 2), F(11, 3), F(40)):
        assert d(new_p, new_q, growth) == max(d(p, q, growth), d(q, p, growth))
        assert d(new_q, new_p, growth) == d(new_p, new_q, growth)
        if growth:
            assert d(q, p, growth) == 1 - growth + growth * d(p, q, 1 / growth)


@pytest.mark.parametrize("seed", range(12))
def test_domination_survives_products(seed: int) -> None:
    """Statements 3 and 4: the formula, and every choice of directions of three items."""
    rng = np.random.default_rng(100 + seed)
    items = [(random_law(rng, 3), random_law(rng, 3)) for _ in range(3)]
    above = [larger_pair(p, q) for p, q in items]
    upper_p, upper_q = (
        [a * b * c for a, b, c in itertools.product(*(pair[side] for pair in above))]
        for side in (0, 1)
    )
    (p1, q1), (p2, q2), _ = items
    for growth in (F(1, 3), F(1), F(3, 2), F(4)):
        terms = [b * d(p1, q1, growth * c / b) for b, c in zip(p2, q2, strict=True) if b]
        assert sum(terms) == d(product(p1, p2), product(q1, q2), growth)
        most = d(upper_p, upper_q, growth)
        for turned in itertools.product((0, 1), repeat=3):
            sides = [
                [a * b * c for a, b, c in itertools.product(*chosen)]
                for chosen in (
                    [pair[turn] for pair, turn in zip(items, turned, strict=True)],
                    [pair[1 - turn] for pair, turn in zip(items, turned, strict=True)],
                )
            ]
            assert d(sides[0], sides[1], growth) <= most


def test_the_sixteen_records_in_rationals() -> None:
    """Statement 5 at E = 3: 1/120 both ways, 29/1200 in truth."""
    (p1, q1), (p2, q2) = FIRST, SECOND
    assert d(product(p1, p2), product(q1, q2), F(3)) == F(1, 120)
    assert d(product(q1, q2), product(p1, p2), F(3)) == F(1, 120)
    assert d(product(q1, p2), product(p1, q2), F(3)) == F(29, 1200)
    assert d(product(p1, q2), product(q1, p2), F(3)) == 0


@pytest.mark.parametrize("seed", range(20))
def test_delta_at_zero_from_delta_elsewhere(seed: int) -> None:
    """The larger of both directions of small pairs, in rationals; of one direction it is false."""
    rng = random.Random(seed)
    laws = []
    for _ in range(2):
        whole = [rng.randint(1, 30) for _ in range(rng.choice([2, 3, 4]))]
        laws.append([Fraction(w, sum(whole)) for w in whole])
    size = min(map(len, laws))
    p, q = ([*law[: size - 1], 1 - sum(law[: size - 1], Fraction(0))] for law in laws)

    def one_way(first: list[Fraction], second: list[Fraction], e: Fraction) -> Fraction:
        return sum(
            (max(a - e * b, Fraction(0)) for a, b in zip(first, second, strict=True)), Fraction(0)
        )

    def larger(e: Fraction) -> Fraction:
        return max(one_way(p, q, e), one_way(q, p, e))

    for e in (Fraction(11, 10), Fraction(3, 2), Fraction(4), Fraction(50)):
        assert larger(Fraction(1)) <= (e - 1 + 2 * larger(e)) / (e + 1)
    response = [Fraction(4, 5), Fraction(1, 5)]
    assert one_way(response, response[::-1], Fraction(1)) == Fraction(3, 5)
    # One direction alone: everything is lost by the other one.
    sure, half = [Fraction(1), Fraction(0)], [Fraction(1, 2), Fraction(1, 2)]
    assert (
        one_way(sure, half, Fraction(1))
        > (Fraction(2) - 1 + 2 * one_way(sure, half, Fraction(2))) / 3
    )
