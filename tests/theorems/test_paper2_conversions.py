"""Paper 2 (Bun, Steinke), section 2: conversions between pure, zCDP and approximate DP."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from smoothdp import ZCDP, ApproxDP, DataModel, GaussianDP, Pair, PureDP, SmoothedDP
from smoothdp.claims.guarantees import conversions as convert
from smoothdp.errors import IncompatibleClaims, InvalidParameter


def random_pair(rng: random.Random, size: int) -> Pair:
    p = np.array([rng.random() + 0.05 for _ in range(size)])
    q = np.array([rng.random() + 0.05 for _ in range(size)])
    return Pair(np.log(p / p.sum()), np.log(q / q.sum()))


def test_lemma_9_pure_to_concentrated() -> None:
    """epsilon^2 / 2 holds, and is loose: epsilon tanh(epsilon / 2) is the least."""
    for epsilon in ("0.3", "ln(3)", "2", "40"):
        rho = PureDP(epsilon).concentrated_rho()
        assert rho is not None
        value = PureDP(epsilon).epsilon
        assert rho == pytest.approx(value * math.tanh(value / 2), rel=1e-14)
        assert rho < value**2 / 2


def test_lemma_9_concentrated_to_approximate() -> None:
    """epsilon = rho + 2 sqrt(rho ln(1/delta)) as printed; the exact profile is below it."""
    for rho in ("0.01", "0.5", "3"):
        for delta in ("1e-3", "1e-6", "1e-300"):
            paper = convert.zcdp_to_approx(ZCDP(rho), delta=delta, method="paper")
            exact = convert.zcdp_to_approx(ZCDP(rho), delta=delta)
            r, log_inverse = float(rho), -math.log(float(delta))
            assert paper.epsilon == pytest.approx(r + 2 * math.sqrt(r * log_inverse), rel=1e-14)
            assert exact.epsilon < paper.epsilon
            # The Gaussian mechanism meets rho and is no better than the claim.
            gaussian = GaussianDP(Fraction(math.sqrt(2 * r) * (1 - 1e-12)))
            assert gaussian.profile().epsilon(delta) <= exact.epsilon
    with pytest.raises(InvalidParameter, match="delta"):
        convert.zcdp_to_approx(ZCDP(1), delta=0)


def test_proposition_10_renyi_of_bounded_losses() -> None:
    """D_a <= a epsilon^2 / 2 where both max-divergences are at most epsilon."""
    rng = random.Random(10)
    for _ in range(300):
        pair = random_pair(rng, rng.randint(2, 6))
        epsilon = max(pair.renyi(math.inf), pair.reverse().renyi(math.inf))
        for order in (1.01, 1.5, 2, 5, 40):
            assert pair.renyi(order) <= order * epsilon**2 / 2 * (1 + 1e-9)


def test_lemma_11_triangle() -> None:
    """D(P||Q) <= a (sqrt a + sqrt b)^2 for Gaussians, where it is attained."""
    for a, b in [("0.5", "2"), ("0.1", "0.1"), ("0", "1")]:
        joined = convert.zcdp_triangle(ZCDP(a), ZCDP(b)).rho
        exact = (math.sqrt(float(a)) + math.sqrt(float(b))) ** 2
        assert exact * (1 - 1e-15) <= joined <= exact * (1 + 1e-12) + 1e-18
        assert joined <= 2 * (float(a) + float(b)) + 1e-12


def test_group_privacy() -> None:
    assert PureDP("0.5").for_group(4) == PureDP(2)
    assert PureDP("ln(2)").for_group(3) == PureDP("ln(8)")
    assert ZCDP("0.5").for_group(3) == ZCDP("4.5")
    assert GaussianDP("0.5").for_group(3) == GaussianDP("1.5")
    approx = ApproxDP("ln(2)", delta="1e-6").for_group(3)
    assert isinstance(approx, ApproxDP)
    assert 7e-6 <= approx.delta <= 7.00001e-6
    # zCDP and the triangle agree: three records, one by one.
    twice = convert.zcdp_triangle(ZCDP("0.5"), ZCDP("0.5"))
    assert convert.zcdp_triangle(twice, ZCDP("0.5")).rho == pytest.approx(4.5)
    model = DataModel([(0.5, 0.5)])
    with pytest.raises(IncompatibleClaims, match="SmoothedDP"):
        SmoothedDP(1, delta=0, model=model).for_group(2)


def test_group_privacy_of_chains() -> None:
    """Three laws in a row, each pair (epsilon, delta)-close: the ends are as promised."""
    rng = random.Random(12)
    for _ in range(200):
        weights = np.array([[rng.random() + 0.02 for _ in range(4)] for _ in range(3)])
        laws = np.log(weights / weights.sum(axis=1, keepdims=True))
        first, second = Pair(laws[0], laws[1]).profile(), Pair(laws[1], laws[2]).profile()
        epsilon = Fraction(1, 5)
        delta = max(first.delta(epsilon), second.delta(epsilon))
        group = ApproxDP(epsilon, delta=Fraction(delta)).for_group(2)
        assert isinstance(group, ApproxDP)
        assert Pair(laws[0], laws[2]).profile().delta_bounds("0.4")[0] <= group.delta


def test_neighbours_meet_through_the_factor_two() -> None:
    both = PureDP(1, neighbours="add_remove")
    assert convert.add_remove_to_replace_one(both) == PureDP(2)
    approx = ApproxDP("0.1", delta="1e-6", neighbours="add_remove")
    assert convert.add_remove_to_replace_one(approx).neighbours.value == "replace_one"
    with pytest.raises(IncompatibleClaims, match="add_remove"):
        convert.add_remove_to_replace_one(PureDP(1))


def test_post_processing_keeps_the_claim() -> None:
    """The divergence of a function of the output is never larger."""
    rng = random.Random(4)
    for _ in range(200):
        pair = random_pair(rng, 5)
        merged = Pair(
            np.logaddexp.reduceat(pair.log_p, [0, 2, 4]),
            np.logaddexp.reduceat(pair.log_q, [0, 2, 4]),
        )
        assert merged.delta_bounds("0.2")[0] <= pair.delta("0.2")
