"""The sampler of the exponential mechanism against its law: false alarm 1e-6 a column, by DKW."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.claims.sealed import Sealed
from smoothdp.mechanisms.quantiles.exponential.cells import Cells
from smoothdp.mechanisms.quantiles.exponential.draws import drawn_step

ALARM, DRAWS = 1e-6, 8_000
LIMIT = math.sqrt(math.log(2 / ALARM) / (2 * DRAWS))
"""The largest distance of distribution functions that chance explains (Massart)."""
BOUNDS = Fraction(-2), Fraction(10)
STEP = Fraction(1, 2**30)

COLUMNS: list[tuple[list[float], str, str]] = [
    ([0.5, 1.0, 1.5, 4.0, 4.5, 8.0, 9.0], "1/2", "1/2"),
    ([3.0] * 9 + [3.5, 20.0], "1/2", "1/4"),
    ([i / 10 for i in range(100)], "9/10", "1/5"),
    ([], "1/2", "1"),
]


def law(values: Sequence[float], q: Fraction, slope: float, points: np.ndarray) -> np.ndarray:
    """The distribution function, by literal cells in floats."""
    low, high = map(float, BOUNDS)
    ends = sorted({low, high, *(min(max(v, low), high) for v in values)})
    middle = float(q * len(values))
    counts = [sum(v <= end for v in values) for end in ends[:-1]]
    weights = np.exp([-slope * abs(count - middle) for count in counts]) * np.diff(ends)
    reached = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
    return np.asarray(np.interp(points, ends, reached))


def distance(draws: np.ndarray, values: Sequence[float], q: Fraction, slope: float) -> float:
    draws = np.sort(draws)
    expected = law(values, q, slope, draws)
    ranks = np.arange(len(draws) + 1) / len(draws)
    return float(max((ranks[1:] - expected).max(), (expected - ranks[:-1]).max()))


@pytest.mark.parametrize(("values", "q", "slope"), COLUMNS)
def test_draws_have_their_law(values: list[float], q: str, slope: str) -> None:
    level, rate = Fraction(q), Fraction(slope)
    cells = Sealed(Cells(np.array(values, dtype=np.float64), level, BOUNDS, slope=rate))
    limits = math.ceil(BOUNDS[0] / STEP), math.floor(BOUNDS[1] / STEP)
    rng = sd.SeededRandom(17)
    indices = [drawn_step(cells, step=STEP, limits=limits, rng=rng) for _ in range(DRAWS)]
    draws = np.array(indices) * float(STEP)
    assert distance(draws, values, level, float(rate)) < LIMIT
    if values:
        # Wrong laws are told apart: half the slope, twice, and another level.
        assert distance(draws, values, level, float(rate) / 2) > LIMIT
        assert distance(draws, values, level, float(rate) * 2) > LIMIT
        assert distance(draws, values, Fraction(1, 4), float(rate)) > LIMIT
