"""Facts 0 and 1, Theorems A, B and B' of the certificate, against plain quadrature."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

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
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.laws.arsinh_normal import symmetrised_is_convex
from smoothdp.testing.smooth_quadrature import renyi

LAWS: list[NoiseDistribution] = [
    ArsinhNormal("0.6"),
    Log1pNormal("0.5"),
    UniformLogNormal("0.8"),
    StudentT("2.5"),
    GeneralizedCauchy("3.5"),
    PolyPlace("4"),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_fact_0_reverse_is_forward_of_the_inverse(law: NoiseDistribution) -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        a, s, t = 1 + rng.exponential(2), rng.uniform(0.05, 1.5), rng.uniform(0, 0.25)
        reverse = renyi(law, a, s, t, reverse=True)
        assert reverse == pytest.approx(renyi(law, a, s * math.exp(-t), -t), rel=1e-7)


@pytest.mark.parametrize("law", [*LAWS, Laplace(), LaplaceLogNormal("0.5")], ids=repr)
def test_fact_1_log_magnitude_is_log_concave(law: NoiseDistribution) -> None:
    # phi(e^v) is convex: its second differences are nonnegative.
    v = np.linspace(-6, 4, 401)
    phi = -law.log_density(np.exp(v))
    second = phi[2:] - 2 * phi[1:-1] + phi[:-2]
    assert np.all(second >= -1e-10)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_fact_1_forward_is_convex_in_the_dilation(law: NoiseDistribution) -> None:
    rng = np.random.default_rng(2)
    for _ in range(4):
        a, s = 1 + rng.exponential(1), rng.uniform(0.05, 1.2)
        grid = np.linspace(-0.12, 0.4, 9)
        values = np.array([renyi(law, a, s, t) for t in grid])
        assert np.all(np.diff(values, 2) >= -1e-7 * values.max())


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_divergence_rises_with_the_shift(law: NoiseDistribution) -> None:
    for t in (-0.1, 0.0, 0.3):
        values = [renyi(law, 2.0, s, t) for s in (0.0, 0.1, 0.4, 0.8, 1.5)]
        assert values == sorted(values)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_theorem_a_covers_the_interval_by_its_ends(law: NoiseDistribution) -> None:
    rng = np.random.default_rng(3)
    for _ in range(6):
        a, s = 1 + rng.exponential(1), rng.uniform(0.05, 2.0)
        u, v = np.sort(rng.uniform(0, 0.25, 2))
        top = max(
            renyi(law, a, s, u, reverse=True),
            renyi(law, a, s * math.exp(v - u), v, reverse=True),
        )
        for t in np.linspace(u, v, 5):
            assert renyi(law, a, s, t, reverse=True) <= top * (1 + 1e-7)


@pytest.mark.parametrize(
    ("law", "largest"),
    [
        (StudentT("2.5"), math.sqrt(2.5)),
        (StudentT("7"), math.sqrt(7)),
        (StudentT("0.5"), math.sqrt(0.5)),
        (ArsinhNormal("0.6"), 1 / 0.6),
        (ArsinhNormal("1.4"), 1 / 1.4),
    ],
    ids=repr,
)
def test_theorem_b_reverse_is_convex_in_the_dilation(
    law: NoiseDistribution, largest: float
) -> None:
    for share in (0.3, 1.0):
        for a in (1.05, 2.0, 4.0):
            grid = np.linspace(-0.2, 0.3, 9)
            values = [(a - 1) * renyi(law, a, share * largest, t, reverse=True) for t in grid]
            assert np.all(np.diff(values, 2) >= -1e-7 * max(values))


def test_theorem_b_applies_up_to_its_limit_and_not_beyond() -> None:
    assert StudentT(4)._reverse_convexity(Fraction(2)) == "Theorem B"
    assert StudentT(4)._reverse_convexity(Fraction(2) + Fraction(1, 10**9)) is None
    assert ArsinhNormal("0.5")._reverse_convexity(Fraction(2)) == "Theorem B"
    assert ArsinhNormal("0.5")._reverse_convexity(Fraction("2.2")) == "Theorem B'"
    assert Gaussian()._reverse_convexity(Fraction(50)) == "Theorem B"
    for law in (Log1pNormal("0.5"), UniformLogNormal("0.5"), LaplaceLogNormal("0.5"), Laplace()):
        assert law._reverse_convexity(Fraction(1, 100)) is None


def test_theorem_b_pointwise_condition_fails_where_the_potential_is_concave() -> None:
    # N(v) ~ 4 e^(2v) phi''(s) as v -> -inf: for T beyond sqrt d it is negative.
    d, s = 3.0, 2.0

    def symmetrised(v: float) -> float:
        return sum((d + 1) / 2 * math.log1p((math.exp(v) + side * s) ** 2 / d) for side in (1, -1))

    h, v = 1e-3, -3.0
    assert symmetrised(v + h) - 2 * symmetrised(v) + symmetrised(v - h) < 0


@pytest.mark.parametrize("sigma", ["0.05", "0.5", "1", "2", "8"])
def test_theorem_b_prime_agrees_with_the_symmetrised_potential(sigma: str) -> None:
    # X_m, where phi' is largest, is the limit: 1.509 as sigma -> 0, 1.392 at 1/2, 1.225 at 1.
    value = float(sigma)
    x = np.linspace(0.5, 2.5, 200001)
    w = np.arcsinh(x)
    slope = (w / value**2 + np.tanh(w)) / np.cosh(w)
    limit = float(x[np.argmax(slope)])
    assert symmetrised_is_convex(Fraction(sigma), Fraction(repr(round(limit * 0.995, 6))))
    assert not symmetrised_is_convex(Fraction(sigma), Fraction(repr(round(limit * 1.002, 6))))


def test_theorem_b_prime_numbers_of_the_notes() -> None:
    for sigma, limit in (("0.05", "1.508"), ("0.5", "1.391"), ("1", "1.224")):
        assert symmetrised_is_convex(Fraction(sigma), Fraction(limit) - Fraction(1, 500))
        assert not symmetrised_is_convex(Fraction(sigma), Fraction(limit) + Fraction(1, 200))


@pytest.mark.slow
def test_theorem_b_prime_against_many_points() -> None:
    rng = np.random.default_rng(4)
    v = np.linspace(-8, 12, 40001)
    for _ in range(200):
        sigma, s = rng.uniform(0.05, 8), rng.uniform(1.0, 1.6)
        accepted = symmetrised_is_convex(
            Fraction(repr(round(sigma, 6))), Fraction(repr(round(s, 6)))
        )
        x = np.exp(v)
        total = np.zeros_like(x)
        for side in (1, -1):
            y = x + side * s
            w = np.arcsinh(y)
            c, t = np.cosh(w), np.tanh(w)
            first = (w / sigma**2 + t) / c
            second = (1 / sigma**2 + 1 / c**2 - w * t / sigma**2 - t * t) / c**2
            total += x * first + x * x * second
        if accepted:
            assert np.all(total >= -1e-12 * np.abs(total).max())
