"""Paper 2: what its text claims between the numbered statements, one test for each."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

import smoothdp as sd
from smoothdp.errors import InvalidParameter
from smoothdp.noise import GeneralizedCauchy, Laplace, StudentT
from smoothdp.noise.calibration.lower_bounds import log_tail_lower_bound
from smoothdp.noise.calibration.pure import pure_shift
from smoothdp.types import FloatArray
from tests.theorems.test_paper2_lemma_44 import subgaussian


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_section_1_1_laplace_of_variance_2_over_epsilon_squared(epsilon: str) -> None:
    """Without smoothing: a shift by 1 of noise of scale 1/epsilon loses epsilon, no more."""
    assert Laplace().variance == 2
    x = np.linspace(-40, 40, 80_001)
    scale = 1 / float(epsilon)
    losses = stats.laplace.logpdf(x, scale=scale) - stats.laplace.logpdf(x - 1, scale=scale)
    assert np.abs(losses).max() == pytest.approx(float(epsilon), rel=1e-12)
    assert stats.laplace.var(scale=scale) == pytest.approx(2 / float(epsilon) ** 2)


def test_section_1_1_pure_privacy_needs_a_polynomial_tail() -> None:
    """P(|Z| >= x) >= e^(-k epsilon), k about ln x / t: a power of x, whatever the noise."""
    logs = [
        log_tail_lower_bound(sd.PureDP(1), shift=1, smoothing="0.1", beyond=10**power)
        for power in (20, 40, 60)
    ]
    for nearer, farther in itertools.pairwise(logs):
        assert (farther - nearer) / (20 * math.log(10)) == pytest.approx(-1 / 0.1, rel=5e-3)
    # An exponential tail would be e^-(1e60) there, and so would be too light.
    assert logs[-1] > -1500


@pytest.mark.parametrize("t", [0.05, 0.3])
def test_section_1_4_gaussian_noise_is_not_concentrated(t: float) -> None:
    """Scales 1 and e^-t: the integral of p^a q^(1-a) is infinite from a = 1 / (1 - e^(-2t)) on."""
    last = 1 / -math.expm1(-2 * t)

    def log_integral(order: float, reach: float) -> float:
        x = np.linspace(-reach, reach, 200_001)
        logs = order * stats.norm.logpdf(x) + (1 - order) * stats.norm.logpdf(x, 0, math.exp(-t))
        return float(np.logaddexp.reduce(logs) + math.log(x[1] - x[0]))

    assert log_integral(0.9 * last, 400) == pytest.approx(log_integral(0.9 * last, 200), abs=1e-6)
    assert log_integral(1.02 * last, 400) > log_integral(1.02 * last, 200) + 100


def test_section_2_3_bounded_laws_and_their_moments() -> None:
    """Definition 16: sigma = (b - a) / 2 is enough on [a, b], two even ends need it; E X^2 is at
    most sigma^2 and P(X >= z) at most e^(-z^2 / (2 sigma^2))."""
    rng = np.random.default_rng(23)
    largest = 0.0
    for _ in range(300):
        values, masses = np.sort(rng.uniform(-3, 5, size=5)), rng.dirichlet(np.full(5, 0.3))
        centred = values - float(masses @ values)
        sigma = math.sqrt(subgaussian(centred, masses))
        largest = max(largest, sigma / ((values[-1] - values[0]) / 2))
        assert masses @ centred**2 <= sigma**2
        for z in centred[centred > 0]:
            assert masses[centred >= z].sum() <= math.exp(-(z**2) / (2 * sigma**2)) * (1 + 5e-3)
    assert 0.9 < largest <= 1 + 1e-9
    ends = np.array([-1.0, 1.0])
    assert subgaussian(ends, np.array([0.5, 0.5])) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("gamma", ["0.5", "1"])
def test_section_3_4_the_power_must_be_above_one(gamma: str) -> None:
    """1 / (1 + |z|^gamma) has no finite integral for gamma <= 1; section 1.1 says gamma > 1."""
    areas = [
        integrate.quad(lambda u: math.exp(u) / (1 + math.exp(float(gamma) * u)), 0, reach)[0]
        for reach in (20, 40)
    ]
    assert areas[1] > 1.9 * areas[0]
    with pytest.raises(InvalidParameter):
        GeneralizedCauchy(gamma)


@pytest.mark.parametrize("gamma", ["1.5", "3", "8"])
def test_section_1_1_powers_above_one_are_pure(gamma: str) -> None:
    """The log-density moves by at most gamma per unit of ln z and has a bounded score: some
    shift is epsilon-DP as soon as epsilon is above gamma t."""
    t, epsilon = Fraction("0.05"), Fraction(gamma) * Fraction("0.05") + Fraction("0.2")
    law = GeneralizedCauchy(gamma)
    shift = float(pure_shift(law, epsilon, smoothing=t).exact_shift)
    assert shift > 0
    c, z = float(gamma), np.concatenate([np.linspace(-30, 30, 60_001), np.geomspace(30, 1e9, 2000)])

    def log_density(y: FloatArray) -> FloatArray:
        return -np.logaddexp(0, c * np.log(np.abs(y) + 1e-300))

    for scale in (math.exp(-float(t)), 1.0, math.exp(float(t))):
        # The answers are apart by the smaller of the two smooth sensitivities at most.
        for move in (-shift * min(1, scale), shift * min(1, scale)):
            moved = log_density((z - move) / scale) - math.log(scale)
            assert np.abs(moved - log_density(z)).max() <= float(epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("d", [1, 3, 7])
def test_section_3_4_a_sample_of_student_t(d: int) -> None:
    """X_0 over the root of the mean of d squares has the density of Definition 30."""
    for x in (0.0, 0.7, 4.0):
        found = integrate.quad(
            lambda w, x=x: (
                stats.norm.pdf(x * math.sqrt(w / d)) * math.sqrt(w / d) * stats.chi2.pdf(w, d)
            ),
            0,
            np.inf,
        )[0]
        assert found == pytest.approx(stats.t.pdf(x, d), rel=1e-6)


@pytest.mark.parametrize("epsilon", ["1", "0.2"])
def test_section_7_1_each_notion_follows_from_pure_privacy(epsilon: str) -> None:
    rho = Fraction(epsilon) ** 2 / 2
    for weaker in (
        sd.ZCDP(rho),
        sd.TruncatedCDP(rho, omega=10),
        sd.ApproxDP(epsilon, delta="1e-6"),
    ):
        assert sd.PureDP(epsilon).implies(weaker)
        assert not weaker.implies(sd.PureDP(epsilon))
    assert not sd.PureDP(epsilon).implies(sd.ZCDP(rho / 4))


def test_section_7_1_shapes() -> None:
    """sigma = 2 / sqrt 3 is least for the shift of Theorem 25; T(3) the first finite variance."""
    best = 2 / math.sqrt(3)
    score = [2 / (3 * sigma) + sigma / 2 for sigma in (best - 1e-3, best, best + 1e-3)]
    assert score[1] == min(score)
    assert math.isfinite(StudentT(3).variance)
    assert math.isinf(StudentT(2).variance)
