"""Calibration at epsilons beyond the exponents of floats, and the search for the worst data."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import pytest

from smoothdp import ApproxDP, PureDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.balls.balls import exp_bounds
from smoothdp.shuffle import BooleanSum, Histogram, RealSum
from smoothdp.shuffle.accounting.flip_profile import FlipProfile


@pytest.mark.parametrize("epsilon", ["700", "711", "1e5", "1e9", "1e300", "ln(1e5000)"])
def test_an_epsilon_that_promises_nothing_has_an_answer(epsilon: str) -> None:
    promises: list[Guarantee] = [ApproxDP(epsilon, delta="1e-6"), PureDP(epsilon)]
    for goal in promises:
        boolean = BooleanSum.calibrate(450, guarantee=goal, honest_share=1)
        real = RealSum.calibrate(450, guarantee=goal, honest_share=1, n_bits=8)
        for protocol in (boolean, real):
            assert 0 < protocol.expected_random_users < 1e-6
            assert protocol.profile().delta(epsilon) == 0.0
    if "ln" not in epsilon:
        histogram = Histogram.calibrate(450, n_bins=3, guarantee=promises[0], honest_share=1)
        assert histogram.profile().delta(epsilon) <= 1e-6


@pytest.mark.parametrize("value", ["709.7", "709.8", "710", "711", "1e4", "1e300"])
def test_powers_beyond_floats_have_bounds(value: str) -> None:
    bounds = exp_bounds(Fraction(value))
    if float(value) < 709.75:
        assert bounds.lower <= math.exp(709.7) * (1 + 1e-12)
        assert math.isfinite(bounds.upper)
    else:
        assert 1.79e308 < bounds.lower < math.inf
        assert bounds.upper == math.inf


@pytest.mark.parametrize(
    ("flip", "n_bits"),
    [
        *((flip, 1) for flip in ("0.3", "0.49", "0.4997")),
        *(pytest.param(flip, 2, marks=pytest.mark.slow) for flip in ("0.3", "0.49")),
        ("0.4997", 2),
    ],
)
def test_the_worst_data_are_found_among_all(flip: str, n_bits: int) -> None:
    n_others, delta = 24 * n_bits, Fraction(1, 10**5)
    profile = FlipProfile(Fraction(flip), n_bits, n_others)
    lower, upper = profile.epsilon_bounds(delta)
    # Every data set by itself: at the upper end delta holds for all, at the lower for not all.
    for epsilon, holds in ((upper, True), (lower * (1 - 1e-6), False)):
        exact = Fraction(epsilon)
        worst = max(_delta(k, n_others, Fraction(flip), n_bits, exact) for k in range(n_others + 1))
        assert (worst <= delta) is holds
    assert upper <= lower * (1 + 1e-6)


def _delta(k: int, n_others: int, q: Fraction, n_bits: int, epsilon: Fraction) -> Fraction:
    """Return sum (P0 - e^epsilon P1)_+ with the polynomials of the totals; e^epsilon as a float."""
    growth, whole = math.exp(epsilon).as_integer_ratio()
    zero, one = _law(n_others - k + n_bits, k, q), _law(n_others - k, k + n_bits, q)
    parts = (max(whole * a - growth * b, 0) for a, b in zip(zero, one, strict=True))
    return Fraction(sum(parts), whole * q.denominator ** (n_others + n_bits))


@lru_cache
def _law(n_zeros: int, n_ones: int, q: Fraction) -> list[int]:
    """Return the chances of the totals, in units of one over the power of the denominator."""
    hit, miss = q.numerator, q.denominator - q.numerator
    law = [1]
    for moves, stays in [(hit, miss)] * n_zeros + [(miss, hit)] * n_ones:
        law = [stays * b + moves * a for a, b in zip([0, *law], [*law, 0], strict=True)]
    return law
