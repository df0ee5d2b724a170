"""How far a release may be off: quantiles of |Z| e^-B and of |a G + Z| e^-B.

Z is the noise at unit scale, B the noise on ln S, G a standard normal number; independent. With
L = ln S + B released beside y = f + (S / s) Z, s |y - f| e^-L = |Z| e^-B: its law depends on no
data (proofs/error-bars#2). G stands for sampling error (proofs/error-bars#7).

Accuracy, not privacy, depends on these floats. The quantile of |Z| e^-B is within a relative
1e-9, and rounded up by as much; with G, within 1e-4: checked, not proved (proofs/error-bars#4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from functools import lru_cache
from typing import cast

import numpy as np

from smoothdp.exact.logspace.bisection import smallest_true
from smoothdp.mechanisms.release.defaults import SAMPLING_ERROR
from smoothdp.noise.law import NoiseDistribution
from smoothdp.types import FloatArray

Tail = Callable[[FloatArray], FloatArray]

_ERROR = 1e-9
_PANELS, _POINTS = 160, 10
_TABLE = 2000
# ln of what is taken as nothing beside the least 1 - confidence, 1e-9.
_NOTHING = -48.0


class ScaleNoise(Enum):
    """The law of B in units of its spread."""

    LAPLACE = "Laplace"
    NORMAL = "normal"


@lru_cache(maxsize=1024)
def pivot_quantile(
    law: NoiseDistribution,
    *,
    miss: float,
    scale_noise: ScaleNoise,
    spread: float,
    sampling: float = 0.0,
) -> float:
    """Return the least float q, about, with P(|a G + Z| e^-B > q) <= miss.

    Args:
        law: the law of Z.
        miss: one minus the confidence, from 1e-9 to 1.
        scale_noise: the law of B. spread: its scale, the deviation if normal; 0 for B = 0.
        sampling: a >= 0.

    >>> from smoothdp.noise import PolyPlace
    >>> q = pivot_quantile(PolyPlace(10), miss=0.05, scale_noise=ScaleNoise.LAPLACE, spread=0.0)
    >>> round(2 * PolyPlace(10).survival(q), 6)
    0.05
    """
    tail = _two_sided(law) if sampling == 0 else _with_sampling(law, sampling)
    nodes, weights = _scale_nodes(scale_noise, spread)
    factors = np.exp(nodes)

    def enough(q: float) -> bool:
        return float(weights @ tail(q * factors)) <= miss

    return smallest_true(enough) * (1 + _ERROR)


def _two_sided(law: NoiseDistribution) -> Tail:
    return lambda x: 2 * law.survival(x)


def _scale_nodes(scale_noise: ScaleNoise, spread: float) -> tuple[FloatArray, FloatArray]:
    """Return values of B and their probabilities."""
    if spread == 0:
        return np.zeros(1), np.ones(1)
    if scale_noise is ScaleNoise.LAPLACE:
        x, weights = panels(np.linspace(0, -_NOTHING, _PANELS // 2 + 1))
        weights = weights * np.exp(-x) / 2
    else:
        x, weights = panels(np.linspace(0, math.sqrt(-2 * _NOTHING), _PANELS // 2 + 1))
        weights = weights * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return spread * np.concatenate([-x, x]), np.concatenate([weights, weights])


def panels(edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the points and weights of Gauss and Legendre between edges."""
    points, weights = np.polynomial.legendre.leggauss(_POINTS)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[1:] + edges[:-1])[:, None] / 2
    return (middle + half * points).ravel(), (half * weights).ravel()


def _with_sampling(law: NoiseDistribution, sampling: float) -> Tail:
    """Return P(|a G + Z| > x), interpolated in logarithms of both.

    The integral runs over the wider of the two, so that the other is smooth in it.
    """
    scale = 3 * law.quantile(0.75)
    middle = math.log(max(scale, sampling))
    x = np.exp(np.linspace(middle - 14, middle + 19, _TABLE))
    survival: Tail
    if sampling <= scale:
        nodes, weights = _scale_nodes(ScaleNoise.NORMAL, sampling)
        survival = cast("Tail", law.survival)
    else:
        edges = scale * np.sinh(np.linspace(0, 25, _PANELS + 1))
        points, weights = panels(edges)
        weights = weights * np.asarray(law.density(points))
        nodes, weights = np.concatenate([-points, points]), np.concatenate([weights, weights])

        def survival(y: FloatArray) -> FloatArray:
            return SAMPLING_ERROR.survival(y / sampling)

    tails = np.concatenate(
        [2 * (survival(part[:, None] + nodes) @ weights) for part in np.array_split(x, 30)]
    )
    log_x, log_tail = np.log(x), np.log(np.maximum(tails, 1e-300))
    return lambda y: np.exp(np.interp(np.log(np.maximum(y, x[0])), log_x, log_tail))
