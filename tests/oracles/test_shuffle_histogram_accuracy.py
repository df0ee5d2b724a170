"""Errors of the zero-preserving protocols against all data sets, in rationals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.shuffle.applications.support import support_success
from smoothdp.shuffle.histogram.accuracy import mean_squared_error, worst_case_error
from smoothdp.shuffle.histogram.count import ZeroPreservingCount
from smoothdp.shuffle.histogram.histogram import Histogram
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram
from tests.checkers.rationals import binomial_law


def partitions(n: int, d: int) -> list[tuple[int, ...]]:
    """All histograms of n records over d bins, up to the order of bins."""
    return [
        counts
        for counts in itertools.combinations_with_replacement(range(n + 1), d)
        if sum(counts) == n
    ]


def estimate(count: int, missing: int, mean: Fraction) -> Fraction:
    return count - missing + mean if count > missing else Fraction(0)


def failure_of_a_bin(count: int, bound: int, law: Sequence[Fraction], mean: Fraction) -> Fraction:
    """P(|estimate - count| > bound), straight from the analyser."""
    return sum(
        (p for w, p in enumerate(law) if abs(estimate(count, w, mean) - count) > bound),
        Fraction(0),
    )


CASES = [(12, Fraction(1, 6)), (14, Fraction(1, 10)), (9, Fraction(1, 2)), (20, Fraction(61, 250))]


@pytest.mark.parametrize(("n", "gamma"), CASES)
@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(1, 3), Fraction(1, 10**6)])
def test_error_of_a_bin_is_exact(n: int, gamma: Fraction, beta: Fraction) -> None:
    law, mean = binomial_law(n, gamma), n * gamma

    def worst(bound: int) -> Fraction:
        return max(failure_of_a_bin(s, bound, law, mean) for s in range(n + 1))

    truth = next(a for a in range(math.ceil(mean), n + 1) if worst(a) <= beta)
    assert worst_case_error(n, gamma, beta) == truth
    assert ZeroPreservingCount(n, omission_probability=gamma).error(beta) == truth
    assert Histogram(n, n_bins=3, omission_probability=gamma).error(beta) == truth


@pytest.mark.parametrize(("n", "gamma"), CASES)
@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize("beta", [Fraction(1, 20), Fraction(2, 5)])
def test_error_of_all_bins(n: int, gamma: Fraction, d: int, beta: Fraction) -> None:
    law, mean = binomial_law(n, gamma), n * gamma
    error = int(Histogram(n, n_bins=d, omission_probability=gamma).error(beta, simultaneous=True))
    fails = [failure_of_a_bin(s, error, law, mean) for s in range(n + 1)]
    for counts in partitions(n, d):
        assert 1 - math.prod(1 - fails[s] for s in counts) <= beta
    # Not larger than the formula allows: one less, and it would exceed beta or n gamma.
    if error > math.ceil(mean):
        tail = sum(law[error:], Fraction(0))
        assert 1 - (1 - tail) ** min(d, n // error) > beta


@pytest.mark.parametrize(("n", "gamma"), CASES)
@pytest.mark.parametrize("false_positive", [Fraction(1, 40), Fraction(1, 3)])
def test_errors_of_the_low_communication_variant(
    n: int, gamma: Fraction, false_positive: Fraction
) -> None:
    law, mean, d = binomial_law(n, gamma), n * gamma, 4
    protocol = LowCommunicationHistogram(
        n, n_bins=d, noise_probability=gamma, false_positive=false_positive
    )
    tau = protocol.threshold
    assert d * sum(law[tau + 1 :], Fraction(0)) <= false_positive
    assert tau == 0 or d * sum(law[tau:], Fraction(0)) > false_positive

    def fails(count: int, bound: int) -> Fraction:
        total = Fraction(0)
        for v, p in enumerate(law):
            shown = count + v - mean if count + v > tau else Fraction(0)
            total += p if abs(shown - count) > bound else 0
        return total

    for beta in (Fraction(1, 20), Fraction(1, 3)):
        one = int(protocol.error(beta))
        assert max(fails(s, one) for s in range(n + 1)) <= beta
        every = int(protocol.error(beta, simultaneous=True))
        assert every >= one
        for counts in partitions(n, d):
            assert 1 - math.prod(1 - fails(s, every) for s in counts) <= beta
    for count in range(n + 1):
        exact = sum(
            p * ((count + v - mean if count + v > tau else Fraction(0)) - count) ** 2
            for v, p in enumerate(law)
        )
        assert protocol.mse(count) >= float(exact)
        assert protocol.mse() >= protocol.mse(count) or count == 0


@pytest.mark.parametrize(("n", "gamma"), CASES)
def test_mean_squared_error_is_exact(n: int, gamma: Fraction) -> None:
    law, mean = binomial_law(n, gamma), n * gamma
    exact = [
        float(sum(p * (estimate(s, w, mean) - s) ** 2 for w, p in enumerate(law)))
        for s in range(n + 1)
    ]
    for s in range(n + 1):
        value = mean_squared_error(n, gamma, s)
        assert exact[s] <= value <= exact[s] * (1 + 1e-8) + 1e-300
    assert max(exact) <= mean_squared_error(n, gamma, None) <= max(exact) * (1 + 1e-8)
    protocol = Histogram(n, n_bins=n + 1, omission_probability=gamma)
    assert protocol.mse(range(n + 1)) == pytest.approx(float(np.mean(exact)), rel=1e-8)


def test_mean_squared_error_of_many_users() -> None:
    n, gamma = 10**6, Fraction(4265, 10**8)
    variance = float(n * gamma * (1 - gamma))
    assert mean_squared_error(n, gamma, 10**5) == pytest.approx(variance, rel=1e-6)
    assert mean_squared_error(n, gamma, 3) == pytest.approx(9.0, rel=1e-6)
    # Around n gamma a count is reported as 0 half of the time.
    assert mean_squared_error(n, gamma, None) > 20 * variance


def test_error_never_below_n_gamma() -> None:
    """A large failure probability does not lower the error below n gamma: it would be false."""
    protocol = Histogram(14, n_bins=3, omission_probability="0.244")
    for beta in ("0.5", "0.9", "0.999"):
        assert protocol.error(beta) >= 14 * 0.244
        assert protocol.error(beta, simultaneous=True) >= 14 * 0.244


def test_support_success_by_enumeration() -> None:
    """All counts of h values, with multinomial weights, in rationals."""
    for n, h, gamma in ((8, 2, Fraction(1, 5)), (7, 3, Fraction(1, 10)), (5, 1, Fraction(1, 2))):
        law = binomial_law(n, gamma)
        truth = Fraction(0)
        for counts in itertools.product(range(n + 1), repeat=h):
            if sum(counts) == n:
                ways = math.factorial(n) // math.prod(math.factorial(c) for c in counts)
                kept = math.prod(sum(law[:c], Fraction(0)) for c in counts)
                truth += Fraction(ways, h**n) * kept
        lower, upper = support_success(n, support_size=h, omission_probability=gamma)
        assert lower <= truth <= upper
        assert upper - lower < 1e-10
    assert support_success(3, support_size=4, omission_probability="1/3") == (0.0, 0.0)
