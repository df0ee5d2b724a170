"""Intervals of a mean of values in [0, 1]: how often they miss it, by enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from smoothdp.papers.smoothed_dp.mean_intervals import Interval, proved_interval, usual_interval


def ends(values: list[float], alpha: float) -> Interval:
    array = np.array(values)
    return proved_interval(array, array, alpha=alpha)


def misses(law: dict[float, float], size: int, alpha: float) -> tuple[float, float]:
    """Return the probabilities that the lower end is above the mean, and the upper end below."""
    mean = sum(value * chance for value, chance in law.items())
    above = below = 0.0
    values, chances = list(law), list(law.values())
    for counts in itertools.product(range(size + 1), repeat=len(values)):
        if sum(counts) != size:
            continue
        weight = float(math.factorial(size))
        for count, chance in zip(counts, chances, strict=True):
            weight *= chance**count / math.factorial(count)
        drawn = [v for v, count in zip(values, counts, strict=True) for _ in range(count)]
        interval = ends(drawn, alpha)
        above += weight * (interval.lower > mean)
        below += weight * (interval.upper < mean)
    return above, below


@pytest.mark.parametrize("alpha", [0.2, 0.01])
@pytest.mark.parametrize(
    ("law", "size"),
    [
        *(({1.0: p, 0.0: 1 - p}, 30) for p in (1e-4, 0.01, 0.1, 0.5, 0.9, 0.999)),
        # Rare large values, as delta(x) has: nothing but the range is known of them.
        ({1.0: 0.01, 0.01: 0.39, 0.002: 0.6}, 12),
        ({1.0: 0.2, 0.9: 0.3, 0.0: 0.5}, 12),
    ],
)
def test_each_end_is_wrong_with_half_of_alpha_at_most(
    law: dict[float, float], size: int, alpha: float
) -> None:
    for probability in misses(law, size, alpha):
        assert probability <= alpha / 2


def test_another_mean_is_outside() -> None:
    """The check above can fail: intervals of a mean of .3 do not hold .7, nor .02."""
    rng = np.random.default_rng(20261122)
    values = (rng.random(300) < 0.3).astype(float)
    interval = proved_interval(values, values, alpha=0.01)
    assert 0.02 < interval.lower < 0.3 < interval.upper < 0.7


def test_rare_large_values_are_seen_from_below_and_left_open_above() -> None:
    """200 values of about 1/2000: the lower end is near, the upper one about ln(400) / 200."""
    rng = np.random.default_rng(7)
    values = np.exp(rng.normal(-8, 0.7, 200))
    interval = proved_interval(values, values, alpha=0.01)
    mean = float(values.mean())
    assert 0.75 * mean < interval.lower < 0.95 * mean
    assert math.log(200) / 200 < interval.upper < 1.5 * math.log(400) / 200
    more = np.repeat(values, 10)
    assert proved_interval(more, more, alpha=0.01).upper < interval.upper / 5


def test_bounds_of_the_values_widen_it() -> None:
    values = np.linspace(0.1, 0.4, 50)
    narrow = proved_interval(values, values, alpha=0.01)
    wide = proved_interval(values - 0.05, values + 0.05, alpha=0.01)
    assert wide.lower < narrow.lower < narrow.upper < wide.upper


def test_nothing_seen_leaves_the_lower_end_at_zero() -> None:
    zeros = np.zeros(100)
    assert proved_interval(zeros, zeros, alpha=0.01).lower == 0.0
    ones = np.ones(100)
    assert proved_interval(ones, ones, alpha=0.01).upper == 1.0


def test_the_usual_interval_is_about_right_for_such_values() -> None:
    """Log-normal values as spread as delta(x): of 3000 intervals 1% should miss; rarely more than
    3% do, and one that is half as wide misses more often."""
    rng = np.random.default_rng(11)
    mean, wrong, half = math.exp(0.7**2 / 2), 0, 0
    for values in np.exp(rng.normal(0, 0.7, (3000, 125))):
        interval = usual_interval(values)
        wrong += not interval.lower <= mean <= interval.upper
        middle = float(values.mean())
        half += not math.sqrt(interval.lower * middle) <= mean <= math.sqrt(interval.upper * middle)
    assert 3000 * 0.005 < wrong < 3000 * 0.03
    assert half > 3000 * 0.1
