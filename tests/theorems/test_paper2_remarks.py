"""Paper 2: what its text claims between the numbered statements, one test for each."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

import smoothdp as sd
from smoothdp.errors import InvalidParameter
from smoothdp.noise import (
    ArsinhNormal,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    StudentT,
    UniformLogNormal,
)
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


@pytest.mark.parametrize("sigma", ["0.5", "1"])
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.5])
def test_sections_3_1_and_3_2_moments_of_every_order(sigma: str, p: float) -> None:
    """E |Z|^p = Gamma(p + 1) e^(sigma^2 p^2 / 2), and e^(sigma^2 p^2 / 2) / (p + 1), from tails."""
    growth = math.exp(float(sigma) ** 2 * p**2 / 2)
    for law, factor in (
        (LaplaceLogNormal(sigma), math.gamma(p + 1)),
        (UniformLogNormal(sigma), 1 / (p + 1)),
    ):
        # E |Z|^p = integral of P(|Z| > e^u) d(e^(pu)).
        u = np.linspace(-60 / p, 40, 16_001)
        heights = p * np.exp(p * u) * 2 * law.survival(np.exp(u))
        found = float(integrate.simpson(heights, x=u))
        assert found == pytest.approx(factor * growth, rel=1e-6)


@pytest.mark.parametrize("law", [LaplaceLogNormal(1), UniformLogNormal(1), ArsinhNormal(1)])
def test_section_4_the_tails_have_the_order_of_the_bound(
    law: LaplaceLogNormal | UniformLogNormal | ArsinhNormal,
) -> None:
    """-ln P(|Z| > x) is (ln x)^2 / (2 sigma^2) in the limit, and Proposition 35 has
    (epsilon ln x / t)^2: 8 times that if half of epsilon = 2 t / sigma is for the dilation."""
    t = Fraction(1, 100)
    guarantee = sd.ZCDP(Fraction(1, 2) * (2 * t) ** 2)
    ratios = []
    for power in (20, 60, 300):
        true = float(law.log_survival(10.0**power)) + math.log(2)
        bound = log_tail_lower_bound(guarantee, shift="0.002", smoothing=t, beyond=10**power)
        assert bound < true
        ratios.append(bound / true)
    assert ratios[0] > ratios[1] > ratios[2] > 8
    assert ratios[2] < 8.2


def test_section_4_pinsker_for_order_two() -> None:
    """|E X - E Y| <= sqrt(E Y^2 (e^(D_2(X || Y)) - 1)), which Proposition 36 cites: by Cauchy and
    Schwarz, since e^(D_2) - 1 is the variance of the density of X under Y."""
    rng = np.random.default_rng(36)
    for _ in range(500):
        values = rng.normal(size=4)
        p, q = rng.dirichlet(np.full(4, 0.5)), rng.dirichlet(np.full(4, 2.0))
        bound = math.sqrt(q @ values**2 * (np.sum(p**2 / q) - 1))
        assert abs(p @ values - q @ values) <= bound * (1 + 1e-12)
        # Attained by the density itself, less its mean 1.
        values = p / q - 1
        bound = math.sqrt(q @ values**2 * (np.sum(p**2 / q) - 1))
        assert p @ values - q @ values == pytest.approx(bound)


@pytest.mark.parametrize("m", [0, 1, 3])
def test_section_6_1_subexponential_laws_too(m: int) -> None:
    """The proof of Lemma 43 with P(|X| >= x) <= e^(-x / c): 2 n / (n - 2m) c^2 (e^(-b/c) + e^(a/c))
    bounds what clamping changes, here for Laplace data (c = 1) by simulation."""
    n, a, b = 9, -2.0, 3.0
    x = np.sort(np.random.default_rng(61).laplace(size=(200_000, n)), axis=1)
    changed = (np.clip(x, a, b) - x)[:, m : n - m].mean(axis=1) ** 2
    bound = 2 * n / (n - 2 * m) * (math.exp(-b) + math.exp(a))
    assert changed.mean() + 6 * changed.std() / math.sqrt(len(x)) < bound
    # The middle of the proof holds as an equality: E (X - b)_+^2 is an integral of the tail.
    tail = integrate.quad(lambda y: 2 * (y - b) * math.exp(-y) / 2, b, math.inf)[0]
    assert tail == pytest.approx(math.exp(-b))


@pytest.mark.parametrize("rho", [0.005, 0.1, 0.5])
@pytest.mark.parametrize("n", [5, 20, 60])
def test_footnote_1_a_bound_on_the_mean_is_needed(n: int, rho: float) -> None:
    """Means 0, 2, 4, ..., each hit within 1 with probability 1/2 at least: by Lemma 11, n times,
    every one of these disjoint intervals has mass p under the first data, where the divergence of
    Bernoulli(1/2) from Bernoulli(p) is rho n^2. So there are at most 1/p: the range is bounded.
    The mean of clipped data with Gaussian noise obeys that."""
    # kl(1/2 || p) = ln(1 / (4 p (1 - p))) / 2.
    least = -math.expm1(math.log1p(-math.exp(-2 * rho * n**2)) / 2) / 2
    if least > 1e-12:
        kl = 0.5 * math.log(1 / (4 * least * (1 - least)))
        assert kl == pytest.approx(rho * n**2, rel=1e-3)
    # The mean of n numbers in [0, R] with noise R / (n sqrt(2 rho)) is within 1 half of the time.
    reach = n * math.sqrt(2 * rho) / float(stats.norm.ppf(0.75))
    means = math.floor(reach / 2) + 1
    assert means * least <= 1


@pytest.mark.parametrize(
    ("law", "middle", "mean"), [(stats.norm(), math.pi / 2, 1.0), (stats.laplace(), 1.0, 2.0)]
)
def test_section_5_1_variances_of_mean_and_median(law: Any, middle: float, mean: float) -> None:
    """n Var of the median: pi / 2 for normal data, 1 for Laplace; of the mean: 1 and 2."""
    assert law.var() == mean
    assert 1 / (4 * law.pdf(0) ** 2) == pytest.approx(middle)
    ratios = []
    for n in (101, 1001, 10_001):
        # The median's quantile is Beta(k, k), k = (n + 1) / 2.
        quantile = stats.beta((n + 1) / 2, (n + 1) / 2)
        u = np.linspace(quantile.ppf(1e-14), quantile.isf(1e-14), 20_001)
        variance = integrate.simpson(law.ppf(u) ** 2 * quantile.pdf(u), x=u)
        ratios.append(n * variance / middle)
    assert abs(ratios[0] - 1) > abs(ratios[1] - 1) > abs(ratios[2] - 1)
    assert ratios[2] == pytest.approx(1, abs=0.02)
