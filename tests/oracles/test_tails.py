"""Tails against exact rationals, and against each other at a size where libraries fail."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from math import comb

import pytest
from flint import arb

from smoothdp.exact.balls.balls import precision
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.probabilities.points import binomial_point
from smoothdp.exact.probabilities.tails import log_binomial_tail, log_hypergeometric_tail


def assert_holds(bounds: LogBounds, exact: Fraction) -> None:
    if exact == 0:
        assert bounds.upper == -math.inf
        return
    truth = math.log1p(-float(1 - exact)) if exact > 0.5 else math.log(float(exact))
    assert bounds.lower - 2e-15 <= truth <= bounds.upper + 2e-15
    assert bounds.upper - bounds.lower < 1e-12


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("tenths", [0, 1, 5, 9, 10])
def test_binomial_tail(n: int, tenths: int) -> None:
    p = Fraction(tenths, 10)
    for k in range(-1, n + 2):
        exact = sum(
            (comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(max(0, k), n + 1)), Fraction(0)
        )
        assert_holds(log_binomial_tail(k, n, p), exact)


def test_hypergeometric_tail() -> None:
    for a in range(7):
        for b in range(7):
            for draws in range(a + b + 1):
                for k in range(-1, draws + 2):
                    ways = sum(comb(a, i) * comb(b, draws - i) for i in range(max(0, k), draws + 1))
                    exact = Fraction(ways, comb(a + b, draws))
                    assert_holds(log_hypergeometric_tail(k, draws, a, b), exact)


@pytest.mark.parametrize("sds", [-6.0, -1.0, 0.0, 0.5, 3.0, 30.0])
def test_tails_add_up_at_a_thousand_million(sds: float) -> None:
    """P(K >= k) - P(K >= k + 1) is P(k), inside both bounds."""
    n, p = 10**9, Fraction(1, 3)
    k = int(n / 3 + sds * math.sqrt(n * 2 / 9))
    here, beyond = log_binomial_tail(k, n, p), log_binomial_tail(k + 1, n, p)
    point = binomial_point(k, n, 1, 2)
    assert (here.upper - here.lower) / 2 < 1e-11
    least = math.exp(here.lower - here.upper) - math.exp(beyond.upper - here.upper)
    most = 1.0 - math.exp(beyond.lower - here.upper)
    share = math.exp(point.lower - here.upper)
    assert least - 1e-11 <= share <= most + 1e-11


def test_precision_is_safe_under_threads() -> None:
    """Threads that ask for different precisions each get their own, and it is restored."""
    with precision(53):
        outside = (arb(2).sqrt()).rel_accuracy_bits()

    def accuracy(bits: int) -> tuple[int, int]:
        for _ in range(200):
            with precision(bits):
                first = arb(2).sqrt().rel_accuracy_bits()
                with precision(2 * bits):
                    inner = arb(2).sqrt().rel_accuracy_bits()
                again = arb(2).sqrt().rel_accuracy_bits()
                assert first == again
                assert inner > bits
        return bits, first

    with ThreadPoolExecutor(4) as pool:
        for bits, got in pool.map(accuracy, [64, 128, 256, 512]):
            assert bits - 4 <= got <= bits + 1
    with precision(53):
        assert arb(2).sqrt().rel_accuracy_bits() == outside
