"""Bisection and sums in log space against the obvious way."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.bisection import least_integer, narrowed
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.log_sums import largest, log_total, log_total_upper
from smoothdp.mechanisms import SamplingHistogram, StratifiedHistogram
from smoothdp.paper_bounds import clones_random_users, liu_all_epsilon_upper
from tests.checkers.rationals import log_fraction


@pytest.mark.parametrize("seed", range(30))
def test_least_integer(seed: int) -> None:
    rng = random.Random(seed)
    low = rng.randint(-20, 20)
    high = low + rng.randint(0, 40)
    first = rng.randint(low - 3, high)
    asked: list[int] = []

    def holds(n: int) -> bool:
        asked.append(n)
        return n >= first

    assert least_integer(holds, low, high) == max(low, first)
    assert all(low <= n < high for n in asked)


@pytest.mark.parametrize("root", [0.001, 1.0, 77.5])
def test_narrowed_brackets_the_root(root: float) -> None:
    low, high = narrowed(lambda x: x >= root, 0.0, 100.0, relative=1e-6)
    assert low < root <= high <= low * (1 + 2e-6)


@pytest.mark.parametrize("seed", range(30))
def test_sums_of_exponentials(seed: int) -> None:
    rng = random.Random(seed)
    logs = [rng.uniform(-900, -100) for _ in range(rng.randint(1, 50))]
    top = max(logs)
    shifted = sum(Fraction(math.exp(value - top)) for value in logs)
    truth = top + log_fraction(Fraction(shifted))
    assert log_total(logs) == pytest.approx(truth, rel=1e-15)
    assert truth - 1e-15 * abs(truth) <= log_total_upper(logs) <= truth + 1e-12


def test_sums_without_terms_that_count() -> None:
    assert log_total([-math.inf, -math.inf]) == log_total_upper([-math.inf] * 2) == -math.inf
    assert log_total([0.0, math.inf]) == math.inf
    assert largest([LogBounds(-3.0, -1.0), LogBounds(-2.0, -1.5)]) == LogBounds(-2.0, -1.0)


def test_bad_arguments_are_refused_where_the_answer_would_not_need_them() -> None:
    for epsilon in (-1, "nan"):
        for counts in ((0, 10), (4, 6)):
            with pytest.raises(InvalidParameter, match="epsilon"):
                liu_all_epsilon_upper(counts=counts, n_draws=10, epsilon=epsilon)
    with pytest.raises(InvalidParameter, match="year"):
        clones_random_users(n_users=100, epsilon=1, delta="1e-3", year=2022)


def test_strata_answer_the_same_questions_as_other_mechanisms() -> None:
    table = StratifiedHistogram([SamplingHistogram(60, n_draws=30)])
    lower, upper = table.delta_bounds([[20, 40]], epsilon=1)
    assert lower <= table.delta([[20, 40]], epsilon=1) == upper
    assert math.exp(table.log_delta([[20, 40]], epsilon=1)) == pytest.approx(upper, rel=1e-12)
