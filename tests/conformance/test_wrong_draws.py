"""What is drawn from must be a source of bits, and true counts be counts: else a plain refusal."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.shuffle import (
    BooleanSum,
    Histogram,
    RealSum,
    UniformShuffler,
    ZeroPreservingCount,
)
from smoothdp.smoothed import smoothed_delta_interval

GUARANTEE = sd.ApproxDP(1, delta="1e-6")
N = 4000
BITS = BooleanSum.calibrate(N, guarantee=GUARANTEE, honest_share=1)
REAL = RealSum.calibrate(N, guarantee=GUARANTEE, honest_share=1, n_bits=5)
BINS = Histogram.calibrate(N, n_bins=3, guarantee=GUARANTEE, honest_share=1)
COUNT = ZeroPreservingCount.calibrate(N, guarantee=GUARANTEE, honest_share=1)
SAMPLE = sd.SamplingHistogram(10, n_draws=5)
MODEL = sd.DataModel([("0.3", "0.7")])

DRAWS: list[tuple[str, Callable[[Any], object]]] = [
    ("sampled counts", lambda rng: SAMPLE.release(counts=[4, 6], rng=rng)),
    (
        "a release",
        lambda rng: sd.release(
            [1.0] * 50, sd.queries.Median((0, 2)), guarantee=sd.PureDP(1), rng=rng
        ),
    ),
    ("an interval", lambda rng: smoothed_delta_interval(SAMPLE, MODEL, epsilon=1, rng=rng)),
    ("a bit", lambda rng: BITS.randomize(1, rng=rng)),
    ("bits", lambda rng: BITS.randomize_all([1] * N, rng=rng)),
    ("a number", lambda rng: REAL.randomize(0.5, rng=rng)),
    ("a bin", lambda rng: BINS.randomize(1, rng=rng)),
    ("a zero-preserving bit", lambda rng: COUNT.randomize(1, rng=rng)),
    ("a protocol", lambda rng: BITS.release(counts=7, rng=rng)),
    ("a study", lambda rng: REAL.simulate({0.25: N}, rng=rng)),
    ("messages", lambda rng: BITS.run_messages([1] * N, rng=rng)),
    ("an order", lambda rng: UniformShuffler().shuffle([1, 2, 3], rng=rng)),
    ("an order of an array", lambda rng: UniformShuffler().shuffle_array(np.arange(3), rng=rng)),
]
WRONG: list[Any] = [7, random.Random(7), np.random.default_rng(7), sd.SeededRandom]


@pytest.mark.parametrize("draw", [draw for _, draw in DRAWS], ids=[name for name, _ in DRAWS])
def test_a_wrong_source_of_bits_is_refused(draw: Callable[[Any], object]) -> None:
    for rng in WRONG:
        with pytest.raises(sd.errors.InvalidParameter, match=r"rng as SystemRandom\(\) or Seeded"):
            draw(rng)
    assert draw(None) is not None
    assert draw(sd.SeededRandom(7)) is not None


@pytest.mark.parametrize("counts", [7, None, "ab", [1, 2], [(0.5,)]], ids=repr)
def test_true_counts_of_a_real_sum_are_pairs(counts: Any) -> None:
    protocol = sd.shuffle.RealSum(4, expected_random_users=2, n_bits=2)
    with pytest.raises(sd.errors.InvalidData, match="counts as"):
        protocol.simulate(counts, rng=sd.SeededRandom(1))
