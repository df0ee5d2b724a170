"""Each statement of docs/proofs/release-rules.md, by routes of their own."""

from __future__ import annotations

import inspect
import math
import random
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import smoothdp as sd
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.mechanisms.release import arguments, defaults, usefulness
from smoothdp.mechanisms.release.bars import budget
from smoothdp.mechanisms.release.bars.budget import bars_budget
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.defaults import (
    default_smoothing,
    default_trim,
    resolve_window,
)
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import Laplace, NoiseDistribution, PolyPlace, StudentT
from smoothdp.planning.expected.clamped_error import Samples
from smoothdp.planning.other_ways import _exponential
from smoothdp.queries import Median, Quantile, Query, TrimmedMean, WindowMean

F = Fraction
GUARANTEES: list[Guarantee] = [
    sd.PureDP("0.01"),
    sd.PureDP(1),
    sd.PureDP("ln(3)"),
    sd.PureDP(20),
    sd.ApproxDP(1, delta="1e-6"),
    sd.ZCDP("0.0005"),
    sd.ZCDP("1/2"),
    sd.TruncatedCDP("1/2", omega=10),
]

# ---- 1: no data ------------------------------------------------------------------------------


def test_no_rule_takes_data() -> None:
    """Every argument of every rule is one of a few public ones."""
    public = {
        *("query", "guarantee", "n_records", "smoothing", "covers", "least", "law"),
        *("noise", "clamp", "number", "value", "e", "omega", "families", "coverage", "is_laplace"),
        "terms",
    }
    seen = 0
    for module in (defaults, budget, usefulness, arguments):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__:
                names = set(inspect.signature(function).parameters)
                assert names <= public, (name, names - public)
                seen += 1
    assert seen > 14
    # `SmoothNoise.calibrate` has no argument for data; `release` has.
    made = set(inspect.signature(SmoothNoise.calibrate).parameters)
    assert "data" not in made
    assert "data" in inspect.signature(SmoothNoise.release).parameters


@pytest.mark.parametrize("coverage", [None, "0.9"])
def test_mechanisms_are_made_without_data(coverage: str | None) -> None:
    """One mechanism per request: made twice, with releases of other data between."""
    covers = None if coverage is None else Coverage.read(coverage)

    def made() -> SmoothNoise:
        return SmoothNoise.calibrate(
            Median((0, 100)), guarantee=sd.ZCDP("1/2"), n_records=301, coverage=covers
        )

    first = made()
    for value in (0.0, 50.0, 1e-9):
        first.release([value] * 301, rng=sd.SeededRandom(1))
        assert made() == first


# ---- 2: valid choices ------------------------------------------------------------------------


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
@pytest.mark.parametrize("covers", [None, "quantile", "population", "window"])
def test_windows_trims_and_shares_are_valid(guarantee: Guarantee, covers: Any) -> None:
    shares = 0
    for n in (1, 2, 3, 10, 101, 1000, 10**5):
        trim = default_trim(guarantee, n)
        assert 0 <= 2 * trim < n
        asked: list[Query] = [Median((0, 1)), TrimmedMean("0.1", bounds=(0, 1))]
        asked += [Quantile(q, bounds=(0, 1)) for q in ("0", "0.01", "0.5", "0.9", "1")]
        for query in asked:
            resolved = resolve_window(query, guarantee, n, covers=covers)
            assert isinstance(resolved, Query)
            low, high = resolved.drops(n)
            assert min(low, high) >= 0
            assert low + high < n
            if isinstance(resolved, Median | Quantile) and not isinstance(query, TrimmedMean):
                assert resolved.window is not None
                assert resolved.window % 2 == 1
            if low == high == 0:
                continue
            t = default_smoothing(resolved, guarantee, n, covers=covers)
            assert t > 0
            try:
                cost, spread = bars_budget(guarantee, t, n, covers=covers or "window")
            except InvalidParameter:
                assert isinstance(guarantee, sd.PureDP | sd.ApproxDP)
                continue
            shares += 1
            whole = float(defaults.Rule.of(guarantee).epsilon)
            if isinstance(guarantee, sd.PureDP | sd.ApproxDP):
                assert 0 < cost < 0.43 * whole
                assert spread * cost >= t
            else:
                assert 0 < cost < 0.43 * whole**2 / 2
                assert 2 * cost * spread**2 >= t * t
                assert 2 * cost * (spread * F(999, 1000)) ** 2 < t * t
    assert shares > 0


# ---- 3: clamped errors -----------------------------------------------------------------------


@pytest.mark.parametrize("law", [Laplace(), PolyPlace(3), StudentT(3)], ids=str)
def test_the_clamped_error_two_ways(law: NoiseDistribution) -> None:
    """By the density, with the mass beyond the bounds at the bounds; and by the code."""
    low, high = -1.0, 3.0
    for f, theta, scale in ((0.0, 0.0, 1.0), (2.5, -0.5, 0.3), (3.0, 3.0, 20.0), (-1.0, 1.0, 5.0)):
        ends = (low - f) / scale, (high - f) / scale
        places = [z for z in (-1 / 3, 0.0, 1 / 3) if ends[0] < z < ends[1]]
        middle = integrate.quad(
            lambda z, f=f, theta=theta, scale=scale: (
                (f + scale * z - theta) ** 2 * float(law.density(z))
            ),
            *ends,
            points=places,
            limit=400,
        )[0]
        below, above = float(law.cdf(ends[0])), float(law.survival(ends[1]))
        direct = middle + below * (low - theta) ** 2 + above * (high - theta) ** 2
        one = np.ones(1)
        inside, _ = Samples(f * one, one, theta * one, (low, high)).added(law, scale)
        assert inside + (f - theta) ** 2 == pytest.approx(direct, rel=5e-3)
        assert direct <= max(high - theta, theta - low) ** 2
    one = np.ones(1)
    worked = Samples(0 * one, one, 0 * one, (-1.0, 1.0)).added(Laplace(), 1.0)
    assert worked == pytest.approx((2 - 4 / math.e, 2.0), rel=2e-3)


