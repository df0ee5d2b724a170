"""Each statement of docs/proofs/adversary-utility.md, by enumeration in exact rationals."""

from __future__ import annotations

import random
from fractions import Fraction
from math import comb

import pytest

import smoothdp as sd
from smoothdp.testing import oracles

F = Fraction
Row = list[Fraction]
GROWTHS = (F(1), F(3, 2), F(4), F(50))


def random_laws(rng: random.Random, m: int, n_outputs: int) -> list[Row]:
    """Laws with zeros, ties and far ratios."""
    rows = []
    for _ in range(m):
        weights = [rng.choice([0, 0, 1, 1, 2, 9, 100, 3000]) for _ in range(n_outputs)] + [1]
        rows.append([F(weight, sum(weights)) for weight in weights])
    return rows


def stick(p: Row, q: Row, growth: Fraction) -> Fraction:
    return sum((max(a - growth * b, F(0)) for a, b in zip(p, q, strict=True)), F(0))


def utility(laws: list[Row], growth: Fraction, truth: int) -> Fraction:
    """Equation (3) for one missing record, by its definition."""
    t = growth / (1 + growth)
    total = F(0)
    for column in zip(*laws, strict=True):
        if any(column):
            total += column[truth] * max(F(0), max(column) / sum(column) - t)
    return total / (1 - t)


def around(laws: list[Row], growth: Fraction, truth: int) -> Fraction:
    """The largest stick, both ways, of one law against all others."""
    others = [law for place, law in enumerate(laws) if place != truth]
    both = [(laws[truth], law) for law in others] + [(law, laws[truth]) for law in others]
    return max(stick(p, q, growth) for p, q in both)


@pytest.mark.parametrize("growth", [F(1, 2), *GROWTHS])
@pytest.mark.parametrize("m", [2, 3, 5])
def test_utility_as_a_sum_over_guesses(m: int, growth: Fraction) -> None:
    """Statement 1, below E = 1 too (thresholds from 1/m on), where guesses overlap."""
    if growth < F(1, m - 1):
        return
    rng = random.Random(m)
    overlaps = 0
    for _ in range(100):
        laws = random_laws(rng, m, 4)
        for truth in range(m):
            total = F(0)
            for column in zip(*laws, strict=True):
                whole = sum(column)
                if not whole:
                    continue
                guess = column.index(max(column))
                gain = column[guess] - growth * (whole - column[guess])
                total += column[truth] * max(gain, F(0)) / whole
                overlaps += sum(p > growth * (whole - p) for p in column) > 1
            assert total == utility(laws, growth, truth)
    assert (overlaps > 0) == (growth < 1)


@pytest.mark.parametrize("growth", GROWTHS)
def test_identity_of_two_values(growth: Fraction) -> None:
    rng = random.Random(2)
    for _ in range(300):
        laws = random_laws(rng, 2, 4)
        d, back = stick(laws[0], laws[1], growth), stick(laws[1], laws[0], growth)
        a, b = utility(laws, growth, 0), utility(laws, growth, 1)
        assert a + b == d + back
        assert growth / (growth + 1) * d <= a <= d + back / (growth + 1)
        assert growth / (growth + 1) * back <= b <= back + d / (growth + 1)
        assert (d + back) / 2 <= max(a, b) <= d + back
        assert max(a, b) <= (growth + 2) / (growth + 1) * max(d, back)


def test_ends_of_the_identity_are_met() -> None:
    for growth in GROWTHS[1:]:
        p = F(1, 2) / (growth + 1)
        laws = [[p, 1 - p], [1 - p, p]]
        d = stick(laws[0], laws[1], growth)
        assert max(utility(laws, growth, truth) for truth in (0, 1)) == d > 0
        s = 1 - 1 / growth
        laws = [[s, 1 - s], [F(0), F(1)]]
        assert utility(laws, growth, 0) == stick(laws[0], laws[1], growth) == s
        assert stick(laws[1], laws[0], growth) == 0
    ours = sd.SamplingHistogram(5, n_draws=1).adversary_utility((0, 4), threshold="2/3")
    assert ours == pytest.approx(0.2, rel=1e-14)


def test_lemma_2_fails_for_three_values() -> None:
    here = [F(comb(5, i) * comb(4, 4 - i), 126) for i in range(5)]
    there = [F(comb(4, i) * comb(5, 4 - i), 126) for i in range(5)]
    assert stick(here, there, F(2)) + stick(there, here, F(2)) == F(1, 21)
    u = oracles.utility_by_enumeration(
        oracles.database((4, 4, 0)), 3, lambda x: oracles.law_without_replacement(x, 3, 4), F(2, 3)
    )
    assert u >= F(4, 9) > F(1, 21)


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("m", [2, 3, 5])
def test_the_record_of_x(m: int, growth: Fraction) -> None:
    rng = random.Random(10 * m)
    factor = 1 + F(m - 1) / (m - 1 + growth)
    for _ in range(150):
        laws = random_laws(rng, m, m + 1)
        for truth in range(m):
            assert utility(laws, growth, truth) <= factor * around(laws, growth, truth)


def test_the_constant_is_approached() -> None:
    """Two values: nothing below (E + 2)/(E + 1) will do."""
    for growth in GROWTHS:
        w = F(1, 2) / (growth + 1)
        s = w / 10**6
        third = 1 - growth * w - s
        laws = [[s, w, 1 - s - w], [F(0), growth * w + s, third]]
        assert around(laws, growth, 0) == s
        ratio = utility(laws, growth, 0) / s
        assert (growth + 2) / (growth + 1) * (1 - F(1, 10**5)) < ratio
        assert ratio <= (growth + 2) / (growth + 1)


@pytest.mark.parametrize("growth", [F(2, 3), *GROWTHS])
@pytest.mark.parametrize("m", [3, 4])
def test_any_record(m: int, growth: Fraction) -> None:
    """Statement 5: any missing record, also below E = 1."""
    rng = random.Random(100 * m)
    for _ in range(150):
        laws = random_laws(rng, m, m + 1)
        delta = around(laws, growth, 0)
        for truth in range(m):
            assert utility(laws, growth, truth) <= (1 + F(m - 1) / (growth + 1)) * delta


def test_fifteen_values() -> None:
    """Statement 6: the constant of statement 4 fails where the record is not that of x."""
    laws = [[F(1)] * 13 + [F(0), F(87)]]
    laws += [[F(14) if c == o else F(0) for o in range(13)] + [F(0), F(86)] for c in range(13)]
    laws += [[F(2)] * 13 + [F(12), F(62)]]
    laws = [[p / 100 for p in law] for law in laws]
    assert all(sum(law) == 1 for law in laws)
    delta = around(laws, F(2), 0)
    assert delta == F(3, 25)
    assert utility(laws, F(2), 14) == F(103, 425) > 2 * delta
    assert utility(laws, F(2), 14) > (1 + F(14, 16)) * delta
    assert all(utility(laws, F(2), c) <= (1 + F(14, 3)) * delta for c in range(15))
