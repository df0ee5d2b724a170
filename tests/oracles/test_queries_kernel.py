"""The parts under the statistics: pairs near the maximum, exact sums, exact reading."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.queries import Median, Quantile, TrimmedMean, WindowMean
from smoothdp.queries.read_arguments import read_values
from smoothdp.queries.sensitivity import near_maxima, row_maxima
from smoothdp.queries.sensitivity.candidates import (
    decayed_upper,
    exact_candidates,
    largest,
    largest_within,
    log_decayed,
)
from smoothdp.queries.windows.exact_sums import exact_sum
from smoothdp.queries.windows.sides import GAIN_ERROR, Clamp, Sides, sides
from smoothdp.types import IntArray

Values = NDArray[np.float64 | np.int64]


def sides_of(low: Values, high: Values, bounds: tuple[Fraction, Fraction]) -> Sides:
    return sides(low, high, Clamp.on(low, bounds), complete=(True, True))


def true_pairs(
    low: Values, high: Values, bounds: tuple[Fraction, Fraction], most: int | None
) -> dict[int, Fraction]:
    """The largest u_q - v_p for each k, by the definition (and p + q = 0 at k = 0)."""
    a, b = bounds

    def clamped(value: object) -> Fraction:
        return min(max(Fraction(float(value) if isinstance(value, float) else int(value)), a), b)  # type: ignore[call-overload]

    v = [*map(clamped, low.tolist()), a]
    u = [*map(clamped, high.tolist()), b]
    # Differences and comparisons in whole units.
    unit = math.lcm(*(x.denominator for x in (*v, *u)))
    lows, highs = ([x.numerator * (unit // x.denominator) for x in side] for side in (v, u))
    best: dict[int, int] = {}
    for (p, x), (q, y) in itertools.product(enumerate(lows), enumerate(highs)):
        if most is None or p + q <= most:
            k = max(p + q - 1, 0)
            best[k] = max(best.get(k, 0), y - x)
    return {k: Fraction(gap, unit) for k, gap in best.items()}


def true_best(levels: dict[int, Fraction], rate: Fraction) -> tuple[int, Fraction]:
    with mpmath.workdps(50):
        t = mpmath.mpf(rate.numerator) / rate.denominator

        def score(k: int) -> mpmath.mpf:
            d = levels[k]
            if d == 0:
                return -mpmath.inf
            return mpmath.log(mpmath.mpf(d.numerator) / d.denominator) - k * t

        k = max(sorted(levels), key=score)
    return k, levels[k]


def ends(rng: random.Random, whole: bool) -> tuple[Values, Values, tuple[Fraction, Fraction]]:
    """Random values beyond both ends of a window, of several kinds, and bounds."""
    sizes = rng.randrange(1, 40), rng.randrange(1, 40)
    kind = rng.randrange(6)
    if whole:
        base = rng.choice([0, 2**60, -(2**60)])
        step = rng.choice([1, 1, 7, 2**54])
        start = np.array([base], dtype=np.int64)
        jump = [np.array([rng.choice([0, step]) for _ in range(s)], np.int64) for s in sizes]
        low, high = start - np.cumsum(jump[0]), start + rng.choice([0, 3]) + np.cumsum(jump[1])
        outer = (
            Fraction(int(low[-1]) - rng.randrange(3)),
            Fraction(int(high[-1]) + rng.randrange(3)),
        )
        if rng.random() < 0.3:
            outer = Fraction(int(low[0])) - Fraction(5, 3), Fraction(int(high[0])) + Fraction(7, 3)
        return low, high, outer

    def gap() -> float:
        return [
            1.0,
            rng.expovariate(1),
            rng.choice([0.0, 1.0]),
            rng.expovariate(1) ** 8,
            rng.choice([0.0, 0.0, 2.0**-50, 1.0]),
            rng.random() * 2.0**-60,
        ][kind]

    middle = 0.0 if kind == 5 else rng.choice([0.0, 1.0, -1e6, 0.1])
    low_f = middle - np.cumsum([gap() for _ in range(sizes[0])])
    high_f = middle + rng.choice([0.0, 1.0]) + np.cumsum([gap() for _ in range(sizes[1])])
    choice = rng.randrange(4)
    if choice == 0:
        # A window on one value, far from both ends.
        a, b = Fraction(float(low_f[0])) - Fraction(7, 3), Fraction(float(high_f[0])) + 1
    elif choice == 1:
        # All of the low side is clamped to a bound that is hardly below a value, or high to one.
        a = Fraction(float(rng.choice(high_f))) - Fraction(1, 2**90)
        b = Fraction(float(high_f[-1])) + rng.choice([Fraction(1), Fraction(1, 3)])
        if rng.random() < 0.5:
            low_f, high_f, a, b = -high_f, -low_f, -b, -a
    else:
        spread = rng.choice([Fraction(1, 2**40), Fraction(1, 3), Fraction(1000)])
        a, b = Fraction(float(low_f[-1])) - spread, Fraction(float(high_f[-1])) + spread
    return low_f, high_f, (a, b)


@pytest.mark.parametrize("path", ["all pairs", "pruned", "row maxima"])
@pytest.mark.parametrize("whole", [False, True])
def test_the_maximiser_is_among_the_pairs(
    monkeypatch: pytest.MonkeyPatch, path: str, whole: bool
) -> None:
    """All three ways, ties and chunks of every size, with and without a limit on distance."""
    rng = random.Random(f"{path} {whole}")
    if path == "pruned":
        monkeypatch.setattr(near_maxima, "_ALL_PAIRS", 32)
        monkeypatch.setattr(near_maxima, "near_row_maxima", every_pair)
    if path == "row maxima":
        monkeypatch.setattr(near_maxima, "_ALL_PAIRS", 0)
    seen = 0
    for _ in range(250):
        monkeypatch.setattr(row_maxima, "_CHUNK", rng.choice([1, 7, 1000]))
        low, high, bounds = ends(rng, whole)
        both = sides_of(low, high, bounds)
        most = rng.choice([None, rng.randrange(1, 60)])
        levels = true_pairs(low, high, bounds, most)
        rate = Fraction(rng.choice(["1e-12", "1e-5", "0.01", "0.1", "1", "30"]))
        pairs = near_maxima.near_maxima(both, float(rate), most=most)
        if not any(levels.values()):
            assert pairs.best == -math.inf
            continue
        assert largest(exact_candidates(both, pairs.low, pairs.high), rate) == true_best(
            levels, rate
        )
        k = rng.randrange(90)
        running = max(d for at, d in true_pairs(low, high, bounds, None).items() if at <= k)
        assert largest_within(both, k) == running
        seen += 1
    assert seen > 150


def every_pair(
    table: row_maxima.PairTable,
) -> tuple[tuple[IntArray, IntArray], float]:
    rows, columns = len(table.low_gains), len(table.high_gains)
    low, high = np.divmod(np.arange(rows * columns), columns)
    scores = table.score(low, high)
    counts = scores > -np.inf
    return (low[counts], high[counts]), float(scores.max())


@pytest.mark.parametrize("most", [None, 17])
def test_every_pair_near_the_maximum_is_found(
    monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    """Where differences are below the error of floats, all of the pairs in question come back."""
    rng = random.Random(11)
    monkeypatch.setattr(row_maxima, "_CHUNK", 50)
    largest_count = 0
    for _ in range(60):
        gap = rng.choice([0.0, 2.0**-55, 2.0**-52])
        low = np.cumsum([rng.choice([0.0, gap]) for _ in range(rng.randrange(1, 30))])
        high = 1.0 + np.cumsum([rng.choice([0.0, gap]) for _ in range(rng.randrange(1, 30))])
        p, q = np.arange(len(low)), np.arange(len(high))
        rate = rng.choice([1e-30, 1e-16, 1e-15])
        table = row_maxima.PairTable(rate, most, low, p, p, high, q, q)
        (rows, columns), best = row_maxima.near_row_maxima(table)
        scores = table.score(p[:, None], q[None, :])
        assert best >= scores.max() - 4 * table.error(best)
        wanted = set(zip(*np.nonzero(scores >= scores.max() - 2 * table.error(best)), strict=True))
        assert wanted <= set(zip(rows, columns, strict=True))
        largest_count = max(largest_count, len(wanted))
    assert largest_count > 100


def test_long_ties_are_found_quickly() -> None:
    """Whole numbers 0..n: every pair of one distance has the same difference."""
    n = 300_001
    x = np.arange(n)
    query = Median((0, n - 1))
    for rate, k in (("0.01", 99), ("0.0001", 9999)):
        # d = k + 1 at distance k: the largest (k + 1) e^(-t k) is at 1/t - 1 or beside it.
        found = query.summary(x, smoothing=rate).candidates
        expected = true_best({i: Fraction(i + 1) for i in range(k - 5, k + 6)}, Fraction(rate))
        assert found == (expected,)


@pytest.mark.parametrize("rate", ["0.1", "0.003", "0.00002"])
def test_large_columns_against_a_second_route(rate: str) -> None:
    """The maximum over all pairs within a reach, looked at row by row in floats."""
    x = np.random.default_rng(4).standard_t(3, 4001)
    t, bounds = float(rate), (-1000.0, 1000.0)
    for query in (
        Median(bounds),
        Quantile("0.9", bounds=bounds, window=7),
        TrimmedMean("0.1", bounds=bounds),
        WindowMean(3, drop_high=700, bounds=bounds),
    ):
        lo, hi = query.drops(len(x))
        ordered = np.sort(x)
        v = np.append(ordered[: lo + 1][::-1], bounds[0])
        u = np.append(ordered[len(x) - hi - 1 :], bounds[1])
        best = 0.0
        for p in range(len(v)):
            k = np.maximum(p + np.arange(len(u)) - 1, 0)
            best = max(best, float(((u - v[p]) * np.exp(-t * k)).max()))
        expected = best / (len(x) - lo - hi)
        assert query.smooth_sensitivity(x, smoothing=rate) == pytest.approx(expected, rel=1e-12)


def test_nearly_tied_differences_are_told_apart() -> None:
    """Differences of 7.3 and a rounding: the sum of two rounded gains orders some of them wrong."""
    rng = random.Random(1)
    size, misordered = 8, 0
    bounds = (Fraction(-100), Fraction(100))
    for _ in range(3000):
        middle = rng.uniform(-0.1, 0.1)
        high = sorted(rng.uniform(0.5, 3) for _ in range(size))
        low = [u - 7.3 for u in high][::-1]
        ends_low, ends_high = np.array([middle, *low]), np.array([middle, *high])
        clamp = Clamp.on(ends_low, bounds)
        both = sides(ends_low, ends_high, clamp, complete=(False, False))
        # The pair u_q, v_p with p + q = size + 1 is such a difference.
        exact = [Fraction(u) - Fraction(u - 7.3) for u in high]
        sums = [(u - middle) + (middle - (u - 7.3)) for u in high]
        by_float = max(d for d, g in zip(exact, sums, strict=True) if g == max(sums))
        misordered += by_float != max(exact)
        assert largest_within(both, size) == max(exact)
    assert misordered > 5


def test_float_gains_are_within_their_error() -> None:
    rng = random.Random(8)
    for _ in range(300):
        low, high, bounds = ends(rng, rng.random() < 0.3)
        both = sides_of(low, high, bounds)
        assert GAIN_ERROR == 4 * UNIT_ROUNDOFF
        for p in range(len(both.low)):
            for q in (0, len(both.high) // 2, len(both.high) - 1):
                truth = both.difference(p, q)
                gain = Fraction(float(both.low.gains[p] + both.high.gains[q]))
                assert abs(gain - truth) <= Fraction(GAIN_ERROR) * truth


def test_exact_sums() -> None:
    rng = np.random.default_rng(7)
    cases = [
        rng.standard_normal(70_001),
        rng.standard_normal(40_000) * 10.0 ** rng.integers(-300, 300, 40_000),
        np.array([1.7e308, 1.7e308, -5e-324, 1.0, -1.7e308]),
        np.full(100_000, 5e-324),
        np.full(32_768, 2.0**1022),
        np.zeros(3),
        np.array([-0.0]),
        np.array([2.0**-1022, -(2.0**-1023), 2.0**900, 2.0**901]),
        (rng.random(32_768) + 1) * -(2.0**899),
    ]
    for values in cases:
        assert exact_sum(values) == sum(map(Fraction, values.tolist()))
    whole = rng.integers(-(2**62), 2**62, 50_000)
    assert exact_sum(whole) == sum(whole.tolist())


def test_values_are_correctly_rounded() -> None:
    x = np.array([1e16, 1.0, 1.0, 1.0, -1e16, 0.1])
    whole = WindowMean(0, drop_high=0, bounds=(-1e17, 1e17))
    assert whole.value(x) == float(sum(map(Fraction, x.tolist())) / 6)
    # Bounds that are no floats: one tenth, exactly, and not the float beside it.
    clamped = WindowMean(0, drop_high=0, bounds=(0.1, 0.3)).summary([0.0, 1.0], smoothing=1)
    assert clamped.value == Fraction(1, 5)


def test_whole_numbers_beyond_floats_stay_exact() -> None:
    big = 2**60
    x = [big + 1, big + 2, big + 4, big + 9, big - 7]
    array = read_values(x)
    assert array.dtype == np.int64
    query = Median((0, 2**61))
    assert query.summary(x, smoothing=1).value == big + 2
    # At distance 0 the gaps beside the median are 2 and 1; at distance 1: 8 = 9 - 1, and 7 + 2.
    assert query.local_sensitivity(x) == 2
    assert query.local_sensitivity(x, distance=1) == 9
    assert query.summary(np.array(x), smoothing=40).candidates == ((0, Fraction(2)),)
    outside = Median((Fraction(big) + Fraction(4, 3), big + 3)).summary(x, smoothing=40)
    assert outside.candidates == ((0, Fraction(1)),)
    # Floats would make them all equal.
    assert Median((0, 2**61)).local_sensitivity([float(v) for v in x]) == 0


def test_decays_are_compared_exactly() -> None:
    t = Fraction(1)
    # d and d' = the 200-digit decimal above or below e d.
    with mpmath.workdps(220):
        digits = int(mpmath.floor(mpmath.e * mpmath.mpf(10) ** 200))
    below, above = Fraction(digits, 10**200), Fraction(digits + 1, 10**200)
    assert largest([(0, Fraction(1)), (1, below)], t) == (0, Fraction(1))
    assert largest([(0, Fraction(1)), (1, above)], t) == (1, above)
    assert largest([(3, Fraction(1)), (1, Fraction(1)), (1, Fraction(2))], t) == (1, Fraction(2))


def test_decays_are_rounded_up() -> None:
    rng = random.Random(9)
    for _ in range(300):
        k, rate = rng.randrange(400), Fraction(rng.choice(["0.01", "1/3", "2", "7"]))
        d = Fraction(rng.randrange(1, 10**20), rng.randrange(1, 10**20))
        with mpmath.workdps(60):
            log = mpmath.log(mpmath.mpf(d.numerator) / d.denominator) - mpmath.mpf(
                k * rate.numerator
            ) / mpmath.mpf(rate.denominator)
            truth = mpmath.exp(log)
            upper, logs = decayed_upper((k, d), rate), log_decayed((k, d), rate)
            assert upper >= truth
            assert upper <= truth * (1 + mpmath.mpf(2) ** -51) + mpmath.mpf(2) ** -1073
            assert logs.lower <= log <= logs.upper
            assert logs.upper - logs.lower <= 2 * math.ulp(logs.upper)
