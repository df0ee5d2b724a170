"""Totals of flipped bits: one distance holds for any number of ones, and is near the least."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from smoothdp.shuffle import BooleanSum
from smoothdp.shuffle.accounting.counted_ones import counted_deviation
from smoothdp.shuffle.accounting.flip_error import deviation, exact_deviation, tilted_deviation

CASES = [(40, "1/10", "1/20"), (300, "1/20", "1/20"), (300, "1/20", "1/10000")]


def outside(n_ones: int, n_bits: int, flip: Fraction, distance: float) -> float:
    """Return P(|total - mean| > distance), by convolution of two binomial laws."""
    q = float(flip)
    added = stats.binom.pmf(np.arange(n_bits - n_ones + 1), n_bits - n_ones, q)
    taken = stats.binom.pmf(np.arange(n_ones + 1), n_ones, q)
    law = np.convolve(added, taken[::-1])
    values = np.arange(-n_ones, n_bits - n_ones + 1)
    return float(law[np.abs(values - (n_bits - 2 * n_ones) * q) > distance].sum())


@pytest.mark.parametrize(("n_bits", "flip", "failure"), [*CASES, (1000, "1/250", "1/20")])
def test_every_number_of_ones_is_within(n_bits: int, flip: str, failure: str) -> None:
    q, goal = Fraction(flip), Fraction(failure)
    found = counted_deviation(goal, q, n_bits)
    worst = max(outside(k, n_bits, q, found) for k in range(n_bits // 2 + 1))
    assert worst <= float(goal) * (1 + 1e-9)
    # One less is too little for some number of ones.
    assert max(outside(k, n_bits, q, found - 1) for k in range(n_bits // 2 + 1)) > goal


@pytest.mark.parametrize(("n_bits", "flip", "failure"), CASES)
def test_it_is_near_the_least(n_bits: int, flip: str, failure: str) -> None:
    q, goal = Fraction(flip), Fraction(failure)
    least = exact_deviation(goal, q, n_bits)
    assert least * (1 - 1e-8) <= counted_deviation(goal, q, n_bits) <= 1.005 * least


def test_sums_of_bits_say_it() -> None:
    protocol = BooleanSum(10_000, expected_random_users=74)
    q, goal = protocol.flip_probability, Fraction(1, 20)
    old = tilted_deviation(goal, q, 10_000, 1, rounds=False)
    assert deviation(goal, q, 10_000, 1, rounds=False) < 0.85 * old
    # Where the spread is large, Chernoff's bound is taken as it was.
    wide = Fraction(1, 3)
    assert deviation(goal, wide, 20_000, 1, rounds=False) == tilted_deviation(
        goal, wide, 20_000, 1, rounds=False
    )
