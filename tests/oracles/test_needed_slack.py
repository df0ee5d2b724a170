"""The slack of sums of logarithms and of ratios is needed: cases that fail without it.

Each claim is checked against 300-bit balls at seeded cases, chosen where the slack decides. Its
twin is the same file with the slack taken out, which must break the claim at some of them: a test
that cannot tell the two apart guards nothing.
"""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from flint import arb

from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.logspace import bounds as logspace, ratio_sum
from smoothdp.exact.logspace.bounds import LogBounds

BITS = 300
SEED = 20261019


def without(module: ModuleType, slack: str, instead: str) -> Any:
    """Return a module whose source has one piece replaced."""
    source = inspect.getsource(module)
    assert source.count(slack) == 1, slack
    twin = ModuleType(f"{module.__name__}_twin")
    exec(compile(source.replace(slack, instead), twin.__name__, "exec"), twin.__dict__)
    return twin


def encloses(found: LogBounds, truth: arb) -> tuple[bool, bool]:
    """Return whether the lower and the upper end are surely on their sides."""
    return (
        bool(ball(Fraction(found.lower)) <= truth),
        bool(ball(Fraction(found.upper)) >= truth),
    )


# ---- ln(e^a + e^b) --------------------------------------------------------------------------


def near_zero(rng: random.Random) -> tuple[float, float]:
    """Return logarithms whose sum is near 1: the large one nearly cancels the correction."""
    gap = rng.uniform(0, 3)
    large = -math.log1p(math.exp(-gap))
    return large, large - gap


def rounded_gap(rng: random.Random) -> tuple[float, float]:
    """Return logarithms whose difference is rounded by more than the functions are."""
    return rng.uniform(-3.5e-15, 3.5e-15), -rng.uniform(32, 36)


def sums(module: Any, first: float, second: float) -> LogBounds:
    return LogBounds(module.log_sum_lower(first, second), module.log_sum_upper(first, second))


def failures_of_sums(module: Any, cases: Callable[[random.Random], tuple[float, float]]) -> int:
    rng, failed = random.Random(SEED), 0
    with precision(BITS):
        for _ in range(1500):
            first, second = cases(rng)
            truth = (ball(Fraction(first)).exp() + ball(Fraction(second)).exp()).log()
            failed += not all(encloses(sums(module, first, second), truth))
    return failed


@pytest.mark.parametrize(
    ("cases", "slack", "instead"),
    [
        (near_zero, "slack = correction * (3 * LIBM_ERROR + gap * 2.0**-52)", "slack = 0.0"),
        (near_zero, "3 * LIBM_ERROR + gap * 2.0**-52", "gap * 2.0**-52"),
        (rounded_gap, "3 * LIBM_ERROR + gap * 2.0**-52", "3 * LIBM_ERROR"),
    ],
)
def test_log_sum_needs_its_slack(
    cases: Callable[[random.Random], tuple[float, float]], slack: str, instead: str
) -> None:
    assert failures_of_sums(logspace, cases) == 0
    assert failures_of_sums(without(logspace, slack, instead), cases) > 20


# ---- sums by ratios -------------------------------------------------------------------------


def geometric(module: Any, ratio: Fraction, n_terms: int, length: int) -> tuple[LogBounds, arb]:
    """Return the bounds of 1 + r + ... + r^(n - 1), the ratio rounded once, and the truth."""
    step = float(ratio)
    found = module.log_ratio_sum(
        lambda d: np.full_like(d, step),
        np.ones_like,
        n_terms=n_terms,
        length=length,
        ratio_roundings=1,
        weight_roundings=0,
    )
    exact = ball(ratio)
    return found, ((1 - exact**n_terms) / (1 - exact)).log()


def with_a_tail(module: Any, rng: random.Random) -> tuple[LogBounds, arb]:
    """Return a sum of which about 2^-43 is left out."""
    size = rng.randint(2, 50)
    ratio = Fraction(size - 1, size)
    # r^length is about 2^-42.5, and the share left out; a power of two is never asked twice.
    length = math.ceil(42.5 * math.log(2) / -math.log(ratio))
    return geometric(module, ratio, 10**9, length)


def with_biased_ratios(module: Any, rng: random.Random) -> tuple[LogBounds, arb]:
    """Return a sum of 40,000 terms whose ratios are all rounded to the same side."""
    size = rng.randint(30_000, 300_000)
    return geometric(module, Fraction(size - 1, size), 40_000, 40_000)


def failures_of_ratios(
    module: Any, cases: Callable[[Any, random.Random], tuple[LogBounds, arb]]
) -> tuple[int, int]:
    rng, low, high = random.Random(SEED), 0, 0
    for _ in range(60):
        with precision(BITS):
            below, above = encloses(*cases(module, rng))
        low, high = low + (not below), high + (not above)
    return low, high


TAIL = " + remainder * 1.01"
ROUNDING = "error = 1.05 * units * UNIT_ROUNDOFF"
STEPS = "(ratio_roundings + 1) * mean_step + "


def test_the_tail_that_is_left_out_is_added() -> None:
    assert failures_of_ratios(ratio_sum, with_a_tail) == (0, 0)
    low, high = failures_of_ratios(without(ratio_sum, TAIL, ""), with_a_tail)
    assert low == 0
    assert high > 20
    # Half of it is not enough either.
    _, high = failures_of_ratios(without(ratio_sum, TAIL, " + remainder * 0.5"), with_a_tail)
    assert high > 20


@pytest.mark.parametrize(("slack", "instead"), [(ROUNDING, "error = 0.0"), (STEPS, "")])
def test_the_rounding_of_the_ratios_is_added(slack: str, instead: str) -> None:
    assert failures_of_ratios(ratio_sum, with_biased_ratios) == (0, 0)
    low, high = failures_of_ratios(without(ratio_sum, slack, instead), with_biased_ratios)
    assert low > 5
    assert high > 5


def test_the_logarithm_of_a_sum_is_rounded_outwards() -> None:
    """One term, 1: only the logarithm is left, whose ends must lie on both sides of 0."""
    for n_terms in (1, 2, 3):
        found, truth = geometric(ratio_sum, Fraction(1, 2), n_terms, 4)
        with precision(BITS):
            below, above = encloses(found, truth)
        assert below
        assert above
        assert found.lower < math.log(sum(0.5**d for d in range(n_terms))) < found.upper
