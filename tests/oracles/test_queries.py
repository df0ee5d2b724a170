"""Statistics: value, local and smooth sensitivity against all databases of small grids.

And the two properties that a release rests on, over random groups of neighbours.
"""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.queries import (
    Maximum,
    Mean,
    Median,
    Minimum,
    Quantile,
    Query,
    SensitivitySummary,
    TrimmedMean,
    WindowMean,
)
from tests.oracles.query_brute_force import (
    best_decay,
    float_above,
    local_sensitivities,
    widened,
    window_sums,
)

RATES = (Fraction(1, 20), Fraction(2, 5), Fraction(13, 10))


def check_against(query: Query, x: list[float], value: Fraction, levels: list[Fraction]) -> None:
    assert query.value(x) == float(value)
    for k, level in enumerate(levels):
        assert query.local_sensitivity(x, distance=k) == float_above(level)
    for rate in RATES:
        summary = query.summary(x, smoothing=rate)
        assert summary.value == value
        assert summary.candidates == (best_decay(levels, rate),)


# Grids hold both bounds: the data may lie outside, and the bounds need not be floats.
GRIDS = [
    # data, bounds, common denominator of both
    ([0.0, 1.0, 2.0, 5.0], (Fraction(0), Fraction(5)), 1, 5),
    ([-1.0, 0.25, 1.0, 3.0], (Fraction(-1, 3), Fraction(7, 3)), 12, 4),
    ([-0.5, 0.5, 4.0], (Fraction(-1), Fraction(2)), 2, 5),
    ([7.0, 8.0], (Fraction(1, 10), Fraction(3, 10)), 10, 4),
    ([-9.0, -8.0], (Fraction(1, 10), Fraction(3, 10)), 10, 3),
    ([0.0, 1.0, 3.0], (Fraction(0), Fraction(3)), 1, 6),
]


@pytest.mark.parametrize(("data", "bounds", "unit", "n"), GRIDS)
def test_every_window_on_every_database(
    data: list[float], bounds: tuple[Fraction, Fraction], unit: int, n: int
) -> None:
    """Proposition 40 for all windows, n <= 6, ties and values outside the bounds included."""
    a, b = (int(bound * unit) for bound in bounds)
    clamped = {x: min(max(int(x * unit), a), b) for x in data}
    grid = sorted({a, b, *clamped.values()})
    for lo, hi in itertools.product(range(n), repeat=2):
        width = n - lo - hi
        if width < 1:
            continue
        sums = window_sums(grid, n, lo, hi)
        levels = local_sensitivities(sums, n + 1)
        query = WindowMean(lo, drop_high=hi, bounds=bounds)
        for x in itertools.combinations_with_replacement(data, n):
            place = tuple(grid.index(clamped[v]) for v in x)
            check_against(
                query,
                random.Random(1).sample(x, n),
                Fraction(int(sums[place]), width * unit),
                [Fraction(int(level[place]), width * unit) for level in levels],
            )


@pytest.mark.parametrize(("n", "lo", "hi"), [(3, 1, 1), (4, 1, 1), (4, 1, 2), (4, 2, 0), (5, 2, 2)])
def test_truncated_output_on_every_database(n: int, lo: int, hi: int) -> None:
    """A_k = min(U_k, G_k) from the definitions of U_k and G_k; far values stand for infinity."""
    far, width = 10**6, n - lo - hi
    data = [-far, -1, 0, 2, far]
    lower, upper = -1 * width, 1 * width
    sums = window_sums(data, n, lo, hi)
    unclamped = local_sensitivities(sums, n)
    clamped = np.clip(sums, lower, upper)
    room = [np.maximum(upper - clamped, clamped - lower)]
    for _ in range(n):
        room.append(widened(room[-1]))
    local = local_sensitivities(clamped, n)
    query = WindowMean(lo, drop_high=hi, bounds=(-1, 1), truncate="output")
    for x in itertools.combinations_with_replacement(data, n):
        place = tuple(data.index(v) for v in x)
        levels = []
        for k in range(n + 1):
            level = int(room[k][place])
            if k < min(lo, hi):
                level = min(level, int(unclamped[k][place]))
            # In particular it is a bound of the local sensitivity.
            assert level >= int(local[k][place])
            levels.append(Fraction(level, width))
        check_against(query, list(map(float, x)), Fraction(int(clamped[place]), width), levels)