# ---- 4: the exponential mechanism ------------------------------------------------------------


def cells(x: tuple[int, ...], q: float, slope: float) -> Any:
    """The law on the unit cells of [0, 4]: N(v) is the number of values below v."""
    weights = np.array(
        [math.exp(-slope * abs(sum(v <= cell for v in x) - q * len(x))) for cell in range(4)]
    )
    return weights / weights.sum()


def test_privacy_of_the_exponential_mechanism() -> None:
    """All neighbours of four values in 0..4: pure and concentrated; both nearly attained."""
    slope, worst, dearest = 0.8, 0.0, 0.0
    for q in (0.2, 0.5, 0.9):
        for x in combinations_with_replacement(range(5), 4):
            for place, value in product(range(4), range(5)):
                other = tuple(sorted((*x[:place], value, *x[place + 1 :])))
                p, r = cells(x, q, slope), cells(other, q, slope)
                worst = max(worst, float(np.abs(np.log(p / r)).max()))
                for order in (1.1, 2.0, 8.0):
                    renyi = math.log(float((p**order * r ** (1 - order)).sum())) / (order - 1)
                    dearest = max(dearest, renyi / order)
    assert slope < worst <= 2 * slope
    assert 0.1 * slope**2 < dearest <= slope**2 / 2


def test_its_error_by_a_sum_over_a_grid() -> None:
    rng = random.Random(2)
    for _ in range(20):
        n = rng.randrange(1, 9)
        x = sorted(rng.choice([0.0, 10.0, rng.uniform(0, 10)]) for _ in range(n))
        q, slope, theta = rng.uniform(0.1, 0.9), rng.uniform(0.1, 2), rng.uniform(0, 10)
        found = _exponential(
            np.array([x]),
            np.arange(1, n + 1),
            np.array([theta]),
            (0.0, 10.0),
            q * n,
            slope,
        )[0]
        v = (np.arange(200_000) + 0.5) / 20_000
        weights = np.exp(-slope * np.abs(np.searchsorted(x, v) - q * n))
        grid = float(weights @ (v - theta) ** 2 / weights.sum())
        assert found == pytest.approx(grid, rel=1e-3)
    one = _exponential(np.zeros((1, 1)), np.array([1]), np.zeros(1), (-1.0, 1.0), 0.5, 0.3)
    assert one[0] == pytest.approx(1 / 3)


def test_the_mean_weight_of_a_run() -> None:
    for slope, count, start in ((0.3, 7, 2.5), (2.0, 1, 0.0), (0.01, 300, 11.0)):
        literal = sum(math.exp(-slope * (start + i)) for i in range(count)) / count
        closed = math.exp(-slope * start) * -math.expm1(-slope * count)
        closed /= count * -math.expm1(-slope)
        assert closed == pytest.approx(literal, rel=1e-12)


@pytest.mark.parametrize("slope", [0.05, 0.01])
def test_its_error_in_equal_gaps(slope: float) -> None:
    reach = math.ceil(60 / slope)
    v = np.arange(-reach, reach) + 0.5
    weights = np.exp(-slope * np.abs(np.floor(v)))
    square = float(weights @ (v * v) / weights.sum())
    assert slope**2 * square == pytest.approx(2, rel=4 * slope)


# ---- 5: global sensitivity -------------------------------------------------------------------


def test_global_sensitivities() -> None:
    n = 4
    for low, high in ((0, 0), (1, 1), (0, 3), (2, 1), (1, 0)):
        w = n - low - high
        query = WindowMean(low, drop_high=high, bounds=(0, 3))
        largest = max(
            query.local_sensitivity(list(x), distance=0)
            for x in combinations_with_replacement(range(4), n)
        )
        assert largest == pytest.approx(3 / w)
        before = [0] * (low + 1) + [3] * (n - low - 1)
        after = [3, *before[1:]]
        assert query.value(after) - query.value(before) == pytest.approx(3 / w)


# ---- 6: the constants ------------------------------------------------------------------------


def deviation(n: int, guarantee: Guarantee, window: int, t: Fraction) -> float:
    """Of the noise at the median of n whole numbers, in gaps."""
    query = Median((-10 * n, 10 * n), window=window)
    noise = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=n, smoothing=t)
    data = range(-(n // 2), n // 2 + 1)
    s = query.smooth_sensitivity(list(data), smoothing=t)
    return noise.calibration.standard_deviation * s


@pytest.mark.parametrize("epsilon", ["1/2", "1"])
def test_the_rule_is_near_the_best_of_its_kind(epsilon: str) -> None:
    """No smoothing at this window is 15% better; one order statistic is 2.5 times worse."""
    n, guarantee = 1001, sd.PureDP(epsilon)
    query = resolve_window(Median((0, 1)), guarantee, n)
    assert isinstance(query, Median)
    assert isinstance(query.window, int)
    t = default_smoothing(query, guarantee, n)
    found = deviation(n, guarantee, query.window, t)
    others = [deviation(n, guarantee, query.window, t * F(k, 4)) for k in (2, 3, 5, 6, 8)]
    assert found < 1.15 * min(others)
    assert min(deviation(n, guarantee, 1, t * k) for k in (1, 2, 3)) > 2.5 * found
