"""Operating points, curves, groups and the central limit, against closed forms."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from smoothdp import ApproxDP, GaussianDP, Pair, PureDP, TradeoffFunction, compose
from smoothdp.claims.curves.group_profile import group_profile
from smoothdp.claims.curves.profile_curve import curve_of_profile
from smoothdp.composition.attacks import advantage, bayes_success, best_attack
from smoothdp.composition.central_limit import central_limit_estimate
from smoothdp.errors import InvalidParameter

F = Fraction


@pytest.mark.parametrize("mu", ["0.1", "1", "3"])
@pytest.mark.parametrize("alpha", ["1e-100", "1e-9", "0.01", "0.3", "0.9"])
def test_best_attack_on_a_gaussian(mu: str, alpha: str) -> None:
    """The power is Phi(mu - Phi^-1(1 - alpha))."""
    with mpmath.workdps(60):
        a = mpmath.mpf(alpha)
        x = mpmath.findroot(
            lambda y: mpmath.log(mpmath.ncdf(-y) / a),
            float(mpmath.sqrt(-2 * mpmath.log(a))) if a < 0.1 else 0.0,
        )
        power = mpmath.ncdf(mpmath.mpf(mu) - x)
        found = best_attack(GaussianDP(mu).profile(), false_positive_rate=alpha)
        assert found >= power * (1 - mpmath.mpf("1e-25"))
        assert found <= power * (1 + mpmath.mpf("1e-8"))


def test_attacks_on_small_pairs_never_understated() -> None:
    """Every test on three outputs, both ways round."""
    rng = np.random.default_rng(2)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3))
        profile = Pair(np.log(p), np.log(q)).profile()
        curve = Pair(np.log(p), np.log(q)).tradeoff()
        for alpha in (0.0, 0.01, 0.2, 0.6, 1.0):
            found = best_attack(profile, false_positive_rate=alpha)
            assert found >= 1 - curve(alpha) - 1e-12
        for prior in ("0.5", "0.1", "0.93"):
            pi = float(prior)
            truth = float(np.maximum(pi * p, (1 - pi) * q).sum())
            assert bayes_success(profile, prior=prior) >= truth - 1e-15
            both = float(np.maximum(pi * q, (1 - pi) * p).sum())
            assert bayes_success(profile, prior=prior) == pytest.approx(max(truth, both), rel=1e-12)
        assert advantage(profile) == pytest.approx(0.5 * float(np.abs(p - q).sum()), rel=1e-12)


def test_bad_rates() -> None:
    profile = PureDP(1).profile()
    for call in (
        lambda: best_attack(profile, false_positive_rate=-1),
        lambda: best_attack(profile, false_positive_rate=math.nan),
        lambda: bayes_success(profile, prior=0),
        lambda: bayes_success(profile, prior=2),
        lambda: group_profile(profile, n_records=0),
        lambda: central_limit_estimate(compose([(PureDP(0), 3)])),
    ):
        with pytest.raises(InvalidParameter, match=r"^Expected .+; got .+\. .+\.$"):
            call()


def test_profile_and_curve_are_conjugates() -> None:
    f = TradeoffFunction([0.05, 0.4], [0.3, 0.8])
    rises, runs, error = f.segments
    profile = Pair(rises, runs, error=error).profile()
    back = curve_of_profile(profile, n_lines=2000)
    for alpha in (0.0, 0.02, 0.05, 0.3, 0.7):
        mirrored = min(f(alpha), 1.0)
        assert back(alpha) <= mirrored + 1e-12
    for epsilon in ("0", "0.5", "1.4"):
        assert profile.delta(epsilon) >= f.delta(epsilon)
        assert back.delta(epsilon) == pytest.approx(profile.delta(epsilon), rel=2e-3)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_group_profiles(k: int) -> None:
    """The guarantees' own rules, and the exact group of a Gaussian below the bound."""
    pure = group_profile(PureDP("0.3").profile(), n_records=k)
    assert pure.epsilon(0) == pytest.approx(0.3 * k, rel=1e-12)
    approx = ApproxDP("0.3", delta="1e-6")
    whole = approx.for_group(k)
    assert isinstance(whole, ApproxDP)
    bound = group_profile(approx.profile(), n_records=k).delta(F(3, 10) * k)
    assert bound == pytest.approx(whole.delta, rel=1e-9)
    for epsilon in ("0.5", "2", "ln(9)"):
        exact = GaussianDP(F(1, 4) * k).profile()
        grouped = group_profile(GaussianDP("1/4").profile(), n_records=k)
        lower, upper = grouped.delta_bounds(epsilon)
        assert exact.delta_bounds(epsilon)[0] <= upper
        assert lower <= exact.delta(epsilon)


def test_chains_of_epsilons() -> None:
    """Parts that fall by equal steps reach the Gaussian truth; each bound is above it, and
    none above that of equal parts."""
    truth = GaussianDP(1).profile()
    grouped = group_profile(GaussianDP("0.1").profile(), n_records=10)
    found = grouped.epsilon("1e-6")
    assert truth.epsilon("1e-6") <= found < 4.88656
    one = GaussianDP("0.1").profile()
    for epsilon in ("0.3", "1.7", "4.886554", "9"):
        upper = grouped.delta(epsilon)
        assert truth.delta_bounds(epsilon)[0] <= upper
        equal = one.delta(F(epsilon) / 10) * math.expm1(float(epsilon))
        equal /= math.expm1(float(epsilon) / 10)
        assert upper <= equal * (1 + 1e-9)


def test_central_limit_is_close_for_many_and_is_labelled() -> None:
    many = compose([(PureDP("0.01"), 10_000), (GaussianDP("0.01"), 5000)])
    estimate = central_limit_estimate(many)
    assert estimate.label == "estimate"
    assert estimate.mu == pytest.approx(math.sqrt(1.0 + 0.5), rel=1e-3)
    assert estimate.delta(3) == pytest.approx(many.delta(3), rel=0.02)
    assert estimate.epsilon("1e-6") == pytest.approx(many.epsilon("1e-6"), rel=0.01)


def test_a_composition_is_an_item() -> None:
    inner = compose([(GaussianDP("0.1"), 3), PureDP("0.2")])
    outer = compose([(inner, 2), ApproxDP("0.1", delta="1e-9")])
    flat = compose([(GaussianDP("0.1"), 6), (PureDP("0.2"), 2), ApproxDP("0.1", delta="1e-9")])
    assert outer.route == "contour"
    assert outer.delta(1) == pytest.approx(flat.delta(1), rel=1e-10)
