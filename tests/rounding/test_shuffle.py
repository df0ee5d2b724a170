"""Protocols of the shuffle model: thresholds, limits and errors, each on its side."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from flint import arb

import smoothdp as sd
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.shuffle.accounting.exchange_profile import _exchange_atoms
from smoothdp.shuffle.accounting.flip_curve import cover
from smoothdp.shuffle.accounting.flip_error import exact_deviation, tilted_deviation
from smoothdp.shuffle.accounting.flip_mu import _quantile, mu_at
from smoothdp.shuffle.accounting.flip_profile import FlipProfile, certified_limit
from smoothdp.shuffle.accounting.worst_case import violation, worst_case
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.shuffle.flipped.flip_calibration import _pure_share, _rounded_up
from smoothdp.shuffle.flipped.flipped_sum import flip_word
from smoothdp.shuffle.flipped.real_sum import RealSum
from smoothdp.shuffle.histogram.accuracy import (
    log_of_exponent,
    mean_squared_error,
    worst_case_error,
)
from smoothdp.shuffle.histogram.calibration import _certain, paper_omission
from tests.checkers.rationals import binomial_law, hockey_stick
from tests.oracles.bit_sums import convolve, total_law
from tests.rounding.binomials import binomial_terms
from tests.rounding.certain import between, bits, exact, log_of

F = Fraction


# ---- flips --------------------------------------------------------------------------------


class Words:
    """A source of given 64-bit words, over and over: what a sampler does at a border."""

    is_private = False

    def __init__(self, *words: int) -> None:
        self._words = words

    def bits(self, n: int) -> int:
        value = 0
        for place in range(-(-n // 64)):
            value |= self._words[place % len(self._words)] << (64 * place)
        return value & ((1 << n) - 1)

    def below(self, n: int) -> int:
        return self.bits(64) % n


@pytest.mark.parametrize("users", ["58", "1/3", "0.01"])
def test_a_word_just_below_the_threshold_flips(users: str) -> None:
    """As many of the 2^64 words as the accounting says, one bit at a time and all at once."""
    protocol = BooleanSum(100, expected_random_users=users)
    flips, stays = protocol.threshold - 1, protocol.threshold
    assert F(protocol.threshold, 1 << 64) == protocol.flip_probability
    assert protocol.randomize(0, rng=Words(flips)) == (1,)
    assert protocol.randomize(0, rng=Words(stays)) == (0,)
    found = protocol.randomize_all([0, 1] * 50, rng=Words(flips, flips, stays, stays))
    assert found.tolist() == [1, 0, 0, 1] * 25


def test_flips_are_rounded_up() -> None:
    rng = random.Random(1)
    for _ in range(200):
        users, n = F(rng.randint(1, 10**9), rng.randint(1, 10**9)), rng.randint(1, 10**6)
        assert (
            F(flip_word(users, n) - 1, 1 << 64) < users / (2 * n) <= F(flip_word(users, n), 1 << 64)
        )


def test_random_users_are_rounded_up() -> None:
    rng = random.Random(2)
    for _ in range(200):
        users = F(rng.randint(1, 10**15), rng.randint(1, 10**12))
        assert users <= _rounded_up(users) <= users * (1 + F(1, 10**9))


@pytest.mark.parametrize("n_bits", [1, 3, 64])
def test_pure_calibration_keeps_its_epsilon(n_bits: int) -> None:
    """r ln((1 - q) / q) <= epsilon, at 300 bits, also for logarithms."""
    rng = random.Random(n_bits)
    epsilons: list[Real] = [F(rng.randint(1, 4000), 997) for _ in range(60)]
    epsilons += [LogRatio(F(rng.randint(1001, 9000), 1000)) for _ in range(60)]
    for epsilon in epsilons:
        q = _pure_share(n_bits, epsilon) / 2
        with bits():
            number = exact(epsilon.ratio).log() if isinstance(epsilon, LogRatio) else exact(epsilon)
            assert n_bits * (exact(1 - q) / exact(q)).log() <= number


def test_a_certified_limit_prints_below_delta() -> None:
    rng = random.Random(3)
    for _ in range(200):
        delta = F(rng.randint(1, 10**6), 10 ** rng.randint(7, 40))
        limit = certified_limit(delta)
        assert F(LogBounds(-math.inf, limit).linear()[1]) <= delta
        assert limit > math.log(float(delta)) - 1e-11


# ---- the worst case -----------------------------------------------------------------------


def others(zeros: int, ones: int) -> LogBounds:
    """A figure with its largest value in the middle; fewer bits of the others raise it."""
    rest = 40 - zeros - ones
    value = -0.3 * abs(zeros - 13) - 0.3 * abs(ones - 27) + 0.5 * rest
    return LogBounds(value - 0.01, value + 0.01)


@pytest.mark.parametrize("tolerance", [0.0, 0.5, 4.0])
def test_the_worst_of_all_data_lies_within_the_bounds(tolerance: float) -> None:
    truth = max(others(40 - k, k).upper for k in range(41))
    for most_parts in (1, 3, 1000):
        found = worst_case(others, 40, tolerance=tolerance, most_parts=most_parts)
        assert found.lower <= truth <= found.upper


@pytest.mark.parametrize("gap", [-0.015, -0.005, 0.005, 0.3])
def test_no_violation_is_missed(gap: float) -> None:
    """Also where only the upper bound exceeds the limit, and at one place alone."""
    truth = max(others(40 - k, k).upper for k in range(41))
    found = violation(others, 40, limit=truth + gap)
    if gap >= 0:
        assert found is None
    else:
        assert found is not None
        k, certain = found
        assert others(40 - k, k).upper > truth + gap
        assert certain == (others(40 - k, k).lower > truth + gap)


def test_a_range_of_data_is_no_better_than_what_it_shares() -> None:
    """Of data sets 0 to 2,400 each is in a range whose shared bits it has."""
    n = 2400
    ranges = cover(n, F(1, 4))
    assert len(ranges) < n
    for k in range(0, n + 1, 7):
        assert any(zeros <= n - k and ones <= k for zeros, ones in ranges)
    assert sorted(ones for _, ones in ranges) == [ones for _, ones in ranges]
    edges = [ones for _, ones in ranges] + [n + 1]
    for (zeros, _), beyond in zip(ranges, edges[1:], strict=True):
        assert zeros == n - (beyond - 1)


@pytest.mark.parametrize(("n_others", "n_bits"), [(9, 1), (14, 2)])
def test_no_test_has_a_smaller_type_two_error(n_others: int, n_bits: int) -> None:
    """At every alpha that some test has, exactly, over all data of the others."""
    n = n_others // n_bits + 1
    protocol = RealSum(n, expected_random_users=F(1, 3) * n, n_bits=n_bits)
    q, count = protocol.flip_probability, (n - 1) * n_bits
    for ones in range(count + 1):
        rest = total_law(count - ones, ones, q)
        zero_law, one_law = (convolve(rest, list(binomial_law(n_bits, p))) for p in (q, 1 - q))
        alpha = power = F(0)
        alphas, errors = [], []
        for a, b in zip(one_law, zero_law, strict=True):
            alpha, power = alpha + a, power + b
            alphas.append(float(alpha))
            # At a float not above alpha no test has more power than at alpha.
            errors.append(1 - power)
        down = [math.nextafter(x, 0.0) for x in alphas]
        for found, truth in zip(protocol.type_two_error(down).tolist(), errors, strict=True):
            slope = ((1 - q) / q) ** n_bits
            assert F(found) <= truth + slope * F(1, 2**51)


def test_type_two_errors_are_rounded_down() -> None:
    """At alpha 0 and 1, where nothing is interpolated, and at a knot that is a float."""
    protocol = BooleanSum(1, expected_random_users=F(1, 2))
    q = protocol.flip_probability
    assert q == F(1, 4)
    for alpha, power in ((0.25, F(3, 4)), (1.0, F(1))):
        assert F(float(protocol.type_two_error(alpha)[0])) <= 1 - power
    assert float(protocol.type_two_error(0.25)[0]) < 0.25


# ---- Gaussian mu --------------------------------------------------------------------------


def test_quantiles_of_both_tails() -> None:
    """Phi of the lower end is at most the probability, that of the upper end at least."""
    rng = random.Random(4)
    for _ in range(60):
        log_p = -math.exp(rng.uniform(-4, 5))
        below = LogBounds(log_p - 1e-9, log_p + 1e-9)
        rest = math.log(-math.expm1(log_p))
        above = LogBounds(rest - 1e-12, rest + 1e-12)
        low, high = _quantile(below, above)
        assert low < high
        with bits():
            root = exact(F(2)).sqrt()
            least, most = ((-exact(z) / root).erfc() / 2 for z in (low, high))
            if below.upper < above.upper:
                assert least <= exact(below.lower).exp()
                assert most >= exact(below.upper).exp()
            else:
                assert 1 - least >= exact(above.upper).exp()
                assert 1 - most <= exact(above.lower).exp()


@pytest.mark.parametrize("tolerance", [1e-9, 0.3])
@pytest.mark.parametrize(("zeros", "ones"), [(30, 0), (9, 21), (0, 5)])
def test_mu_of_given_data(zeros: int, ones: int, tolerance: float) -> None:
    """The largest Phi^-1(power) - Phi^-1(alpha) over all totals, in exact probabilities."""
    q, n_bits = F(1, 4), 2
    rest = total_law(zeros, ones, q)
    zero_law, one_law = (convolve(rest, list(binomial_law(n_bits, p))) for p in (q, 1 - q))
    found = mu_at(zeros, ones, flip=q, n_bits=n_bits, tolerance=tolerance)

    def quantile(p: Fraction) -> float:
        from statistics import NormalDist

        return (
            NormalDist().inv_cdf(float(p)) if p < F(1, 2) else -NormalDist().inv_cdf(float(1 - p))
        )

    alpha = power = F(0)
    gaps = []
    for a, b in zip(one_law[:-1], zero_law[:-1], strict=True):
        alpha, power = alpha + a, power + b
        gaps.append(quantile(power) - quantile(alpha))
    assert found.lower <= max(gaps) + 1e-9
    assert found.upper >= max(gaps) - 1e-9
    assert found.upper <= max(gaps) * (1 + tolerance) + 1e-9


@pytest.mark.parametrize("mu", ["0.3", "1"])
def test_gaussian_calibration_keeps_its_mu(mu: str) -> None:
    protocol = BooleanSum.calibrate(60, guarantee=sd.GaussianDP(mu), honest_share=1)
    assert F(protocol.gaussian_mu_bounds()[1]) <= F(mu)


# ---- errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "failure"), [(7, F(1, 20)), (40, F(1, 10)), (40, F(1, 1000))])
def test_deviations_are_exceeded_no_more_often(n: int, failure: Fraction) -> None:
    """On both sides of the mean together, for the worst data: exactly, and just below it."""
    q = F(3, 11)

    def chance(distance: Fraction) -> Fraction:
        worst = F(0)
        for ones in range(n + 1):
            mean = (n - ones) * q + ones * (1 - q)
            law = total_law(n - ones, ones, q)
            worst = max(
                worst, sum((p for k, p in enumerate(law) if abs(k - mean) > distance), F(0))
            )
        return worst

    found = exact_deviation(failure, q, n)
    assert chance(F(found)) <= failure
    assert chance(F(found) * (1 - F(1, 10**6))) > failure
    assert chance(F(tilted_deviation(failure, q, n, 1, rounds=False))) <= failure


@pytest.mark.parametrize("seed", range(10))
def test_the_error_of_a_sum_is_rounded_up(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(5, 40)
    protocol = BooleanSum(n, expected_random_users=F(rng.randint(1, 99), 100) * n)
    q = protocol.flip_probability
    reach = F(exact_deviation(F(1, 20), q, n))
    assert F(protocol.error("0.05")) >= reach / (1 - 2 * q)


def test_one_sided_bounds_are_not_enough() -> None:
    """Far out Chernoff's bound is within a few percent: half of the failures is seen there."""
    n, q, failure = 300, F(1, 2) - F(1, 1000), F(1, 10)
    law = total_law(n, 0, q)
    found = F(tilted_deviation(failure, q, n, 1, rounds=False))
    mean = n * q
    assert sum((p for k, p in enumerate(law) if abs(k - mean) > found), F(0)) <= failure


