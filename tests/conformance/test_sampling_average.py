"""What the sampling-average releases, and what it refuses."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from smoothdp import ApproxDP
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.average.sampling_average import SamplingAverage
from smoothdp.testing import frequency_test
from tests.oracles.sample_sums import enumerated


def test_released_average() -> None:
    x = [0.1, 0.1, 0.2, 0.4, 0.7]
    mechanism = SamplingAverage(5, n_draws=2, universe=[i / 10 for i in range(8)])
    rng = SeededRandom(20261121)
    seen = Counter(mechanism.release(x, rng=rng).value for _ in range(2000))
    truth = enumerated([1, 1, 2, 4, 7], 2, "without_replacement")
    outputs = [float(Fraction(total, 20)) for total in truth]
    law = np.array([Fraction(weight, 10) for weight in truth.values()], dtype=float)
    assert set(seen) <= set(outputs)
    counts = np.array([seen[output] for output in outputs])
    assert frequency_test(counts, law) > 1e-8
    assert frequency_test(counts, law[::-1]) < 1e-8
    twice = SamplingAverage(5, n_draws=2, universe=[0, 1], sampling="with_replacement")
    seen = Counter(twice.release(counts=[4, 1], rng=rng).value for _ in range(2000))
    law = np.array([0.64, 0.32, 0.04])
    assert frequency_test(np.array([seen[0.0], seen[0.5], seen[1.0]]), law) > 1e-8
    release = mechanism.release(x, universe=mechanism.universe)
    assert release.is_private
    assert "0.7" not in str(release.mechanism)
    assert release.guarantee == ApproxDP(0, delta=Fraction(2, 5))


def test_bad_universe() -> None:
    for universe, words in (
        ([1], "1 values"),
        ([1, 1.0, 2], "2 distinct"),
        ("0123", "'0123'"),
        (5, "universe=5"),
        ([0, math.nan], "nan"),
        ([0, math.inf], "inf"),
        ([0, True], "True"),
        ([0, "x"], "'x'"),
        ([0, 1, 1_000_002], "Theorem 4"),
        (np.random.default_rng(1).random(50), "Theorem 4"),
        (range(10**9), "Theorem 4"),
    ):
        with pytest.raises(InvalidParameter) as caught:
            SamplingAverage(10, n_draws=2, universe=universe)  # type: ignore[arg-type]
        assert words in str(caught.value)
    assert SamplingAverage(10, n_draws=2, universe=[0, 1, 1_000_000]).grid.steps[-1] == 10**6


def test_bad_values() -> None:
    mechanism = SamplingAverage(3, n_draws=1, universe=[0, 0.5, 1])
    for values, words in (
        ([0, 0.5], "another sum"),
        ([0, 0.5, 0.7], "got another"),
        ([0, math.nan, 1], "got another"),
        ([0, True, 1], "got another"),
        ([0, None, 1], "got another"),
        ("001", "got str"),
        (7, "got int"),
    ):
        with pytest.raises(InvalidData) as caught:
            mechanism.delta(values, epsilon=1)  # type: ignore[arg-type]
        assert words in str(caught.value)
        with pytest.raises(InvalidData):
            mechanism.release(values)  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="3 values"):
        mechanism.at([1, 2])
    with pytest.raises(InvalidData, match="universe of the mechanism"):
        mechanism.release([0, 0, 1], universe=[0, 1])
    with pytest.raises(InvalidData, match="exactly one"):
        mechanism.release([0, 0, 1], counts=[2, 0, 1])
    with pytest.raises(InvalidParameter, match="epsilon"):
        mechanism.delta([0, 0, 1], epsilon=-1)


def test_out_of_reach() -> None:
    large = SamplingAverage(10**6, n_draws=1000)
    with pytest.raises(OutOfReach, match="worst_case_delta"):
        large.at([10**6, *[0] * 255]).delta(1)
    with pytest.raises(OutOfReach, match="bits"):
        SamplingAverage(3000, n_draws=1500, universe=[0, 1]).at([1500, 1500]).delta(1)
    with pytest.raises(OutOfReach):
        SamplingAverage(10**9, n_draws=2, universe=[0, 1]).at([10**9 - 2, 2]).delta(1)
    assert large.worst_case_delta(epsilon=1) == 0.001
