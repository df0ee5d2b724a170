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
