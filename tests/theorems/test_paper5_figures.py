"""Paper 5: what its figures and its appendix C claim, at the numbers they use.

Theorem 2 is false, but not at the (n, lambda) = (100, 58) of Figure 1; C_H has the exact curve of
Claim B.4.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction

import pytest

from smoothdp.paper_bounds.chen_long import chen_long_delta, chen_long_tradeoff
from smoothdp.paper_bounds.cheu import cheu_delta, cheu_fixed_set_epsilon
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.shuffle.flipped.real_sum import RealSum
from tests.checkers.rationals import hockey_stick
from tests.oracles.bit_sums import beta_at, binomial_law, curve

HALF = Fraction(1, 2)
Knots = list[tuple[int, int]]


def integer_law(zeros: int, ones: int, flip: int, whole: int) -> list[int]:
    """Masses of the sum of randomised bits, times whole^(zeros + ones); flip / whole a flip."""
    law = [1]
    for stays in [whole - flip] * zeros + [flip] * ones:
        moves = whole - stays
        law = [a * stays + b * moves for a, b in zip([*law, 0], [0, *law], strict=True)]
    return law


def best_tests(null: list[int], other: list[int]) -> Knots:
    """(alpha, beta) of the likelihood ratio tests: reject where other / null is largest."""
    order = sorted(range(len(null)), key=lambda i: Fraction(other[i], null[i]), reverse=True)
    knots = [(0, sum(other))]
    for i in order:
        knots.append((knots[-1][0] + null[i], knots[-1][1] - other[i]))
    return knots


def below(low: Knots, high: Knots) -> bool:
    """Whether one piecewise linear curve is nowhere above the other, in integers.

    Both are linear between all their knots together, so it is enough to look there.
    """

    def fits(x: int, y: int, curve: Knots, sign: int) -> bool:
        i = max(bisect_left([a for a, _ in curve], x), 1)
        (a0, b0), (a1, b1) = curve[i - 1], curve[i]
        return sign * (y * (a1 - a0) - b0 * (a1 - a0) - (x - a0) * (b1 - b0)) <= 0

    return all(fits(x, y, high, 1) for x, y in low) and all(fits(x, y, low, -1) for x, y in high)


def theorem_2_holds(n: int, flip: int, whole: int) -> bool:
    """For every database, both orders of the neighbours and every alpha; F^-1 read linearly."""
    noise, whole_law = integer_law(n, 0, flip, whole), whole**n
    corners = [sum(noise[:i]) for i in range(n + 2)]  # F at -1, ..., n
    shifted = [*corners[1:], whole_law]
    claimed = [(a, whole_law - f) for a, f in zip(corners, shifted, strict=True)]
    for ones in range(n):
        laws = [integer_law(n - k, k, flip, whole) for k in (ones, ones + 1)]
        for null, other in (laws, laws[::-1]):
            if not below(claimed, best_tests(null, other)):
                return False
    return True


def test_theorem_2_holds_at_the_numbers_of_figure_1() -> None:
    """n = 100, lambda = 58: each bit is flipped with probability 29/100. By integers."""
    assert theorem_2_holds(100, 29, 100)


@pytest.mark.parametrize(("n", "flip", "whole"), [(2, 1, 5), (4, 3, 20), (20, 1, 5), (100, 1, 10)])
def test_theorem_2_fails_at_others(n: int, flip: int, whole: int) -> None:
    """lambda = 4/5, 6/5, 8 and 20: the check above is able to refuse."""
    assert not theorem_2_holds(n, flip, whole)


def test_theorem_2_is_false_in_both_readings_at_one_place() -> None:
    """n = 4, lambda = 6/5, all other bits 0: .0921 < .1095 < .1406."""
    q, noise = Fraction(3, 20), [*binomial_law(4, Fraction(3, 20)), Fraction(0)]
    alpha, beta = 1 - (1 - q) ** 4, q * (1 - q) ** 3
    assert beta == Fraction(9211875, 10**8)
    place = next(m for m in range(5) if sum(noise[: m + 1]) >= alpha)
    step = 1 - sum(noise[: place + 2], Fraction(0))
    line = beta_at(curve(noise, [noise[-1], *noise[:-1]]), alpha)
    assert beta < step < line
    for found, value in (
        (chen_long_tradeoff(alpha, n_users=4, expected_random_users="6/5", reading="step"), step),
        (chen_long_tradeoff(alpha, n_users=4, expected_random_users="6/5"), line),
    ):
        assert found == pytest.approx(float(value), rel=1e-12)
    assert (float(step), float(line)) == pytest.approx((0.10952, 0.14059), abs=1e-5)


GRID = [".05", ".1", ".2", ".3", ".5", ".7", ".9", "1.1"]


@pytest.mark.parametrize("epsilon", GRID)
def test_figure_1b_is_below_the_older_bound(epsilon: str) -> None:
    """delta of the printed curve, and the true one, are below that of Cheu et al. (2019)."""
    given = {"n_users": 100, "expected_random_users": 58}
    true = BooleanSum(100, expected_random_users=58).profile().delta(epsilon)
    assert true <= chen_long_delta(**given, epsilon=epsilon) < cheu_delta(**given, epsilon=epsilon)


def test_figure_1c_and_1d_gaussian_composition_is_not_tight() -> None:
    """Ten bits: sqrt 10 times the true mu of one against the true mu of all; far below what
    (epsilon, delta) adds up to."""
    one = BooleanSum(100, expected_random_users=58).gaussian_mu()
    lower, upper = RealSum(100, expected_random_users=58, n_bits=10).gaussian_mu_bounds()
    assert one == pytest.approx(0.1114, abs=1e-4)
    assert upper < 0.999 * math.sqrt(10) * one
    assert lower > 0
    given = {"n_users": 100, "expected_random_users": 58}
    truth = RealSum(100, expected_random_users=58, n_bits=10).profile().delta(1)
    assert 10 * cheu_delta(**given, epsilon=".1") > 1 > 1e3 * truth


def c_h(size: int) -> tuple[list[Fraction], list[Fraction]]:
    law = [*binomial_law(size, HALF), Fraction(0)]
    return law, [law[-1], *law[:-1]]


@pytest.mark.parametrize("delta", ["0.008", "0.02", "0.1", "0.5"])
def test_figure_2a_the_curve_is_nearer_to_perfect_privacy(delta: str) -> None:
    """|H| = 50: the exact curve lies between 1 - alpha and that of Claim C.1 (epsilon, delta/2)."""
    law, shifted = c_h(50)
    knots = curve(law, shifted)
    epsilon = cheu_fixed_set_epsilon(n_random_users=50, delta=delta)
    half = float(delta) / 2
    for step in range(1, 40):
        alpha = Fraction(step, 40)
        claimed = max(
            0.0,
            1 - half - math.exp(epsilon) * float(alpha),
            math.exp(-epsilon) * (1 - half - float(alpha)),
        )
        assert claimed < float(beta_at(knots, alpha)) <= 1 - alpha


@pytest.mark.parametrize("delta", ["0.008", "0.02", "0.1", "0.5"])
def test_figure_2b_delta_is_far_below_the_older_bound(delta: str) -> None:
    law, shifted = c_h(50)
    epsilon = cheu_fixed_set_epsilon(n_random_users=50, delta=delta)
    assert hockey_stick(law, shifted, Fraction(math.exp(epsilon))) < Fraction(delta) / 200


@pytest.mark.parametrize("size", [12, 50, 10_000])
@pytest.mark.parametrize("delta", ["0.9", "0.5", "1e-6", "1e-300"])
def test_claim_c_1_epsilon_is_below_the_root(size: int, delta: str) -> None:
    """ln(1 + x) < x for x = sqrt(32 ln(4/delta) / |H|)."""
    if size > 8 * math.log(4 / float(delta)):
        root = math.sqrt(32 * math.log(4 / float(delta)) / size)
        found = cheu_fixed_set_epsilon(n_random_users=size, delta=delta)
        assert found == pytest.approx(math.log1p(root), rel=1e-12)
        assert found < root
