"""The curves that profiles are made of, against mpmath; the corners of their domains."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from smoothdp import ZCDP, ApproxDP, GaussianDP, PureDP, TruncatedCDP
from smoothdp.claims.excess import (
    log_distance_bound,
    log_gaussian_excess,
    log_order_bound,
    log_two_point_excess,
)
from smoothdp.exact.balls.compare import normal_upper_quantile
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real

F = Fraction


def big(value: Real) -> mpmath.mpf:
    if isinstance(value, LogRatio):
        return mpmath.log(mpmath.mpf(value.ratio.numerator) / value.ratio.denominator)
    return mpmath.mpf(value.numerator) / value.denominator


def tail(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def contains(bounds: LogBounds, truth: mpmath.mpf, width: float = 4.0) -> None:
    """Assert that the bounds hold, and are at most ``width`` units in the last place apart."""
    assert bounds.lower <= truth <= bounds.upper
    assert bounds.upper - bounds.lower <= width * math.ulp(float(truth)) + 2e-17


@pytest.mark.parametrize("mu", [F(1, 1000), F(1, 7), F(1), F(5), F(60)])
def test_gaussian_excess(mu: Fraction) -> None:
    epsilons: list[Real] = [F(0), F(1, 10**9), F(1, 3), LogRatio(F(51, 49)), F(2), F(17), F(150)]
    for epsilon in epsilons:
        # The exponents lose 12 digits at x = 150,000, the difference about 10.
        with mpmath.workdps(100):
            e, m = big(epsilon), big(mu)
            truth = mpmath.log(tail(e / m - m / 2) - mpmath.exp(e) * tail(e / m + m / 2))
        contains(log_gaussian_excess(mu, epsilon), truth)


def test_gaussian_excess_beyond_every_float() -> None:
    """A bound from far tails alone: safe, ordered, and quick."""
    for mu, epsilon in [(F(1), F(10**7)), (F(1, 10**300), F(1)), (F(1, 100), F(10**12))]:
        lower, upper = log_gaussian_excess(mu, epsilon)
        assert lower == -math.inf
        assert -math.inf < upper <= -float(min(F(10**300), (epsilon / mu) ** 2 * F(49, 100)))
    assert GaussianDP("1e-300").profile().delta(1) == 5e-324
    assert GaussianDP(1).profile().epsilon(0) == math.inf
    assert GaussianDP(1).profile().epsilon_bounds(0)[0] <= 1e15
    assert GaussianDP(0).profile().delta(0) == 0.0


@pytest.mark.parametrize("limit", [F(1, 10**6), LogRatio(F(51, 49)), F(1), F(700), F(10**5)])
def test_two_point_excess(limit: Real) -> None:
    with mpmath.workdps(80):
        for floor in (F(0), F(1, 10**30), F(1, 3)):
            for share in (F(0), F(1, 2), F(999999, 10**6)):
                if isinstance(limit, LogRatio):
                    epsilon: Real = F(0) if share == 0 else F(1, 100)
                else:
                    epsilon = limit * share
                top, here = mpmath.exp(big(limit)), mpmath.exp(big(epsilon))
                truth = big(floor) + (1 - big(floor)) * (top - here) / (1 + top)
                bounds = log_two_point_excess(limit, epsilon, floor)
                contains(bounds, mpmath.log(truth), width=8)
            assert log_two_point_excess(limit, limit, floor).upper == (
                -math.inf if floor == 0 else pytest.approx(math.log(floor))
            )


def test_quantiles() -> None:
    with mpmath.workdps(60):
        for log_tail in (-0.1, math.log(0.5), -3.0, -745.0, -1e6, -3e9):
            lower, upper = normal_upper_quantile(log_tail)
            assert mpmath.log(tail(mpmath.mpf(lower))) >= log_tail
            assert mpmath.log(tail(mpmath.mpf(upper))) <= log_tail
            assert upper - lower <= 4 * math.ulp(upper) + 2e-17
    assert normal_upper_quantile(-math.inf) == (math.inf, math.inf)


@pytest.mark.parametrize("rho", ["0.001", "0.5", "4"])
def test_concentrated_profile_is_the_best_order(rho: str) -> None:
    """The least bound over a fine grid of orders is no lower than what is returned."""
    for claim, highest in ((ZCDP(rho), math.inf), (TruncatedCDP(rho, omega=4), 4.0)):
        for epsilon in ("0.01", "1", "3", "20"):
            found = claim.profile().log_delta(epsilon)
            with mpmath.workdps(40):
                r, e = mpmath.mpf(rho), mpmath.mpf(epsilon)

                def bound(a: mpmath.mpf, r: mpmath.mpf = r, e: mpmath.mpf = e) -> mpmath.mpf:
                    return (a - 1) * (a * r - e) - mpmath.log(a - 1) + a * mpmath.log(1 - 1 / a)

                orders = [1 + mpmath.mpf(10) ** (mpmath.mpf(k) / 100) for k in range(-600, 500)]
                best = min([bound(a) for a in orders if a <= highest] + [bound(mpmath.mpf(4))])
                distance = mpmath.log(min(r / 2, 1 - mpmath.exp(-r))) / 2
            assert found <= min(best, distance, 0) + 1e-12
            # And every order is a bound, so a lower value would be a wrong formula.
            least = float(min(best, distance, 0))
            assert found >= least - 1e-3 * abs(least)


def test_order_and_distance_bounds() -> None:
    with mpmath.workdps(60):
        for rho, order, epsilon in [(F(1, 2), F(3, 2), F(1)), (F(1), 1 + F(1, 10**20), F(2))]:
            a, r, e = big(order), big(rho), big(epsilon)
            truth = (a - 1) * (a * r - e) - mpmath.log(a - 1) + a * mpmath.log(1 - 1 / a)
            contains(log_order_bound(rho, order, epsilon), truth)
        for rho in (F(1, 10**40), F(1, 3), F(9)):
            truth = mpmath.log(min(big(rho) / 2, 1 - mpmath.exp(-big(rho)))) / 2
            contains(log_distance_bound(rho), truth)


def test_pinsker_and_the_order_bound_hold_for_the_gaussian_mechanism() -> None:
    for rho in ("1e-6", "0.02", "0.5", "8"):
        mu = Fraction(math.sqrt(2 * float(rho)) * (1 - 1e-15))
        for epsilon in ("0", "1e-4", "0.5", "4"):
            attained = GaussianDP(mu).profile().delta_bounds(epsilon)[0]
            assert attained <= ZCDP(rho).profile().delta(epsilon)


def test_extreme_parameters_stay_safe() -> None:
    assert ZCDP("1e300").profile().delta(1) == 1.0
    assert 0 < ZCDP("1e-320").profile().delta(0) < 1e-159
    assert ZCDP("1e-5000").profile().log_delta(0) < -5000
    assert TruncatedCDP(1, omega="1e300").profile().delta(2) == ZCDP(1).profile().delta(2)
    assert PureDP("1e20").profile().epsilon_bounds("1e-6")[0] <= 1e20
    assert ApproxDP("1e-5000", delta=0).epsilon == 5e-324
