"""Mean squared errors of one group's quantile under add or remove, exactly given the data."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from benchmarks.accuracy.cells import statistic
from benchmarks.baselines import exponential_mechanism, permute_and_flip
from smoothdp.claims import ZCDP, PureDP
from smoothdp.mechanisms import ExponentialQuantile
from smoothdp.mechanisms.release.bars.pivot import panels
from smoothdp.mechanisms.release.chosen import mechanism_of
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import NoiseDistribution
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.types import FloatArray

Bounds = tuple[float, float]
OFFSETS = (1 / 8, 3 / 8, 5 / 8, 7 / 8)
"""Of shifted grids, in steps: a coarse grid that happens to hold the answer is luck."""
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
    q: Fraction, bounds: Bounds, guarantee: PureDP | ZCDP, n_guess: int, *, step: int = 0
) -> SmoothNoise | ExponentialQuantile:
    """Return what a release with this guess of n uses: a window with noise, or a draw by ranks."""
    request = ReleaseRequest.read(
        statistic(q, bounds),
        guarantee=guarantee,
        clamp=True,
        n_guess=n_guess,
        round_to=step or None,
    )
    made = mechanism_of(request)
    assert isinstance(made, SmoothNoise | ExponentialQuantile)
    return made


def ours(
    data: FloatArray, made: SmoothNoise | ExponentialQuantile, target: float, *, step: int = 0
) -> float:
    """Return E (y - target)^2 of the release, clamped to the bounds; step: 0, or 1 rounded.

    Of a draw by ranks before it is rounded.
    """
    if isinstance(made, ExponentialQuantile):
        return made.rmse(data, target=target) ** 2
    assert isinstance(made.query, PaddedWindow)
    found = made.query.summary(data, smoothing=made.smoothing)
    size = math.exp(found.log_smooth_sensitivity()) / made.calibration.shift
    lower, upper = (float(bound) for bound in made.query.bounds)
    value = float(found.value)
    if step:
        return _rounded(made.noise, value, size, (lower, upper), target)
    z, chance = _noise(made.noise)
    return sum(
        float(chance @ (np.clip(value + side * size * z, lower, upper) - target) ** 2)
        for side in (1, -1)
    )


def _rounded(
    law: NoiseDistribution, value: float, size: float, bounds: Bounds, target: float
) -> float:
    """Return the error of a release in whole numbers: their probabilities, by tails."""
    numbers = np.arange(bounds[0], bounds[1] + 1)
    edges = (numbers[:-1] + 0.5 - value) / size
    tails = np.exp(np.asarray(law.log_survival(np.abs(edges))))
    above, below = np.where(edges >= 0, tails, 1 - tails), np.where(edges < 0, tails, 1 - tails)
    # Each probability from the side on which it is a difference of small numbers.
    right = np.concatenate([[1.0], above]) - np.concatenate([above, [0.0]])
    left = np.concatenate([below, [1.0]]) - np.concatenate([[0.0], below])
    chance = np.where(np.concatenate([[-1.0], edges]) >= 0, right, left)
    return float(chance @ (numbers - target) ** 2)


@lru_cache(maxsize=64)
def _noise(law: NoiseDistribution) -> tuple[FloatArray, FloatArray]:
    """Return points above 0 and their probabilities, half of the whole."""
    nodes, weights = panels(_EDGES)
    return np.asarray(law.tail_quantile(nodes)), np.asarray(weights * np.exp(nodes))


def exponential(
    data: FloatArray,
    q: Fraction,
    bounds: Bounds,
    guarantee: PureDP | ZCDP,
    target: float,
    *,
    step: int = 0,
) -> float:
    """Return E (y - target)^2 of the continuous exponential mechanism, or of it rounded.

    Its score |#{x < y} - q n| moves by M = max(q, 1 - q) where a row comes or goes.
    """
    z = exponential_mechanism.slope(guarantee) / float(max(q, 1 - q))
    rank = float(q * len(data))
    if not step:
        return exponential_mechanism.squared_error(data, rank, bounds, z, target)
    low, high, chance = exponential_mechanism.pieces(data, rank, bounds, z)
    # Whole numbers in a gap, its ends half as likely as the others.
    squares = (np.arange(bounds[0], bounds[1] + 1) - target) ** 2
    sums = np.concatenate([[0.0], np.cumsum((squares[1:] + squares[:-1]) / 2)])
    wide = high > low
    first, last = ((ends[wide] - bounds[0]).astype(int) for ends in (low, high))
    return float(chance[wide] @ ((sums[last] - sums[first]) / (last - first)))


def candidates(
    data: FloatArray,
    q: Fraction,
    bounds: Bounds,
    epsilons: list[float],
    target: float,
    *,
    step: int = 0,
) -> FloatArray:
    """Return E (y - target)^2 of OpenDP's quantile: by grid, by epsilon, of the grid or of its
    mean over shifts by `OFFSETS`.
    """
    clamped, level = np.clip(data, *bounds), float(q)
    found = np.empty((len(GRIDS), len(epsilons), 2))
    for row, size in enumerate(GRIDS):
        grid = np.linspace(*bounds, size)
        shifts = [] if step else [grid[:-1] + o * (grid[1] - grid[0]) for o in OFFSETS]
        squares = []
        for points in (grid, *shifts):
            scores = permute_and_flip.penalties(clamped, level, points)
            shown = np.round(points) if step else points
            squares.append(
                [
                    permute_and_flip.chances(scores, permute_and_flip.scale_of(level, epsilon))
                    @ (shown - target) ** 2
                    for epsilon in epsilons
                ]
            )
        found[row, :, 0] = squares[0]
        found[row, :, 1] = np.mean(squares[1:] or squares, axis=0)
    return found
