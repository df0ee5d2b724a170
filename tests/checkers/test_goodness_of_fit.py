"""Size and power of our own statistical checkers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from smoothdp.errors import InvalidData
from smoothdp.testing import chi_square_test, frequency_test

LAWS = {
    "fair": [0.25] * 4,
    "skewed": [0.9, 0.09, 0.009, 0.0009, 0.0001],
    "binomial": stats.binom.pmf(np.arange(13), 12, 0.3).tolist(),
}


@pytest.mark.parametrize("name", LAWS)
def test_size_of_frequency_test(name: str) -> None:
    """At level 0.1 at most 10% of correct samples are rejected; false alarm below 1e-8."""
    law = np.array(LAWS[name])
    law /= law.sum()
    rng = np.random.default_rng(7)
    runs = 2000
    alarms = sum(frequency_test(rng.multinomial(300, law), law) <= 0.1 for _ in range(runs))
    assert alarms <= stats.binom.isf(1e-8, runs, 0.1)


def test_size_of_chi_square_test() -> None:
    """Near its level where its approximation holds: 5% plus one point at most."""
    law = np.array(LAWS["fair"])
    rng = np.random.default_rng(11)
    runs = 3000
    alarms = sum(chi_square_test(rng.multinomial(400, law), law) <= 0.05 for _ in range(runs))
    assert stats.binom.ppf(1e-8, runs, 0.04) <= alarms <= stats.binom.isf(1e-8, runs, 0.06)


@pytest.mark.parametrize("check", [frequency_test, chi_square_test])
def test_power_against_a_shift(check) -> None:  # type: ignore[no-untyped-def]
    """Bin(12, 0.35) passed off as Bin(12, 0.3) is rejected in every one of 50 runs."""
    law = np.array(LAWS["binomial"])
    law /= law.sum()
    wrong = stats.binom.pmf(np.arange(13), 12, 0.35)
    rng = np.random.default_rng(13)
    for _ in range(50):
        assert check(rng.multinomial(5000, wrong / wrong.sum()), law) < 1e-6


def test_power_against_one_wrong_cell() -> None:
    law = np.array([0.5, 0.3, 0.2])
    rng = np.random.default_rng(17)
    sample = rng.multinomial(20000, [0.5, 0.27, 0.23])
    assert frequency_test(sample, law) < 1e-8


def test_bad_input() -> None:
    with pytest.raises(InvalidData, match="sum to 1"):
        frequency_test([1, 2], [0.5, 0.6])
    with pytest.raises(InvalidData, match="arrays of one length"):
        frequency_test([1, 2, 3], [0.5, 0.5])
