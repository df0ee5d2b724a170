"""Sums of ratios, tails and windows of discrete laws, where rounding and left-out terms decide."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from smoothdp.exact.logspace.ratio_sum import log_ratio_sum
from smoothdp.exact.logspace.suffix_sums import discounted_suffix_sums, suffix_roundings
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.exact.probabilities.stirling import (
    DEVIANCE_ERROR,
    EXCESS_ERROR,
    cell_deviance,
    log_factorial_excess,
)
from smoothdp.exact.probabilities.tails import log_binomial_tail, log_hypergeometric_tail
from smoothdp.paper_bounds.chen_long import log_shift_delta
from smoothdp.shuffle.accounting.exchange_rows import log_rows_upper
from smoothdp.shuffle.accounting.exchange_sum import log_exchange_sum
from smoothdp.types import FloatArray
from tests.checkers.rationals import binomial_law, hockey_stick
from tests.rounding.binomials import binomial_terms
from tests.rounding.certain import between, bits, exact, log_between

F = Fraction


@pytest.mark.parametrize("length", range(36, 60))
def test_the_tail_of_a_ratio_sum(length: int) -> None:
    """Ratios of 1/2 have no rounding: what is left out is all there is between sum and truth."""
    found = log_ratio_sum(
        lambda d: 0.0 * d + 0.5,
        np.ones_like,
        n_terms=3000,
        length=length,
        ratio_roundings=0,
        weight_roundings=0,
    )
    assert log_between(found.lower, 2 - F(1, 2**2999), found.upper)
    assert found.upper - found.lower < 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_the_rounding_of_a_ratio_sum(seed: int) -> None:
    """The odds are off by up to half a unit to one side, in every one of hundreds of factors."""
    rng = np.random.default_rng(seed)
    odds = F(int(rng.integers(10**8, 10**9)), int(rng.integers(10**8, 10**9)))
    n = int(rng.integers(3 * 10**5, 10**6))
    k = math.ceil((n + 1) * odds / (1 + odds)) + int(rng.integers(0, 20))

    def ratio(d: FloatArray) -> FloatArray:
        return (n - k - d) / (k + 1.0 + d) * float(odds)

    found = log_ratio_sum(
        ratio, np.ones_like, n_terms=n - k + 1, length=40, ratio_roundings=4, weight_roundings=0
    )

    def truth() -> arb:
        total, term, factor = arb(0), arb(1), exact(odds)
        for d in range(6000):
            total += term
            term = term * (n - k - d) / (k + 1 + d) * factor
        # Beyond ten deviations less than 2^-60 of the sum is left.
        return (total + total * arb(0).union(arb(2) ** -60)).log()

    assert between(found.lower, truth, found.upper)


def test_deviances_and_excesses_are_within_their_errors() -> None:
    """x ln(x / M) + M - x relatively, ln n! - (n ln n - n) absolutely; neither is exact."""
    rng = np.random.default_rng(1)
    mean = F(1000003, 7)
    x = np.unique(np.exp(rng.uniform(0, 14, 300)).astype(np.int64))
    found, excess = cell_deviance(x, mean), log_factorial_excess(x)
    off = [0.0, 0.0]
    with bits():
        for value, deviance, beside in zip(
            x.tolist(), found.tolist(), excess.tolist(), strict=True
        ):
            m = exact(mean)
            truth = value * (value / m).log() + m - value
            off[0] = max(off[0], float(abs(exact(deviance) / truth - 1)))
            truth = arb(value + 1).lgamma() - (value * arb(value).log() - value)
            off[1] = max(off[1], float(abs(exact(beside) - truth)))
    assert 0 < off[0] <= DEVIANCE_ERROR < 1e-14
    assert 0 < off[1] <= EXCESS_ERROR < 1e-14


@pytest.mark.parametrize(("n", "p"), [(50, F(1, 3)), (3000, F(1, 7)), (10**6, F(1, 2))])
def test_binomial_tails_on_both_sides_of_the_mean(n: int, p: Fraction) -> None:
    """The tail of a million is long, and one minus it takes both of its ends."""
    spread = math.sqrt(n * p * (1 - p))
    for place in (-3.0, -1.0, -0.1, 0.1, 1.0, 4.0):
        k = round(n * p + place * spread)
        found = log_binomial_tail(k, n, p)

        def truth(k: int = k) -> arb:
            last = min(n, math.ceil(k + 30 * spread)) if k > n * p else k - 1
            first = k if k > n * p else max(0, math.floor(k - 30 * spread))
            terms = binomial_terms(n, p, first, last)
            total = sum(terms, arb(0)) + arb(0).union(arb(2) ** -600)
            return (total if k > n * p else 1 - total).log()

        assert between(found.lower, truth, found.upper)


def test_hypergeometric_tails_on_both_sides_of_the_mean() -> None:
    a, b, draws = 700, 900, 600
    whole = math.comb(a + b, draws)
    ways = [math.comb(a, i) * math.comb(b, draws - i) for i in range(draws + 1)]
    for k in (150, 230, 255, 262, 263, 270, 300, 420):
        found = log_hypergeometric_tail(k, draws, a, b)
        assert log_between(found.lower, F(sum(ways[k:]), whole), found.upper)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("p", [F(1, 2), F(3, 10), F(1, 50)])
def test_a_count_against_the_count_plus_one(n: int, p: Fraction) -> None:
    law = binomial_law(n, p)
    here, shifted = (*law, F(0)), (F(0), *law)
    for growth in (F(11, 10), F(3, 2), F(4), F(100)):
        truth = max(hockey_stick(here, shifted, growth), hockey_stick(shifted, here, growth))
        found = log_shift_delta(n, p, LogRatio(growth))
        assert log_between(found.lower, truth, found.upper)


@pytest.mark.parametrize(("n", "p"), [(60, F(1, 5)), (60, F(1, 2))])
def test_dropped_rows_on_both_sides_of_the_mean(n: int, p: Fraction) -> None:
    """The sum over rows of P(b) P(Y >= t_b - 1), exactly: one block, and cut to single rows."""
    law = binomial_law(n, p)
    tails = [sum(law[k:], F(0)) for k in range(n + 2)]
    total = n + 1
    for growth in (1.5, 20.0):
        e = F(growth)
        for first, last in ((0, 4), (2, 9), (20, 45), (45, n), (0, n)):
            truth = F(0)
            for b in range(first, last + 1):
                t = next(a for a in range(total + 1) if a * (total - b) >= e * b * (total - a))
                truth += law[b] * tails[max(0, t - 1)]
            for goal in (0.0, -1e9):
                found = log_rows_upper(first, last, n, p, growth, goal)
                assert log_between(-math.inf, truth, found)


@pytest.mark.parametrize(
    ("n", "p", "growth"), [(150, F(1, 9), 3), (300, F(2, 7), 2), (90, F(1, 3), 9)]
)
def test_exchange_sums_of_a_few_hundred(n: int, p: Fraction, growth: int) -> None:
    """Every pair of counts, in balls."""
    found = log_exchange_sum(n, p, LogRatio(F(growth)))

    def truth() -> arb:
        law = [*binomial_terms(n, p, -1, n + 1)]
        total = arb(0)
        for a in range(n + 2):
            for b in range(n + 2):
                # (P(a - 1) P(b) - E P(a) P(b - 1))_+, whose sign is that of whole numbers.
                if a * (n + 1 - b) > growth * b * (n + 1 - a):
                    total += law[a] * law[b + 1] - growth * law[a + 1] * law[b]
        return total.log()

    assert between(found.lower, truth, found.upper)


@pytest.mark.parametrize(
    ("n", "p", "growth"),
    [
        (10**6, F(1, 4), F(101, 100)),
        (10**6, F(30_000_001, 10**8), F(1003, 1000)),
        (400_000, F(1, 3), F(102, 100)),
    ],
)
def test_exchange_sums_of_many(n: int, p: Fraction, growth: Fraction) -> None:
    """By its positive terms in balls: thousands of factors in a row, each rounded in floats."""
    found = log_exchange_sum(n, p, LogRatio(growth))

    def truth() -> arb:
        total = n + 1
        spread = math.sqrt(n * p * (1 - p))
        first, last = math.floor(n * p - 13 * spread), math.ceil(n * p + 13 * spread)
        law = binomial_terms(total, p, first, last)
        once, twice = [arb(0)], [arb(0)]
        for term in reversed(law):
            twice.append(twice[-1] + once[-1])
            once.append(once[-1] + term)
        # A(t) sums R from t on, B(t) sums A beyond t.
        once, twice = once[::-1], twice[::-1]
        value = arb(0)
        e = exact(growth)
        for b in range(first, last + 1):
            t = -(
                -growth.numerator
                * b
                * total
                // (growth.denominator * (total - b) + growth.numerator * b)
            )
            if t > last:
                break
            place = t - first
            excess = t * (total - b) - e * b * (total - t)
            part = excess * once[place] + (total - b + e * b) * twice[place]
            value += law[b - first] * part
        scale = total * total * exact(p) * exact(1 - p)
        return (value / scale * (1 + arb(0, arb(2) ** -80))).log()

    assert between(found.lower, truth, found.upper)


def test_blocks_of_dropped_rows_add_up() -> None:
    """Cut to single rows, the bound of many rows is at least the sum of those of each."""
    n, p, growth = 60, F(1, 5), 2.0
    for first, last in ((0, 5), (20, 40)):
        each = [log_rows_upper(b, b, n, p, growth, 0.0) for b in range(first, last + 1)]
        whole = log_rows_upper(first, last, n, p, growth, -1e9)

        def truth(each: list[float] = each) -> arb:
            return sum((exact(value).exp() for value in each), arb(0)).log()

        assert between(-math.inf, truth, whole)


@pytest.mark.parametrize("rate", [0.001, 0.3, 7.0])
def test_suffix_sums_are_as_near_as_they_say(rate: float) -> None:
    """At distance 0 nothing but the exponentials, which count for their own roundings, is off."""
    rng = np.random.default_rng(7)
    values = rng.random(400) + 1e-3
    found = discounted_suffix_sums(values, rate)
    allowed = suffix_roundings(values.size, rate) * 2.0**-53
    worst = 0.0
    with bits():
        total, discount = arb(0), (-exact(rate)).exp()
        for place in range(values.size - 1, -1, -1):
            total = exact(float(values[place])) + total * discount
            gap = float(abs(exact(float(found[place])) / total - 1))
            worst = max(worst, gap)
            assert gap <= allowed + (values.size - place) * 2.0**-53
    assert worst > 2.0**-53
    assert allowed > 0
