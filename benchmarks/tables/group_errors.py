"""Mean squared errors of one group's quantile under add or remove, exactly given the data."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from benchmarks.accuracy.cells import statistic
from benchmarks.baselines import exponential_mechanism, permute_and_flip
from smoothdp.claims import ZCDP, PureDP
from smoothdp.mechanisms.release.chosen import mechanism_of
from smoothdp.mechanisms.release.pivot import panels
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import NoiseDistribution
from smoothdp.types import FloatArray

Bounds = tuple[float, float]
GRIDS = (16, 26, 51, 76, 101, 151, 201, 301, 401, 501, 751, 1001, 1501, 2001, 3001, 5001, 10001)
"""Sizes of 17 grids of candidates over the bounds; 1,501 are the whole minutes of the delays."""
# ln P(Z > z), from 1/2 down to where nothing is left.
_EDGES = np.linspace(-60, math.log(0.5), 121)


def plain_quantile(data: FloatArray, q: Fraction) -> float:
    """Return the q-quantile: the middle of all that are one; ``data`` sorted."""
    position = q * len(data)
    low, high = math.ceil(position), math.floor(position) + 1
    return float(data[max(low, 1) - 1] + data[min(high, len(data)) - 1]) / 2


def made_for(
    q: Fraction, bounds: Bounds, guarantee: PureDP | ZCDP, n_guess: int
) -> SmoothNoise:
    """Return what a release with this guess of n uses: window, smoothing, noise."""
    request = ReleaseRequest.read(
        statistic(q, bounds), guarantee=guarantee, clamp=True, n_guess=n_guess
    )
    made = mechanism_of(request)
    assert isinstance(made, SmoothNoise)
    return made


def ours(data: FloatArray, made: SmoothNoise, target: float) -> float:
    """Return E (y - target)^2 of the release, clamped to the bounds."""
    found = made.query.summary(data, smoothing=made.smoothing)  # type: ignore[attr-defined]
    size = math.exp(found.log_smooth_sensitivity()) / made.calibration.shift
    z, chance = _noise(made.noise)
    lower, upper = (float(bound) for bound in made.query.bounds)
    value = float(found.value)
    return sum(
        float(chance @ (np.clip(value + side * size * z, lower, upper) - target) ** 2)
        for side in (1, -1)
    )


@lru_cache(maxsize=64)
def _noise(law: NoiseDistribution) -> tuple[FloatArray, FloatArray]:
    """Return points above 0 and their probabilities, half of the whole."""
    nodes, weights = panels(_EDGES)
    return np.asarray(law.tail_quantile(nodes)), np.asarray(weights * np.exp(nodes))


def exponential(
    data: FloatArray, q: Fraction, bounds: Bounds, guarantee: PureDP | ZCDP, target: float
) -> float:
    """Return E (y - target)^2 of the continuous exponential mechanism.

    Its score |#{x < y} - q n| moves by M = max(q, 1 - q) where a row comes or goes.
    """
    z = exponential_mechanism.slope(guarantee) / float(max(q, 1 - q))
    rank = float(q * len(data))
    return exponential_mechanism.squared_error(data, rank, bounds, z, target)


def candidates(
    data: FloatArray, q: Fraction, bounds: Bounds, epsilons: list[float], target: float
) -> FloatArray:
    """Return E (y - target)^2 of OpenDP's quantile, a row for each grid, a column an epsilon."""
    clamped, level = np.clip(data, *bounds), float(q)
    found = np.empty((len(GRIDS), len(epsilons)))
    for row, size in enumerate(GRIDS):
        grid = np.linspace(*bounds, size)
        scores = permute_and_flip.penalties(clamped, level, grid)
        for column, epsilon in enumerate(epsilons):
            scale = permute_and_flip.scale_of(level, epsilon)
            found[row, column] = permute_and_flip.chances(scores, scale) @ (grid - target) ** 2
    return found