def definition_of_a(
    x: list[float], lo: int, hi: int, a: Fraction, b: Fraction
) -> tuple[Fraction, list[Fraction]]:
    """f and every A_k = min(U_k, G_k), term by term."""
    ordered = sorted(map(Fraction, x))
    n, width = len(x), len(x) - lo - hi

    def mean(shift: int) -> Fraction:
        values = ordered[lo + shift : n - hi + shift]
        return min(max(sum(values, Fraction(0)) / width, a), b)

    levels = []
    for k in range(min(lo, hi) + 2):
        room = max(b - mean(-k), mean(k) - a) if k <= min(lo, hi) else b - a
        if k < min(lo, hi):
            ends = (ordered[n - hi - 1 + k + 1 - p] - ordered[lo - p] for p in range(k + 2))
            room = min(room, max(ends) / width)
        levels.append(room)
    return mean(0), levels


@pytest.mark.parametrize(("lo", "hi"), [(20, 20), (45, 45), (9, 60), (50, 3)])
def test_truncated_output_of_larger_databases(lo: int, hi: int) -> None:
    """Bounds near the middle of the data, on either side of the mean, and far away."""
    rng = random.Random(lo)
    for a, b in ((-3, "-0.1"), ("0.1", 3), ("-0.05", "0.02"), (-20, 90), (-9000, 20)):
        x = [rng.gauss(0, 1) * rng.choice([1, 1, 1, 50]) for _ in range(130)]
        query = WindowMean(lo, drop_high=hi, bounds=(a, b), truncate="output")
        value, levels = definition_of_a(x, lo, hi, *query.bounds)
        check_against(query, x, value, levels)


# ---- |f - f'| <= min(S, S') and |ln S - ln S'| <= t --------------------------------------

STATISTICS: list[tuple[str, int, Query]] = [
    ("mean", 1, Mean((-2, 3))),
    ("minimum", 1, Minimum((-2, 3))),
    ("maximum", 1, Maximum((-2, "3.3"))),
    ("median", 1, Median((-2, 3))),
    ("median, window", 9, Median((-2, 3), window=5)),
    ("quantile .9", 1, Quantile("0.9", bounds=(-2, 3))),
    ("quantile .3, window", 9, Quantile("0.3", bounds=("-0.1", 3), window=3)),
    ("trimmed by 1", 3, TrimmedMean(1, bounds=(-2, 3))),
    ("trimmed by 20%", 1, TrimmedMean("0.2", bounds=(-2, 3))),
    ("window, asymmetric", 6, WindowMean(4, drop_high=1, bounds=(-2, 3))),
    ("window, one side", 4, WindowMean(0, drop_high=3, bounds=(-2, 3))),
    ("trimmed by 1, output", 3, TrimmedMean(1, bounds=(-1, 1), truncate="output")),
    ("trimmed by 30%, output", 4, TrimmedMean("0.3", bounds=(-1, 1), truncate="output")),
    ("window, output", 8, WindowMean(2, drop_high=4, bounds=(-1, 2), truncate="output")),
]


def a_database(rng: random.Random, n: int) -> list[float]:
    kind = rng.randrange(4)
    if kind == 0:
        return [rng.gauss(0, 1) for _ in range(n)]
    if kind == 1:
        return [float(rng.randrange(-2, 4)) for _ in range(n)]
    if kind == 2:
        return [rng.choice([-1e8, 0.0, 0.0, 0.5, 0.5, 1e8]) for _ in range(n)]
    return [math.tan(1.5 * (2 * rng.random() - 1)) for _ in range(n)]


def neighbours(rng: random.Random, x: list[float], count: int) -> list[list[float]]:
    """Databases that differ in one and the same record, so that every two are neighbours."""
    place = rng.randrange(len(x))
    near = sorted(x)
    values = [-1e9, 1e9, *(rng.choice(near) for _ in range(3))]
    values += [rng.choice(near) + rng.gauss(0, 0.2) for _ in range(count - len(values))]
    return [[*x[:place], value, *x[place + 1 :]] for value in values]


def check_neighbours(group: list[SensitivitySummary], rate: Fraction) -> int:
    values = [s.value for s in group]
    sizes = [Fraction(s.smooth_sensitivity()) for s in group]
    logs = [s.log_bounds() for s in group]
    for i, j in itertools.combinations(range(len(group)), 2):
        assert abs(values[i] - values[j]) <= min(sizes[i], sizes[j])
        assert logs[i].lower - logs[j].upper <= float(rate) * (1 + 1e-12)
        assert logs[j].lower - logs[i].upper <= float(rate) * (1 + 1e-12)
    return len(group) * (len(group) - 1) // 2


