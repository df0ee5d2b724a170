"""Paper 5 (Chen, Long), Corollary 2.5: the profile of Gaussian DP."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from smoothdp import GaussianDP
from smoothdp.claims.guarantees import conversions as convert


def truth(mu: str, epsilon: str) -> mpmath.mpf:
    m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
    return mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)


@pytest.mark.parametrize("mu", ["0.01", "0.3", "1", "4", "20"])
@pytest.mark.parametrize("epsilon", ["0", "0.001", "0.5", "3", "40", "300"])
def test_corollary_2_5(mu: str, epsilon: str) -> None:
    with mpmath.workdps(400):
        log_truth = float(mpmath.log(truth(mu, epsilon))) if truth(mu, epsilon) > 0 else -math.inf
    bounds = GaussianDP(mu).log_delta_bounds(Fraction(epsilon))
    if log_truth > -math.inf and abs(log_truth) < 400 * math.log(10):
        assert bounds.lower <= log_truth + math.ulp(log_truth)
        assert bounds.upper >= log_truth - math.ulp(log_truth)
        assert bounds.upper - bounds.lower <= 4 * math.ulp(log_truth)


def test_epsilon_at_any_depth() -> None:
    for delta in ("1e-6", "1e-100", "1e-5000"):
        epsilon = convert.approx_at(GaussianDP(1), delta=delta).epsilon
        goal = float(delta.split("e")[1]) * math.log(10)
        assert GaussianDP(1).profile().log_delta(epsilon) <= goal * (1 - 1e-15)
        below = epsilon * (1 - 1e-12)
        assert GaussianDP(1).log_delta_bounds(Fraction(below)).lower > goal * (1 + 1e-11)


def test_curve_is_that_of_the_normal_shift() -> None:
    """The trade-off curve of mu = 1 lies below Phi(Phi^-1(1 - a) - 1), and close to it."""
    curve = GaussianDP(1).profile().tradeoff()
    for alpha in (0.01, 0.1, 0.3, 0.5, 0.9):
        with mpmath.workdps(30):
            quantile = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * mpmath.mpf(alpha))
            exact = float(mpmath.ncdf(quantile - 1))
        assert curve(alpha) <= exact
        assert curve(alpha) >= exact - 1e-3
