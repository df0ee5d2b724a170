"""Each statement of docs/proofs/repaired-noise-lemmas.md, in digits that numpy does not have."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from smoothdp.exact.balls.balls import precision, round_down, round_up
from smoothdp.noise import GeneralizedCauchy, StudentT, UniformLogNormal
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.laws.uniform_log_normal import (
    uniform_log_normal_score,
    uniform_log_normal_score_as_printed,
)
from smoothdp.paper_bounds import bun_steinke as paper
from smoothdp.testing.smooth_quadrature import renyi

F = Fraction


def hazard(u: float) -> mp.mpf:
    return mp.npdf(u) / mp.ncdf(-u) if u < 8 else mp.npdf(u) / (mp.erfc(u / mp.sqrt(2)) / 2)


def score(sigma: float) -> mp.mpf:
    """The largest -f'/f, by bisection of hazard - u = sigma in 40 digits."""
    with mp.workdps(40):
        root = mp.findroot(
            lambda u: hazard(u) - u - sigma, (-sigma - 2, 1 / sigma + 1), solver="anderson"
        )
        return mp.exp(sigma**2 - sigma * root) * hazard(root) / sigma


def test_hazard() -> None:
    with mp.workdps(40):
        previous = mp.inf
        for u in np.linspace(-9, 9, 181).tolist():
            rate = hazard(u)
            rest = rate - u
            assert 0 < rate * rest < 1
            assert 0 < rest < previous
            assert u <= 0 or rest < 1 / mp.mpf(u)
            previous = rest


@pytest.mark.parametrize("sigma", ["0.01", "0.3", "1.414", "5"])
def test_exact_score_in_balls(sigma: str) -> None:
    with precision(128):
        low, high = (edge(uniform_log_normal_score(F(sigma))) for edge in (round_down, round_up))
    assert low <= score(float(sigma)) * (1 + 1e-12)
    assert score(float(sigma)) <= high * (1 + 1e-12)
    law = UniformLogNormal(sigma)
    x = np.geomspace(1e-9, 1e3, 20_001)
    phi = -law.log_density(x)
    slopes = np.diff(phi) / np.diff(x)
    assert slopes[np.diff(x) > 1e-9].max() <= high * (1 + 1e-5)


def test_lemma_24_from_its_new_border_on() -> None:
    """sqrt(2 / pi) = .7978...; far below it the bound is no bound."""
    for sigma in ("0.797885", "0.9", "1.2", "1.41421357", "2", "4"):
        with precision(128):
            exact = uniform_log_normal_score(F(sigma))
            printed = uniform_log_normal_score_as_printed(F(sigma))
            assert exact < printed
    with precision(128):
        small = F("0.5")
        assert uniform_log_normal_score(small) > uniform_log_normal_score_as_printed(small)


def test_lemma_24_case_by_case() -> None:
    """lambda(u) <= lambda(0) e^(sigma^2 / 2 + sigma u): each case where it is claimed."""
    with mp.workdps(30):
        for sigma in (mp.sqrt(2 / mp.pi), mp.mpf(1), mp.mpf(3)):
            for u in np.linspace(-7, 0, 71).tolist():
                assert hazard(u) <= hazard(0) * mp.exp(-(mp.mpf(u) ** 2) / 2) * (
                    1 + mp.mpf(10) ** -25
                )
                assert -(mp.mpf(u) ** 2) / 2 <= sigma**2 / 2 + sigma * u
            for u in np.linspace(0, 7, 71).tolist():
                assert hazard(u) <= hazard(0) * mp.exp(sigma * u) * (1 + mp.mpf(10) ** -25)
        assert hazard(0.5) > hazard(0) * mp.exp(mp.mpf("0.6") * 0.5)


