"""Sampled noise against the distribution function of its law, and the precision attack.

False-alarm rate: 1e-8 a test at most, by exact binomial laws and Massart's inequality; fixed
seeds; 1e-6 over the suite. Each test rejects a declared wrong law, and the attack a naive sampler.

The attack: Haney, Desfontaines, Hartman, Shrestha, Hay, Precision-based attacks and interval
refining: how to break, then fix, differential privacy on finite computers (2022).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from smoothdp.claims import PureDP
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import (
    NoiseDistribution,
    PolyPlace,
    StudentT,
)
from smoothdp.queries import Mean, Median
from smoothdp.testing.law_draws import (
    STEP,
    cells_test,
    distance_test,
    drawn_steps,
    draws_follow_the_law,
    low_digits_test,
)
from smoothdp.types import FloatArray

LEVEL = 1e-8
SEED = 20261129
DRAWS = 20_000
LAWS: list[NoiseDistribution] = [StudentT("0.5"), PolyPlace("12.5")]
"""Other shapes than those that `tests/conformance/test_noise_laws.py` draws."""


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_draws_follow_the_law(law: NoiseDistribution) -> None:
    draws_follow_the_law(law)


def naive(centre: float, factor: float, law: NoiseDistribution, seed: int) -> FloatArray:
    """What must not be done: centre + factor * Z in floats."""
    return centre + factor * np.asarray(law.quantile(np.random.default_rng(seed).random(DRAWS)))


def test_the_last_digits_of_a_naive_sampler_are_not_those_of_the_law() -> None:
    """Noise of deviation 2^-20 at 1: the exact sampler fills 2^-60, floats end at 2^-52."""
    law, factor = PolyPlace(5), Fraction(1, 2**20)
    assert low_digits_test(drawn_steps(law, centre=1, factor=factor)) > LEVEL
    floats = naive(1.0, float(factor), law, SEED)
    assert low_digits_test([int(Fraction(float(v)) / STEP) for v in floats]) < LEVEL


# ---- the precision attack --------------------------------------------------------------------


def precision_test(at_zero: FloatArray, at_one: FloatArray, epsilon: float) -> float:
    """Return a p-value for: P(event | 0) <= e^epsilon P(event | 1), both ways, of every event
    "the output is finer (or no finer) than 2^-k".

    Bonferroni over the events, directions, and the two one-sided exact intervals.
    """
    places = [
        np.array([float(v).as_integer_ratio()[1].bit_length() - 1 for v in values])
        for values in (at_zero, at_one)
    ]
    events = [
        tuple((place > k) == finer for place in places)
        for k in range(max(int(place.max()) for place in places) + 1)
        for finer in (True, False)
    ]
    worst = 1.0
    for event in events:
        for one, other in ((event[0], event[1]), (event[1], event[0])):
            worst = min(worst, _ratio_test(int(one.sum()), int(other.sum()), epsilon))
    return min(1.0, worst * 2 * max(1, len(events)))


def _ratio_test(hits: int, other_hits: int, epsilon: float) -> float:
    """Return a p-value for p <= e^epsilon q, from hits of both among DRAWS trials each."""
    low, high = 0.0, 1.0
    # At level a, reject if the lower limit of p is above e^epsilon times the upper one of q.
    for _ in range(20):
        level = 10 ** (-30 * (1 - (low + high) / 2))
        p = stats.beta.ppf(level / 2, hits, DRAWS - hits + 1) if hits else 0.0
        q = (
            stats.beta.isf(level / 2, other_hits + 1, DRAWS - other_hits)
            if other_hits < DRAWS
            else 1.0
        )
        if p > math.exp(epsilon) * q:
            high = (low + high) / 2
        else:
            low = (low + high) / 2
    return float(10 ** (-30 * (1 - high)))


def released(data: list[float], mechanism: SmoothNoise, seed: int) -> FloatArray:
    draws = mechanism._draws(mechanism.query.private_summary(data, smoothing=mechanism.smoothing))
    rng = SeededRandom(seed)
    return np.array([float(mechanism.grid.number(draws.draw(rng))) for _ in range(DRAWS)])


@pytest.mark.parametrize("statistic", ["mean", pytest.param("median", marks=pytest.mark.slow)])
def test_precision_of_the_output_says_nothing(statistic: str) -> None:
    """Answers 0 and 1 of neighbouring databases."""
    query = Mean((0, 1)) if statistic == "mean" else Median((0, 1), window=1)
    rows = ([0.0], [1.0]) if statistic == "mean" else ([0.0, 0.0, 1.0], [0.0, 1.0, 1.0])
    mechanism = SmoothNoise.calibrate(
        query,
        guarantee=PureDP(1),
        n_records=len(rows[0]),
        smoothing=None if statistic == "mean" else "0.1",
    )
    zero, one = (released(row, mechanism, SEED + i) for i, row in enumerate(rows))
    assert precision_test(zero, one, 1.0) > LEVEL
    scale = 1 / mechanism.calibration.shift
    naive_zero = naive(0.0, scale, mechanism.noise, SEED)
    naive_one = naive(1.0, scale, mechanism.noise, SEED + 1)
    assert precision_test(naive_zero, naive_one, 1.0) < LEVEL


def test_releases_follow_the_law() -> None:
    """End to end: (y - f) s / S, against the law and against a wrong one."""
    data = [float(v) for v in range(101)]
    mechanism = SmoothNoise.calibrate(
        Median((0, 100), window=5), guarantee=PureDP(1), n_records=101
    )
    values = released(data, mechanism, SEED)
    s = mechanism.windowed.smooth_sensitivity(data, smoothing=mechanism.smoothing)
    noise = (values - 50.0) * mechanism.calibration.shift / s
    for test in (cells_test, distance_test):
        assert test(noise, mechanism.noise, mechanism.noise.cdf) > LEVEL
        assert test(noise * 1.25, mechanism.noise, mechanism.noise.cdf) < LEVEL
