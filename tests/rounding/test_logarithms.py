"""Numbers kept as logarithms: every function against 300 bits where its slack decides."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from smoothdp.exact.balls.scaled import scaled_from_logs
from smoothdp.exact.logspace.bisection import narrowed, smallest_true
from smoothdp.exact.logspace.bounds import (
    LogBounds,
    exp_lower,
    exp_upper,
    log_difference_lower,
    log_difference_upper,
    log_sum_lower,
    log_sum_upper,
)
from smoothdp.exact.logspace.log_sums import log_total_upper
from tests.rounding.certain import between, bits, exact

LARGEST = 1.7976931348623157e308


def test_exponentials() -> None:
    rng = random.Random(1)
    missed = 0
    for x in [rng.uniform(-740, 709) for _ in range(1000)]:

        def truth(x: float = x) -> arb:
            return exact(x).exp()

        assert between(exp_lower(x), truth, exp_upper(x))
        missed += not between(-math.inf, truth, math.exp(x))
        missed += not between(math.exp(x), truth, math.inf)
    # To nearest, one of the two sides is wrong every time.
    assert missed == 1000


def test_exponentials_beyond_floats() -> None:
    for x in (709.79, 710.0, 1e6):
        assert exp_lower(x) == LARGEST
        assert exp_upper(x) == math.inf


def test_products() -> None:
    rng = random.Random(2)
    for _ in range(500):
        first, second = (rng.uniform(-700, 0) for _ in range(2))
        found = LogBounds(first, first).shifted(LogBounds(second, second))
        assert Fraction(found.lower) <= Fraction(first) + Fraction(second) <= Fraction(found.upper)


def sums() -> list[tuple[float, float]]:
    """Large logarithms, where the last addition rounds; and sums close to 1, where it does not."""
    rng = random.Random(3)
    found = [(rng.uniform(-700, 0), rng.uniform(-700, 0)) for _ in range(300)]
    found += [(x, x - rng.uniform(0, 30)) for x in (rng.uniform(-700, 700) for _ in range(300))]
    for _ in range(600):
        first = -math.exp(rng.uniform(-3, 1))
        found.append((first, math.log1p(-math.exp(first)) + rng.uniform(-1e-15, 1e-15)))
    return found


def test_sums() -> None:
    for first, second in sums():

        def truth(first: float = first, second: float = second) -> arb:
            return (exact(first).exp() + exact(second).exp()).log()

        lower, upper = log_sum_lower(first, second), log_sum_upper(first, second)
        assert between(lower, truth, upper)


def test_a_sum_near_1_needs_the_slack() -> None:
    """A step of the last addition is no bound there: it errs by less than the logarithm does."""
    wrong = 0
    for first, second in sums()[600:]:
        large, small = max(first, second), min(first, second)
        stepped = math.nextafter(large + math.log1p(math.exp(small - large)), math.inf)

        def truth(first: float = first, second: float = second) -> arb:
            return (exact(first).exp() + exact(second).exp()).log()

        wrong += not between(-math.inf, truth, stepped)
    assert wrong >= 10


def differences() -> list[tuple[float, float]]:
    """Differences of all sizes; next to each other, where the logarithm is far below the gap."""
    rng = random.Random(4)
    found = []
    for _ in range(600):
        first = rng.uniform(-40, 60)
        found.append((first, first - math.exp(rng.uniform(-25, 4))))
    for _ in range(600):
        first = rng.uniform(20, 45)
        found.append((first, first - math.ulp(first) * rng.randint(1, 1000)))
    return found


def test_differences() -> None:
    for first, second in differences():

        def truth(first: float = first, second: float = second) -> arb:
            return (exact(first).exp() - exact(second).exp()).log()

        lower, upper = log_difference_lower(first, second), log_difference_upper(first, second)
        assert between(lower, truth, upper)


def test_the_least_difference_is_not_nothing() -> None:
    """The gap is stepped outwards: inwards, one of a single unit would be 0."""
    for unit in (5e-324, 1e-323):

        def truth(unit: float = unit) -> arb:
            return exact(unit).expm1().log()

        lower, upper = log_difference_lower(unit, 0.0), log_difference_upper(unit, 0.0)
        assert between(lower, truth, upper)
    assert log_difference_lower(5e-324, 0.0) == -math.inf


def test_long_sums() -> None:
    """Of terms that sum to about 1: nothing but the slack covers the rounding."""
    rng = np.random.default_rng(5)
    wrong = 0
    for _ in range(200):
        logs = np.log(rng.dirichlet(np.ones(12))).tolist()

        def truth(logs: list[float] = logs) -> arb:
            return sum((exact(x).exp() for x in logs), arb(0)).log()

        assert between(-math.inf, truth, log_total_upper(logs))
        top = max(logs)
        plain = top + math.log(math.fsum(math.exp(x - top) for x in logs))
        wrong += not between(-math.inf, truth, math.nextafter(plain, math.inf))
    assert wrong >= 20


def test_scaled_numbers() -> None:
    """Logarithms there and back: each step is within what it says, and off by something."""
    rng = np.random.default_rng(6)
    logs = rng.uniform(-5000, 5000, 300)
    numbers, relative = scaled_from_logs(logs)
    back, absolute = numbers.logs()
    off = [0.0, 0.0]
    with bits():
        for log, mantissa, exponent, value in zip(
            logs.tolist(),
            numbers.mantissa.tolist(),
            numbers.exponent.tolist(),
            back.tolist(),
            strict=True,
        ):
            number = exact(mantissa) * arb(2) ** exponent
            off[0] = max(off[0], float(abs(number / exact(log).exp() - 1)))
            off[1] = max(off[1], float(abs(number.log() - exact(value))))
    assert 0 < off[0] <= relative < 1e-11
    assert 0 < off[1] <= absolute < 1e-11


@pytest.mark.parametrize("square", [2.0, 3.0, 0.7, 1e10])
def test_bisection_ends_on_the_side_that_holds(square: float) -> None:
    def holds(x: float) -> bool:
        return Fraction(x) ** 2 >= Fraction(square)

    found = smallest_true(holds)
    assert holds(found)
    assert not holds(math.nextafter(found, 0.0))
    low, high = narrowed(holds, 0.0, 1e6, relative=1e-12)
    assert holds(high)
    assert not holds(low)


def test_a_claim_that_never_holds() -> None:
    assert smallest_true(lambda _: False) == math.inf
    assert smallest_true(lambda x: x > 50, high=40) == math.inf
