"""Statements of proofs/exponential-quantile, on all small databases, both kinds of neighbours."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.random.masses import Masses, drawn_cell
from smoothdp.mechanisms.quantiles.exponential.cells import Cells
from smoothdp.mechanisms.quantiles.exponential.slope import slope_of

LOW, HIGH = Fraction(-1), Fraction(4)
UNIVERSE = (-1, 0, 1, 3)
POINTS = [Fraction(-1, 2), Fraction(1, 2), Fraction(2), Fraction(7, 2)]
"""One point of each cell between -1, 0, 1, 3 and 4, whose lengths are 1, 1, 2, 1."""
LENGTHS = [1, 1, 2, 1]
LEVELS = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(0), Fraction(1)]
Database = tuple[int, ...]
NORMAL = NormalDist()


def score(x: Database, level: Fraction, v: Fraction) -> Fraction:
    return abs(sum(value < v for value in x) - level * len(x))


def density(x: Database, level: Fraction, slope: float) -> list[float]:
    """The mass of each cell."""
    weights = [
        math.exp(-slope * score(x, level, v)) * d for v, d in zip(POINTS, LENGTHS, strict=True)
    ]
    return [w / math.fsum(weights) for w in weights]


def databases(n: int) -> Iterator[Database]:
    return itertools.combinations_with_replacement(UNIVERSE, n)


def neighbours(kind: str, most: int = 5) -> Iterator[tuple[Database, Database]]:
    """All neighbouring pairs of at most so many records, in both directions."""
    for n in range(most + 1):
        for x in databases(n):
            if kind == "add_remove" and n < most:
                for z in UNIVERSE:
                    bigger = tuple(sorted((*x, z)))
                    yield x, bigger
                    yield bigger, x
            elif kind == "replace_one":
                for i, z in itertools.product(range(n), UNIVERSE):
                    yield x, tuple(sorted((*x[:i], z, *x[i + 1 :])))


def reach(kind: str, level: Fraction) -> Fraction:
    return Fraction(1) if kind == "replace_one" else max(level, 1 - level)


kinds = pytest.mark.parametrize("kind", ["replace_one", "add_remove"])


@kinds
@pytest.mark.parametrize("level", LEVELS)
def test_the_range_is_attained_and_never_exceeded(kind: str, level: Fraction) -> None:
    ranges = set()
    for x, y in set(neighbours(kind)):
        gains = [score(y, level, v) - score(x, level, v) for v in POINTS]
        ranges.add(max(gains) - min(gains))
    limit = 2 * reach(kind, level)
    assert max(ranges) <= limit
    if level in (Fraction(1, 2), Fraction(1, 4)) and (kind, level) != (
        "replace_one",
        Fraction(1, 4),
    ):
        assert max(ranges) == limit


def guarantee(kind: str, name: str) -> tuple[sd.claims.Guarantee, float]:
    made: dict[str, sd.claims.Guarantee] = {
        "pure": sd.PureDP(1, neighbours=kind),
        "approximate": sd.ApproxDP(1, delta="1e-6", neighbours=kind),
        "zcdp": sd.ZCDP("0.3", neighbours=kind),
        "gdp": sd.GaussianDP("0.9", neighbours=kind),
    }
    return made[name], 1.0


def losses(kind: str, level: Fraction, slope: float) -> Iterator[tuple[list[float], list[float]]]:
    made = {x: density(x, level, slope) for n in range(6) for x in databases(n)}
    for x, y in set(neighbours(kind)):
        yield made[x], made[y]


@kinds
@pytest.mark.parametrize("level", LEVELS)
def test_densities_of_every_small_database(kind: str, level: Fraction) -> None:
    """Pure DP at each cell; with the constant of the other kind it does not hold."""
    slope = slope_of(guarantee(kind, "pure")[0], level)
    assert slope == slope_of(guarantee(kind, "approximate")[0], level)

    def worst(slope: float) -> float:
        pairs = losses(kind, level, slope)
        return max(abs(math.log(p / q)) for ps, qs in pairs for p, q in zip(ps, qs, strict=True))

    assert worst(float(slope)) <= 1 + 1e-12
    if kind == "add_remove" and level == Fraction(1, 2):
        # A slope for a range of M = 1/4 instead.
        assert worst(2 * float(slope)) > 1


@kinds
@pytest.mark.parametrize("level", LEVELS[:3])
def test_renyi_divergences_of_every_small_database(kind: str, level: Fraction) -> None:
    slope = float(slope_of(guarantee(kind, "zcdp")[0], level))

    def worst(slope: float) -> float:
        found = 0.0
        for ps, qs in losses(kind, level, slope):
            for order in (1.01, 2.0, 8.0, 40.0):
                terms = (p**order * q ** (1 - order) for p, q in zip(ps, qs, strict=True))
                found = max(found, math.log(math.fsum(terms)) / (order - 1) / order)
        return found

    assert 0.05 < worst(slope) <= 0.3 * (1 + 1e-9)
    if level == Fraction(1, 2):
        assert worst(2 * slope) > 0.3


@kinds
@pytest.mark.parametrize("level", LEVELS[:3])
def test_the_power_of_every_test_on_every_small_database(kind: str, level: Fraction) -> None:
    """Likelihood-ratio tests stay below the Gaussian trade-off; twice the slope does not."""
    slope = float(slope_of(guarantee(kind, "gdp")[0], level))

    def largest_mu(slope: float) -> float:
        found = 0.0
        for ps, qs in losses(kind, level, slope):
            order = sorted(range(len(ps)), key=lambda j: -ps[j] / qs[j])
            for cut in range(1, len(ps)):
                p = math.fsum(ps[j] for j in order[:cut])
                q = math.fsum(qs[j] for j in order[:cut])
                found = max(found, NORMAL.inv_cdf(p) - NORMAL.inv_cdf(q))
        return found

    assert 0.3 < largest_mu(slope) <= 0.9 + 1e-9
    assert largest_mu(2.5 * slope) > 0.9


def test_slopes_are_rounded_down() -> None:
    """Against 50 digits: never above what the guarantee pays for."""
    rho = Fraction(1, 3)
    assert slope_of(sd.ZCDP(rho), Fraction(1, 2)) ** 2 <= 2 * rho
    for mu in ("0.001", "1", "3", "30"):
        slope = slope_of(sd.GaussianDP(mu), Fraction(1, 2))
        with precision(300):
            half = ball(Fraction(mu)) / 2 / ball(2).sqrt()
            exact = ((-half).erfc() / half.erfc()).log()
            assert ball(slope) <= exact
            assert float(slope) == pytest.approx(float(exact), rel=1e-12)


def literal_cells(values: list[float], low: Fraction, high: Fraction) -> list[tuple[Fraction, int]]:
    """Each end of a cell of positive length, and how many values are at or below it."""
    clamped = [min(max(Fraction(v), low), high) for v in values]
    ends = sorted({low, high, *clamped})
    return [(end, sum(v <= end for v in clamped)) for end in ends]


COLUMNS: list[list[float]] = [
    [],
    [0.0],
    [7.0],
    [-5.0],
    [2.0] * 6,
    [-5.0, -4.0, -3.0],
    [9.0, 8.0, 7.0, 0.5],
    [0.1, 0.1, 0.2, 3.0, 3.0, 3.0, 3.9, 4.0, 4.5],
    [-1.0, -1.0, 4.0, 4.0],
    [float(i % 7) / 2 for i in range(40)],
]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("low", [LOW, Fraction(1, 10)])
def test_cells_of_small_columns(level: Fraction, low: Fraction, whole: bool) -> None:
    """All cells at full reach; fewer enclose the same masses."""
    for column in COLUMNS:
        values = np.array([int(v) for v in column] if whole else column)
        column = [float(v) for v in values]
        values = values.astype(np.int64 if whole else np.float64)
        expected = literal_cells(column, low, HIGH)
        for slope in (Fraction(1, 10**6), Fraction(1, 2), Fraction(40)):
            cells = Cells(values, level, (low, HIGH), slope=slope)
            full, few = cells.table(1 << 14), cells.table(1)
            found = [(edge.value, edge.count) for edge in full.edges]
            if slope < 1:
                # The last counts nothing.
                assert found[:-1] == expected[:-1]
                assert found[-1][0] == expected[-1][0]
            with precision(256):
                least = min(abs(count - level * len(column)) for _, count in expected[:-1])
                masses = {
                    end: (-ball(slope * (abs(count - level * len(column)) - least))).exp()
                    * ball(after - end)
                    for (end, count), (after, _) in itertools.pairwise(expected)
                }
                for table in (full, few):
                    first, last = table.edges[0].value, table.edges[-1].value
                    for side, outside in (
                        (table.masses.below, [m for e, m in masses.items() if e < first]),
                        (table.masses.above, [m for e, m in masses.items() if e >= last]),
                    ):
                        assert side.overlaps(sum(outside, ball(0)))
                    total = table.masses.ends[-1] + table.masses.above
                    assert total.overlaps(sum(masses.values(), ball(0)))


class Bits:
    """Bits from a list, most significant first."""

    is_private = False

    def __init__(self, words: list[int]) -> None:
        self.words = words

    def bits(self, n: int) -> int:
        word = self.words.pop(0)
        assert word < 1 << n
        return word

    def below(self, n: int) -> int:
        raise AssertionError(n)


def test_a_draw_waits_until_its_bits_decide() -> None:
    """A uniform number that begins as 1/3 does is decided where it leaves 1/3."""
    third = (1 << 64) // 3

    def masses(bits: int) -> Masses:
        with precision(bits + 32):
            return Masses([ball(0), ball(Fraction(1, 3)), ball(1)], ball(0))

    for last, cell in ((third - 5, 0), (third + 5, 1)):
        rng = Bits([third, third, last << 64])
        assert drawn_cell(masses, rng) == (256, cell)
        assert not rng.words
    assert drawn_cell(masses, Bits([0]))[1] == 0
    assert drawn_cell(masses, Bits([(1 << 64) - 1]))[1] == 1


def test_rounding_and_clamping_are_functions_of_the_draw() -> None:
    """On a coarse grid each value has the mass of the reals that are nearest to it."""
    mechanism = sd.ExponentialQuantile("1/2", bounds=(0, 3), guarantee=sd.PureDP(2), round_to=1)
    data = [1.0, 1.0, 1.25, 2.75]
    weights = {0: 0.5 * math.exp(-2), 1: 0.5 * math.exp(-2) + 0.25 + 0.25 * math.exp(-1)}
    weights |= {2: math.exp(-1), 3: 0.25 * math.exp(-1) + 0.25 * math.exp(-2)}
    total, count = sum(weights.values()), 1500
    rng = sd.SeededRandom(3)
    found = Counter(mechanism.release(data, rng=rng).value for _ in range(count))
    # Hoeffding: each of the four is further away with a probability of 2e-8.
    away = math.sqrt(math.log(2 / 2e-8) / (2 * count))
    for value, weight in weights.items():
        assert abs(found[value] / count - weight / total) < away
