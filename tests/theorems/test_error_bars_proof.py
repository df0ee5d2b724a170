"""Each statement of docs/proofs/error-bars.md, by routes of their own."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.ends import LOG_STEP
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.bars.pivot import ScaleNoise, pivot_quantile
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import Laplace, NoiseDistribution, PolyPlace, StudentT
from smoothdp.queries import Custom, Mean, Median, WindowMean

F = Fraction


def grid(reach: float, points: int) -> tuple[Any, float]:
    """Midpoints of cells and their width."""
    width = 2 * reach / points
    return -reach + width * (np.arange(points) + 0.5), width


# ---- 1: the budget ---------------------------------------------------------------------------


def test_the_loss_of_the_logarithm_is_its_cost() -> None:
    """The ratio of two Laplace densities at distance t; and a spread too small by a tenth."""
    t, cost = 0.0307, 0.16
    v, _ = grid(3, 4001)
    for spread, kept in ((t / cost, True), (0.9 * t / cost, False)):
        loss = (np.abs(v - t) - np.abs(v)) / spread
        assert bool(loss.max() <= cost + 1e-12) is kept
    # Normal: order a of N(0, b^2) from N(t, b^2), by a sum over a fine grid.
    b = t / math.sqrt(2 * cost)
    v, width = grid(0.6, 60_001)
    p, q = (np.exp(-((v - m) ** 2) / (2 * b * b)) / (b * math.sqrt(2 * math.pi)) for m in (0, t))
    for order in (1.5, 2.0, 4.0):
        renyi = math.log(float((p**order * q ** (1 - order)).sum() * width)) / (order - 1)
        assert renyi == pytest.approx(order * cost, rel=1e-6)


def random_law(rng: random.Random, size: int) -> list[Fraction]:
    weights = [F(rng.randrange(1, 30)) for _ in range(size)]
    return [w / sum(weights) for w in weights]


def stick(p: Sequence[Fraction], q: Sequence[Fraction], growth: Fraction) -> Fraction:
    return sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0))


def test_the_pair_costs_no_more_than_the_sum() -> None:
    """(e1, delta) and (e2, 0): exact hockey sticks of products; and no less in the worst case."""
    rng = random.Random(5)
    closest = F(0)
    for _ in range(300):
        p, q = random_law(rng, 4), random_law(rng, 4)
        first, second = random_law(rng, 3), random_law(rng, 3)
        whole = max(max(a / b, b / a) for a, b in zip(first, second, strict=True))
        growth = F(rng.randrange(10, 30), 10)
        delta = stick(p, q, growth)
        pair = [a * b for a, b in product(p, first)], [a * b for a, b in product(q, second)]
        joint = stick(*pair, growth * whole)
        assert joint <= delta
        if delta:
            closest = max(closest, joint / delta)
    assert closest > F(1, 10)
    # Where the logarithm's loss is left out of the sum it is exceeded.
    p, q = [F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]
    pair = [a * b for a, b in product(p, p)], [a * b for a, b in product(q, q)]
    assert stick(p, q, F(3)) == 0 < stick(*pair, F(3))


# ---- 2: the pivot ----------------------------------------------------------------------------


def coverage(law: NoiseDistribution, q: float, spread: float, known: float, used: float) -> float:
    """P(|y - f| <= q e^L / s) for y of S = ``known`` and L of S = ``used``, by a double sum."""
    b, width = grid(40 * spread, 8001)
    weights = np.exp(-np.abs(b) / spread) / (2 * spread) * width
    reach = q * used * np.exp(b) / known
    return float(weights @ (1 - 2 * np.asarray(law.survival(reach))))


@pytest.mark.parametrize("law", [Laplace(), PolyPlace(12), StudentT(3)], ids=str)
def test_coverage_is_the_same_at_every_sensitivity(law: NoiseDistribution) -> None:
    for spread, miss in ((0.1, 0.05), (0.3, 0.2)):
        q = pivot_quantile(law, miss=miss, scale_noise=ScaleNoise.LAPLACE, spread=spread)
        for s in (1e-30, 0.02, 1.0, 1e9):
            assert coverage(law, q, spread, s, s) == pytest.approx(1 - miss, abs=2e-5)


def test_another_sensitivity_in_the_logarithm_breaks_it() -> None:
    law, spread = Laplace(), 0.2
    q = pivot_quantile(law, miss=0.05, scale_noise=ScaleNoise.LAPLACE, spread=spread)
    assert coverage(law, q, spread, 1.0, 0.7) < 0.9
    assert pivot_quantile(
        law, miss=0.05, scale_noise=ScaleNoise.LAPLACE, spread=0.0
    ) == pytest.approx(math.log(20), rel=1e-8)
    assert pivot_quantile(
        law, miss=0.05, scale_noise=ScaleNoise.LAPLACE, spread=0.5
    ) == pytest.approx(4.39856, abs=1e-5)


# ---- 3: rounding -----------------------------------------------------------------------------


def constant(value: Fraction, log_s: float, bounds: tuple[Any, Any] = (0, 10)) -> Custom:
    return Custom(
        value=lambda _: value,
        log_smooth_sensitivity=lambda *_: log_s,
        bounds=bounds,
        proof="the same at all data",
        name="a constant",
    )


def with_bars(query: Custom, step: Any) -> SmoothNoise:
    return SmoothNoise.calibrate(
        query,
        guarantee=sd.PureDP(1),
        n_records=None,
        smoothing="0.05",
        round_to=step,
        coverage=Coverage.read("0.95"),
    )


def test_rounded_intervals_contain_the_ideal_ones() -> None:
    """Any y and L, any step: the printed interval holds the ideal one, cut to the bounds."""
    rng = random.Random(3)
    for _ in range(400):
        step = F(rng.choice([1, 7, 10**4]), rng.choice([1, 10, 3, 10**12]))
        mechanism = with_bars(constant(F(5), 0.0), step)
        bars = mechanism.bars
        assert bars is not None
        y = F(rng.uniform(-30, 40))
        log_s = rng.choice([rng.uniform(-8, 3), rng.uniform(-2900, -600), -5000.0, 2e4])
        index = math.floor(y / step + F(1, 2))
        rounded = math.floor(F(log_s) / LOG_STEP + F(1, 2)) * LOG_STEP
        low, high = bars.interval(
            index * step,
            float(rounded),
            calibration=mechanism.calibration,
            query=mechanism.query,
            step=step,
            n_records=None,
        )
        half = bars.factor / mechanism.calibration.shift * math.exp(min(log_s, 600))
        ideal = max(F(0), y - F(half)), min(F(10), y + F(half))
        assert 0 <= low <= high <= 10
        if ideal[0] <= ideal[1]:
            assert F(low) <= ideal[0] + F(1, 10**15)
            assert ideal[1] - F(1, 10**15) <= F(high)


@pytest.mark.parametrize("log_s", [-900.0, -740.0, -730.0])
def test_tiny_noise_beside_a_border_is_covered(log_s: float) -> None:
    """f = 3.5 + 10^-400 is rounded to 3 half of the time: the half-width must not be 0."""
    value = F(7, 2) + F(1, 10**400)
    mechanism = with_bars(constant(value, log_s), 1)
    hits, rounded = 0, set()
    for seed in range(200):
        found = mechanism.release(None, rng=SeededRandom(seed))
        assert isinstance(found, IntervalRelease)
        low, high = found.interval
        hits += F(low) <= value <= F(high)
        rounded.add(found.value)
    assert hits >= 200 * 0.95 - 3 * math.sqrt(200 * 0.95 * 0.05)
    if log_s > -900:
        assert rounded == {3, 4}


# ---- 5: nothing left out ---------------------------------------------------------------------


def test_the_smooth_sensitivity_of_a_mean_tells_a_record() -> None:
    """max(LS_0, e^-t (b - a) / n) moves with one record; what is released does not."""

    def smooth(data: list[float], t: float) -> float:
        local = max(10 - min(data), max(data) - 0) / len(data)
        return max(local, math.exp(-t) * 10 / len(data))

    first, second = [5.0] * 9 + [6.5], [5.0] * 9 + [6.25]
    assert smooth(first, 1.0) != smooth(second, 1.0)
    widths = set()
    for data in (first, second):
        found = sd.release(
            data, Mean((0, 10)), guarantee=sd.PureDP(9), confidence="0.5", rng=SeededRandom(2)
        )
        assert isinstance(found, IntervalRelease)
        assert 0 < found.interval[0] < found.interval[1] < 10
        widths.add(round(found.interval[1] - found.interval[0], 9))
    assert len(widths) == 1


def test_one_record() -> None:
    found = sd.release(
        [7.0], Median((0, 10)), guarantee=sd.PureDP(50), confidence="0.9", rng=SeededRandom(4)
    )
    assert isinstance(found, IntervalRelease)
    assert found.interval[0] <= 7 <= found.interval[1]
    with pytest.raises(sd.errors.InvalidData):
        sd.release([], Mean((0, 10)), guarantee=sd.PureDP(1), confidence="0.9")
    with pytest.raises(sd.errors.InvalidParameter):
        Median((3, 3))


# ---- 6: the sampling deviation ---------------------------------------------------------------


def test_sensitivities_bound_winsorised_deviations() -> None:
    """Every column of six values in 0..4, every window with both sides trimmed."""
    n = 6
    for low, high in ((1, 1), (1, 3), (2, 1), (2, 3)):
        w = n - low - high
        query = WindowMean(low, drop_high=high, bounds=(0, 4))
        c = Coverage.read("0.9", covers="population").sampling(query, n) / math.sqrt(n)
        for x in combinations_with_replacement(range(5), n):
            s = query.smooth_sensitivity(list(x), smoothing=0.7)
            span = x[n - high - 1] - x[low]
            assert w * s >= span
            winsorised = [x[low]] * low + list(x[low : n - high]) + [x[n - high - 1]] * high
            assert float(np.std(winsorised)) <= c * span + 1e-12


def largest_variance(below: Fraction, above: Fraction) -> Fraction:
    """Of laws on 0, 1/2, 1 in steps of 1/20 with at least these masses at 0 and at 1."""
    found = F(0)
    for i, j in product(range(21), repeat=2):
        at_0, at_1 = F(i, 20), F(j, 20)
        if at_0 >= below and at_1 >= above and at_0 + at_1 <= 1:
            half = (1 - at_0 - at_1) / 2
            found = max(found, at_1 + half / 2 - (at_1 + half) ** 2)
    return found


def test_the_bound_of_a_variance_is_attained() -> None:
    """By two values; with less mass at the ends than is assumed it is exceeded."""
    for low, high in ((2, 12), (12, 2), (4, 6), (15, 1)):
        p, end = F(low, 20), 1 - F(high, 20)
        v = min(max(F(1, 2), p), end)
        assert largest_variance(p, 1 - end) == v * (1 - v)
        if v != F(1, 2):
            assert largest_variance(p / 2, (1 - end) / 2) > v * (1 - v)
    query = WindowMean(896, drop_high=96, bounds=(0, 1))
    found = Coverage.read("0.9", covers="population").sampling(query, 1001)
    assert found == pytest.approx(math.sqrt(0.89510 * 0.10490 * 1001), rel=1e-4)


# ---- 9: the mean -----------------------------------------------------------------------------


def test_trimming_moves_a_mean_by_no_more() -> None:
    """All laws of six equally likely values in 0..4, trimmed by sixths; both are attained."""
    n, closest = 6, [0.0, 0.0]
    for low, high in ((1, 1), (0, 2), (2, 3), (0, 0)):
        d = F(low + high, n)
        for x in combinations_with_replacement(range(5), n):
            kept = x[low : n - high]
            theta, mean = F(sum(kept), len(kept)), F(sum(x), n)
            variance = F(sum(v * v for v in x), n) - mean**2
            moved = abs(mean - theta)
            by_sd = math.sqrt(float(variance * d / (1 - d)))
            by_bounds = d * max(4 - theta, theta)
            assert float(moved) <= by_sd + 1e-12
            assert moved <= by_bounds
            if by_sd:
                closest[0] = max(closest[0], float(moved) / by_sd)
            if by_bounds:
                closest[1] = max(closest[1], float(moved / by_bounds))
    assert closest == pytest.approx([1.0, 1.0])
