"""Sensitivities: rounded up at every decay, and taken from the pair that is largest exactly."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from smoothdp.queries.sensitivity import near_maxima
from smoothdp.queries.sensitivity.candidates import (
    decayed_upper,
    exact_candidates,
    largest,
    largest_within,
    log_decayed,
)
from smoothdp.queries.windows.sides import Clamp, sides
from smoothdp.types import FloatArray
from tests.rounding.certain import between, exact

F = Fraction


def candidates(count: int) -> list[tuple[int, Fraction]]:
    rng = random.Random(1)
    return [
        (rng.randrange(0, 900), F(rng.randint(1, 10**20), rng.randint(1, 10**20)))
        for _ in range(count)
    ]


def test_decayed_sensitivities_are_rounded_up() -> None:
    for (k, d), rate in zip(candidates(200), [F(1, 7), F(1, 1000), F(0)] * 67, strict=False):

        def log_truth(k: int = k, d: Fraction = d, rate: Fraction = rate) -> arb:
            return exact(d).log() - exact(rate * k)

        def truth(k: int = k, d: Fraction = d, rate: Fraction = rate) -> arb:
            return exact(d) * (-exact(rate * k)).exp()

        lower, upper = log_decayed((k, d), rate)
        assert between(lower, log_truth, upper)
        found = decayed_upper((k, d), rate)
        # At k = 0 the truth is the ball of a rational, which is compared exactly.
        assert F(found) >= d if k * rate == 0 else between(-math.inf, truth, found)
        assert found <= math.exp(upper) * (1 + 1e-12)


def test_a_local_sensitivity_is_rounded_up() -> None:
    for _, d in candidates(200):
        assert F(decayed_upper((0, d), F(1))) >= d


def test_a_positive_sensitivity_is_never_0() -> None:
    for k in (800, 3500, 10**6):
        assert decayed_upper((k, F(1, 10)), F(1)) == 5e-324


@pytest.mark.parametrize("bounds", [(F(1, 3), F(22, 7)), (F(1, 10), F(7, 10)), (F(-5, 3), F(1))])
def test_what_is_outside_by_a_hair_is_clamped(bounds: tuple[Fraction, Fraction]) -> None:
    """The floats on both sides of each bound: the outer one becomes the bound itself."""
    clamp = Clamp.on(np.zeros(1), bounds)
    for bound, outwards in zip(bounds, (-math.inf, math.inf), strict=True):
        near = float(bound)
        for value in (near, math.nextafter(near, outwards), math.nextafter(near, -outwards)):
            assert clamp.value(value) == min(max(F(value), bounds[0]), bounds[1])


def nearly_tied(seed: int) -> tuple[FloatArray, FloatArray, Fraction]:
    """Values beyond both ends whose e^(-t k) d are equal but for the rounding of each value."""
    rng = np.random.default_rng(seed)
    rate = F(int(rng.integers(1, 30)), 100)
    start = float(rng.uniform(0.5, 2.0))
    high = start * np.exp(float(rate) * np.arange(12))
    low = np.zeros(1)
    return low, high, rate


@pytest.mark.parametrize("seed", range(60))
def test_the_largest_of_near_ties_is_found(seed: int) -> None:
    """Floats order them by chance; the exact maximum is among those that are kept."""
    low, high, rate = nearly_tied(seed)
    bounds = (F(0), F(float(high[-1])))
    both = sides(low, high, Clamp.on(low, bounds), complete=(True, True))
    pairs = near_maxima.near_maxima(both, float(rate))
    found = largest(exact_candidates(both, pairs.low, pairs.high), rate)
    every = [(max(q - 1, 0), F(float(u))) for q, u in enumerate(high.tolist())]
    assert found == largest(every, rate)


def test_floats_alone_would_choose_another() -> None:
    """The twin: by the largest float alone the answer is wrong in some of these cases."""
    wrong = 0
    for seed in range(60):
        _, high, rate = nearly_tied(seed)
        k = np.maximum(np.arange(12) - 1, 0)
        place = int(np.argmax(np.log(high) - float(rate) * k))
        every = [(max(q - 1, 0), F(float(u))) for q, u in enumerate(high.tolist())]
        wrong += largest(every, rate) != every[place]
    assert wrong >= 5


@pytest.mark.parametrize("seed", range(40))
def test_the_largest_difference_within_a_distance(seed: int) -> None:
    """u_q - v_p with p + q fixed, where the sums of floats round alike."""
    rng = np.random.default_rng(seed)
    steps = 1 + rng.integers(0, 3, 7) * 2.0**-52
    low = -np.cumsum(steps)
    high = 1e3 + np.cumsum(steps[::-1])
    bounds = (F(float(low[-1])) - 1, F(float(high[-1])) + 1)
    both = sides(low, high, Clamp.on(low, bounds), complete=(True, True))
    for distance in range(1, 6):
        exactly = max(
            F(float(high[q])) - F(float(low[p]))
            for p in range(7)
            for q in range(7)
            if p + q <= distance + 1
        )
        assert largest_within(both, distance) == exactly
