"""Paper 4 (Hladik, Tetek): its introduction, the limits of Theorem 1, the facts of section 2.2."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.noise import Laplace, PolyPlace
from smoothdp.noise.calibration.calibrate import calibrate
from smoothdp.noise.calibration.staircase import staircase_variance
from smoothdp.paper_bounds import hladik_tetek_claim_18, hladik_tetek_theorem_8


def test_theorem_1_variance_tends_to_that_of_laplace() -> None:
    """Relative to 2 / epsilon^2, at scale S / gamma: the excess falls with gamma / epsilon."""
    excess = [
        hladik_tetek_theorem_8(2, smoothing=2 * Fraction(1, k)) / (math.sqrt(2) / 2) - 1
        for k in (10, 100, 1000)
    ]
    assert excess[0] > 5 * excess[1] > 25 * excess[2] > 0
    assert excess[2] < 2e-3


def test_theorem_1_converges_to_laplace_in_distribution() -> None:
    """(a / gamma) PolyPlace(1, epsilon / gamma) against (a / epsilon) Laplace, epsilon = 1."""
    x = np.linspace(-8, 8, 33)
    limit = Laplace().cdf(x)
    gaps = [float(np.abs(PolyPlace(k).cdf(x / k) - limit).max()) for k in (10, 100, 1000)]
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2] > 0
    assert gaps[2] < 1e-3


@pytest.mark.parametrize("step", [1e-2, 1e-5])
def test_fact_4_needs_differentiability_off_the_diagonal(step: float) -> None:
    """|y - z| is 0 on the diagonal, so differentiable there; its partial quotients are +-1."""

    def f(y: float, z: float) -> float:
        return abs(y - z)

    assert (f(1 + step, 1 + step) - f(1, 1)) / step == 0
    quotients = {round((f(1 + h, 1) - f(1, 1)) / h, 6) for h in (step, -step)}
    assert quotients == {1.0, -1.0}


def test_fact_3_needs_continuity_of_the_derivatives() -> None:
    """At (0, 0) yz / sqrt(y^2 + z^2) has both partial derivatives, 0, and is not differentiable:
    along the diagonal it grows by .71 per unit of y. They are not continuous there."""

    def f(y: float, z: float) -> float:
        return y * z / math.hypot(y, z) if y or z else 0.0

    for step in (1e-2, 1e-6):
        assert f(step, 0) == f(0, step) == 0
        assert f(step, step) / step == pytest.approx(math.sqrt(0.5))
        slope = (f(step * 1e-3, step) - f(0, step)) / (step * 1e-3)
        assert slope == pytest.approx(1, rel=1e-5)  # of y, near (0, 0); at (0, 0) it is 0
    # PolyPlace's log-density: both are continuous away from x = 0, and the remainder is small.
    law = PolyPlace(3)

    def log_density(s: float, x: float) -> float:
        return float(law.log_density(np.array([x / s]))[0]) - math.log(s)

    for s, x in ((1.0, 0.4), (2.0, -1.7), (1.0, 1 / 3)):
        h = 1e-5
        in_s = (log_density(s + h, x) - log_density(s - h, x)) / (2 * h)
        in_x = (log_density(s, x + h) - log_density(s, x - h)) / (2 * h)
        for angle in np.linspace(0, 2 * math.pi, 9):
            ds, dx = 1e-3 * math.cos(angle), 1e-3 * math.sin(angle)
            rest = log_density(s + ds, x + dx) - log_density(s, x) - in_s * ds - in_x * dx
            assert abs(rest) < 5e-5


@pytest.mark.parametrize("c", [-2.0, 0.3, 5.0])
def test_fact_5_derivative_of_a_scaled_argument(c: float) -> None:
    for f in (math.sin, math.exp, lambda x: x**3 - 4 * x):
        h = 1e-5
        scaled, plain = ((f(a * h) - f(-a * h)) / (2 * h) for a in (c, 1.0))
        assert scaled == pytest.approx(c * plain, rel=1e-7)


def test_introduction_better_than_laplace_but_for_tiny_gamma() -> None:
    """At delta = 1e-5 as in Figure 1: by the printed scales, and by exact ones."""
    factors = []
    for t in (Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20), Fraction(2, 25)):
        printed = hladik_tetek_claim_18("1e-5", epsilon=1, smoothing=t)
        poly_place = hladik_tetek_theorem_8(1, smoothing=t)
        laplace = calibrate(Laplace(), sd.ApproxDP(1, delta="1e-5"), smoothing=t)
        exact = math.sqrt(2) / float(laplace.shift)
        best = PolyPlace(1 / t).standard_deviation / float(
            calibrate(PolyPlace(1 / t), sd.PureDP(1), smoothing=t).shift
        )
        factors.append((printed / poly_place, exact / best))
    assert [round(one, 2) for one, _ in factors] == [1.01, 1.12, 2.36, 37.01]
    exactly = [one for _, one in factors]
    assert 1 < exactly[0] < 1.01 < exactly[1] < 1.05 < 1.35 < exactly[2] < 1.5
    assert exactly[3] > 1.9


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_introduction_laplace_has_not_the_least_variance(epsilon: Fraction) -> None:
    """The staircase is below 2 / epsilon^2, and private: on each step the loss of a shift by 1 is
    0 or epsilon. So the limit is optimal where closer databases must be closer, not otherwise."""
    least, b = float(staircase_variance(epsilon, Fraction(0))), math.exp(-float(epsilon))
    variances = []
    for gamma in np.linspace(0.005, 0.995, 199):
        # Density proportional to b^k on [k - 1 + gamma, k + gamma) for k >= 1, and 1 on [0, gamma).
        ends = np.concatenate([[0.0], np.arange(200) + gamma])
        heights = b ** np.arange(200)
        variances.append((heights @ np.diff(ends**3) / 3) / (heights @ np.diff(ends)))
    assert least <= min(variances) * (1 + 1e-12)
    assert min(variances) == pytest.approx(least, rel=1e-3)
    assert least < 0.99 * 2 / float(epsilon) ** 2


def test_introduction_smooth_sensitivity_tends_to_the_global_one() -> None:
    """Of the median of 5 numbers in [0, 1] the global sensitivity is 1, whatever the data."""
    query = sd.queries.Median(bounds=(0, 1))
    for data in ([0.1, 0.2, 0.3, 0.4, 0.5], [0.5] * 5, [0.0, 0.0, 0.2, 0.3, 1.0]):
        found = [
            query.smooth_sensitivity(data, smoothing=Fraction(1, 10**power))
            for power in (0, 1, 3, 6)
        ]
        assert found == sorted(found)
        assert found[0] < 0.6
        # The database with LS = 1 is 5 records away at most.
        assert math.exp(-5e-6) <= found[-1] <= 1


def test_introduction_the_exponential_mechanism_loses_a_factor_of_two() -> None:
    """Score -|y - q(D)| of sensitivity 1: density e^(-epsilon |y - q| / 2), Laplace of scale
    2 / epsilon, which loses epsilon / 2 only: twice the deviation that epsilon needs."""
    epsilon = 1.5
    y = np.linspace(-60, 60, 240_001)
    laws = []
    for q in (0.0, 1.0):
        weights = np.exp(-epsilon * np.abs(y - q) / 2)
        laws.append(weights / weights.sum())
    assert np.abs(np.log(laws[0] / laws[1])).max() == pytest.approx(epsilon / 2, rel=1e-6)
    deviation = math.sqrt(float(laws[0] @ y**2))
    assert deviation == pytest.approx(2 * math.sqrt(2) / epsilon, rel=1e-5)


@pytest.mark.parametrize(("alpha", "saved"), [(Fraction(3, 2), 0.137), (3, 0.075), (10, 0.024)])
def test_section_1_1_a_dilation_costs_nothing_infinitesimally(
    alpha: Fraction, saved: float
) -> None:
    """At the scale of Theorem 8, epsilon = 1: small moves lose as much with a dilation as without,
    and the dilation alone loses epsilon too; over the whole step it costs ``saved``."""
    law, gamma = PolyPlace(alpha), Fraction(1) / alpha
    assert 1 - law.max_divergence(shift=gamma, dilation=0) == pytest.approx(saved, abs=6e-4)
    assert law.max_divergence(shift=gamma, dilation=gamma) == pytest.approx(1, abs=1e-12)
    rates = []
    for part in (10, 100, 1000):
        small = gamma / part
        rates.append(law.max_divergence(shift=small, dilation=0) * part)
        assert law.max_divergence(shift=small, dilation=small) * part == pytest.approx(1, abs=1e-9)
    assert rates[0] < rates[1] < rates[2] < 1
    assert rates[2] > 0.9995
