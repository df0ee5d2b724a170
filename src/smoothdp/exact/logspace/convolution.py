"""Convolution of long arrays by the fast Fourier transform, with a bound of its error."""

from __future__ import annotations

import math

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.types import FloatArray

# The shorter array from which the transform is faster than the sums.
_LONG = 256
# Relative error of one radix-2 level in the 2-norm, in units of roundoff: about 7 by Higham
# (Accuracy and Stability, Theorem 24.2) with sines and cosines right to a unit.
_LEVEL = 16.0
# Between these no square overflows, and what underflows is far below the bound.
_REACH = 1e100


def convolve(first: FloatArray, second: FloatArray) -> tuple[FloatArray, float]:
    """Return (first * second, absolute error of every entry beyond that of plain sums).

    The error is 0 where the sums are formed one by one: each entry is then as near as a sum of
    min(lengths) products. By transforms of 2^l points, each within e = 16 l 2^-53 of the truth
    in the 2-norm, |x y| errs by at most |dx|_2 max|y^| + max|x^| |dy|_2 in front of the inverse
    transform, and max|x^| <= |x|_1: in all by e (2 |x|_2 |y|_1 + |x|_1 |y|_2).

    >>> convolve(np.array([1.0, 2.0]), np.array([1.0, 1.0]))
    (array([1., 3., 2.]), 0.0)
    """
    largest = [float(np.abs(part).max()) for part in (first, second)]
    in_reach = all(1 / _REACH < top < _REACH for top in largest)
    if min(first.size, second.size) < _LONG or not in_reach:
        return np.convolve(first, second), 0.0
    size = first.size + second.size - 1
    levels = (size - 1).bit_length()
    points = 1 << levels
    product = np.fft.rfft(first, points) * np.fft.rfft(second, points)
    values = np.fft.irfft(product, points)[:size]
    # One level more for the product, and one for the scale of the inverse.
    each = _LEVEL * (levels + 2) * UNIT_ROUNDOFF
    norms = 2.0 * _norm(first) * _size(second) + _size(first) * _norm(second)
    return values, 1.01 * each * norms


def _norm(values: FloatArray) -> float:
    return math.sqrt(float(values @ values))


def _size(values: FloatArray) -> float:
    return float(np.abs(values).sum())
