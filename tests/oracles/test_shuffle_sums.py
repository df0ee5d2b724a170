"""Totals of flipped bits against exact rationals: all inputs, all neighbours, small n."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.exact.probabilities.tilted_window import tilted_window
from smoothdp.shuffle.accounting.flip_curve import cover, flip_knots, flip_tradeoff, type_two_errors
from smoothdp.shuffle.accounting.flip_error import exact_deviation, tilted_deviation
from smoothdp.shuffle.accounting.flip_mu import CountTests, mu_at
from smoothdp.shuffle.accounting.flip_profile import FlipProfile
from smoothdp.shuffle.accounting.flipped_bits import log_flip_delta, log_flip_tail
from smoothdp.shuffle.accounting.worst_case import violation, worst_case
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.shuffle.flipped.real_sum import RealSum
from tests.checkers.rationals import hockey_stick, log_fraction
from tests.oracles.bit_sums import (
    Law,
    beta_at,
    binomial_law,
    by_messages,
    convolve,
    curve,
    stretched,
    total_law,
)

RNG = random.Random(20261121)


def contains(bounds: LogBounds, truth: Fraction, *, width: float = 1e-10) -> None:
    log_truth = log_fraction(truth)
    if truth == 0:
        assert bounds.lower == -math.inf
        assert bounds.upper < -30
        return
    rounding = 4 * math.ulp(max(1.0, abs(log_truth)))
    assert bounds.lower <= log_truth + rounding
    assert bounds.upper >= log_truth - rounding
    assert bounds.upper - bounds.lower < width


def one_user(zeros: int, ones: int, q: Fraction, bits: int, copies: int = 1) -> tuple[Law, Law]:
    others = total_law(zeros, ones, q)
    zeros_law, ones_law = (stretched(list(binomial_law(bits, p)), copies) for p in (q, 1 - q))
    return convolve(others, zeros_law), convolve(others, ones_law)


CASES = [
    (
        RNG.randrange(0, 12),
        RNG.randrange(0, 12),
        Fraction(RNG.randrange(1, 50), 101),
        RNG.choice([1, 1, 2, 3, 5]),
        Fraction(RNG.randrange(100, 400), 100),
        RNG.choice([1, 1, 2, 3]),
    )
    for _ in range(120)
]


@pytest.mark.parametrize(("zeros", "ones", "q", "bits", "growth", "copies"), CASES)
def test_delta_of_given_data(
    zeros: int, ones: int, q: Fraction, bits: int, growth: Fraction, copies: int
) -> None:
    p, r = one_user(zeros, ones, q, bits, copies)
    epsilon = LogRatio(growth) if growth != 1 else Fraction(0)
    bounds = log_flip_delta(zeros, ones, q, bits, epsilon, copies=copies)
    contains(bounds, hockey_stick(p, r, growth))


@pytest.mark.parametrize(("zeros", "ones", "q", "_b", "_g", "_c"), CASES[:40])
def test_tails(zeros: int, ones: int, q: Fraction, _b: int, _g: Fraction, _c: int) -> None:
    law = total_law(zeros, ones, q)
    for total in range(-1, zeros + ones + 1):
        contains(log_flip_tail(zeros, ones, q, total), sum(law[: total + 1], Fraction(0)))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("share", ["1/50", "2/5", "7/8"])
def test_boolean_sum_over_all_inputs(n: int, share: str) -> None:
    """Every data set, every neighbour, by every pattern of flips: n <= 8."""
    protocol = BooleanSum(n, expected_random_users=Fraction(share) * n)
    q = protocol.flip_probability
    laws: dict[int, Law] = {}
    for bits in product((0, 1), repeat=n):
        law = by_messages(bits, q) if n <= 5 else total_law(n - sum(bits), sum(bits), q)
        assert law == laws.setdefault(sum(bits), law)
    for growth in (Fraction(1), Fraction(11, 10), Fraction(2), Fraction(50)):
        # A neighbour has one more one, or one less.
        truth = max(
            hockey_stick(laws[a], laws[b], growth)
            for a in range(n + 1)
            for b in (a - 1, a + 1)
            if 0 <= b <= n
        )
        epsilon = LogRatio(growth) if growth != 1 else Fraction(0)
        contains(protocol.profile().log_delta_bounds(epsilon), truth)


@pytest.mark.parametrize(("n", "bits"), [(2, 2), (3, 2), (2, 3)])
def test_real_sum_over_all_inputs(n: int, bits: int) -> None:
    """All data on a grid finer than 1/r, fractions included: 0 against 1 is the worst pair."""
    protocol = RealSum(n, expected_random_users=Fraction(2, 5) * n, n_bits=bits)
    q = protocol.flip_probability
    grid = [Fraction(i, 2 * bits) for i in range(2 * bits + 1)]

    def user_law(x: Fraction) -> list[Fraction]:
        whole = math.floor(x * bits)
        rest = x * bits - whole
        out = [Fraction(0)] * (bits + 1)
        for ones, weight in ((whole, 1 - rest), (whole + 1, rest)):
            if weight:
                for k, mass in enumerate(total_law(bits - ones, ones, q)):
                    out[k] += weight * mass
        return out

    for growth in (Fraction(1), Fraction(3, 2), Fraction(4)):
        truth = Fraction(0)
        for rest in product(grid, repeat=n - 1):
            others = [Fraction(1)]
            for x in rest:
                others = convolve(others, user_law(x))
            views = [convolve(others, user_law(x)) for x in grid]
            truth = max(truth, *(hockey_stick(a, b, growth) for a in views for b in views))
        epsilon = LogRatio(growth) if growth != 1 else Fraction(0)
        contains(protocol.profile().log_delta_bounds(epsilon), truth)


@pytest.mark.parametrize(("n", "share"), [(6, "1/3"), (11, "3/5"), (14, "1/10")])
def test_worst_case_and_violation(n: int, share: str) -> None:
    q = Fraction(share) / 2
    for growth in (Fraction(1), Fraction(6, 5), Fraction(3)):
        epsilon = LogRatio(growth) if growth != 1 else Fraction(0)

        def value(zeros: int, ones: int, epsilon: object = epsilon) -> LogBounds:
            return log_flip_delta(zeros, ones, q, 1, epsilon)

        truths = [hockey_stick(*one_user(n - 1 - k, k, q, 1), growth) for k in range(n)]
        contains(worst_case(value, n - 1, tolerance=0), max(truths))
        coarse = worst_case(value, n - 1, tolerance=0.5, most_parts=3)
        assert coarse.upper >= log_fraction(max(truths)) - 1e-12
        assert violation(value, n - 1, limit=log_fraction(max(truths)) + 1e-9) is None
        if max(truths) == 0:
            continue
        found = violation(value, n - 1, limit=log_fraction(max(truths)) - 1e-9)
        assert found is not None
        assert found[1]
        assert truths[found[0]] == max(truths)


@lru_cache(maxsize=1)
def whole_numbers(n: int, hit: int, miss: int) -> list[int]:
    """The law of n zeros and n ones, times (hit + miss)^2n."""
    zeros = [math.comb(n, k) * hit**k * miss ** (n - k) for k in range(n + 1)]
    law = [0] * (2 * n + 1)
    for i, x in enumerate(zeros):
        for j, y in enumerate(reversed(zeros)):
            law[i + j] += x * y
    return law


@pytest.mark.parametrize("bits", [1, 3])
@pytest.mark.parametrize("growth", [Fraction(1), Fraction(21, 20), Fraction(5, 4)])
def test_delta_by_transforms(bits: int, growth: Fraction) -> None:
    """Windows of more than 256 counts are convolved by transforms; q = 2/5, whole numbers."""
    n, hit, miss = 620, 2, 3
    others = whole_numbers(n, hit, miss)
    user = [math.comb(bits, k) * hit**k * miss ** (bits - k) for k in range(bits + 1)]
    laws = []
    for part in (user, user[::-1]):
        law = [0] * (2 * n + bits + 1)
        for i, x in enumerate(part):
            for j, y in enumerate(others):
                law[i + j] += x * y
        laws.append(law)
    whole = growth.denominator * (hit + miss) ** (2 * n + bits)
    truth = sum(
        max(0, growth.denominator * a - growth.numerator * b) for a, b in zip(*laws, strict=True)
    )
    epsilon = LogRatio(growth) if growth != 1 else Fraction(0)
    q = Fraction(hit, hit + miss)
    assert tilted_window(n, 2 / 3, odds_roundings=1).mass.size >= 256
    contains(log_flip_delta(n, n, q, bits, epsilon), Fraction(truth, whole))


@pytest.mark.parametrize("seed", range(60))
def test_violation_finds_what_is_there(seed: int) -> None:
    """Figures made up: any bound that grows with the range; the ranges must cover all k."""
    rng = random.Random(seed)
    n = rng.choice([0, 1, 2, 7, 60, 300])
    figures = [-math.inf if rng.random() < 0.2 else rng.uniform(-3, 0) for _ in range(n + 1)]
    if rng.random() < 0.5:
        figures.sort(reverse=rng.random() < 0.5)
    loss = rng.choice([0.0, 1e-3, 0.1, 5.0])
    held: set[int] = set()
    limit = rng.choice([max(figures), rng.uniform(-3, 0.1), math.inf])

    def value(zeros: int, ones: int) -> LogBounds:
        first, last = ones, n - zeros
        upper = max(figures[first : last + 1]) + loss * (last - first)
        if upper <= limit:
            held.update(range(first, last + 1))
        return LogBounds(figures[first] if first == last else -math.inf, upper)

    found = violation(value, n, limit=limit)
    if max(figures) <= limit:
        assert found is None
        assert held == set(range(n + 1))
    else:
        assert found is not None
        assert figures[found[0]] > limit
        assert found[1]
    # Too few parts decide nothing, or what is true.
    hasty = violation(value, n, limit=limit, most_parts=1)
    assert hasty is not None or max(figures) <= limit
    assert hasty is None or not hasty[1] or figures[hasty[0]] > limit


def test_fewer_users_with_the_same_flip_probability() -> None:
    """The step of branch and bound holds with q kept, and fails with q recomputed."""
    n, users = 9, Fraction(4)
    q = users / (2 * n)
    broken = 0
    for growth in (Fraction(1), Fraction(3, 2), Fraction(3)):
        for first in range(n):
            for last in range(first, n):
                fewer = n - 1 - (last - first)
                bound = hockey_stick(*one_user(fewer - first, first, q, 1), growth)
                wrong_q = min(Fraction(1, 2), users / (2 * (fewer + 1)))
                wrong = hockey_stick(*one_user(fewer - first, first, wrong_q, 1), growth)
                for k in range(first, last + 1):
                    truth = hockey_stick(*one_user(n - 1 - k, k, q, 1), growth)
                    assert truth <= bound
                    broken += truth > wrong
    assert broken > 50


@pytest.mark.parametrize(("n", "bits", "share"), [(3, 1, "1/2"), (8, 1, "3/4"), (3, 3, "1/4")])
def test_curves(n: int, bits: int, share: str) -> None:
    q = Fraction(share) / 2
    others = (n - 1) * bits
    knots = [curve(*one_user(others - k, k, q, bits)) for k in range(others + 1)]
    knots += [curve(*reversed(one_user(others - k, k, q, bits))) for k in range(others + 1)]
    alphas = [Fraction(i, 40) for i in range(41)]
    truths = [min(beta_at(k, a) for k in knots) for a in alphas]
    pointwise = type_two_errors(np.array([float(a) for a in alphas]), q, bits, others)
    convex = flip_tradeoff(q, bits, others)
    for alpha, truth, found in zip(alphas, truths, pointwise.tolist(), strict=True):
        assert float(truth) - 1e-13 <= found <= float(truth) + 1e-15
        assert convex(float(alpha)) <= float(truth) + 1e-15
    # The convex curve says exactly what delta(epsilon) says.
    for growth in (Fraction(1), Fraction(6, 5), Fraction(2)):
        best = max(max(power - growth * alpha for alpha, power in one_curve) for one_curve in knots)
        epsilon = LogRatio(growth) if growth != 1 else Fraction(0)
        assert convex.log_excess(epsilon).upper == pytest.approx(log_fraction(best), abs=1e-11)
        assert convex.log_excess(epsilon).upper >= log_fraction(best) - 1e-15


def test_knots_are_on_the_safe_side() -> None:
    q = Fraction(29, 100)
    p, r = one_user(7, 5, q, 2)
    alphas, powers = flip_knots(7, 5, q, 2)
    for t in range(len(p)):
        assert alphas[t] <= float(sum(r[: t + 1], Fraction(0))) * (1 + 1e-15)
        assert powers[t] >= float(sum(p[: t + 1], Fraction(0))) * (1 - 1e-15)


@pytest.mark.parametrize("n_others", [2001, 5000, 10**6])
def test_cover_covers(n_others: int) -> None:
    """Each number of ones has a member with no more zeros and no more ones."""
    members = cover(n_others, Fraction(1, 100))
    assert members[0][1] == 0
    assert members[-1][0] == 0
    for (_, first), (zeros, _) in zip(members[1:], members[:-1], strict=True):
        # The member before serves up to first - 1 ones.
        assert zeros == n_others - (first - 1)


def test_coarse_curve_lies_below_the_exact_one() -> None:
    q, n_others = Fraction(1, 30), 2100
    coarse = flip_tradeoff(q, 1, n_others)
    profile = FlipProfile(q, 1, n_others)
    for epsilon in ("0", "0.2", "0.5", "1"):
        lower, upper = profile.delta_bounds(epsilon)
        assert lower <= coarse.delta(epsilon) <= upper * 1.05


@pytest.mark.parametrize("delta", ["0.9", "0.1", "1e-3", "1e-9", "1e-400", "0"])
def test_epsilon_of_delta(delta: str) -> None:
    profile = BooleanSum(40, expected_random_users=11).profile()
    lower, upper = profile.epsilon_bounds(delta)
    assert lower <= upper <= lower * (1 + 1e-9) + 1e-12
    goal = Fraction(delta)
    if goal and upper:
        assert profile.log_delta_bounds(Fraction(upper)).upper <= log_fraction(goal) + 1e-9
    if lower > 1e-9:
        assert profile.log_delta_bounds(Fraction(lower)).upper >= log_fraction(goal) - 1e-9


@pytest.mark.parametrize("odds", [1e-9, 0.3, 1.0, 40.0, 1e12])
@pytest.mark.parametrize("n", [0, 1, 7, 60])
def test_windows(n: int, odds: float) -> None:
    window = tilted_window(n, odds, odds_roundings=0)
    p = Fraction(odds) / (1 + Fraction(odds))
    law = binomial_law(n, p)
    for place, mass in enumerate(window.mass.tolist()):
        truth = float(law[window.low + place])
        assert abs(mass - truth) <= truth * window.error
    padded = [Fraction(0), *law, Fraction(0)]
    steps, step_error = window.steps()
    for place, step in enumerate(steps[:-1].tolist()):
        k = window.low + place
        truth = float(padded[k + 1] - padded[k]) if place else float(law[k])
        assert abs(step - truth) <= abs(truth) * window.error + step_error


def test_a_wide_window_leaves_out_what_it_says() -> None:
    window = tilted_window(10**9, 1e-4, odds_roundings=1)
    assert 0 < window.dropped < 1e-21
    assert abs(window.mass.sum() - 1) < 1e-12
    assert window.mass.size < 10_000


@pytest.mark.parametrize(("n", "share"), [(1, "1/2"), (4, "1/3"), (9, "4/5")])
@pytest.mark.parametrize("failure", ["1/2", "1/20", "1/1000"])
def test_deviation(n: int, share: str, failure: str) -> None:
    """The smallest D for the worst data, by all laws; the fast bound is never below it."""
    q, goal = Fraction(share) / 2, Fraction(failure)
    candidates: set[Fraction] = set()
    laws = []
    for k in range(n + 1):
        mean = (n - k) * q + k * (1 - q)
        law = total_law(n - k, k, q)
        laws.append((mean, law))
        candidates |= {abs(y - mean) for y in range(n + 1)}
    truth = min(
        d
        for d in candidates
        if all(
            sum((m for y, m in enumerate(law) if abs(y - mean) > d), Fraction(0)) <= goal
            for mean, law in laws
        )
    )
    found = exact_deviation(goal, q, n)
    assert float(truth) <= found * (1 + 1e-15)
    assert found <= float(truth) * (1 + 1e-8) + 1e-8
    assert tilted_deviation(goal, q, n, 1, rounds=False) >= float(truth)


@cache
def real_sum_law(xs: tuple[Fraction, ...], q: Fraction, n_bits: int) -> Law:
    """The law of the number of ones that users with numbers in [0, 1] report, n_bits each."""
    if not xs:
        return [Fraction(1)]
    # Sums of many users begin with those of fewer.
    return convolve(real_sum_law(xs[:-1], q, n_bits), law_of_one(xs[-1], q, n_bits))


@cache
def law_of_one(x: Fraction, q: Fraction, n_bits: int) -> Law:
    whole = math.floor(n_bits * x)
    rest = n_bits * x - whole
    user = [Fraction(0)] * (n_bits + 1)
    for ones, weight in ((whole, 1 - rest), (whole + 1, rest)):
        if weight:
            for k, mass in enumerate(total_law(n_bits - ones, ones, q)):
                user[k] += weight * mass
    return user


def failure_of_real_sum(
    protocol: RealSum, xs: Sequence[Fraction], error: float, law: Law | None = None
) -> Fraction:
    """P(|estimate - sum of xs| > error), from the law of the ones and the analyser's formula."""
    q, r, n = protocol.flip_probability, protocol.n_bits, protocol.n_users
    found = real_sum_law(tuple(xs), q, r) if law is None else law
    # |(ones - n r q) / (r (1 - 2 q)) - total| > error, with one division less for each.
    unit = r * (1 - 2 * q)
    centre, reach = n * r * q + unit * sum(xs), unit * Fraction(error)
    return sum((mass for ones, mass in enumerate(found) if abs(ones - centre) > reach), Fraction(0))


