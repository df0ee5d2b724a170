"""Each statement of docs/proofs/quantile-bars.md, by routes of their own."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.exact.random.lazy import RoundedDraws
from smoothdp.exact.random.lazy_pair import draw_pair
from smoothdp.mechanisms.release.bars.certified import max_law_factor, split_factor
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.excesses import excess_mixture, plain_excess
from smoothdp.mechanisms.release.bars.mixture import Mixture, population_mixture
from smoothdp.mechanisms.release.bars.pivot import ScaleNoise
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import Gaussian, Laplace, PolyPlace
from smoothdp.noise.joint.max_law import MaxLaw, MaxLawCalibration
from smoothdp.queries import Median, Quantile, WindowMean
from smoothdp.queries.private_size.padded_window import PaddedWindow

F = Fraction


def smooth(x: Sequence[int], low: int, high: int, t: float, ends: tuple[int, int]) -> float:
    """S by its definition, with the bounds beyond the data."""
    n, width = len(x), len(x) - low - high

    def at(i: int) -> int:
        return ends[0] if i < 1 else ends[1] if i > n else x[i - 1]

    return max(
        math.exp(-t * (p + q - 1)) * (at(n - high + q) - at(low + 1 - p)) / width
        for p in range(low + 2)
        for q in range(high + 2)
        if p + q
    )


# ---- 1: the excess lemma ---------------------------------------------------------------------


def test_order_statistics_are_within_their_excess() -> None:
    """All columns of five values in 0..3, all windows, all ranks; attained, and not by less."""
    n, tight, less = 5, 0, 0
    for t in (0.05, 0.6):
        for low, high in ((0, 0), (2, 2), (1, 1), (0, 3), (1, 2), (3, 0)):
            query = WindowMean(low, drop_high=high, bounds=(0, 3))
            excess = [query.excess(n, rank_below=j, smoothing=t) for j in range(n + 1)]
            for x in combinations_with_replacement(range(4), n):
                s = smooth(x, low, high, t, (0, 3))
                f = sum(x[low : n - high]) / (n - low - high)
                padded = (0, *x, 3)
                for j, (up, down) in enumerate(excess):
                    above, below = f - padded[j], padded[j + 1] - f
                    assert above <= up * s + 1e-12
                    assert below <= down * s + 1e-12
                    tight += above > 0 and above > up * s - 1e-12
                    # Without the growth beyond the window's ends it is false.
                    less += above > min(up, n - low - high - 1) * s + 1e-12
    assert tight > 100
    assert less > 100


# ---- 2: the coverage lemma -------------------------------------------------------------------


def shifted(law: Any, k: float, factor: float, spread: float) -> float:
    """P(|Z + k| <= F e^B) with Laplace B, by a double sum."""
    width = 80 * spread / 16001
    b = -40 * spread + width * (np.arange(16001) + 0.5)
    weights = np.exp(-np.abs(b) / spread) / (2 * spread) * width
    reach = factor * np.exp(b)
    return float(weights @ (law.cdf(reach - k) - law.cdf(-reach - k)))


def test_nearer_is_covered_more_often() -> None:
    for law in (PolyPlace(8), Laplace()):
        found = [shifted(law, k, 2.5, 0.3) for k in np.linspace(0, 6, 13)]
        assert all(a >= b for a, b in pairwise(found))
    # A law with two peaks: the middle is covered less often than a peak.
    two = 0.5 * (Gaussian().cdf(1 - 4) - Gaussian().cdf(-1 - 4)) * 2
    peak = 0.5 * (Gaussian().cdf(1) - Gaussian().cdf(-1))
    assert two < peak


# ---- 3: the plain quantile -------------------------------------------------------------------


def test_plain_quantiles_are_within_their_excess() -> None:
    """All columns of six values in 0..2; what is attained; half a window is not enough."""
    n, tight, less = 6, 0, 0
    t = 0.4
    for query in (
        Median((0, 2), window=1),
        Median((0, 2), window=3),
        Quantile("1/3", bounds=(0, 2), window=3),
        Quantile("2/5", bounds=(0, 2), window=1),
    ):
        q = query.q if isinstance(query, Quantile) else F(1, 2)
        k = plain_excess(query, n, F(2, 5))
        low, high = query.drops(n)
        width = n - low - high
        for x in combinations_with_replacement(range(3), n):
            s = smooth(x, low, high, t, (0, 2))
            f = sum(x[low : n - high]) / width
            first, last = x[math.ceil(q * n) - 1], x[math.floor(q * n)]
            far = max(f - first, last - f)
            assert far <= k * s + 1e-12
            tight += far > 0 and far > k * s - 1e-12
            less += far > (k - 0.5) * s + 1e-12
    assert tight > 3
    assert less > 3


def test_the_excess_is_half_a_window() -> None:
    """(w - 1) / 2 or (w + 1) / 2 for every n and level; ranks in rationals, not in floats."""
    for n in range(20, 90):
        for q in (F(1, 2), F(7, 100), F(29, 100), F(1, 3), F(9, 10)):
            for w in (1, 3):
                k = plain_excess(Quantile(q, bounds=(0, 1), window=w), n, F(1, 10))
                assert (w - 1) / 2 <= k <= (w + 1) / 2
    assert math.ceil(0.07 * 100) == 8
    assert plain_excess(Quantile("0.07", bounds=(0, 1), window=3), 100, F(1, 10)) == 2
    # With 8 in the place of 7 the excess would be 1, and the value of rank 7 lost.
    assert Quantile("0.07", bounds=(0, 1)).rank(100) == 8


# ---- 4: the population -----------------------------------------------------------------------


def covered_of_two(n: int, p: float, w: int, law: MaxLawCalibration, factor: float) -> float:
    """P(the median of the population is covered): values 0 and 1, 1 with probability p < 1/2.

    The sum over the number of ones, with f, S and the coverage at each.
    """
    low = (n - w) // 2
    t = float(law.smoothing)
    total = 0.0
    for ones in range(n + 1):
        log_weight = math.lgamma(n + 1) - math.lgamma(ones + 1) - math.lgamma(n - ones + 1)
        log_weight += ones * math.log(p) + (n - ones) * math.log1p(-p)
        if log_weight < -14:
            continue
        x = [0] * (n - ones) + [1] * ones
        f = sum(x[low : n - low]) / (n - 2 * low)
        s = smooth(x, low, low, t, (0, 1))
        total += math.exp(log_weight) * law.coverage(excess=f / s, factor=factor)
    return total


def test_two_values_are_covered() -> None:
    """The median of a law that is 1 almost half of the time is 0."""
    n, w, t = 61, 3, F(3, 20)
    law = MaxLaw().calibrate(sd.PureDP(1), smoothing=t)
    mixture = population_mixture(n, F(1, 2), ((n - w) // 2,) * 2, t, 0.1)
    factor = max_law_factor(law, mixture, miss=0.1)
    found = covered_of_two(n, 0.5 - 1e-9, w, law, factor)
    assert 0.9 <= found < 0.97
    # What covers the quantile of the sample does not cover that of the population.
    plain = max_law_factor(law, Mixture.single((w - 1) / 2), miss=0.1)
    assert covered_of_two(n, 0.5 - 1e-9, w, law, plain) < 0.85


@pytest.mark.parametrize("n", [1, 2, 57, 5000])
@pytest.mark.parametrize("q", [F(1, 2), F(1, 20), F(9, 10)])
def test_weights_are_not_below_those_of_the_binomial_law(n: int, q: Fraction) -> None:
    mixture = population_mixture(n, q, (0, 0) if n < 3 else (n // 40, n // 40), F(1, 50), 0.05)
    assert 1 <= float(mixture.weight.sum()) <= 1 + 2e-6
    assert mixture.left_out <= 1e-6
    # By a sum over all ranks: a mean of a decreasing function is not above that of the mixture.
    drops = (0, 0) if n < 3 else (n // 40, n // 40)
    query = WindowMean(drops[0], drop_high=drops[1], bounds=(0, 1))
    exact = 0.0
    for j in range(n + 1):
        log_weight = math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1)
        log_weight += j * math.log(q) + (n - j) * math.log(1 - q)
        k = max(query.excess(n, rank_below=j, smoothing="0.02"))
        exact += math.exp(log_weight) * math.exp(-k / max(1, n / 5))
    bound = float(mixture.weight @ np.exp(-mixture.excess / max(1, n / 5)))
    assert bound <= exact + 1e-5
    assert bound >= exact * 0.9


# ---- 5: the max law is private ---------------------------------------------------------------


def log_density(z: Any, b: Any, a: float, t: float, d: float) -> Any:
    r = np.abs(z) * t
    inner = -(a - 1) * np.log(np.maximum(1 - r, 1e-300))
    outer = (a + 1) * np.log((1 + r) / (1 + 1 / a)) - (a - 1) * math.log(1 - 1 / a)
    return -np.maximum(np.where(r <= 1 / a, inner, outer) + d, (a - 1) * np.abs(b))


def worst_loss(a: float, t: float, d: float, stretch: float, rng: np.random.Generator) -> float:
    """The largest loss over epsilon of moves f' - f and ln S' - ln S; S = 1."""
    size = 60_000
    tau = stretch * t * rng.choice([-1.0, 1.0, 0.0, 0.3], size)
    move = stretch * np.minimum(1, np.exp(tau)) * rng.choice([-1.0, 1.0, 0.5], size)
    y = rng.choice([-1.0, 1.0], size) * np.exp(rng.uniform(-4, 4, size)) / (a * t)
    w = rng.uniform(-3, 3, size) * np.exp(rng.uniform(-4, 2, size))
    here = log_density(y, w, a, t, d)
    there = log_density((y - move) * np.exp(-tau), w - tau, a, t, d) - tau
    return float(np.abs(here - there).max()) / (a * t)


def test_the_loss_is_at_most_epsilon() -> None:
    rng = np.random.default_rng(23)
    largest = 0.0
    for a in (1.2, 2.5, 11.0, 80.0):
        for t in (0.01, 0.2, 1.0):
            for d in (0.0, 1.0, 3.0):
                largest = max(largest, worst_loss(a, t, d, 1.0, rng))
    assert 0.98 < largest <= 1 + 1e-9
    assert worst_loss(11.0, 0.1, 1.0, 1.3, rng) > 1.05


def test_the_calibration_pays_for_its_shape() -> None:
    law = MaxLaw().calibrate(sd.PureDP("ln(3)"), smoothing="0.1")
    assert float(law.shape) * 0.1 <= math.log(3)
    with pytest.raises(sd.errors.InvalidParameter):
        MaxLawCalibration(MaxLaw(), sd.PureDP(1), F(1, 10), F(11))
    for guarantee in (sd.ZCDP(1), sd.PureDP("0.1")):
        with pytest.raises(sd.errors.InvalidParameter):
            MaxLaw().calibrate(guarantee, smoothing="0.1")


# ---- 6: its draws ----------------------------------------------------------------------------


@pytest.mark.parametrize(("epsilon", "t", "d"), [(1, "1/20", 1), (2, "4/5", 0), (1, "1/5", "5/2")])
def test_marginals_and_draws_of_the_max_law(epsilon: int, t: str, d: Any) -> None:
    """|Z| and B against sums of the density; draws against the same, at a level of 1e-4."""
    law = MaxLaw(d).calibrate(sd.PureDP(epsilon), smoothing=t)
    a, rate, offset = float(law.shape), float(law.smoothing), float(law.law.offset)
    v = np.linspace(0, 40 / a, 4001)
    z = np.concatenate(
        [-np.expm1(-v[v < -math.log1p(-1 / a)]) / rate, (np.exp(v) / a + np.expm1(v)) / rate]
    )
    z = np.unique(z)
    b = np.concatenate(
        [np.linspace(0, 6 / (a - 1), 1500), np.geomspace(6 / (a - 1), 45 / (a - 1), 700)]
    )
    joint = np.exp(log_density(z[:, None], b[None, :], a, rate, offset))
    by_z = np.trapezoid(joint, b, axis=1)
    tail = np.concatenate([[0.0], np.cumsum((by_z[1:] + by_z[:-1]) / 2 * np.diff(z))])
    # What is beyond the grid of z is small beside the tolerance but for heavy tails.
    known, _, survival = law.cells(0.01, 1e-3)
    share = np.interp(known, z, tail / tail[-1])
    heavy = float(np.interp(z[-1], known, survival))
    assert np.abs(1 - share - survival).max() < 5e-4 + heavy
    pair, size = law.lazy(), 3000
    grid: dict[str, Any] = {
        "centre": F(0),
        "factor": F(10**6),
        "decay": F(0),
        "lowest": -(10**15),
        "highest": 10**15,
    }
    first, second = (RoundedDraws(part, **grid) for part in (pair.first, pair.second))
    rng = SeededRandom(5)
    drawn = np.array([draw_pair(pair, first, second, rng) for _ in range(size)]) / 1e6
    bound = 2.23 / math.sqrt(size)
    uniform = np.sort(np.interp(np.abs(drawn[:, 0]), known, 1 - survival))
    place = (np.arange(size) + 0.5) / size
    assert np.abs(uniform - place).max() < bound
    by_b = np.trapezoid(joint, z, axis=0)
    mass = np.concatenate([[0.0], np.cumsum((by_b[1:] + by_b[:-1]) / 2 * np.diff(b))])
    logs = np.sort(np.interp(np.abs(drawn[:, 1]), b, mass / mass[-1]))
    assert np.abs(logs - place).max() < bound + 0.003
    assert abs(float((drawn > 0).mean()) - 0.5) < 3.9 * 0.5 / math.sqrt(2 * size)
    # Both together: the larger of the two sides of the maximum is a Gamma(3) number or so.
    found = float((np.abs(drawn[:, 0]) <= 3 * np.exp(drawn[:, 1])).mean())
    level = law.coverage(excess=0, factor=3)
    assert abs(found - level) < 3.9 * math.sqrt(level * (1 - level) / size) + 1e-9
    # A law for another smoothing is told apart.
    other = MaxLaw(offset).calibrate(sd.PureDP(2 * epsilon), smoothing=2 * law.smoothing)
    wrong = np.sort(np.interp(np.abs(drawn[:, 0]), *_cdf_of(other)))
    assert np.abs(wrong - place).max() > 2 * bound


def _cdf_of(law: MaxLawCalibration) -> tuple[Any, Any]:
    z, _, survival = law.cells(0.01, 1e-3)
    return z, 1 - survival


# ---- 7: certified factors --------------------------------------------------------------------


@pytest.mark.parametrize("miss", [0.5, 0.05, 1e-6])
@pytest.mark.parametrize("k", [0.0, 0.7, 20.0])
def test_factors_of_the_max_law_are_safe_and_near(k: float, miss: float) -> None:
    for t in ("0.04", "0.2", "0.6"):
        law = MaxLaw().calibrate(sd.PureDP(1), smoothing=t)
        factor = max_law_factor(law, Mixture.single(k), miss=miss)
        assert law.coverage(excess=k, factor=factor) >= 1 - miss - 1e-13
        assert law.coverage(excess=k, factor=factor * 0.985) < 1 - miss


@pytest.mark.parametrize("k", [0.0, 0.7, 20.0])
def test_factors_of_two_laws_are_safe_and_near(k: float) -> None:
    for law, spread in ((PolyPlace(11), 0.3), (Laplace(), 0.1), (PolyPlace(3), 0.02)):
        factor = split_factor(
            law, Mixture.single(k), miss=0.05, scale_noise=ScaleNoise.LAPLACE, spread=spread
        )
        assert shifted(law, k, factor, spread) >= 0.95 - 1e-5
        assert shifted(law, k, factor * 0.99, spread) < 0.95


def test_a_factor_that_is_too_small_is_refused() -> None:
    import dataclasses

    mechanism = SmoothNoise.calibrate(
        Median((0, 9)),
        guarantee=sd.ZCDP("1/2"),
        n_records=1001,
        coverage=Coverage.read("0.95", covers="quantile"),
    )
    assert mechanism.bars is not None
    short = dataclasses.replace(mechanism.bars, factor=mechanism.bars.factor * 0.999)
    with pytest.raises(sd.errors.InvalidParameter, match="factor of at least"):
        dataclasses.replace(mechanism, bars=short)


# ---- 8: the padded window --------------------------------------------------------------------


def test_plain_quantiles_are_within_the_padded_excess() -> None:
    """Every column of up to four values in 0..3; attained; false for a narrow window."""
    tight = 0
    for q, factors in ((F(1, 2), (1, F(8, 5))), (F(1, 4), (1, F(9, 5))), (F(2, 3), (1, 2))):
        for factor in factors:
            width = 2 * max(q, 1 - q) * factor
            window = PaddedWindow(q, bounds=(0, 3), width=width)
            covers = Coverage.read("0.9", covers="quantile")
            k = float(excess_mixture(covers, window, None, F(1, 10)).excess[0])
            assert k == pytest.approx(float(factor), rel=1e-9)
            for far, local in padded_distances(window, q):
                assert far <= k * local + 1e-12
                tight += far > 0 and far > k * local - 1e-9
    assert tight > 10
    narrow = PaddedWindow(F(1, 4), bounds=(0, 3), width=F(1, 2))
    assert any(far > local / 3 + 1e-9 for far, local in padded_distances(narrow, F(1, 4)))


def padded_distances(window: PaddedWindow, q: Fraction) -> list[tuple[float, float]]:
    """|f - v| for the ends v of the plain quantiles, and the local bound, of small columns."""
    found = []
    for n in range(5):
        for x in combinations_with_replacement(range(4), n):
            f, local = window.value(list(x)), window.local_bound(list(x))
            if n == 0:
                ends = [0, 3]
            else:
                padded = (0, *x, 3)
                ends = [padded[math.ceil(q * n)], padded[math.floor(q * n) + 1]]
            found += [(abs(f - v), local) for v in ends]
    return found


def test_random_columns_keep_the_padded_excess() -> None:
    rng = random.Random(8)
    for _ in range(300):
        q = F(rng.randrange(1, 12), 12)
        window = PaddedWindow(q, bounds=(0, 99), width=2 * max(q, 1 - q) + F(rng.randrange(9), 4))
        x = sorted(rng.choice([rng.randrange(100), 50]) for _ in range(rng.randrange(1, 9)))
        n = len(x)
        f = window.value(x)
        s = window.smooth_sensitivity(x, smoothing="0.3")
        for v in (x[math.ceil(q * n) - 1], x[math.floor(q * n)] if q * n < n else x[-1]):
            assert abs(f - v) <= float(window.width / (2 * window.step)) * s + 1e-9
