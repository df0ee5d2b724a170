"""Random attacks on every calibrated law: no divergence within the promise may exceed it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.claims import ZCDP, ApproxDP, TruncatedCDP
from smoothdp.errors import SmoothdpError
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.noise.calibration import Calibration, calibrate
from smoothdp.noise.law import NoiseDistribution
from smoothdp.testing.smooth_quadrature import hockey_stick, renyi

Family = Callable[[str], NoiseDistribution]
# Families with a range of shapes; LaplaceLogNormal is slow to certify.
CONCENTRATED: list[tuple[Family, float, float]] = [
    (ArsinhNormal, 0.2, 1.6),
    (StudentT, 1.2, 20),
    (UniformLogNormal, 0.3, 1.2),
    (Log1pNormal, 0.2, 1.5),
    (PolyPlace, 2.2, 12),
    (GeneralizedCauchy, 2.5, 6),
]
APPROXIMATE: list[tuple[Family, float, float]] = [
    *CONCENTRATED,
    (lambda _: Laplace(), 1, 2),
    (lambda _: Gaussian(), 1, 2),
    (LaplaceLogNormal, 0.2, 0.6),
]


def draw(rng: np.random.Generator, low: float, high: float) -> str:
    return f"{math.exp(rng.uniform(math.log(low), math.log(high))):.4g}"


def points(
    rng: np.random.Generator, result: Calibration[NoiseDistribution], count: int
) -> list[tuple[float, float, bool]]:
    """Shifts up to s and dilations up to t: the ends, and random ones."""
    s, t = result.shift, float(result.smoothing)
    found = [(s, 0.0, False), (s, t, False), (s, t, True)]
    for _ in range(count):
        shift = s if rng.uniform() < 0.7 else s * rng.uniform()
        found.append((shift, t * rng.uniform() ** rng.choice([0.3, 1, 3]), rng.uniform() < 0.6))
    return found


def attack_concentrated(seed: int, family: Family, low: float, high: float, count: int) -> int:
    rng = np.random.default_rng(seed)
    law = family(draw(rng, low, high))
    e = float(draw(rng, 0.15, 2))
    t = f"{e * rng.uniform(0.01, 0.6):.4g}"
    guarantee = ZCDP(f"{e * e / 2:.6g}")
    try:
        result = calibrate(law, guarantee, smoothing=t)
    except SmoothdpError:
        return 0
    rho, tried = float(guarantee.exact_rho), 0
    for s, u, reverse in points(rng, result, count):
        for order in 1 + np.exp(rng.uniform(-7, 3, 3)):
            value = renyi(law, float(order), s, u, reverse=reverse)
            assert value <= order * rho * (1 + 1e-6), (law, guarantee, t, s, u, order, reverse)
            tried += 1
    return tried


def attack_approximate(seed: int, family: Family, low: float, high: float, count: int) -> int:
    rng = np.random.default_rng(seed)
    law = family(draw(rng, low, high))
    e = float(draw(rng, 0.2, 3))
    delta = float(draw(rng, 1e-8, 1e-2))
    t = f"{e * rng.uniform(0.005, 0.15):.4g}"
    try:
        result = calibrate(law, ApproxDP(e, delta=delta), smoothing=t)
    except SmoothdpError:
        return 0
    tried = 0
    for s, u, reverse in points(rng, result, count):
        value = hockey_stick(law, e, s, u, reverse=reverse)
        assert value <= delta * (1 + 2e-3), (law, e, delta, t, s, u, reverse)
        tried += 1
    return tried


def indices(number: int, slow: set[int]) -> list[object]:
    return [pytest.param(i, marks=[pytest.mark.slow] if i in slow else []) for i in range(number)]


@pytest.mark.parametrize("index", indices(len(CONCENTRATED), {3, 5}))
def test_zcdp_is_kept(index: int) -> None:
    family, low, high = CONCENTRATED[index]
    seeds = iter(range(100 * index, 100 * index + 20))
    assert next(n for seed in seeds if (n := attack_concentrated(seed, family, low, high, 12)))


@pytest.mark.parametrize("index", indices(len(APPROXIMATE), {8}))
def test_approximate_dp_is_kept(index: int) -> None:
    family, low, high = APPROXIMATE[index]
    seeds = iter(range(100 * index, 100 * index + 20))
    assert next(n for seed in seeds if (n := attack_approximate(seed, family, low, high, 12)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1000 + 8 * len(CONCENTRATED)))
def test_zcdp_is_kept_by_many(seed: int) -> None:
    attack_concentrated(seed, *CONCENTRATED[seed % len(CONCENTRATED)], 40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2000 + 12 * len(APPROXIMATE)))
def test_approximate_dp_is_kept_by_many(seed: int) -> None:
    attack_approximate(seed, *APPROXIMATE[seed % len(APPROXIMATE)], 40)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_zcdp_is_kept_by_laplace_log_normal(seed: int) -> None:
    attack_concentrated(3000 + seed, LaplaceLogNormal, 0.3, 0.9, 40)


@pytest.mark.parametrize(("law", "omega"), [(Gaussian(), "4"), (Laplace(), "6")], ids=repr)
def test_truncated_cdp_is_kept(law: NoiseDistribution, omega: str) -> None:
    rng = np.random.default_rng(7)
    result = calibrate(law, TruncatedCDP("1/2", omega=omega), smoothing="0.1")
    for s, u, reverse in points(rng, result, 25):
        for order in 1 + (float(omega) - 1) * rng.uniform(0.001, 1, 3):
            value = renyi(law, float(order), s, u, reverse=reverse)
            assert value <= order / 2 * (1 + 1e-6)


def test_quadrature_of_the_attacks() -> None:
    # Against closed forms, so that an attack cannot pass because its divergence is too small.
    s, t, a = 0.7, 0.1, 3.0
    w = 1 + a * math.expm1(2 * t)
    closed = a * s * s / (2 * w) + (2 * t * a - math.log(w)) / (2 * (a - 1))
    assert renyi(Gaussian(), a, s, t) == pytest.approx(closed, rel=1e-9)
    assert renyi(Laplace(), 2.0, 0.5, 0.0) == pytest.approx(
        math.log(2 / 3 * math.exp(0.5) + math.exp(-1.0) / 3), rel=1e-9
    )
    law = StudentT(3)
    for e, reverse in ((0.5, True), (0.2, False)):
        exact = law.delta(
            e, shift=0.7, dilation="0.1", direction="reverse" if reverse else "forward"
        )
        assert hockey_stick(law, e, 0.7, 0.1, reverse=reverse) == pytest.approx(exact, rel=1e-4)


def test_shift_cannot_grow_by_much() -> None:
    # The attacks see it when the promise is broken by 1%.
    law = ArsinhNormal("0.5")
    rho = Fraction(1, 8)
    result = calibrate(law, ZCDP(rho), smoothing="0.1")
    s, t = result.shift * 1.01, 0.1
    worst = max(
        renyi(law, a, s, u, reverse=reverse) / a
        for a in np.geomspace(1.01, 30, 30)
        for u, reverse in ((0.0, False), (t, True), (t, False))
    )
    assert worst > float(rho)