@pytest.mark.parametrize("sigma", ["0.3", "0.9"])
def test_theorem_22_for_dilations_of_both_signs(sigma: str) -> None:
    law = UniformLogNormal(sigma)
    for s, t in ((0.02, 0.1), (0.1, -0.3), (0.3, 0.4)):
        bound = paper.bun_steinke_theorem_22_improved(sigma, shift=s, dilation=t)
        for order in (1.2, 3.0):
            for reverse in (False, True):
                value = renyi(law, order, s, t, reverse=reverse)
                assert value <= order * bound**2 / 2
    # The pure dilation is not a part of the cost that could be left out.
    assert renyi(law, 3.0, 0.0, 0.4) > 0


def test_lemma_33_and_its_closed_form() -> None:
    rng = random.Random(33)
    with mp.workdps(30):
        for _ in range(60):
            order, t = mp.mpf(rng.uniform(1.05, 8)), mp.mpf(rng.uniform(-0.4, 0.8))
            mean, mixture = mp.mpf(rng.uniform(-2, 2)), 1 + order * mp.expm1(t)
            if mixture < mp.mpf("0.02"):
                continue
            closed = order * mean**2 / (2 * mixture)
            closed += (order * t - mp.log(mixture)) / (2 * (order - 1))
            gamma = min(mp.mpf(1), mixture)
            bound = order * (mean**2 / (2 * gamma) + t**2 / (4 * gamma**2))
            assert closed <= bound * (1 + mp.mpf(10) ** -25)
    with mp.workdps(20):
        order, t, mean = mp.mpf("2.5"), mp.mpf("0.3"), mp.mpf("0.7")
        deviation = mp.exp(t / 2)
        moment = mp.quad(
            lambda x: mp.npdf(x) ** order * mp.npdf(x, mean, deviation) ** (1 - order),
            [-30, -8, -2, 0, 2, 8, 30],
        )
        mixture = 1 + order * mp.expm1(t)
        closed = order * mean**2 / (2 * mixture)
        closed += (order * t - mp.log(mixture)) / (2 * (order - 1))
        assert mp.almosteq(mp.log(moment) / (order - 1), closed, 1e-12)


def test_section_3_5_in_exact_terms() -> None:
    """All dilations in [-t, t] forward and [0, t] reverse; the printed form is below some."""

    def divergence(order: float, shift: float, u: float, *, reverse: bool) -> float:
        if reverse:
            shift, u = shift * math.exp(-u), -u
        mixture = 1 + order * math.expm1(2 * u)
        scale = (2 * order * u - math.log(mixture)) / (2 * (order - 1))
        return order * shift**2 / (2 * mixture) + scale

    for omega, t, shift in ((10.0, 0.04, 1.0), (3.0, 0.15, 0.2), (1.5, 0.5, 2.0)):
        bound = paper.bun_steinke_section_3_5(omega=omega, shift=shift, smoothing=t)
        g = 1 - omega * -math.expm1(-t)
        printed = shift**2 / (2 * g) + t * t / (4 * g * g) if g > 0 else math.inf
        worst = 0.0
        for order in np.linspace(1.001, omega * (1 - 1e-9), 60).tolist():
            for u in np.linspace(-t, t, 21).tolist():
                worst = max(worst, divergence(order, shift, u, reverse=False) / order)
                if u >= 0:
                    worst = max(worst, divergence(order, shift, u, reverse=True) / order)
        assert worst <= bound * (1 + 1e-12)
        assert worst > printed


@pytest.mark.parametrize(
    ("law", "slope"),
    [(StudentT("0.5"), 1.0), (StudentT(3), 3.0), (GeneralizedCauchy(4), 3.0)],
    ids=repr,
)
def test_power_laws_in_both_directions(law: NoiseDistribution, slope: float) -> None:
    growth = law.growth()
    assert growth.score is not None
    for s, t in ((F(1, 2), F(1, 4)), (F(1, 2), F(-1, 4)), (F(1, 100), F(2))):
        bound = slope * abs(float(t)) + float(growth.score * s)
        low, _ = law.max_divergence_bounds(shift=s, dilation=t)
        assert low <= bound
        # Nor would a smaller slope do where hardly anything is shifted.
        if s == F(1, 100):
            assert low > 0.99 * slope * abs(float(t))
