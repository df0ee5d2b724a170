"""Densities, tails, quantiles and moments against mpmath, far out."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from smoothdp import noise
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from tests.oracles.noise_law_formulas import formulas

CLASSES: list[Any] = [
    found
    for found in (getattr(noise, name) for name in noise.__all__)
    if isinstance(found, type)
    and issubclass(found, NoiseDistribution)
    and found is not NoiseDistribution
]
ALL: list[NoiseDistribution] = [
    make(value) for make in CLASSES if make.parameters for value in make.parameters[0].typical
] + [Laplace(), Gaussian()]
# Two shapes of every law; the others in the slow run.
_FEW = {make(v) for make in CLASSES if make.parameters for v in make.parameters[0].typical[:2]}
LAWS = [
    pytest.param(
        law, id=repr(law), marks=() if law in _FEW or not law.parameters else pytest.mark.slow
    )
    for law in ALL
]
POINTS = (1e-9, 1e-4, 0.03, 0.3, 0.7, 1.0, 1.7, 4.0, 15.0, 200.0, 1e4)


@pytest.mark.parametrize("law", LAWS)
def test_density_and_tail(law: NoiseDistribution) -> None:
    with mp.workdps(45):
        truth = formulas(law)
        points = POINTS[::3] if isinstance(law, LaplaceLogNormal) else POINTS
        for x in points:
            density, tail = truth.density(mp.mpf(x)), truth.tail(mp.mpf(x))
            assert _log_close(law.log_density(x), density)
            assert _log_close(law.log_survival(x), tail)
            if density > 1e-290:
                assert _close(law.density(x), density)
            if tail > 1e-290:
                assert _close(law.survival(x), tail)
                assert _close(law.cdf(-x), tail)
            assert _close(law.cdf(x), 1 - tail)


def _close(value: float, truth: mp.mpf) -> bool:
    return bool(abs(mp.mpf(value) - truth) <= 1e-12 * truth)


def _log_close(value: float, truth: mp.mpf) -> bool:
    log_truth = mp.log(truth)
    return bool(abs(mp.mpf(value) - log_truth) <= 1e-13 * max(1, abs(log_truth)))


PROBABILITIES = (1e-300, 1e-30, 1e-6, 0.05, 0.2, 0.25, 0.26, 0.4, 0.4999, 0.5 - 2.0**-40)


@pytest.mark.parametrize("law", LAWS)
def test_quantile_solves_the_tail(law: NoiseDistribution) -> None:
    with mp.workdps(45):
        truth = formulas(law)
        for p in PROBABILITIES[1::3] if isinstance(law, LaplaceLogNormal) else PROBABILITIES:
            x = -law.quantile(p)
            assert law.quantile(1 - p) == x or p < 0.25
            if math.isinf(x):
                assert truth.tail(mp.mpf(1e300)) > p
                continue
            # By how much x is off, relative to x.
            miss = (truth.tail(mp.mpf(x)) - mp.mpf(p)) / (truth.density(mp.mpf(x)) * mp.mpf(x))
            assert abs(miss) < 1e-12


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_moments(law: NoiseDistribution, k: int) -> None:
    if isinstance(law, LaplaceLogNormal):
        return  # Its density is a long sum: see the next test.
    if law.moment(k) == math.inf:
        assert next(iter(law.values().values())) <= law.finite_moment_above(k)
        return
    with mp.workdps(25):
        truth = formulas(law)

        def integrand(v: mp.mpf) -> mp.mpf:
            # x = e^v.
            return mp.exp((k + 1) * v) * truth.density(mp.exp(v))

        kinks = [mp.log(x) for x in truth.kinks]
        edges = sorted([*kinks, *(mp.mpf(v) for v in (-60, -8, -3, -1, 0, 1, 2, 3, 5, 8, 20, 60))])
        moment = 2 * mp.quad(integrand, [*edges, 400], method="gauss-legendre")
        assert abs(moment - law.moment(k)) < 1e-11 * moment


@pytest.mark.parametrize("sigma", ["0.5", "1.2", "2.5"])
def test_moments_of_products_with_a_log_normal_factor(sigma: str) -> None:
    # E|X|^k E e^(k sigma Y).
    square = float(Fraction(sigma)) ** 2
    for k in range(1, 6):
        factor = math.exp(k * k * square / 2)
        assert math.isclose(
            LaplaceLogNormal(sigma).moment(k), math.factorial(k) * factor, rel_tol=1e-14
        )
        assert math.isclose(UniformLogNormal(sigma).moment(k), factor / (k + 1), rel_tol=1e-14)


@pytest.mark.parametrize("law", LAWS)
def test_logarithms_beyond_floats(law: NoiseDistribution) -> None:
    far = law.log_survival(np.array([1e10, 1e100, 1e300]))
    assert np.all(np.diff(far) < 0) or isinstance(law, Gaussian)
    # The logarithm of a tail comes back from its quantile where x is a float.
    targets = [-0.7, -1.5, -40.0, -1e3, -1e6]
    for target in targets:
        x = law.tail_quantile(target)
        if x < 1e300:
            back = law.log_survival(x)
            # A unit of x moves ln of the tail by its elasticity.
            steep = math.exp(law.log_density(x) - back) * x
            assert abs(back - target) <= 1e-13 * abs(target) + 4e-16 * steep
        else:
            assert law.log_survival(1e300) > target


def test_deep_tails_against_asymptotics() -> None:
    # Student's tail falls like x^-d.
    law = StudentT("2.5")
    slope = (law.log_survival(1e250) - law.log_survival(1e150)) / (100 * math.log(10))
    assert math.isclose(slope, -2.5, rel_tol=1e-13)
    # The tail of sinh(sigma Y) / sigma is a normal one, whatever its depth.
    y = math.asinh(0.4e200) / 0.4
    with mp.workdps(30):
        truth = mp.log(mp.erfc(mp.mpf(y) / mp.sqrt(2)) / 2)
    assert math.isclose(ArsinhNormal("0.4").log_survival(1e200), truth, rel_tol=1e-13)


@pytest.mark.parametrize(
    ("small", "limit"),
    [
        (ArsinhNormal("1e-4"), Gaussian()),
        (Log1pNormal("1e-4"), Gaussian()),
        (StudentT("1e6"), Gaussian()),
        (LaplaceLogNormal("1e-3"), Laplace()),
    ],
)
def test_limits_of_the_shapes(small: NoiseDistribution, limit: NoiseDistribution) -> None:
    x = np.linspace(-4, 4, 33)
    # The log1p-normal density moves most: by about sigma |x|^3 / 2.
    assert np.max(np.abs(small.density(x) / limit.density(x) - 1)) < 4e-3
    assert np.max(np.abs(small.cdf(x) - limit.cdf(x))) < 1e-4
    assert abs(small.variance - limit.variance) < 1e-3


def test_cauchy_is_both_a_student_and_a_generalized_cauchy_law() -> None:
    x = np.array([-1e30, -3.0, -0.1, 0.0, 0.5, 7.0, 1e9])
    cauchy, student = GeneralizedCauchy(2), StudentT(1)
    assert np.allclose(cauchy.cdf(x), student.cdf(x), rtol=1e-14, atol=0)
    assert np.allclose(cauchy.cdf(x), 0.5 + np.arctan(x) / math.pi, rtol=1e-9, atol=1e-16)


def test_poly_place_is_continuously_differentiable() -> None:
    law = PolyPlace("2.5")
    edge, step = 0.4, 2.0**-20
    left = (law.density(edge) - law.density(edge - step)) / step
    right = (law.density(edge + step) - law.density(edge)) / step
    assert math.isclose(left, right, rel_tol=1e-4)
    assert math.isclose(law.density(edge - 1e-15), law.density(edge + 1e-15), rel_tol=1e-13)
