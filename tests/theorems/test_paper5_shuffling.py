"""Paper 5 (Chen, Long): every numbered claim, by exact rationals; the false ones by their
counterexample.

q = lambda / 2n; C ~ Bin(n, q); one user of n, of whose others k hold a one.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Literal

import mpmath
import numpy as np
import pytest
from scipy import stats

from smoothdp import GaussianDP, TradeoffFunction
from smoothdp.paper_bounds.chen_long import chen_long_delta, chen_long_mu, chen_long_tradeoff
from smoothdp.paper_bounds.cheu import cheu_delta, cheu_epsilon, cheu_fixed_set_epsilon
from smoothdp.paper_bounds.clones import blanket_delta, clones_2021_delta, clones_delta
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.shuffle.flipped.real_sum import RealSum
from tests.checkers.rationals import hockey_stick
from tests.oracles.bit_sums import (
    Law,
    beta_at,
    binomial_law,
    convolve,
    curve,
    total_law,
)

HALF = Fraction(1, 2)


def pair(n: int, users: Fraction, k: int) -> tuple[Law, Law]:
    """The totals if the user holds 0, and 1; k of the others hold 1."""
    q = users / (2 * n)
    others = total_law(n - 1 - k, k, q)
    return convolve(others, [1 - q, q]), convolve(others, [q, 1 - q])


def true_beta(n: int, users: Fraction, k: int, alpha: Fraction) -> Fraction:
    """Null: the user holds 0."""
    zero, one = pair(n, users, k)
    return beta_at(curve(one, zero), alpha)


def claimed_step(n: int, users: Fraction, alpha: Fraction) -> Fraction:
    """1 - F(F^-1(alpha) + 1), F^-1(alpha) the least m with F(m) >= alpha."""
    law = binomial_law(n, users / (2 * n))
    place = next(m for m in range(n + 1) if sum(law[: m + 1]) >= alpha)
    return 1 - sum(law[: place + 2], Fraction(0))


def claimed_linear(n: int, users: Fraction, alpha: Fraction) -> Fraction:
    """T(C + 1, C): the same through its corners."""
    law = [*binomial_law(n, users / (2 * n)), Fraction(0)]
    return beta_at(curve(law, [law[-1], *law[:-1]]), alpha)


def test_definition_3_1_is_a_binomial() -> None:
    """The compound law is Bin(n, lambda / 2n)."""
    n, users = 6, Fraction(7, 3)
    for k in range(n + 1):
        compound = sum(
            comb(s, k) * comb(n, s) * (users / n) ** s * (1 - users / n) ** (n - s) * HALF**s
            for s in range(k, n + 1)
        )
        assert compound == binomial_law(n, users / (2 * n))[k]


def test_algorithm_1_flips_each_bit_with_probability_lambda_over_2n() -> None:
    """b ~ Ber(lambda/n), then a coin; the estimate is unbiased and is ours."""
    n, users = 5, Fraction(2)
    stay, coin = 1 - users / n, users / n * HALF
    assert (stay + coin, coin) == (1 - users / (2 * n), users / (2 * n))
    protocol = BooleanSum(n, expected_random_users=users)
    for total in range(n + 1):
        printed = Fraction(n) / (n - users) * (total - users / 2)
        assert protocol.estimate_from_total(total) == pytest.approx(float(printed), rel=1e-15)
    for ones in range(n + 1):
        law = total_law(n - ones, ones, users / (2 * n))
        mean = sum(
            (m * Fraction(n) / (n - users) * (y - users / 2) for y, m in enumerate(law)),
            Fraction(0),
        )
        assert mean == ones


def test_the_output_of_algorithm_1_leaves_its_stated_range() -> None:
    """Printed for Algorithm 3: z in [0, n]. It is not."""
    assert BooleanSum(5, expected_random_users=2).estimate_from_total(0) < 0
    assert RealSum(5, expected_random_users=2, n_bits=3).estimate_from_total(15) > 5


def test_theorem_2_is_false_linear_reading() -> None:
    """n = 2, lambda = 4/5, alpha = 9/25: 4/25 < 9/50."""
    n, users, alpha = 2, Fraction(4, 5), Fraction(9, 25)
    assert true_beta(n, users, 0, alpha) == Fraction(4, 25)
    assert claimed_linear(n, users, alpha) == Fraction(9, 50)
    found = chen_long_tradeoff("9/25", n_users=2, expected_random_users="4/5")
    assert found == pytest.approx(9 / 50, rel=1e-14)
    exact = BooleanSum(2, expected_random_users="4/5").type_two_error(9 / 25)[0]
    assert exact == pytest.approx(4 / 25, rel=1e-12)
    assert exact <= 4 / 25 < found


def test_theorem_2_is_false_step_reading() -> None:
    """n = 4, lambda = 6/5, alpha = 83521/160000: .0844 < .1095."""
    n, users, alpha = 4, Fraction(6, 5), Fraction(83521, 160000)
    assert true_beta(n, users, 0, alpha) == Fraction(229437, 2720000)
    assert claimed_step(n, users, alpha) == Fraction(17523, 160000)
    found = chen_long_tradeoff(alpha, n_users=4, expected_random_users="6/5", reading="step")
    assert found == pytest.approx(17523 / 160000, rel=1e-13)
    assert BooleanSum(4, expected_random_users="6/5").type_two_error(float(alpha))[0] < found


@pytest.mark.parametrize(("n", "users"), [(5, "1"), (10, "2"), (20, "3")])
def test_theorem_2_is_false_for_few_random_users(n: int, users: str) -> None:
    lam = Fraction(users)
    alphas = [Fraction(i, 50) for i in range(1, 50)]
    assert any(true_beta(n, lam, 0, a) < claimed_linear(n, lam, a) for a in alphas)


def test_theorem_2_is_no_tradeoff_function() -> None:
    """As printed it is a step function, not convex; and one-directional: T(C + 1, C) is not
    symmetric."""
    n, users = 4, Fraction(6, 5)
    alphas = [Fraction(i, 200) for i in range(1, 200)]
    step = [claimed_step(n, users, a) for a in alphas]
    assert any(2 * b > a + c for a, b, c in zip(step, step[1:], step[2:], strict=False))
    law = [*binomial_law(n, users / (2 * n)), Fraction(0)]
    shifted = [law[-1], *law[:-1]]
    growth = Fraction(3, 2)
    assert hockey_stick(law, shifted, growth) != hockey_stick(shifted, law, growth)


@pytest.mark.parametrize(("n", "users"), [(2, "4/5"), (4, "6/5"), (9, "5"), (12, "1/2")])
def test_theorem_2_repaired(n: int, users: str) -> None:
    """The exact envelope, and the curve of the clones: both hold for all data."""
    lam = Fraction(users)
    protocol = BooleanSum(n, expected_random_users=users)
    alphas = [Fraction(i, 20) for i in range(21)]
    envelope = protocol.type_two_error([float(a) for a in alphas])
    for alpha, beta in zip(alphas, envelope.tolist(), strict=True):
        truth = min(true_beta(n, lam, k, alpha) for k in range(n))
        assert beta <= float(truth) + 1e-15
        assert beta >= float(truth) - 1e-12
    for growth in (Fraction(11, 10), Fraction(3, 2), Fraction(3)):
        truth = max(hockey_stick(*pair(n, lam, k), growth) for k in range(n))
        by_clones = clones_delta(n_users=n, expected_random_users=users, epsilon=f"ln({growth})")
        older = clones_2021_delta(n_users=n, expected_random_users=users, epsilon=f"ln({growth})")
        assert float(truth) <= by_clones <= older * (1 + 1e-12)


@pytest.mark.parametrize(("n", "users"), [(3, "1"), (7, "4")])
def test_privacy_blanket_and_clones_are_one_number(n: int, users: str) -> None:
    """Both by their definitions, in rationals."""
    lam = Fraction(users)
    q, share = lam / (2 * n), lam / n
    for growth in (Fraction(6, 5), Fraction(2)):
        g, h = 1 - q - growth * q, growth * (1 - q) - q
        blanket = sum(
            binomial_law(n, share)[m]
            * sum(
                binomial_law(m, HALF)[b] * max(Fraction(0), 2 * ((m - b) * g - b * h))
                for b in range(m + 1)
            )
            for m in range(n + 1)
        ) / (share * n)
        clones = sum(
            binomial_law(n - 1, share)[c]
            * hockey_stick(
                convolve(binomial_law(c, HALF), [1 - q, q]),
                convolve(binomial_law(c, HALF), [q, 1 - q]),
                growth,
            )
            for c in range(n)
        )
        assert blanket == clones
        found = blanket_delta(n_users=n, expected_random_users=users, epsilon=f"ln({growth})")
        assert float(clones) <= found <= float(clones) * (1 + 1e-11)


@pytest.mark.parametrize(("n", "users"), [(2, "4/5"), (5, "3"), (100, "58")])
def test_corollary_3_2_mu_is_infinite(n: int, users: str) -> None:
    """f(0) = 1 - F(0) < 1, so Phi^-1(1 - alpha) - Phi^-1(f(alpha)) has no bound at alpha -> 0."""
    assert claimed_step(n, Fraction(users), Fraction(1, 10**40)) < 1
    assert chen_long_mu(n_users=n, expected_random_users=users) == math.inf
    mus = [
        chen_long_mu(n_users=n, expected_random_users=users, least_alpha=a)
        for a in ("1e-1", "1e-3", "1e-6", "1e-12", "1e-30")
    ]
    assert mus == sorted(mus)
    claimed = TradeoffFunction([0.0], [float(binomial_law(n, Fraction(users) / (2 * n))[0])])
    assert claimed.gaussian_mu() == math.inf
    # The protocol itself has a finite one.
    assert BooleanSum(n, expected_random_users=users).gaussian_mu() < math.inf


@pytest.mark.parametrize("least", ["0.1", "0.01", "1e-6", "1e-9"])
def test_corollary_3_2_figures_depend_on_their_grid(least: str) -> None:
    """.2289, .2386, .2810, .3177 at n = 100, lambda = 58: the largest over corners and ends."""
    n, users, level = 100, Fraction(58), Fraction(least)
    law = binomial_law(n, users / (2 * n))
    corners = [sum(law[: m + 1], Fraction(0)) for m in range(n + 1)]
    inside = {level, 1 - level} | {f for f in corners if level <= f <= 1 - level}
    with mpmath.workdps(60):

        def quantile(x: Fraction) -> mpmath.mpf:
            number = mpmath.mpf(x.numerator) / x.denominator
            return mpmath.sqrt(2) * mpmath.erfinv(2 * number - 1)

        truth = max(float(quantile(1 - a) - quantile(claimed_linear(n, users, a))) for a in inside)
    found = chen_long_mu(n_users=n, expected_random_users=users, least_alpha=least)
    assert found == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "users", "mu"), [(100, 30, 0.312252), (100, 5, 1.463753),
                           (1000, 58, 0.459581), (1000, 200, 0.152451)],
)  # fmt: skip
def test_corollary_3_2_true_mu(n: int, users: int, mu: float) -> None:
    lower, upper = BooleanSum(n, expected_random_users=users).gaussian_mu_bounds()
    assert lower <= mu + 5e-7
    assert upper >= mu - 5e-7
    assert upper - lower < 1e-8


def test_corollary_3_2_with_slack() -> None:
    protocol = BooleanSum(100, expected_random_users=58)
    for slack, mu in [("1e-3", 0.0986), ("1e-6", 0.1047), ("1e-9", 0.1085)]:
        found = protocol.gaussian_mu(slack)
        assert found == pytest.approx(mu, abs=1e-4)
        profile, claim = protocol.profile(), GaussianDP(found).profile()
        for epsilon in ("0.01", "0.1", "0.3", "0.5", "0.8"):
            assert profile.delta(epsilon) <= max(claim.delta(epsilon), float(slack))


def test_algorithm_2_codes_the_mean() -> None:
    """mu = ceil(x r), p = x r - mu + 1: the bits have mean x and so has ours."""
    r = 4
    for i in range(17):
        x = Fraction(i, 16)
        mu = math.ceil(x * r)
        p = x * r - mu + 1
        assert max(mu - 1, 0) + (p if mu else 0) == x * r
        protocol = RealSum(1, expected_random_users="1/2", n_bits=r)
        counts = {sum(protocol.encode(float(x))) for _ in range(60)}
        assert counts <= {max(mu - 1, 0), mu}
        assert (len(counts) == 1) == (p in (0, 1)) or i % 4


def test_algorithm_3_needs_no_composition() -> None:
    """Its output is a function of the total, which is less than all bits by position."""
    n, users, r = 4, Fraction(3, 2), 2
    q = users / (2 * n)
    total = RealSum(n, expected_random_users=users, n_bits=r).profile()
    for growth in (Fraction(6, 5), Fraction(2), Fraction(5)):
        one_bit = [pair(n, users, k) for k in range(n)]
        products = max(
            sum(
                max(Fraction(0), a * c - growth * b * d)
                for (a, b), (c, d) in product(
                    list(zip(*first, strict=True)), list(zip(*second, strict=True))
                )
            )
            for first in one_bit
            for second in one_bit
        )
        others = total_law((n - 1) * r, 0, q)
        truth = hockey_stick(
            convolve(others, binomial_law(r, q)), convolve(others, binomial_law(r, 1 - q)), growth
        )
        found = total.delta(f"ln({growth})")
        assert float(truth) * (1 - 1e-12) <= found <= float(products) * (1 + 1e-12)


def test_theorem_3_and_corollary_3_3_with_the_exact_curve() -> None:
    """r-fold composition of the exact curve, or sqrt(r) mu of the exact mu, bound Algorithm 3."""
    n, users, r = 30, 12, 3
    one = BooleanSum(n, expected_random_users=users)
    real = RealSum(n, expected_random_users=users, n_bits=r)
    curve_of_one = one.tradeoff()
    composed = curve_of_one.compose(curve_of_one).compose(curve_of_one)
    mu = math.sqrt(r) * one.gaussian_mu() * (1 + 1e-15)
    assert real.gaussian_mu() <= mu
    for epsilon in ("0", "0.3", "0.8", "1.5"):
        exact = real.profile().delta(epsilon)
        assert exact <= composed.delta(epsilon) * (1 + 1e-12)
        assert exact <= GaussianDP(mu).profile().delta(epsilon)


def test_lemma_a_neyman_pearson_by_thresholds() -> None:
    """The likelihood ratio falls with the total, so all best tests are thresholds."""
    for k in range(5):
        zero, one = pair(5, Fraction(2), k)
        ratios = [a / b for a, b in zip(zero, one, strict=True)]
        assert ratios == sorted(ratios, reverse=True)


def test_lemma_b_3_post_processing() -> None:
    zero, one = pair(5, Fraction(2), 2)
    merged = [[law[0] + law[1], law[2], law[3] + law[4], law[5]] for law in (zero, one)]
    for alpha in (Fraction(i, 10) for i in range(11)):
        assert beta_at(curve(*merged), alpha) >= beta_at(curve(zero, one), alpha)


@pytest.mark.parametrize("bits", list(product((0, 1), repeat=3)))
def test_claim_b_1(bits: tuple[int, ...]) -> None:
    """A random set H of Bin(n, lambda/n) users and fair coins: the law of the shuffled sum."""
    n, users = 3, Fraction(5, 4)
    law = [Fraction(0)] * (n + 1)
    for size in range(n + 1):
        for chosen in combinations(range(n), size):
            weight = (users / n) ** size * (1 - users / n) ** (n - size)
            fixed = sum(b for i, b in enumerate(bits) if i not in chosen)
            for coins, mass in enumerate(binomial_law(size, HALF)):
                law[fixed + coins] += weight * mass
    assert law == total_law(n - sum(bits), sum(bits), users / (2 * n))


def test_claim_b_2_the_total_is_all_that_is_seen() -> None:
    """Given the total, every order of the shuffled bits is equally likely."""
    bits, q = (1, 0, 1), Fraction(1, 5)
    seen: dict[tuple[int, ...], Fraction] = {}
    for flips in product((0, 1), repeat=3):
        weight = math.prod([q if f else 1 - q for f in flips], start=Fraction(1))
        report = sorted(b ^ f for b, f in zip(bits, flips, strict=True))
        orders = sorted({o for o in product((0, 1), repeat=3) if sorted(o) == report})
        for order in orders:
            seen[order] = seen.get(order, Fraction(0)) + weight / len(orders)
    for order, mass in seen.items():
        total = sum(order)
        assert mass * comb(3, total) == total_law(1, 2, q)[total]


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_claim_b_4_holds_with_the_linear_reading(size: int) -> None:
    """C_H, the user outside H: the curve of B + 1 against B, B ~ Bin(|H|, 1/2), exactly."""
    law = [*binomial_law(size, HALF), Fraction(0)]
    shifted = [law[-1], *law[:-1]]
    corners = curve(law, shifted)
    cumulated = [sum(law[: m + 1], Fraction(0)) for m in range(-1, size + 1)]
    for m in range(size + 1):
        # alpha = F(m - 1) has beta = 1 - F(m).
        assert beta_at(corners, cumulated[m]) == 1 - cumulated[m + 1]


def test_claim_b_5_mu_of_c_h_is_infinite() -> None:
    """B + 1 is never 0 and B may be: no Gaussian curve lies below."""
    law = [*binomial_law(5, HALF), Fraction(0)]
    knots = curve(law, [law[-1], *law[:-1]])
    alphas, powers = (np.array([float(v) for v in part]) for part in zip(*knots, strict=True))
    assert TradeoffFunction(alphas, powers).gaussian_mu() == math.inf


def test_claim_b_6_is_false_and_so_is_the_step_of_its_proof() -> None:
    """C_lambda is the sum of Algorithm 1 (B.1), so Theorem 2's counterexample is its own: the sum
    over users outside H is not constant, and it depends on |H|."""
    n, users = 2, Fraction(4, 5)
    zero, one = pair(n, users, 0)
    assert total_law(2, 0, users / (2 * n)) == zero
    assert beta_at(curve(one, zero), Fraction(9, 25)) < claimed_linear(n, users, Fraction(9, 25))


@pytest.mark.parametrize("size", [40, 50, 80])
@pytest.mark.parametrize("delta", ["0.1", "0.05"])
def test_claim_c_1_holds_with_half_delta(size: int, delta: str) -> None:
    """(epsilon, delta/2)-DP holds, with room (proofs/random-users#1)."""
    epsilon = cheu_fixed_set_epsilon(n_random_users=size, delta=delta)
    assert size > 8 * math.log(4 / float(delta))
    law = [*binomial_law(size, HALF), Fraction(0)]
    growth = Fraction(math.exp(epsilon))
    assert hockey_stick(law, [law[-1], *law[:-1]], growth) <= Fraction(delta) / 2


READINGS: tuple[Literal["linear", "step"], ...] = ("linear", "step")
FIGURE_1A = [
    (".05", 0.939123, 0.921161, 0.888888),
    (".1", 0.882048, 0.853898, 0.839337),
    (".3", 0.666543, 0.618502, 0.537742),
    (".5", 0.462978, 0.413621, 0.365390),
    (".7", 0.268049, 0.229666, 0.218442),
    (".9", 0.084102, 0.067745, 0.051521),
]


@pytest.mark.parametrize(("alpha", "true", "linear", "step"), FIGURE_1A)
def test_figure_1a(alpha: str, true: float, linear: float, step: float) -> None:
    """n = 100, lambda = 58: here the claim holds, and is loose."""
    protocol = BooleanSum(100, expected_random_users=58)
    assert protocol.type_two_error(float(alpha))[0] == pytest.approx(true, abs=1e-6)
    found = {
        reading: chen_long_tradeoff(alpha, n_users=100, expected_random_users=58, reading=reading)
        for reading in READINGS
    }
    assert found == pytest.approx({"linear": linear, "step": step}, abs=1e-6)


def test_figure_1b() -> None:
    given = {"n_users": 100, "expected_random_users": 58}
    profile = BooleanSum(100, expected_random_users=58).profile()
    for epsilon, true, claimed, gaussian in [
        (".1", 7.7232e-3, 5.016e-2, 5.597e-2),
        (".3", 5.3224e-5, 1.217e-2, 1.374e-2),
        (".5", 3.5134e-8, 1.953e-3, 1.995e-3),
    ]:
        assert profile.delta(epsilon) == pytest.approx(true, rel=1e-4)
        assert chen_long_delta(**given, epsilon=epsilon) == pytest.approx(claimed, rel=1e-3)
        assert GaussianDP("0.2386").profile().delta(epsilon) == pytest.approx(gaussian, rel=2e-3)
    assert profile.delta(".8") == pytest.approx(3.2799e-15, rel=1e-4)
    assert profile.delta(".9") == 0.0
    for epsilon, delta in [(".5", 0.945), (".7", 0.430), (".9", 0.188)]:
        assert cheu_delta(**given, epsilon=epsilon) == pytest.approx(delta, abs=6e-4)
    assert cheu_epsilon(**given, delta="0.06") == math.inf


def test_figures_1c_and_1d() -> None:
    protocol = RealSum(100, expected_random_users=58, n_bits=10)
    alphas = [0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9]
    # Every number of ones of the others, both directions, by floats.
    truth, q = np.ones(len(alphas)), 0.29
    for k in range(991):
        parts = (stats.binom.pmf(range(m + 1), m, p) for m, p in ((990 - k, q), (k, 1 - q)))
        others = np.convolve(*parts)
        laws = [np.convolve(others, stats.binom.pmf(range(11), 10, p)) for p in (q, 1 - q)]
        for zero, one in (laws, [law[::-1] for law in reversed(laws)]):
            knots = [np.concatenate([[0], np.cumsum(law)]) for law in (one, zero)]
            truth = np.minimum(truth, 1 - np.interp(alphas, knots[0], knots[1]))
    found = protocol.type_two_error(alphas)
    assert found == pytest.approx(truth, abs=1e-11)
    near = [0.91116, 0.83786, 0.70779, 0.59120, 0.38470, 0.20638, 0.05725]
    assert found == pytest.approx(near, abs=5e-5)
    for epsilon, delta in [("0", 1.1638e-1), (".2", 4.793e-2), (".4", 1.475e-2), ("1", 6.08e-5)]:
        assert protocol.profile().delta(epsilon) == pytest.approx(delta, rel=1e-3)


def test_figure_2() -> None:
    """C_H with |H| = 50, exactly."""
    law = [*binomial_law(50, HALF), Fraction(0)]
    shifted = [law[-1], *law[:-1]]
    knots = curve(law, shifted)
    for alpha, beta in [(".05", 0.913344), (".1", 0.840767), (".5", 0.389884), (".9", 0.058609)]:
        assert float(beta_at(knots, Fraction(alpha))) == pytest.approx(beta, abs=1e-6)
    for epsilon, delta in [(0.2, 4.3154e-2), (0.6, 2.5359e-3), (1.0, 5.2399e-5)]:
        found = float(hockey_stick(law, shifted, Fraction(math.exp(epsilon))))
        assert found == pytest.approx(delta, rel=1e-3)


def test_delta_falls_with_lambda() -> None:
    """One more flip of every shuffled bit turns lambda into a larger one: data processing."""
    n = 9
    for k in range(n):
        for growth in (Fraction(1), Fraction(3, 2), Fraction(4)):
            deltas = [hockey_stick(*pair(n, Fraction(i, 4), k), growth) for i in range(1, 36)]
            assert deltas == sorted(deltas, reverse=True)
