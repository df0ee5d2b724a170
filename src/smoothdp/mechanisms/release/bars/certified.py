"""Factors with which an interval covers a point beside the statistic, certified.

c(k; F) = P(|Z + k| <= F e^B) is how often y +- F e^W covers a point k S from f. Cells of |Z| have
known masses, and in a cell |Z + k| is at most the larger of its two ends: so the sum over cells of
mass times P(B >= ln(end / F)) is at most c(k; F), and what lies beyond the last cell counts as
missed. F is the least for which that sum reaches the confidence; the slack is one of length, .1%
for one k and 2% for a mixture, and the coverage exceeds the promise by about .0001 and .002.

Source: proofs/quantile-bars#2, #7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from smoothdp.mechanisms.release.bars.mixture import Mixture
from smoothdp.mechanisms.release.bars.pivot import ScaleNoise
from smoothdp.mechanisms.release.defaults import global_law_of
from smoothdp.noise import NoiseDistribution
from smoothdp.noise.joint.max_law import MaxLawCalibration
from smoothdp.types import FloatArray

_FLOATS = 1e-8
"""By what share of itself a miss is raised: what its floats may err, and more."""
_WIDTH, _MIXED_WIDTH = 0.004, 0.05
_CLOSE, _MIXED_CLOSE = 1e-6, 2e-4
_FURTHEST = 700.0


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of |Z|, and P(B < x) within each, at most.

    Attributes:
        ends: z_0 = 0 < z_1 < ... mass: of each cell. beyond: mass beyond the last.
        below: of x, an array with a last axis of cells, an upper bound of P(B < x | Z).
    """

    ends: FloatArray
    mass: FloatArray
    beyond: float
    below: Callable[[FloatArray], FloatArray]

    def reach(self, excess: FloatArray) -> FloatArray:
        """Return ln of the largest |Z + k| in a cell, for each k: on both sides of 0."""
        low, high, k = self.ends[:-1], self.ends[1:], excess[:, None]
        other = np.maximum(np.abs(k - low), np.abs(high - k))
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.stack([high + k, other])))


def certified_factor(cells: Cells, mixture: Mixture, miss: float, *, close: float) -> float:
    """Return an F with which at most ``miss`` is missed, over Z, B and the mixture of excesses.

    inf where the mixture itself leaves out more.

    Args:
        cells: of |Z|. mixture: of excesses k. miss: 1 - confidence.
        close: how near ln F is to the least that is certified.
    """
    reach, weights = cells.reach(mixture.excess), mixture.weight / 2
    rest = cells.beyond + mixture.left_out

    def missed(log_factor: float) -> float:
        each = cells.below(reach - log_factor) @ cells.mass
        return (float((each @ weights).sum()) + rest) * (1 + _FLOATS)

    if rest * (1 + _FLOATS) >= miss:
        return math.inf
    typical = float(cells.ends[len(cells.ends) // 2])
    high = math.log(float(mixture.excess @ mixture.weight) + typical)
    step, low = 0.5, high
    above = below = missed(high)
    while above > miss:
        low, below = high, above
        high += step
        step *= 2
        if high > _FURTHEST:
            return math.inf
        above = missed(high)
    while below <= miss:
        high, above = low, below
        low -= step
        step *= 2
        below = missed(low)
    turn = 0
    while high - low > close:
        # The logarithm of what is missed is nearly linear; every third step halves.
        turn += 1
        part = 0.5
        if turn % 3 and above > 0:
            part = math.log(below / miss) / math.log(below / above)
            part = min(max(part * 1.02, 0.02), 0.98)
        middle = low + part * (high - low)
        here = missed(middle)
        low, below, high, above = (
            (middle, here, high, above) if here > miss else (low, below, middle, here)
        )
    return math.exp(high) * (1 + 1e-15)


@lru_cache(maxsize=256)
def split_factor(
    law: NoiseDistribution,
    mixture: Mixture,
    *,
    miss: float,
    scale_noise: ScaleNoise,
    spread: float,
) -> float:
    """Return the certified factor for independent Z and B, k in units of Z.

    Args:
        law: of Z. mixture: of excesses. miss: 1 - confidence, from 1e-9 to 1.
        scale_noise: the law of B. spread: its scale, the deviation if normal; 0 for B = 0.

    >>> from smoothdp.noise import PolyPlace
    >>> laplace = ScaleNoise.LAPLACE
    >>> for k in (0.1, 0.5):
    ...     single = Mixture.single(k)
    ...     factor = split_factor(
    ...         PolyPlace(10), single, miss=0.05, scale_noise=laplace, spread=0.2
    ...     )
    ...     print(round(factor, 2))
    0.42
    0.93
    """
    width = _WIDTH if mixture.is_single else _MIXED_WIDTH
    scale = law.quantile(0.75)
    furthest = law.tail_quantile(math.log(1e-4 * miss / 2))
    reach = math.asinh(furthest / scale)
    ends = scale * np.sinh(np.linspace(0, reach, 2 + math.ceil(reach / width)))
    tail = 2 * np.asarray(law.survival(ends))
    cdf = global_law_of(scale_noise is ScaleNoise.LAPLACE).cdf

    def below(x: FloatArray) -> FloatArray:
        return cdf(x / spread) if spread > 0 else np.where(x > 0, 1.0, 0.0)

    cells = Cells(ends, tail[:-1] - tail[1:], float(tail[-1]), below)
    close = _CLOSE if mixture.is_single else _MIXED_CLOSE
    return certified_factor(cells, mixture, miss, close=close)


@lru_cache(maxsize=256)
def max_law_factor(law: MaxLawCalibration, mixture: Mixture, *, miss: float) -> float:
    """Return the certified factor for the max law, k in units of S.

    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.noise.joint.max_law import MaxLaw
    >>> law = MaxLaw().calibrate(PureDP(1), smoothing="0.2")
    >>> factor = max_law_factor(law, Mixture.single(2), miss=0.05)
    >>> 0 <= law.coverage(excess=2, factor=factor) - 0.95 < 1e-3
    True
    """
    width = _WIDTH if mixture.is_single else _MIXED_WIDTH
    ends, u, tail = law.cells(width, miss)
    low, high = u[:-1], u[1:]

    def below(x: FloatArray) -> FloatArray:
        # Given u, |B| is the larger the larger u: less is missed above 0, more below.
        return law.below(x, np.where(x >= 0, low, high))

    cells = Cells(ends, tail[:-1] - tail[1:], float(tail[-1]), below)
    close = _CLOSE if mixture.is_single else _MIXED_CLOSE
    return certified_factor(cells, mixture, miss, close=close)
