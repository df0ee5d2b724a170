"""The page on cancelling pairs, statement by statement, as exact rationals of small cases."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.shuffle.paired.clump_law import ClumpLaw, clump_law, likely_law
from smoothdp.shuffle.paired.moved_user import bin_atoms
from tests.oracles.paired_noise import share_weight


def pairs_law(h: int, chance: Fraction, largest: int) -> list[Fraction]:
    """The law of C, user by user."""
    whole = sum((Fraction(1, j) for j in range(1, largest + 1)), Fraction(0))
    one = [1 - chance, *(chance / (j * whole) for j in range(1, largest + 1))]
    law = [Fraction(1)]
    for _ in range(h):
        grown = [Fraction(0)] * (len(law) + largest)
        for (c, mass), (j, other) in itertools.product(enumerate(law), enumerate(one)):
            grown[c + j] += mass * other
        law = grown
    return law


def noise_law(p: Fraction, law: list[Fraction], last: int) -> dict[tuple[int, int], Fraction]:
    """f(u, v) for u, v up to ``last``, summed over A, B and C."""
    found: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    for c, mass in enumerate(law):
        for a, b in itertools.product(range(last + 1 - c), repeat=2):
            found[a + c, b + c] += mass * (1 - p) ** 2 * p ** (a + b)
    return dict(found)


@pytest.mark.parametrize("largest", [1, 3])
def test_the_signs_of_the_noise(largest: int) -> None:
    p, law = Fraction(2, 5), pairs_law(3, Fraction(1, 4), largest)
    noise = noise_law(p, law, 7)
    for (u, v), truth in noise.items():
        low = min(u, v)
        scaled = sum((m * p ** (-2 * c) for c, m in enumerate(law[: low + 1])), Fraction(0))
        assert truth == (1 - p) ** 2 * p ** (u + v) * scaled
    # Shares of another shape do not have this form.
    other = {(u, v): m for (u, v), m in noise.items()}
    other[1, 1] *= 2
    assert other[1, 1] * noise[2, 2] != noise[1, 1] * other[2, 2]


def test_one_sign_more() -> None:
    """The atoms against all cells up to 40, joined by their ratio."""
    p, law = Fraction(1, 3), pairs_law(2, Fraction(1, 4), 2)
    noise = noise_law(p, law, 30)
    pure = ClumpLaw(np.array([float(m) for m in law]), 0.0, 0.0)
    atoms = bin_atoms(pure, Fraction(math.log(3)))
    for growth in (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5)):
        for swap in (False, True):
            truth = 0.0
            for u, v in itertools.product(range(31), repeat=2):
                first = noise.get((u, v), Fraction(0))
                second = noise.get((u - 1, v), Fraction(0))
                first, second = (second, first) if swap else (first, second)
                truth += max(0.0, float(first - growth * second))
            first_masses, second_masses = atoms.without, atoms.having
            if swap:
                first_masses, second_masses = second_masses, first_masses
            found = np.maximum(first_masses - float(growth) * second_masses, 0).sum()
            assert found == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize(("h", "largest"), [(1, 4), (3, 5), (12, 1), (12, 3), (40, 2)])
def test_the_law_of_the_pairs(h: int, largest: int) -> None:
    """By the recursion or by squaring, within the stated error; the rest is accounted for."""
    chance = Fraction(1, 7)
    truth = pairs_law(h, chance, largest)
    for depth in (5.0, 60.0):
        law = clump_law(h, chance, largest, depth=depth)
        assert law.error < 1e-11
        for c, mass in enumerate(law.masses.tolist()):
            assert abs(Fraction(mass) - truth[c]) <= Fraction(law.error) * truth[c]
        assert float(sum(truth[law.masses.size :], Fraction(0))) <= law.outside * (1 + 1e-12)
    # Beyond h + 1 the recursion has terms of both signs, and is used for searches only.
    likely = likely_law(h, chance, largest).masses
    assert likely[: h + 1] == pytest.approx([float(m) for m in truth[: likely[: h + 1].size]])


def test_masses_far_below_floats() -> None:
    """(1 - pi)^h = e^-3567: the law is scaled, and its middle is right."""
    law = clump_law(10_000, Fraction(3, 10), 1, depth=60.0)
    assert law.masses[0] == 0.0
    middle = math.exp(
        math.lgamma(10_001)
        - math.lgamma(3_001)
        - math.lgamma(7_001)
        + 3000 * math.log(0.3)
        + 7000 * math.log(0.7)
    )
    assert law.masses[3000] == pytest.approx(middle, rel=1e-9)
    assert float(law.masses.sum()) == pytest.approx(1.0, abs=1e-9)


def test_the_urns() -> None:
    """(i) and (ii): every path of the urns, as exact rationals."""
    p, r = Fraction(2, 5), Fraction(1, 3)
    for g in range(6):
        paths: dict[int, Fraction] = {0: Fraction(1)}
        for i in range(g):
            following: defaultdict[int, Fraction] = defaultdict(Fraction)
            for x, mass in paths.items():
                following[x + 1] += mass * (r + x) / (1 + i)
                following[x] += mass * (1 - (r + x) / (1 + i))
            paths = following
        for x, mass in paths.items():
            # Both parts of a geometric number: the powers of 1 - p add up to one.
            both = share_weight(r, p, x) * share_weight(1 - r, p, g - x)
            assert mass * p**g == both
    cells, units = 3, 4
    law: defaultdict[tuple[int, ...], Fraction] = defaultdict(Fraction)
    for order in itertools.product(range(cells), repeat=units):
        mass, seen = Fraction(1), [0] * cells
        for i, cell in enumerate(order):
            mass *= (r + seen[cell]) / (cells * r + i)
            seen[cell] += 1
        law[tuple(seen)] += mass
    for seen_by, mass in law.items():
        product = math.prod((share_weight(r, p, x) for x in seen_by), start=Fraction(1))
        assert mass * share_weight(cells * r, p, units) == product
