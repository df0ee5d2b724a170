"""Paper 4 (Hladik, Tetek): the limits of Theorem 1 and the facts of section 2.2."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.noise import Laplace, PolyPlace
from smoothdp.paper_bounds import hladik_tetek_theorem_8


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