@pytest.mark.parametrize(("name", "least", "query"), STATISTICS, ids=[s[0] for s in STATISTICS])
def test_random_neighbours(name: str, least: int, query: Query) -> None:
    """More than 60,000 pairs over the statistics, no violation."""
    rng = random.Random(name)
    pairs = 0
    while pairs < 4400:
        x = a_database(rng, rng.randrange(least, least + 11))
        rate = Fraction(rng.choice(["0.01", "0.1", "0.5", "2"]))
        group = [query.summary(y, smoothing=rate) for y in neighbours(rng, x, 21)]
        pairs += check_neighbours(group, rate)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least", "query"), STATISTICS, ids=[s[0] for s in STATISTICS])
def test_more_random_neighbours(name: str, least: int, query: Query) -> None:
    """60,000 pairs for each statistic, and larger databases."""
    rng = random.Random(f"more {name}")
    pairs = 0
    while pairs < 60_000:
        size = rng.choice([least + rng.randrange(30), 101, 1001])
        rate = Fraction(rng.choice(["0.003", "0.02", "0.1", "0.5", "2"]))
        group = [
            query.summary(y, smoothing=rate) for y in neighbours(rng, a_database(rng, size), 41)
        ]
        pairs += check_neighbours(group, rate)


def test_the_check_finds_a_wrong_sensitivity() -> None:
    """S of twice the smoothing, or 1% less than S, is caught."""
    rng = random.Random(3)
    wrong = {"smaller": 0, "steeper": 0}
    query = Median((-2, 3))
    for _ in range(50):
        group = neighbours(rng, a_database(rng, 9), 21)
        rate = Fraction(1, 2)
        summaries = [query.summary(y, smoothing=rate) for y in group]
        steeper = [query.summary(y, smoothing=2 * rate) for y in group]
        smaller = [
            SensitivitySummary(
                s.n_records, s.value, s.smoothing, tuple((k, d * 99 / 100) for k, d in s.candidates)
            )
            for s in summaries
        ]
        for name, bad in (("smaller", smaller), ("steeper", steeper)):
            try:
                check_neighbours(bad, rate)
            except AssertionError:
                wrong[name] += 1
    assert min(wrong.values()) >= 5


# ---- all smoothings at once -----------------------------------------------------------------


@pytest.mark.parametrize(("name", "least", "query"), STATISTICS, ids=[s[0] for s in STATISTICS])
def test_curve_equals_one_smoothing_at_a_time(name: str, least: int, query: Query) -> None:
    rng = random.Random(name)
    for size in (least, least + 1, least + 7, 60):
        x = a_database(rng, size)
        curve = query.sensitivity_curve(x)
        assert curve.value == query.summary(x, smoothing=1).value
        distances = [k for k, _ in curve.vertices]
        assert distances == sorted(set(distances))
        for _ in range(12):
            rate = Fraction(10 ** rng.uniform(-9, 1))
            assert curve.at(rate) == query.summary(x, smoothing=rate)


def test_curve_has_every_vertex() -> None:
    """The hull by the definition: all LS_k, exactly."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        x = rng.standard_normal(41).round(2)
        query = Median((-50, 50))
        levels = [Fraction(query.local_sensitivity(x, distance=k)) for k in range(42)]
        expected = {
            best_decay(levels, Fraction(10 ** float(e)))[0] for e in np.linspace(-9, 2, 100)
        }
        found = {k for k, _ in query.sensitivity_curve(x).vertices}
        assert expected <= found


def test_tied_data_have_a_logarithm() -> None:
    """S far below floats: all values equal, so that only the bounds count."""
    x = np.zeros(20_001)
    query = Median((-1, 3))
    # k records move the median to a bound: p = 0, q = 10,001 on one side alone is 3 - 0.
    assert query.summary(x, smoothing="0.5").candidates == ((10_000, Fraction(3)),)
    assert query.smooth_sensitivity(x, smoothing="0.5") == 5e-324
    log = query.log_smooth_sensitivity(x, smoothing="0.5")
    assert log == pytest.approx(math.log(3) - 5000, rel=1e-15)
    curve = query.sensitivity_curve(x)
    assert curve.log_smooth_sensitivity(smoothing="0.5") == log
    assert curve.vertices == ((10_000, Fraction(3)), (20_001, Fraction(4)))
