"""Totals of reports of any means in [q, 1 - q]: identical reports stray the most."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest

from smoothdp.shuffle.accounting.extremal_deviation import extremal_deviation
from smoothdp.shuffle.accounting.flip_error import tilted_deviation
from smoothdp.shuffle.flipped.real_sum import RealSum


def outside(means: tuple[Fraction, ...], distance: Fraction) -> Fraction:
    """Return P(|T - E T| > distance), exactly."""
    law = [Fraction(1)]
    for p in means:
        zero, one = [mass * (1 - p) for mass in law], [mass * p for mass in law]
        law = [a + b for a, b in zip([*zero, Fraction(0)], [Fraction(0), *one], strict=True)]
    centre = sum(means, Fraction(0))
    return sum((mass for k, mass in enumerate(law) if abs(k - centre) > distance), Fraction(0))


@pytest.mark.parametrize("n", [3, 4])
def test_identical_reports_are_worst(n: int) -> None:
    """For a distance of at least 1, and strictly so where the means differ enough."""
    grid = [Fraction(k, 10) for k in range(2, 9, 2)]
    strict = 0
    for means in itertools.combinations_with_replacement(grid, n):
        same = (sum(means, Fraction(0)) / n,) * n
        for distance in (Fraction(1), Fraction(5, 4), Fraction(3, 2), Fraction(2)):
            assert outside(means, distance) <= outside(same, distance)
            strict += outside(means, distance) < outside(same, distance)
    assert strict > 20


CASES = [(5, "1/20"), (30, "1/20"), (30, "1/100")]


@pytest.mark.parametrize(("n", "failure"), CASES)
def test_the_bound_holds_and_is_close(n: int, failure: str) -> None:
    q, goal = Fraction(1, 5), Fraction(failure)
    found = extremal_deviation(goal, q, n)
    means = [q + (Fraction(1, 2) - q) * Fraction(k, 20) for k in range(21)]
    worst = max(outside((p,) * n, Fraction(found)) for p in means)
    assert worst <= goal
    # Totals are whole numbers, and few: a step less fails.
    less = Fraction(found) - 1
    assert max(outside((p,) * n, less) for p in means) > goal
    assert found < tilted_deviation(goal, q, n, 1, rounds=True)


def test_the_error_of_one_bit_a_user() -> None:
    """98.7 of 10,000 users, where Chernoff's bound is 105."""
    protocol = RealSum(10_000, expected_random_users="67.43", n_bits=1)
    assert 98.6 < protocol.error("0.05") < 98.95