def test_rounding_to_bits_is_part_of_the_error() -> None:
    protocol = RealSum(100, expected_random_users=40, n_bits=2)
    rounding = F(100, 4 * 4)
    assert F(protocol.mse()) >= protocol.noise_mse() + rounding
    assert protocol.mse() < float(protocol.noise_mse() + rounding) * (1 + 1e-15)


# ---- histograms ---------------------------------------------------------------------------


def log_exponent(failure: Fraction) -> arb:
    return (-(1 - exact(failure)).log()).log()


def test_the_exponent_of_a_failure_is_rounded_down() -> None:
    rng = random.Random(5)
    for _ in range(100):
        failure = F(rng.randint(1, 10**6), 10**6 + 1) * F(1, 10 ** rng.randint(0, 12))
        found = log_of_exponent(failure)
        assert between(found, partial(log_exponent, failure), math.inf)


@pytest.mark.parametrize("n", [5, 30, 80])
def test_errors_of_counts(n: int) -> None:
    """The least bound of the error, and the mean squared one, against every count."""
    gamma, failure = F(1, 7), F(1, 20)
    law = binomial_law(n, gamma)

    def mse(s: int) -> Fraction:
        # W missing bits: s - W + n gamma is reported if s > W, else 0.
        return sum(
            (p * ((n * gamma - w) ** 2 if s > w else s * s) for w, p in enumerate(law)), F(0)
        )

    worst = max(mse(s) for s in range(n + 1))
    found = F(mean_squared_error(n, gamma, None))
    assert worst <= found <= worst * (1 + F(1, 10**6))
    for s in (0, 1, n // 2, n):
        assert (
            mse(s) <= F(mean_squared_error(n, gamma, s)) <= mse(s) * (1 + F(1, 10**6)) + F(1, 10**9)
        )
    bound = worst_case_error(n, gamma, failure)
    assert sum(law[bound + 1 :], F(0)) <= failure
    assert bound == math.ceil(n * gamma) or sum(law[bound:], F(0)) > failure


def test_a_goal_is_met_by_the_upper_bound() -> None:
    goal = sd.ApproxDP(1, delta="1e-6")
    at = math.log(1e-6)
    assert _certain(LogBounds(at - 1e-3, at - 1e-9), goal)
    assert not _certain(LogBounds(at - 1e-3, at + 1e-9), goal)
    assert not _certain(LogBounds(at - 1e-3, at + 1e-3), goal)
    # Beyond floats the logarithms alone decide.
    deep, at = sd.ApproxDP(1, delta="1e-400"), -400 * math.log(10)
    assert _certain(LogBounds(at - 1e-3, at - 1e-9), deep)
    assert not _certain(LogBounds(at - 1e-3, at + 1e-3), deep)


def test_the_noise_of_the_paper_is_rounded_up() -> None:
    rng = random.Random(6)
    for _ in range(60):
        n = rng.randint(10**6, 10**8)
        epsilon, delta = F(rng.randint(10, 99), 100), F(1, rng.randint(10**4, 10**9))
        gamma = paper_omission(n, sd.ApproxDP(epsilon, delta=delta), share=2)
        if gamma is None:
            continue
        with bits():
            truth = 50 * (4 / exact(delta)).log() * 4 / (exact(epsilon) ** 2 * n)
            assert exact(gamma) >= truth
            assert exact(gamma) < truth * (1 + exact(F(1, 10**15)))


@pytest.mark.parametrize(
    ("n", "gamma", "growth", "larger"),
    [
        (2, F(2, 5), F(3, 2), 0),
        (3, F(3, 10), F(11, 10), 0),
        (12, F(2, 5), F(11, 10), 0),
        (12, F(1, 10), F(3, 2), 1),
    ],
)
def test_both_directions_of_a_replaced_bit(
    n: int, gamma: Fraction, growth: Fraction, larger: int
) -> None:
    """Y against Y + 1 and back: now the one is larger, now the other."""
    law = binomial_law(n, 1 - gamma)
    here, there = (*law, F(0)), (F(0), *law)
    sticks = hockey_stick(here, there, growth), hockey_stick(there, here, growth)
    assert sticks[larger] > sticks[1 - larger]
    profile = sd.shuffle.ZeroPreservingCount(n, omission_probability=gamma).profile()
    found = profile.log_delta_bounds(LogRatio(growth))
    assert between(found.lower, log_of(sticks[larger]), found.upper)


def test_what_lies_outside_of_a_window_counts_in_both_laws() -> None:
    """An atom that only the one law has, and one that only the other has: each as heavy."""
    n, p, last = 200, F(1, 100), 89
    atoms = _exchange_atoms(n, p)
    assert atoms is not None
    assert np.isneginf([atoms.log_q[-2], atoms.log_p[-1]]).all()
    for log_mass in (float(atoms.log_p[-2]), float(atoms.log_q[-1])):
        with bits():
            outside = sum(binomial_terms(n, p, last + 1, n), arb(0))
            assert exact(log_mass).exp() >= 2 * outside
            assert exact(log_mass) > -400


def test_an_epsilon_of_a_profile_is_certain() -> None:
    profile = FlipProfile(F(1, 5), 1, 30)
    for delta in ("1e-3", "1e-7"):
        upper = profile.epsilon_bounds(delta)[1]
        with bits():
            assert exact(profile.log_delta_bounds(F(upper)).upper) <= exact(F(delta)).log()
    assert np.isfinite(profile.epsilon_bounds("1e-3")[0])
