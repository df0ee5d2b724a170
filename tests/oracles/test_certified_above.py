"""What is certified a little above the truth, of sums: it is enough, and hardly too much."""

from __future__ import annotations

from fractions import Fraction

import pytest

import smoothdp as sd
from smoothdp.shuffle.accounting.flip_mu import exact_mu
from smoothdp.shuffle.accounting.flip_profile import FlipProfile, certified_limit
from smoothdp.shuffle.flipped.flip_calibration import calibrated_random_users


def test_a_gaussian_target() -> None:
    n, goal = 5000, sd.GaussianDP("1.5")
    users = calibrated_random_users(n, honest_share=1, n_bits=1, guarantee=goal)
    assert 1.49 < exact_mu(users / (2 * n), 1, n - 1)[1] <= 1.5
    assert exact_mu(users * Fraction(99, 100) / (2 * n), 1, n - 1)[0] > 1.5


@pytest.mark.slow
def test_strong_noise() -> None:
    n, bits, goal = 10**5, 64, sd.ApproxDP("0.1", delta="1e-6")
    users = calibrated_random_users(n, honest_share=1, n_bits=bits, guarantee=goal)
    fresh = FlipProfile(users / (2 * n), bits, (n - 1) * bits)
    assert fresh.violation(goal.exact_epsilon, certified_limit(goal.exact_delta)) is None
    root = calibrated_random_users(n, honest_share=1, n_bits=bits, guarantee=goal, certified=False)
    assert users <= root * Fraction(1003, 1000)


@pytest.mark.parametrize(("flip", "n_bits", "n_others"), [("1/8", 3, 30), ("2/5", 2, 30)])
def test_what_sentences_state_is_not_below_the_worst_data(
    flip: str, n_bits: int, n_others: int
) -> None:
    """The total variation of exact laws, for all data of the others."""
    q = Fraction(flip)
    worst = max(variation(q, n_bits, n_others - ones, ones) for ones in range(n_others + 1))
    bound = Fraction(FlipProfile(q, n_bits, n_others).advantage_bound())
    assert worst <= bound <= worst * Fraction(1002, 1000)
    # What all zeros give would be refused.
    assert variation(q, n_bits, n_others, 0) < worst


def variation(flip: Fraction, n_bits: int, n_zeros: int, n_ones: int) -> Fraction:
    """The total variation between a user of zeros and one of ones, beside bits of the others."""

    def law(zeros: int, ones: int) -> list[Fraction]:
        one_of_zeros, one_of_ones = [1 - flip, flip], [flip, 1 - flip]
        law = [Fraction(1)]
        for factor in [one_of_zeros] * zeros + [one_of_ones] * ones:
            law = [
                (law[k] if k < len(law) else 0) * factor[0] + (law[k - 1] if k else 0) * factor[1]
                for k in range(len(law) + 1)
            ]
        return law

    first, second = law(n_zeros + n_bits, n_ones), law(n_zeros, n_ones + n_bits)
    return sum((abs(a - b) for a, b in zip(first, second, strict=True)), Fraction(0)) / 2
