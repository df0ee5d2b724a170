"""Finite pairs and trade-off curves against exact rationals and literal tests."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from smoothdp import Pair, TradeoffFunction
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.exact.parameters.numbers import exact_real

F = Fraction


def laws(rng: random.Random, size: int) -> tuple[list[Fraction], list[Fraction]]:
    """Return two laws with power-of-two total, so that floats of the masses are exact."""
    cuts = [sorted(rng.sample(range(1, 64), size - 1)) for _ in range(2)]
    return tuple(  # type: ignore[return-value]
        [F(b - a, 64) for a, b in zip([0, *c], [*c, 64], strict=True)] for c in cuts
    )


def pair_of(p: list[Fraction], q: list[Fraction]) -> Pair:
    return Pair(np.log([float(v) for v in p]), np.log([float(v) for v in q]))


def hockey(p: list[Fraction], q: list[Fraction], growth: Fraction) -> Fraction:
    return sum((max(F(0), a - growth * b) for a, b in zip(p, q, strict=True)), F(0))


@pytest.mark.parametrize("seed", range(40))
def test_delta(seed: int) -> None:
    rng = random.Random(seed)
    p, q = laws(rng, rng.randint(2, 7))
    pair = pair_of(p, q)
    for growth in (F(1), F(5, 4), F(2), F(9)):
        exact = hockey(p, q, growth)
        epsilon = f"ln({growth})"
        lower, upper = pair.delta_bounds(epsilon)
        # The logarithms handed over are rounded: 1 ulp of each, so 1e-15 here.
        assert lower - 2e-15 <= exact <= upper + 2e-15
        assert upper - lower < 1e-13
        assert pair.profile().delta(epsilon) >= max(exact, hockey(q, p, growth)) - F(1, 10**14)


@pytest.mark.parametrize("seed", range(20))
def test_composition(seed: int) -> None:
    rng = random.Random(100 + seed)
    first, second = laws(rng, 3), laws(rng, 4)
    joint = [[a * b for a, b in product(one, two)] for one, two in zip(first, second, strict=True)]
    composed = pair_of(*first).compose(pair_of(*second))
    for growth in (F(1), F(3, 2), F(4)):
        exact = float(hockey(joint[0], joint[1], growth))
        lower, upper = composed.delta_bounds(f"ln({growth})")
        assert lower - 1e-14 <= exact <= upper + 1e-14
    assert pair_of(*first).self_compose(3).delta("0.1") == pytest.approx(
        pair_of(*first).compose(pair_of(*first)).compose(pair_of(*first)).delta("0.1"), abs=1e-13
    )


def test_randomised_response_composes_without_growing() -> None:
    """Atoms of equal likelihood ratio are joined: 1000 answers give 1001 of them."""
    truth = Pair(np.log([0.6, 0.4]), np.log([0.4, 0.6]))
    thousand = truth.self_compose(1000)
    assert thousand.log_p.size == 1001
    exact = F(0)
    for k in range(1001):
        # loss (2k - 1000) ln(3/2): binomial counts, in exact integers
        p = math.comb(1000, k) * F(3**k * 2 ** (1000 - k), 5**1000)
        q = math.comb(1000, k) * F(2**k * 3 ** (1000 - k), 5**1000)
        exact += max(F(0), p - F(3, 2) ** 300 * q)
    lower, upper = thousand.log_delta_bounds(exact_real(f"ln({F(3, 2) ** 300})", name="epsilon"))
    log_exact = math.log(exact.numerator) - math.log(exact.denominator)
    assert lower <= log_exact <= upper
    assert upper - lower < 1e-7


def test_renyi() -> None:
    rng = random.Random(8)
    for _ in range(50):
        p, q = laws(rng, 4)
        pair = pair_of(p, q)
        exact = math.log(sum(a * a / b for a, b in zip(p, q, strict=True)))
        assert exact - 1e-15 <= pair.renyi(2) <= exact + 1e-12
        worst = max(math.log(a / b) for a, b in zip(p, q, strict=True))
        assert worst - 1e-15 <= pair.renyi(math.inf) <= worst + 1e-12
        orders = [pair.renyi(a) for a in (1, 1.5, 2, 8, math.inf)]
        assert all(b >= a - 1e-12 for a, b in pairwise(orders))
    assert Pair([0.0, -math.inf], np.log([0.5, 0.5])).reverse().renyi(2) == math.inf


@pytest.mark.parametrize("seed", range(30))
def test_tradeoff_against_every_test(seed: int) -> None:
    """No deterministic test beats the curve, and the curve is reached at its knots."""
    rng = random.Random(200 + seed)
    p, q = laws(rng, 5)
    curve = pair_of(p, q).tradeoff()
    points = []
    for region in product((False, True), repeat=5):
        alpha = sum((b for b, r in zip(q, region, strict=True) if r), F(0))
        power = sum((a for a, r in zip(p, region, strict=True) if r), F(0))
        points.append((float(alpha), float(power)))
        assert curve.power(float(alpha)) >= float(power) - 1e-16
    for alpha, power in zip(curve.alphas, curve.powers, strict=True):
        assert any(abs(a - alpha) < 1e-13 and abs(w - power) < 1e-13 for a, w in points)
    for growth in (F(1), F(2)):
        assert curve.delta(f"ln({growth})") >= float(hockey(p, q, growth)) - 1e-16
        assert curve.delta(f"ln({growth})") <= float(hockey(p, q, growth)) + 1e-13


def test_tensor_product() -> None:
    rng = random.Random(5)
    for _ in range(20):
        first, second = laws(rng, 3), laws(rng, 3)
        by_curves = pair_of(*first).tradeoff().compose(pair_of(*second).tradeoff())
        by_pairs = pair_of(*first).compose(pair_of(*second)).tradeoff()
        for alpha in (0.0, 0.05, 0.3, 0.7, 1.0):
            assert by_curves(alpha) == pytest.approx(by_pairs(alpha), abs=1e-12)


def test_gaussian_mu() -> None:
    from scipy.stats import norm

    curve = TradeoffFunction([0.1, 0.5], [0.4, 0.9])
    exact = max(norm.ppf(0.4) - norm.ppf(0.1), norm.ppf(0.9) - norm.ppf(0.5))
    assert exact - 1e-12 <= curve.gaussian_mu() <= exact + 1e-12
    assert TradeoffFunction([0.0], [0.01]).gaussian_mu() == math.inf
    slack = TradeoffFunction([0.0, 0.2], [0.01, 0.3]).gaussian_mu(delta="0.02")
    assert 0 < slack < 1
    # The promise of the slack: the curve's profile is below the larger of the two.
    from smoothdp import GaussianDP

    profile = GaussianDP(slack).profile()
    curve = TradeoffFunction([0.0, 0.2], [0.01, 0.3])
    for epsilon in np.linspace(0, 3, 61):
        assert curve.delta(epsilon) <= max(profile.delta(epsilon), 0.02) + 1e-12
    smaller = GaussianDP(slack * 0.999).profile()
    assert any(
        curve.delta(e) > max(smaller.delta(e), 0.02) for e in np.linspace(0, 3, 601).tolist()
    )


def test_bad_input() -> None:
    with pytest.raises(InvalidData, match="shapes"):
        Pair([0.0], [0.0, -1.0])
    with pytest.raises(InvalidData, match="sum of"):
        Pair([-1.0], [0.0])
    with pytest.raises(InvalidData, match="nan"):
        Pair([math.nan], [0.0])
    with pytest.raises(InvalidParameter, match="order=0"):
        Pair([0.0], [0.0]).renyi(0)
    wide = Pair(np.full(3000, -math.log(3000)), np.full(3000, -math.log(3000)))
    with pytest.raises(OutOfReach, match="atoms"):
        wide.compose(wide)
    with pytest.raises(InvalidData, match="nondecreasing"):
        TradeoffFunction([0.5, 0.2], [0.5, 0.6])
    with pytest.raises(InvalidParameter, match="alpha=2"):
        TradeoffFunction([0.5], [0.6]).power(2)
