"""Scaled numbers against 60-digit arithmetic: the stated errors hold, far beyond floats."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from smoothdp.exact.balls.scaled import Scaled, scaled_exp, scaled_from_logs
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mpmath.workdps(60):
        yield


def exact(number: Scaled) -> list[Any]:
    """The represented numbers, without rounding."""
    parts = zip(number.mantissa.ravel(), number.exponent.ravel(), strict=True)
    return [mpmath.ldexp(mpmath.mpf(float(m)), int(e)) for m, e in parts]


def random_logs(spread: float) -> np.ndarray:
    rng = np.random.default_rng(8)
    logs: np.ndarray = rng.uniform(-spread, spread, 400)
    return logs


@pytest.mark.parametrize("spread", [1.0, 700.0, 1e5, 1e9])
def test_from_logs_and_back(spread: float) -> None:
    logs = random_logs(spread)
    numbers, error = scaled_from_logs(logs)
    assert ((numbers.mantissa >= 0.5) & (numbers.mantissa < 1)).all()
    assert error < 1e-14 + 1e-15 * spread
    values = exact(numbers)
    for log_value, value in zip(logs, values, strict=True):
        assert abs(mpmath.log(value) - mpmath.mpf(float(log_value))) <= error
    back, slip = numbers.logs()
    assert slip < 1e-14 + 1e-15 * spread
    off = [abs(mpmath.log(v) - mpmath.mpf(float(b))) for v, b in zip(values, back, strict=True)]
    # The bound is met, and the rounding that it is there for does occur.
    assert 0 < max(off) <= slip


def test_sums_and_products_round_once() -> None:
    logs = random_logs(900.0)
    first, _ = scaled_from_logs(logs)
    second, _ = scaled_from_logs(logs[::-1].copy())
    for result, combine in (
        (first.plus(second), operator.add),
        (first.times(second), operator.mul),
    ):
        for a, b, c in zip(exact(first), exact(second), exact(result), strict=True):
            truth = combine(a, b)
            assert abs(c - truth) <= truth * UNIT_ROUNDOFF * (1 + 1e-12)


def test_zero_is_neutral_beside_tiny_numbers() -> None:
    zero, _ = scaled_from_logs(np.full(3, -np.inf))
    tiny, _ = scaled_from_logs(np.array([-1e6, -5.0, 1e6]))
    again = zero.times(tiny).plus(tiny).plus(zero)
    assert (again.mantissa == tiny.mantissa).all()
    assert (again.exponent == tiny.exponent).all()
    assert (zero.times(tiny).logs()[0] == -np.inf).all()


@pytest.mark.parametrize("value", ["0", "-1/3", "-2500000", "-1e-5000", "-250000000", "12345"])
def test_scaled_exp(value: str) -> None:
    exponent = Fraction(value)
    result = exact(scaled_exp(exponent))[0]
    truth = mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)
    assert abs(result - truth) <= truth * 2 * UNIT_ROUNDOFF
