"""Sums whose noise is certified a little above the root: it is enough, and hardly too much."""

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
