"""Discounted sums of positive numbers from each index to the end."""

from __future__ import annotations

import math

import numpy as np

from smoothdp.types import FloatArray

# Within a tile the discount stays above e^-100: nothing that matters underflows.
_LARGEST_DISCOUNT = 100.0

# An exponential of at most 100: its argument, itself, and the product with it.
_EXPONENTIAL = 110.0


def discounted_suffix_sums(values: FloatArray, rate: float) -> FloatArray:
    """Return the sums of values[k] e^(-rate (k - i)) over k >= i, for every i.

    A term at distance d carries at most d + 1 roundings of additions beside
    `suffix_roundings`. The rate is taken as exact, positive or about 0.

    >>> discounted_suffix_sums(np.array([1.0, 1.0, 1.0]), 0.0).tolist()
    [3.0, 2.0, 1.0]
    """
    size = values.size
    tile = _tile(size, rate)
    n_tiles = -(-size // tile)
    padded = np.zeros(n_tiles * tile)
    padded[:size] = values
    steps = np.arange(tile) * rate
    grid = padded.reshape(n_tiles, tile) * np.exp(-steps)
    sums = np.cumsum(grid[:, ::-1], axis=1)[:, ::-1]
    carry, across = 0.0, math.exp(-rate * tile)
    for index in range(n_tiles - 1, -1, -1):
        if carry:
            sums[index] += carry
        carry = float(sums[index, 0]) * across
    result: FloatArray = (sums * np.exp(steps)).ravel()[:size]
    return result


def suffix_roundings(size: int, rate: float) -> float:
    """Return how many roundings a term has that do not depend on its distance.

    One exponential in, one out, one for each tile that is crossed.
    """
    return _EXPONENTIAL * (2 - (-size // _tile(size, rate)))


def _tile(size: int, rate: float) -> int:
    """Return how many numbers are summed at one scale."""
    if rate * size <= _LARGEST_DISCOUNT:
        return size
    return max(1, int(_LARGEST_DISCOUNT / rate))
