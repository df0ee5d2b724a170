"""What noise adds to an error once the released value is clamped to the bounds.

E(clamp(f + S Z) - theta)^2 is an integral over the probability p of a tail of the noise,

    int_0^(1/2) [ g(z_p) + g(-z_p) ] dp,   g(z) = (clamp(f + S z) - theta)^2,   P(Z > z_p) = p,

here over ln p on intervals that grow, so that far tails count as long as they are not clamped away.
It never exceeds the square of the distance from theta to the further bound.

Source: proofs/release-rules#3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from smoothdp.noise.law import NoiseDistribution
from smoothdp.planning.expected.max_law_tail import MaxLawTail
from smoothdp.types import FloatArray

Tailed: TypeAlias = NoiseDistribution | MaxLawTail
"""What has tails and a deviation."""
_DEEPEST, _GROWTH, _POINTS = 600.0, 1.35, 8
_SAME = 0.999
"""Clamping that takes less than a thousandth of the added square is left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """What an error is taken over: simulated databases, an entry each.

    Attributes:
        values: f. sensitivities: S. targets: theta, that the error is against.
        bounds: (a, b), which hold all values and targets.
    """

    values: FloatArray
    sensitivities: FloatArray
    targets: FloatArray
    bounds: tuple[float, float]

    @property
    def furthest(self) -> float:
        """The root of the mean squared distance from a target to the further bound."""
        low, high = self.bounds
        return float(np.sqrt(np.mean(np.maximum(high - self.targets, self.targets - low) ** 2)))

    def added(self, law: Tailed, scale: float) -> tuple[float, float]:
        """Return the mean square that noise of S scale Z adds, with and without clamping."""
        quantiles, weights = _nodes(law)
        weights_of_both = np.concatenate([weights, weights])
        value, target = self.values[:, None], self.targets[:, None]
        # The steps go over arrays that are there already: making them anew took half of the time.
        with np.errstate(over="ignore"):
            released = self.sensitivities[:, None] * scale * np.concatenate([quantiles, -quantiles])
            product = np.square(released)
            outside = float((product @ weights_of_both).mean())
        released += value
        np.maximum(released, self.bounds[0], out=released)
        np.minimum(released, self.bounds[1], out=released)
        # g(z) - g(0) as a product: far below g(0) it keeps its digits.
        np.subtract(released, value, out=product)
        released += value
        released -= 2 * target
        product *= released
        return float((product @ weights_of_both).mean()), outside


def clamped_error(
    without: float, noise: float, samples: Samples, law: Tailed, scale: float
) -> tuple[float, bool]:
    """Return the root mean square error of the clamped value, and whether clamping shows.

    Args:
        without: the error without noise. noise: the deviation of the noise, not clamped.
        samples, law, scale: the noise is S scale Z.
    """
    inside, unclamped = samples.added(law, scale)
    shows = not inside >= _SAME * unclamped
    square = without * without + (inside if shows else noise * noise)
    return min(math.sqrt(max(square, 0.0)), samples.furthest), shows


@lru_cache(maxsize=256)
def _nodes(law: Tailed) -> tuple[FloatArray, FloatArray]:
    """Return quantiles of the upper half of a law, and the probability that each stands for."""
    points, shares = np.polynomial.legendre.leggauss(_POINTS)
    ends = [math.log(2)]
    while ends[-1] < _DEEPEST:
        ends.append(max(ends[-1] * _GROWTH, ends[-1] + 0.4))
    logs, weights = [], []
    for near, far in pairwise(ends):
        depth = near + (far - near) * (points + 1) / 2
        logs.append(-depth)
        weights.append(np.exp(-depth) * shares * (far - near) / 2)
    return law.tail_quantile(np.concatenate(logs)), np.concatenate(weights)