@pytest.mark.parametrize("n_bits", [1, 2, 3, 4])
@pytest.mark.parametrize("q", ["1/256", "1/8", "7/16"])
def test_error_of_a_real_sum_covers_its_rounding(n_bits: int, q: str) -> None:
    """Every multiset of multiples of 1 / 4r by three users: none fails more often than stated."""
    n = 3
    protocol = RealSum(n, expected_random_users=2 * n * Fraction(q), n_bits=n_bits)
    assert protocol.flip_probability == Fraction(q)
    errors = {beta: protocol.error(beta) for beta in ("1/3", "1/20", "1/1000")}
    grid = [Fraction(i, 4 * n_bits) for i in range(4 * n_bits + 1)]
    step = max(1, len(grid) // 9)
    for xs in combinations_with_replacement(grid[::step], n):
        law = real_sum_law(xs, Fraction(q), n_bits)
        for beta, error in errors.items():
            assert failure_of_real_sum(protocol, xs, error, law) <= Fraction(beta)


@pytest.mark.parametrize("n_bits", [1, 2, 3, 4])
@pytest.mark.parametrize("q", ["1/128", "1/4"])
def test_error_of_a_real_sum_of_equal_numbers(n_bits: int, q: str) -> None:
    """All users hold one number, where the deviation is largest: Hoeffding (1956), Theorem 5."""
    n = 20
    protocol = RealSum(n, expected_random_users=2 * n * Fraction(q), n_bits=n_bits)
    errors = {beta: protocol.error(beta) for beta in ("1/20", "1/100")}
    for rest in (Fraction(0), Fraction(1, 8), Fraction(3, 8), Fraction(1, 2), Fraction(7, 8)):
        whole = n_bits // 2
        sure = total_law(n * (n_bits - 1 - whole), n * whole, Fraction(q))
        law = convolve(sure, binomial_law(n, Fraction(q) + rest * (1 - 2 * Fraction(q))))
        for beta, error in errors.items():
            xs = [(whole + rest) / n_bits] * n
            assert failure_of_real_sum(protocol, xs, error, law) <= Fraction(beta)


def test_a_real_sum_of_one_bit_is_off_by_its_rounding() -> None:
    """10,000 users with 1/2: the report is a fair coin, whatever the noise."""
    protocol = RealSum(10_000, expected_random_users="67.43", n_bits=1)
    q, error = protocol.flip_probability, protocol.error("1/20")
    # |2 Bin(n, 1/2) - n| / (2 (1 - 2q)) > error, by the central limit to a few percent.
    reach = error * float(1 - 2 * q) / math.sqrt(10_000 / 4)
    assert 1.96 < reach < 2.2
    # Without the rounding, as for bits: an eighth of it, which covers a fifth of the runs.
    narrow = BooleanSum(10_000, expected_random_users="67.43").error("1/20")
    assert 8 < error / narrow < 9


def test_bits_round_nothing() -> None:
    """The smaller bound of a Boolean sum is refuted by fractions, and the larger one is needed."""
    n, q = 20, Fraction(1, 50)
    goal = Fraction(1, 100)
    narrow = tilted_deviation(goal, q, n, 1, rounds=False)
    wide = tilted_deviation(goal, q, n, 1, rounds=True)
    law = binomial_law(n, Fraction(1, 2))

    def outside(reach: float) -> Fraction:
        return sum((m for y, m in enumerate(law) if abs(y - 10) > reach), Fraction(0))

    assert outside(narrow) > 10 * goal
    assert outside(wide) <= goal


@pytest.mark.parametrize("n_bits", [1, 2, 3, 4])
def test_mse_is_the_variance(n_bits: int) -> None:
    protocol = RealSum(4, expected_random_users=2, n_bits=n_bits)
    q, r = protocol.flip_probability, n_bits
    xs = [Fraction(1, 4), Fraction(0), Fraction(1), Fraction(5, 8)]
    for data in (xs, [Fraction(1, 2 * r)] * 4):
        law = real_sum_law(tuple(data), q, r)
        errors = [(y - 4 * r * q) / (r * (1 - 2 * q)) - sum(data) for y in range(4 * r + 1)]
        assert sum((m * e for m, e in zip(law, errors, strict=True)), Fraction(0)) == 0
        truth = float(sum((m * e * e for m, e in zip(law, errors, strict=True)), Fraction(0)))
        assert truth <= protocol.mse(data) * (1 + 1e-15)
        assert protocol.mse(data) <= truth * (1 + 1e-15)
        assert protocol.mse() >= protocol.mse(data)
    # The worst data are halfway between two codes: the last ones.
    assert protocol.mse() == pytest.approx(truth, rel=1e-15)


@pytest.mark.parametrize(
    ("zeros", "ones", "q", "bits"), [(11, 0, "1/10", 1), (5, 6, "3/10", 2), (0, 30, "2/5", 1)]
)
def test_mu_over_ranges_of_totals(zeros: int, ones: int, q: str, bits: int) -> None:
    """Every bound over a range is above every value in it, and mu is the largest value."""
    tests = CountTests(zeros, ones, Fraction(q), bits)
    last = zeros + ones + bits - 1
    values = [tests.at(total) for total in range(last + 1)]
    for first in range(last + 1):
        for final in range(first, last + 1):
            assert tests.over(first, final) >= max(values[first : final + 1])
    bounds = mu_at(zeros, ones, flip=Fraction(q), n_bits=bits)
    assert bounds.lower <= max(values) * (1 + 1e-8)
    assert max(values) <= bounds.upper <= max(values) * (1 + 1e-8)
