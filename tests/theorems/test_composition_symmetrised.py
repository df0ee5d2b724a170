"""Composition symmetrises every item: all-forward and all-reversed are not enough.

DECISIONS.md: two sampling histograms of different attributes of the same 16 people, T = 2 each;
counts 15 against 14 and 2 against 1; epsilon = 1.
"""

from __future__ import annotations

import itertools
import math
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
