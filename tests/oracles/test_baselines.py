"""The baselines of the benchmarks: private as they say, and as accurate as they should be."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest
from benchmarks.baselines import exponential_mechanism as em, means, noise as noisy

from smoothdp.claims import ZCDP, PureDP

BOUNDS = (0.0, 4.0)
PURE, CONCENTRATED = PureDP(1), ZCDP(Fraction(1, 2))
Mean = Callable[..., float]
MEANS: list[Mean] = [
    means.clamped,
    means.clipped_at_quantiles,
    lambda *a: means.karwa_vadhan(*a, sigma=15.0),
    lambda *a: means.coinpress(*a, sigma=15.0),
]


def densities(data: Any, rank: float, z: float, points: Any) -> Any:
    low, high, chance = em.pieces(np.array(data), rank, BOUNDS, z)
    place = np.searchsorted(high, points, side="right")
    return chance[place] / (high - low)[place]


@pytest.mark.parametrize("rank", [0.5, 1.5, 2.0])
def test_the_exponential_mechanism_is_private(rank: float) -> None:
    """All columns of three values of {0..4}, ties too, all neighbours, a point in every gap."""
    points = np.array([0.5, 1.5, 2.5, 3.5])
    columns = list(combinations_with_replacement((0.0, 1.0, 2.0, 3.0, 4.0), 3))
    worst = worst_rho = steep = 0.0
    for one in columns:
        for other in columns:
            if sum(min(one.count(v), other.count(v)) for v in set(one)) < 2:
                continue
            f, g = (densities(x, rank, em.slope(PURE), points) for x in (one, other))
            worst = max(worst, float(np.abs(np.log(f / g)).max()))
            f, g = (densities(x, rank, 3 * em.slope(PURE), points) for x in (one, other))
            steep = max(steep, float(np.abs(np.log(f / g)).max()))
            f, g = (densities(x, rank, em.slope(CONCENTRATED), points) for x in (one, other))
            for order in (1.01, 2.0, 5.0, 20.0):
                divergence = math.log(float(np.sum(f**order * g ** (1 - order)))) / (order - 1)
                worst_rho = max(worst_rho, divergence / order)
    assert worst <= 1 + 1e-12
    assert worst_rho <= 0.5 + 1e-12
    assert steep > 1


def test_its_squared_error() -> None:
    """Against its own draws and against a sum over a fine grid."""
    rng = np.random.default_rng(1)
    data = rng.lognormal(0, 1, 41)
    z, target = 0.5, float(np.median(data))
    found = em.squared_error(data, 20.5, BOUNDS, z, target)
    y = np.linspace(*BOUNDS, 400_001)
    below = np.searchsorted(np.sort(np.clip(data, *BOUNDS)), y)
    weights = np.exp(-z * np.abs(below - 20.5))
    grid = float(weights @ (y - target) ** 2 / weights.sum())
    assert found == pytest.approx(grid, rel=1e-3)
    draws = np.array([em.draw(data, 20.5, BOUNDS, z, rng) for _ in range(4000)])
    squares = (draws - target) ** 2
    assert abs(squares.mean() - found) < 5 * squares.std() / math.sqrt(4000)


def test_its_error_in_units_of_the_density() -> None:
    """2 sqrt(2) / (n f epsilon) for many records (proofs/release-rules#4)."""
    n = 20_001
    data = (np.arange(n) + 0.5) / n
    z = em.slope(PureDP("1/4"))
    error = math.sqrt(em.squared_error(data, n / 2, (-5.0, 5.0), z, 0.5))
    assert error * n / 4 == pytest.approx(2 * math.sqrt(2), rel=0.002)


@pytest.mark.parametrize("guarantee", [PURE, CONCENTRATED], ids=str)
def test_noise(guarantee: PureDP | ZCDP) -> None:
    rng = np.random.default_rng(2)
    draws = np.array([noisy.noise(3.0, guarantee, rng) for _ in range(20_000)])
    stated = 3 * math.sqrt(2) if isinstance(guarantee, PureDP) else 3.0
    assert noisy.deviation(3.0, guarantee) == pytest.approx(stated)
    assert draws.std() == pytest.approx(stated, rel=0.04)


@pytest.mark.parametrize("mean", MEANS, ids=["clamped", "clipped", "KV", "CoinPress"])
@pytest.mark.parametrize("guarantee", [PURE, CONCENTRATED], ids=str)
def test_means_spend_no_more_than_the_budget(
    mean: Mean, guarantee: PureDP | ZCDP, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every draw of noise and every choice is counted by what it costs."""
    spent = []

    def cost(given: PureDP | ZCDP) -> float:
        return given.epsilon if isinstance(given, PureDP) else given.rho

    def noise(sensitivity: float, given: PureDP | ZCDP, rng: Any) -> float:
        del sensitivity, rng
        spent.append(cost(given))
        return 0.0

    chosen: list[float] = []

    def slope(given: PureDP | ZCDP) -> float:
        chosen.append(cost(given))
        return 1.0

    monkeypatch.setattr(means, "noise", noise)
    monkeypatch.setattr(em, "slope", slope)
    rng = np.random.default_rng(3)
    mean(rng.normal(100, 15, 200), (0.0, 200.0), guarantee, rng)
    # Clipping at quantiles uses its slope for two choices.
    choices = sum(chosen) * (2 if mean is means.clipped_at_quantiles else 1)
    assert sum(spent) + choices == pytest.approx(cost(guarantee), rel=1e-9)


@pytest.mark.parametrize("mean", MEANS[1:], ids=["clipped", "KV", "CoinPress"])
@pytest.mark.parametrize("guarantee", [PURE, CONCENTRATED], ids=str)
def test_means_are_accurate_where_privacy_is_cheap(mean: Mean, guarantee: PureDP | ZCDP) -> None:
    """n = 20,000, bounds 1000 times too wide: within 15% of the sample mean's own error."""
    rng = np.random.default_rng(4)
    squares = []
    for _ in range(300):
        data = rng.normal(100, 15, 20_000)
        squares.append((mean(data, (-40_000.0, 50_000.0), guarantee, rng) - 100) ** 2)
    error = math.sqrt(np.mean(squares)) / (15 / math.sqrt(20_000))
    assert 0.85 < error < 1.15


def test_clamping_pays_for_wide_bounds() -> None:
    rng = np.random.default_rng(5)
    data = np.full(1000, 7.0)
    draws = np.array([means.clamped(data, (-500.0, 500.0), PURE, rng) for _ in range(4000)])
    assert draws.std() == pytest.approx(math.sqrt(2), rel=0.08)
    assert abs(draws.mean() - 7) < 0.15
