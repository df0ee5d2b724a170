"""Divergences of a law from its shifted, dilated copy by plain quadrature in x.

Tanh-sinh on [0, s] and between kinks, exp-sinh on the two tails, from ``log_density`` alone:
shares nothing with the code under test but the density.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from smoothdp.noise.law import NoiseDistribution
from smoothdp.types import FloatArray


def _nodes(law: NoiseDistribution, breaks: list[float], n: int) -> tuple[FloatArray, FloatArray]:
    # The distance to the nearest break matters at the kinks: sort, then substitute.
    edges = sorted(set(breaks))
    xs, logs = [], []
    k = np.linspace(-3.6, 3.6, n)
    step = k[1] - k[0]
    for a, b in itertools.pairwise(edges):
        u = np.tanh(math.pi / 2 * np.sinh(k))
        xs.append((a + b) / 2 + (b - a) / 2 * u)
        weight = (b - a) / 2 * math.pi / 2 * np.cosh(k) / np.cosh(math.pi / 2 * np.sinh(k)) ** 2
        logs.append(np.log(weight * step))
    scale = 1 / (2 * law.density(0.0))
    k = np.linspace(-4.0, 4.6, 2 * n)
    step = k[1] - k[0]
    reach = scale * np.exp(math.pi / 2 * np.sinh(k))
    log_weight = np.log(reach * math.pi / 2 * np.cosh(k) * step)
    for edge, side in ((edges[0], -1), (edges[-1], 1)):
        xs.append(edge + side * reach)
        logs.append(log_weight)
    return np.concatenate(xs), np.concatenate(logs)


def losses(
    law: NoiseDistribution, s: float, t: float, *, reverse: bool = False, n: int = 400
) -> tuple[FloatArray, FloatArray]:
    """Return log-weights (of P times the rule) and losses of Z against e^t Z + s, or reverse."""
    breaks = [0.0, s]
    for kink in map(float, law._kinks()):
        breaks += [kink, -kink, s + kink * math.exp(t), s - kink * math.exp(t)]
    x, log_rule = _nodes(law, breaks, n)
    first = law.log_density(x)
    second = law.log_density((x - s) * math.exp(-t)) - t
    if reverse:
        first, second = second, first
    return first + log_rule, first - second


def renyi(
    law: NoiseDistribution,
    order: float,
    s: float,
    t: float,
    *,
    reverse: bool = False,
    n: int = 400,
) -> float:
    """Return D_order(Z || e^t Z + s), or of the reverse; order > 1."""
    log_weight, loss = losses(law, s, t, reverse=reverse, n=n)
    keep = np.isfinite(log_weight) & np.isfinite(loss)
    b = order - 1
    exponent = log_weight[keep] + b * loss[keep]
    top = exponent.max()
    log_moment = top + math.log(np.exp(exponent - top).sum())
    mass = math.log(np.exp(log_weight[keep]).sum())
    return float((log_moment - mass) / b)


def hockey_stick(
    law: NoiseDistribution, epsilon: float, s: float, t: float, *, reverse: bool = False
) -> float:
    """Return the hockey stick, to about 1e-4: the kink is not resolved."""
    log_weight, loss = losses(law, s, t, reverse=reverse, n=4001)
    with np.errstate(over="ignore", invalid="ignore"):
        gain = -np.expm1(np.minimum(0.0, epsilon - loss))
    return float(np.nansum(np.exp(log_weight) * gain))
