"""The exponential mechanism on ranks, over all real numbers within the bounds.

The density of y is proportional to exp(-slope |#{x < y} - rank|); replacing one record moves the
rank error of every y by 1 at most.

Source: F. McSherry, K. Talwar, Mechanism design via differential privacy (2007); A. Smith,
Privacy-preserving statistical estimation with optimal convergence rates (2011).
"""

from __future__ import annotations

import math

import numpy as np

from smoothdp.claims import ZCDP, PureDP
from smoothdp.types import FloatArray


def slope(guarantee: PureDP | ZCDP) -> float:
    """Return ln of the odds that one rank costs.

    Pure: epsilon / 2. A loss whose range is at most B keeps B^2 / 8 of zCDP, and slope z has a
    range of 2 z under replacement: rho = z^2 / 2, so z = sqrt(2 rho).
    """
    if isinstance(guarantee, PureDP):
        return float(guarantee.epsilon) / 2
    return math.sqrt(2 * float(guarantee.rho))


def pieces(
    data: FloatArray, rank: float, bounds: tuple[float, float], z: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the ends of the gaps between values, and the probability of each gap.

    Between the k-th and the (k+1)-th value k values are below y; the gaps on both sides of the
    value of rank r have errors 0 and 1 around r - 1/2, which is what ``rank`` is.
    """
    edges = np.concatenate([[bounds[0]], np.sort(np.clip(data, *bounds)), [bounds[1]]])
    below = np.arange(len(data) + 1)
    widths = np.diff(edges)
    with np.errstate(divide="ignore"):
        logs = np.log(widths) - z * np.abs(below - rank)
    weights = np.exp(logs - logs.max())
    return edges[:-1], edges[1:], weights / weights.sum()


def squared_error(
    data: FloatArray, rank: float, bounds: tuple[float, float], z: float, target: float
) -> float:
    """Return E (y - target)^2, exactly given the data: y is uniform within a gap."""
    low, high, chance = pieces(data, rank, bounds, z)
    middle, width = (low + high) / 2 - target, high - low
    return float(chance @ (middle**2 + width**2 / 12))


def draw(
    data: FloatArray,
    rank: float,
    bounds: tuple[float, float],
    z: float,
    rng: np.random.Generator,
) -> float:
    """Return one draw."""
    low, high, chance = pieces(data, rank, bounds, z)
    place = int(rng.choice(len(chance), p=chance))
    return float(rng.uniform(low[place], high[place]))
