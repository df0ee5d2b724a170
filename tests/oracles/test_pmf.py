"""Log-probability windows and points: their stated error contains the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.probabilities.points import binomial_point, hypergeometric_point
from smoothdp.exact.probabilities.scalar_pmf import binomial_log_pmf, hypergeometric_log_pmf
from smoothdp.exact.probabilities.windows import log_binomial_pmf, log_poisson_pmf

SIZES = [2, 17, 500, 10**6, 155_507_476, 10**9]


def assert_inside(value: float, error: float, truth: LogBounds) -> None:
    assert truth.lower - error <= value <= truth.upper + error
    assert error <= 1e-14 * abs(value) + 2e-13


def picks(low: int, high: int, centre: int, rng: np.random.Generator) -> list[int]:
    near = [centre - 3, centre, centre + 1]
    spread = rng.integers(low, high + 1, 12).tolist()
    return sorted({min(max(k, low), high) for k in [low, high, *near, *spread]})


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("thousandths", [1, 300, 998])
def test_binomial_window(n: int, thousandths: int) -> None:
    rng = np.random.default_rng(n)
    k = picks(0, n, n * thousandths // 1000, rng)
    window = log_binomial_pmf(np.array(k), n, Fraction(thousandths, 1000))
    for place, value, error in zip(k, *window, strict=True):
        truth = binomial_point(place, n, thousandths, 1000 - thousandths)
        assert_inside(value, error, truth)
        assert_inside(*binomial_log_pmf(place, n, thousandths, 1000 - thousandths), truth)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.01, 0.5, 0.998])
def test_hypergeometric_probability(n: int, share: float) -> None:
    rng = np.random.default_rng(n + 1)
    a = max(1, n // 3)
    b, draws = n - a, min(n - 1, max(1, int(n * share)))
    low, high = max(0, draws - b), min(a, draws)
    k = picks(low, high, draws * a // n, rng)
    for place in k:
        truth = hypergeometric_point(place, draws, a, b)
        assert_inside(*hypergeometric_log_pmf(place, draws, a, b), truth)


def test_points_equal_rationals() -> None:
    for n in range(1, 12):
        for a in range(n + 1):
            for draws in range(n + 1):
                for k in range(max(0, draws - n + a), min(a, draws) + 1):
                    ways = math.comb(a, k) * math.comb(n - a, draws - k)
                    exact = Fraction(ways, math.comb(n, draws))
                    bounds = hypergeometric_point(k, draws, a, n - a)
                    log_exact = math.log(exact.numerator) - math.log(exact.denominator)
                    assert bounds.lower - 1e-14 <= log_exact <= bounds.upper + 1e-14


def test_windows_off_the_support() -> None:
    k = np.array([-1, 0, 4, 5])
    assert np.isneginf(log_binomial_pmf(k, 4, Fraction(1, 2)).log_values).tolist() == [
        True,
        False,
        False,
        True,
    ]
    assert log_binomial_pmf(k, 4, Fraction(1)).log_values[2] == 0.0
    assert np.isneginf(log_poisson_pmf(k, Fraction(3)).log_values[0])


@pytest.mark.parametrize("mean", [Fraction(1, 7), Fraction(40), Fraction(10**8, 3)])
def test_poisson_window(mean: Fraction) -> None:
    """Against mpmath at 40 digits."""
    import mpmath

    k = np.array(picks(0, int(3 * mean) + 5, int(mean), np.random.default_rng(3)))
    window = log_poisson_pmf(k, mean)
    with mpmath.workdps(40):
        m = mpmath.mpf(mean.numerator) / mean.denominator
        for place, value, error in zip(k.tolist(), *window, strict=True):
            truth = -m + place * mpmath.log(m) - mpmath.loggamma(place + 1)
            assert abs(truth - value) <= error + 1e-16 * abs(value)


def test_lgamma_would_not_do() -> None:
    """The reason for Loader's method: at n = 1.5e8, lgamma loses more than 1e-9."""
    n, a = 155_507_476, 81_283_501
    draws, k = 155_196_462, 81_120_935

    def log_choose(top: int, bottom: int) -> float:
        return math.lgamma(top + 1) - math.lgamma(bottom + 1) - math.lgamma(top - bottom + 1)

    naive = log_choose(a, k) + log_choose(n - a, draws - k) - log_choose(n, draws)
    truth = hypergeometric_point(k, draws, a, n - a)
    assert abs(naive - truth.lower) > 1e-9
