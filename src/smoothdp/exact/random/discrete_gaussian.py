"""The discrete Gaussian law on the whole numbers, exactly."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.geometric import bernoulli_exp, two_sided_geometric


def discrete_gaussian(sigma_squared: Fraction, rng: Entropy) -> int:
    """Return a whole number z with weight e^(-z^2 / (2 sigma^2)), exactly, for sigma^2 > 0.

    A two-sided geometric number of scale t = floor(sigma) + 1 is kept with probability
    e^(-(|z| - sigma^2 / t)^2 / (2 sigma^2)): fewer than two draws on average.

    Source: Canonne, Kamath, Steinke (2020), Algorithm 3.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> discrete_gaussian(Fraction(1, 1000), SeededRandom(1))
    0
    """
    scale = math.isqrt(math.floor(sigma_squared)) + 1
    while True:
        value = two_sided_geometric(Fraction(1, scale), rng)
        excess = abs(value) - sigma_squared / scale
        if bernoulli_exp(excess * excess / (2 * sigma_squared), rng):
            return value
