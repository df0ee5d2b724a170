"""The exchange and shift sums, and the profiles made of them, against brute force."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.suffix_sums import discounted_suffix_sums, suffix_roundings
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.shuffle.accounting import exchange_sum
from smoothdp.shuffle.accounting.exchange_rows import log_rows_upper, place_rows
from smoothdp.shuffle.accounting.exchange_sum import log_exchange_sum
from smoothdp.shuffle.accounting.shift_sum import log_shift_sum
from smoothdp.shuffle.histogram.count import ZeroPreservingCount
from smoothdp.shuffle.histogram.histogram import Histogram
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram
from smoothdp.testing.oracles import hockey_stick
from tests.checkers.rationals import binomial_law

Law = dict[tuple[int, ...], Fraction]
GROWTHS = [Fraction(1), Fraction(11, 10), Fraction(3, 2), Fraction(3), Fraction(50)]


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mpmath.workdps(40):
        yield


def close(bounds: LogBounds, truth: Fraction | mpf, width: float = 1e-11) -> None:
    if truth == 0:
        assert bounds.lower == -math.inf
        assert bounds.upper == -math.inf
        return
    exact = truth if isinstance(truth, mpf) else mpf(truth.numerator) / truth.denominator
    log_truth = mpmath.log(exact)
    assert bounds.lower <= log_truth <= bounds.upper
    assert bounds.upper - bounds.lower <= width


def read(growth: Fraction) -> Real:
    return LogRatio(growth) if growth != 1 else Fraction(0)


# ---- all data sets ------------------------------------------------------------------------


def view(counts: tuple[int, ...], n: int, present: Fraction) -> Law:
    """The law of what the analyser sees: messages per bin, true counts plus noise bits."""
    noise = binomial_law(n, present)
    result: Law = defaultdict(Fraction)
    for extra in itertools.product(range(n + 1), repeat=len(counts)):
        seen = tuple(c + e for c, e in zip(counts, extra, strict=True))
        result[seen] += math.prod((noise[e] for e in extra), start=Fraction(1))
    return result


@pytest.mark.parametrize(("n", "d"), [(1, 2), (2, 2), (3, 2), (8, 2), (1, 3), (2, 3), (3, 3)])
@pytest.mark.parametrize("gamma", [Fraction(1, 2), Fraction(3, 10), Fraction(1, 50)])
def test_every_data_set_and_neighbour(n: int, d: int, gamma: Fraction) -> None:
    histograms = {
        tuple(data.count(j) for j in range(d))
        for data in itertools.combinations_with_replacement(range(d), n)
    }
    views = {counts: view(counts, n, 1 - gamma) for counts in histograms}
    protocol = Histogram(n, n_bins=d, omission_probability=gamma)
    for growth in (Fraction(1), Fraction(3, 2), Fraction(5)):
        worst, least = Fraction(0), Fraction(2)
        for a, b in itertools.permutations(histograms, 2):
            if sum(abs(x - y) for x, y in zip(a, b, strict=True)) == 2:
                value = hockey_stick(views[a], views[b], growth)
                worst, least = max(worst, value), min(least, value)
        assert worst == least  # the same for all data and in both directions
        close(protocol.profile().log_delta_bounds(read(growth)), worst)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("gamma", [Fraction(1, 2), Fraction(3, 10), Fraction(1, 50)])
def test_every_neighbour_of_a_count(n: int, gamma: Fraction) -> None:
    protocol = ZeroPreservingCount(n, omission_probability=gamma)
    for growth in GROWTHS:
        worst = Fraction(0)
        for count in range(n):
            here, there = (view((c,), n, 1 - gamma) for c in (count, count + 1))
            worst = max(worst, hockey_stick(here, there, growth), hockey_stick(there, here, growth))
        close(protocol.profile().log_delta_bounds(read(growth)), worst)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_low_communication_has_the_same_privacy(n: int) -> None:
    gamma = Fraction(3, 10)
    protocol = LowCommunicationHistogram(n, n_bins=2, noise_probability=gamma)
    here, there = view((n, 0), n, gamma), view((n - 1, 1), n, gamma)
    for growth in GROWTHS:
        truth = hockey_stick(here, there, growth)
        assert truth == hockey_stick(there, here, growth)
        close(protocol.profile().log_delta_bounds(read(growth)), truth)


@pytest.mark.parametrize("n_honest", [1, 2, 4, 6])
def test_malicious_users_take_their_noise_away(n_honest: int) -> None:
    """Six users, some of whom tell the analyser what they sent: only honest noise is left."""
    gamma = Fraction(1, 3)
    protocol = Histogram(6, n_bins=3, omission_probability=gamma)
    truth = hockey_stick(
        view((1, 0), n_honest, 1 - gamma), view((0, 1), n_honest, 1 - gamma), Fraction(2)
    )
    profile = protocol.profile(n_honest=n_honest)
    close(profile.log_delta_bounds(LogRatio(Fraction(2))), truth)
    assert profile.delta(1) >= protocol.profile().delta(1)


def test_one_bin_hides_everything() -> None:
    protocol = Histogram(5, n_bins=1, omission_probability="1/3")
    assert protocol.profile().delta(0) == 0.0
    assert protocol.gaussian_mu() == 0.0


# ---- numbers at any size -----------------------------------------------------------------


def naive_exchange(n: int, p: Fraction, epsilon: Fraction) -> mpf:
    """All outputs, one by one."""
    growth = mpmath.exp(mpf(epsilon.numerator) / epsilon.denominator)
    law = [mpf(x.numerator) / x.denominator for x in binomial_law(n, p)]
    padded = [mpf(0), *law, mpf(0)]
    total = mpf(0)
    for a in range(n + 2):
        for b in range(n + 2):
            part = padded[a] * padded[b + 1] - growth * padded[a + 1] * padded[b]
            total += max(part, mpf(0))
    return total


def pointer_sum(n: int, p: Fraction, epsilon: Fraction, window: range) -> mpf:
    """sum_b P(b) P(Y >= t_b - 1) - E P(b - 1) P(Y >= t_b), differences and all, at 60 digits."""
    with mpmath.workdps(60):
        growth = mpmath.exp(mpf(epsilon.numerator) / epsilon.denominator)
        odds = mpf(p.numerator) / (p.denominator - p.numerator)
        first = window.start
        mass = mpmath.binomial(n, first) * odds**first
        mass *= (1 - mpf(p.numerator) / p.denominator) ** n
        law = []
        for k in window:
            law.append(mass)
            mass *= odds * (n - k) / (k + 1)
        tails = [mpf(0)]
        for x in reversed(law):
            tails.append(tails[-1] + x)
        tails.reverse()

        def tail(k: int) -> mpf:
            return tails[min(max(k - first, 0), len(law))]

        total = mpf(0)
        for k in window:
            t = int(mpmath.ceil((n + 1) * growth * k / (n + 1 - k + growth * k)))
            before = law[k - 1 - first] if k > first else mpf(0)
            total += law[k - first] * tail(t - 1) - growth * before * tail(t)
        return total


def test_random_small_cases() -> None:
    rng = random.Random(20261121)
    for _ in range(120):
        n = rng.choice([1, 2, 3, 4, 5, 8, 13, 20])
        p = rng.choice(
            [
                Fraction(1, 2),
                Fraction(1, 10),
                Fraction(1, 10**12),
                Fraction(rng.randint(1, 499), 500),
            ]
        )
        epsilon = Fraction(rng.choice(["0", "0.001", "0.1", "0.5", "1", "2", "5", "12", "40"]))
        close(log_exchange_sum(n, p, epsilon), naive_exchange(n, p, epsilon))


@pytest.mark.parametrize(
    ("n", "p", "epsilon", "reach"),
    [
        (100_000, Fraction(1, 2000), Fraction(1, 2), range(330)),
        (100_000, Fraction(1, 2000), Fraction(3), range(500)),
        (10**6, Fraction(3, 10**5), Fraction(1, 10), range(220)),
        (3000, Fraction(1, 3), Fraction(1, 20), range(400, 1600)),
        (3000, Fraction(1, 2), Fraction(1, 5), range(700, 2300)),
        (2000, Fraction(1, 2), Fraction(1), range(2001)),
    ],
)
def test_windows_against_the_pointer_sum(
    n: int, p: Fraction, epsilon: Fraction, reach: range
) -> None:
    close(log_exchange_sum(n, p, epsilon), pointer_sum(n, p, epsilon, reach), 5e-11)


def one_row_at_a_time(n: int, p: Fraction, epsilon: Fraction) -> mpf:
    """sum_b P(b) (1 + c) sum over a >= tau of P(a - 1) (1 - tau / a), c = E b / (N - b)."""
    with mpmath.workdps(50):
        growth = mpmath.exp(mpf(epsilon.numerator) / epsilon.denominator)
        chance = mpf(p.numerator) / p.denominator
        law = [(1 - chance) ** n]
        for k in range(n):
            law.append(law[-1] * (n - k) / (k + 1) * chance / (1 - chance))
        plain, shares = [mpf(0)] * (n + 3), [mpf(0)] * (n + 3)
        for a in range(n + 1, 0, -1):
            plain[a] = plain[a + 1] + law[a - 1]
            shares[a] = shares[a + 1] + law[a - 1] / a
        total = law[0]
        for b in range(1, n + 1):
            c = growth * b / (n + 1 - b)
            place = c * (n + 1) / (1 + c)
            first = int(mpmath.ceil(place))
            total += law[b] * (1 + c) * (plain[first] - place * shares[first])
        return total


def test_random_cases_of_medium_size() -> None:
    """Shallow and deep, one place or two where the terms are largest."""
    rng = random.Random(5)
    for _ in range(60):
        n = rng.choice([520, 600, 900])
        p = rng.choice(
            [
                Fraction(1, 2),
                Fraction(1, 2) - Fraction(1, 10**6),
                Fraction(1, 3),
                Fraction(rng.randint(1, 400), 1000),
                Fraction(rng.randint(1, 300), 10 * n),
            ]
        )
        epsilon = Fraction(rng.choice(["0", "0.02", "0.4", "1", "2.5", "4", "5", "7", "10", "14"]))
        close(log_exchange_sum(n, p, epsilon), one_row_at_a_time(n, p, epsilon))


@pytest.mark.parametrize("epsilon", ["2.9", "3", "3.1", "3.3"])
def test_where_one_place_becomes_two_the_bounds_are_wide_and_true(epsilon: str) -> None:
    """p = 1/2 and epsilon about 3.1: a flat top. delta is below 1e-100 there."""
    truth = mpmath.log(one_row_at_a_time(600, Fraction(1, 2), Fraction(epsilon)))
    lower, upper = log_exchange_sum(600, Fraction(1, 2), Fraction(epsilon))
    assert lower <= truth <= upper < -230


@pytest.mark.parametrize(("size", "rate"), [(1, 0.0), (50, 0.3), (700, 0.5), (40, 120.0)])
def test_suffix_sums(size: int, rate: float) -> None:
    """One tile or many, against sums of exponentials one by one."""
    rng = random.Random(size)
    values = np.array([rng.random() + 1e-3 for _ in range(size)])
    sums = discounted_suffix_sums(values, rate)
    for i in range(0, size, max(1, size // 20)):
        exact = mpmath.fsum(
            mpf(float(values[k])) * mpmath.exp(-mpf(rate) * (k - i)) for k in range(i, size)
        )
        assert abs(mpf(float(sums[i])) / exact - 1) <= 2.0**-53 * (
            suffix_roundings(size, rate) + size
        )


def test_symmetric_under_p_and_its_complement() -> None:
    for p in (Fraction(1, 7), Fraction(2, 5)):
        assert log_exchange_sum(90, p, Fraction(1)) == log_exchange_sum(90, 1 - p, Fraction(1))


def test_edges_are_all_that_is_left_at_a_large_epsilon() -> None:
    n, p = 6, Fraction(1, 5)
    truth = (1 - p) ** n + p**n - (p * (1 - p)) ** n
    for epsilon in (Fraction(30), Fraction(10**6), LogRatio(Fraction(10**9))):
        close(log_exchange_sum(n, p, epsilon), truth)


def test_extreme_probabilities() -> None:
    lower, upper = log_exchange_sum(1000, Fraction(1, 10**5000), Fraction(1))
    assert (lower <= 0.0, upper) == (True, 0.0)
    close(
        log_exchange_sum(9, Fraction(1, 10**100), Fraction(1)),
        naive_exchange(9, Fraction(1, 10**100), Fraction(1)),
    )


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 10), Fraction(1), Fraction(3)])
def test_dropped_mass_is_added(monkeypatch: pytest.MonkeyPatch, epsilon: Fraction) -> None:
    """With windows that are far too narrow the bounds are wide, and still bounds."""
    n, p = 2000, Fraction(1, 20)
    truth = pointer_sum(n, p, epsilon, range(700))
    (full,) = place_rows(n + 1, float(p), float(epsilon))

    for half in (0, 1, 3, 6):
        narrow = full._replace(first=max(0, full.b - half), last=full.b + half)

        monkeypatch.setattr(exchange_sum, "place_rows", lambda *_, rows=narrow: [rows])
        monkeypatch.setattr(exchange_sum, "_MOST_WIDENINGS", 0)
        lower, upper = log_exchange_sum(n, p, epsilon)
        assert lower <= mpmath.log(truth) <= upper
        assert half > 1 or upper - lower > 1e-3


def test_bound_of_dropped_rows() -> None:
    """Against the exact mass of the rows, in rationals."""
    n, p = 40, Fraction(1, 5)
    law = binomial_law(n, p)
    for growth in (Fraction(1), Fraction(2), Fraction(8)):
        for first, last in ((0, 40), (0, 3), (5, 9), (20, 40), (13, 13)):
            exact = Fraction(0)
            for b in range(first, last + 1):
                t = math.ceil((n + 1) * growth * b / (n + 1 - b + growth * b))
                exact += law[b] * sum(law[max(0, t - 1) :], Fraction(0))
            for goal in (-1.0, -10.0, -60.0):
                bound = log_rows_upper(first, last, n, p, float(growth), goal)
                assert bound >= math.log(exact) - 1e-12


def naive_shift(n: int, p: Fraction, growth: mpf) -> mpf:
    law = [mpf(x.numerator) / x.denominator for x in binomial_law(n, p)]
    pairs = zip([*law, mpf(0)], [mpf(0), *law], strict=True)
    return sum((max(here - growth * before, mpf(0)) for here, before in pairs), mpf(0))


def test_shift_sum() -> None:
    rng = random.Random(3)
    for _ in range(200):
        n = rng.choice([1, 2, 3, 5, 8, 20, 60])
        p = rng.choice(
            [Fraction(1, 2), Fraction(9, 10), Fraction(1, 10**9), 1 - Fraction(1, 10**9)]
        )
        choices: list[Real] = [Fraction(0), Fraction(1, 10), Fraction(1), Fraction(30)]
        epsilon = rng.choice([*choices, LogRatio(Fraction(3, 2))])
        if isinstance(epsilon, LogRatio):
            growth = mpf(epsilon.ratio.numerator) / epsilon.ratio.denominator
        else:
            growth = mpmath.exp(mpf(epsilon.numerator) / epsilon.denominator)
        close(log_shift_sum(n, p, epsilon), naive_shift(n, p, growth))


# ---- curves ------------------------------------------------------------------------------


def best_power(first: Law, second: Law, alpha: Fraction) -> Fraction:
    """The largest power at level alpha, by Neyman and Pearson in rationals."""
    ratios = sorted(
        first.keys() | second.keys(),
        key=lambda o: -(first.get(o, 0) / second[o]) if second.get(o) else -math.inf,
    )
    power, left = Fraction(0), alpha
    for output in ratios:
        p, q = first.get(output, Fraction(0)), second.get(output, Fraction(0))
        share = Fraction(1) if q <= left else left / q
        power, left = power + share * p, left - share * q
    return power


@pytest.mark.parametrize("n", [2, 8])
def test_tradeoff_is_exact_for_few_users(n: int) -> None:
    gamma = Fraction(3, 10)
    curve = Histogram(n, n_bins=2, omission_probability=gamma).tradeoff()
    first, second = view((1, 0), n, 1 - gamma), view((0, 1), n, 1 - gamma)
    for alpha in (Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2), Fraction(9, 10)):
        beta = 1 - best_power(first, second, alpha)
        computed = curve(float(alpha))
        assert Fraction(computed) <= beta + Fraction(1, 10**15)
        assert computed == pytest.approx(float(beta), abs=1e-12)


def test_tradeoff_of_many_users_agrees_with_the_profile() -> None:
    protocol = Histogram(10**6, n_bins=9, omission_probability="4.3e-5")
    curve, profile = protocol.tradeoff(), protocol.profile()
    for epsilon in (0, "0.3", 1, 2):
        assert profile.delta_bounds(epsilon)[0] <= curve.delta(epsilon)
        assert curve.delta(epsilon) <= profile.delta(epsilon) * (1 + 1e-9) + 1e-28
    wide = Histogram(10**6, n_bins=9, omission_probability="0.1")
    assert wide.tradeoff().delta("0.01") >= wide.profile().delta_bounds("0.01")[0]


def test_gaussian_mu_bounds_the_profile() -> None:
    from smoothdp import GaussianDP

    protocol = Histogram(10_000, n_bins=9, omission_probability="0.004")
    mu = protocol.gaussian_mu("1e-6")
    gaussian = GaussianDP(Fraction(mu)).profile()
    for epsilon in (0, "0.1", "0.3", "0.6", "0.9", 1.2):
        assert protocol.profile().delta(epsilon) <= max(gaussian.delta(epsilon), 1e-6) * (1 + 1e-9)
    assert protocol.gaussian_mu() == math.inf
    count = ZeroPreservingCount(10_000, omission_probability="0.004")
    assert count.gaussian_mu("1e-6") < mu


# ---- larger than any brute force: properties -----------------------------------------------


def test_more_noise_and_more_users_lower_delta() -> None:
    for epsilon in (Fraction(1, 10), Fraction(1)):
        by_noise = [log_exchange_sum(500, Fraction(k, 60), epsilon).lower for k in range(1, 30)]
        assert by_noise == sorted(by_noise, reverse=True)
        by_users = [log_exchange_sum(n, Fraction(1, 3), epsilon).lower for n in range(5, 400, 13)]
        assert by_users == sorted(by_users, reverse=True)


def test_a_count_oscillates() -> None:
    """delta of a count is not monotone in gamma: bisection alone would not be a proof."""
    values = [
        ZeroPreservingCount(200, omission_probability=Fraction(k, 4000)).profile().log_delta(1)
        for k in range(200, 1000)
    ]
    rises = [later - before for before, later in itertools.pairwise(values)]
    assert max(rises) > 1e-3
