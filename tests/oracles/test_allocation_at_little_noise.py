"""Random allocation where one ratio outweighs all others: truths by integrals and by draws."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import special

import smoothdp as sd
from smoothdp.training_runs.allocation import RandomAllocation


def truth_of_two(noise: str, epsilon: str, way: str) -> float:
    """E (R - E)_+ or E (1 - E R)_+, R the mean of two ratios: the second one in closed form."""
    with mpmath.workdps(20):
        m, growth = 1 / mpmath.mpf(noise), mpmath.exp(mpmath.mpf(epsilon))

        def inner(y: mpmath.mpf) -> mpmath.mpf:
            # w is the first ratio, k what the second one is compared with.
            w = mpmath.exp(m * y - m * m / 2)
            k = (2 * growth if way == "remove" else 2 / growth) - w
            if k <= 0:
                return (1 - k) / 2 if way == "remove" else mpmath.mpf(0)
            place = mpmath.log(k) / m + m / 2
            if way == "remove":
                return (mpmath.ncdf(m - place) - k * mpmath.ncdf(-place)) / 2
            return (k * mpmath.ncdf(place) - mpmath.ncdf(place - m)) * growth / 2

        edge = mpmath.log(2 * growth if way == "remove" else 2 / growth) / m + m / 2
        ends = sorted({-14, edge - 3, edge - 1, edge, edge + 1, 14 + m, mpmath.mpf(0)})
        ends = [end for end in ends if -14 <= end <= 14 + m]
        return float(mpmath.quad(lambda y: mpmath.npdf(y) * inner(y), ends))


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "noise", ["0.3", *(pytest.param(noise, marks=SLOW) for noise in ("0.1", "0.5", "0.7"))]
)
def test_two_steps_by_an_integral(noise: str) -> None:
    epoch = RandomAllocation(2, noise_multiplier=noise)
    upper = epoch.profile().epsilon("1e-8")
    for share in (0.3, 0.6, 1.0):
        epsilon = f"{share * upper:.3f}"
        for way in ("remove", "add"):
            truth = truth_of_two(noise, epsilon, way)
            if truth < 1e-12:
                continue
            low, high = epoch.directed(way).delta_bounds(epsilon)
            assert low <= truth * (1 + 1e-12)
            assert truth * (1 - 1e-12) <= high
            assert high < low * 1.01


def removed(noise: float, steps: int, epsilon: float, draws: int) -> tuple[float, float]:
    """E (R - E)_+ from draws of all ratios but the largest: (mean, its standard error).

    One of T alike is the largest: T E[(R - E)_+; W_1 > max W_t], and given the others, of sum s and
    maximum v, this is E[(W + s - E T)_+; W > v], in closed form.
    """
    rng, m, found = np.random.default_rng(20_270), 1 / noise, []
    target = math.exp(epsilon) * steps
    for _ in range(draws * steps // 200_000 + 1):
        ratios = np.exp(m * rng.standard_normal((200_000 // steps, steps - 1)) - m * m / 2)
        total, largest = ratios.sum(axis=1), ratios.max(axis=1)
        least = np.maximum(largest, target - total)
        place = np.log(least) / m + m / 2
        found.append(special.ndtr(m - place) + (total - target) * special.ndtr(-place))
    values = np.concatenate(found)
    return float(values.mean()), float(values.std() / math.sqrt(values.size))


@pytest.mark.parametrize(
    ("noise", "steps", "draws"),
    [
        ("0.4", 10, 20_000),
        pytest.param("0.3", 300, 20_000, marks=SLOW),
        pytest.param("0.5", 100, 20_000, marks=SLOW),
        pytest.param("0.7", 2000, 100_000, marks=SLOW),
    ],
)
def test_many_steps_by_draws(noise: str, steps: int, draws: int) -> None:
    """Five standard errors: a false alarm in about a million runs of each."""
    epoch = RandomAllocation(steps, noise_multiplier=noise)
    for delta in ("1e-3", "1e-6"):
        epsilon = round(epoch.profile().epsilon(delta), 3)
        truth, error = removed(float(noise), steps, epsilon, draws)
        low, high = epoch.directed("remove").delta_bounds(epsilon)
        assert low - 5 * error <= truth <= high + 5 * error
        assert error < 0.02 * truth
        assert high < low * 1.01
        # Two hundredths more noise would be noticed.
        other, slip = removed(1.02 * float(noise), steps, epsilon, draws)
        assert other + 5 * slip < low


@pytest.mark.parametrize(("noise", "steps"), [("0.3", 8), pytest.param("0.6", 500, marks=SLOW)])
def test_epochs_compose_between_ends_that_are_close(noise: str, steps: int) -> None:
    epoch = RandomAllocation(steps, noise_multiplier=noise)
    one = epoch.profile().epsilon_bounds("1e-5")
    low, high = sd.compose([(epoch, 3)]).epsilon_bounds("1e-5")
    assert one[1] < low < high < 1.005 * low
    assert high < 3 * one[1]


def test_an_epoch_of_one_step_at_little_noise() -> None:
    epoch = RandomAllocation(1, noise_multiplier="0.4")
    for epsilon in ("1", "8", "14"):
        truth = sd.GaussianDP("2.5").profile().delta(epsilon)
        for way in ("remove", "add"):
            low, high = epoch.directed(way).delta_bounds(epsilon)
            assert low <= truth <= high < low * 1.01


def test_noise_that_is_refused() -> None:
    for noise in ("0.09", "1e7"):
        with pytest.raises(sd.errors.OutOfReach, match="noise"):
            RandomAllocation(10, noise_multiplier=noise)
