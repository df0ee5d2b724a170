"""delta(x) of two large categories, at random, against 60 digits of the two laws themselves."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import pytest

from smoothdp import SamplingHistogram
from tests.references.make import DIGITS, delta_x


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    with mpmath.workdps(DIGITS):
        yield


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(s, marks=pytest.mark.slow) for s in range(10, 30))]
)
def test_bounds_contain_the_truth(seed: int) -> None:
    """n from 1,600 to 3e8, any rate, epsilon from 1e-4 to 6, with and without replacement."""
    rng = random.Random(seed)
    n = int(10 ** rng.uniform(3.2, 8.5))
    replacing = rng.random() < 0.4
    count = max(2, int(n * rng.choice([0.5, 0.3, 0.01, 10 / n, rng.random() * 0.5])))
    rates = [int(n * 0.998), int(n * 0.5), n - rng.randint(1, 50), rng.randint(1001, n - 1)]
    draws = max(1001, rng.choice(rates))
    epsilon = repr(round(10 ** rng.uniform(-4, 0.8), 6))
    inputs = {"H": [count, n - count], "T": draws, "eps": epsilon, "replacement": replacing}
    truth = delta_x(inputs)
    sampling = "with_replacement" if replacing else "without_replacement"
    mechanism = SamplingHistogram(n, n_draws=draws, sampling=sampling)  # type: ignore[arg-type]
    bounds = mechanism.at([count, n - count]).log_delta_bounds(Fraction(epsilon))
    if truth == 0:
        assert bounds.lower == -math.inf
        return
    log_truth = mpmath.log(truth)
    assert mpmath.mpf(bounds.lower) <= log_truth <= mpmath.mpf(bounds.upper)
    assert bounds.upper - bounds.lower <= max(1e-11, 8 * math.ulp(float(log_truth)))
