"""Laplace or normal noise for a number of known sensitivity, and shares of a guarantee."""

from __future__ import annotations

import math

import numpy as np

from smoothdp.claims import ZCDP, PureDP

Guarantee = PureDP | ZCDP


def deviation(sensitivity: float, guarantee: Guarantee) -> float:
    """Return the standard deviation of the noise that a sensitivity needs."""
    if isinstance(guarantee, PureDP):
        return math.sqrt(2) * sensitivity / guarantee.epsilon
    return sensitivity / math.sqrt(2 * guarantee.rho)


def noise(sensitivity: float, guarantee: Guarantee, rng: np.random.Generator) -> float:
    """Return a draw of it."""
    if isinstance(guarantee, PureDP):
        return float(rng.laplace(0, sensitivity / guarantee.epsilon))
    return float(rng.normal(0, deviation(sensitivity, guarantee)))


def share(guarantee: Guarantee, part: float) -> Guarantee:
    """Return a share of the budget; shares that sum to 1 compose to the whole."""
    if isinstance(guarantee, PureDP):
        return PureDP(part * guarantee.epsilon)
    return ZCDP(part * guarantee.rho)
