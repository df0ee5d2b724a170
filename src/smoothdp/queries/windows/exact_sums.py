"""Exact sums of large arrays: no rounding at all, at the speed of a few passes.

Floats: with a power of two sigma above the sum of all magnitudes, (sigma + x) - sigma rounds x
to a multiple of 2^-53 sigma without error, what is left of x is exact too, and a sum of the
rounded parts is a multiple of 2^-53 sigma below sigma, so that floats add it exactly in any
order. Taking parts until nothing is left gives the sum.

Source: S. M. Rump, T. Ogita, S. Oishi, Accurate floating-point summation part I (2008), sec. 3.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smoothdp.queries.windows.sides import Clamp
from smoothdp.types import FloatArray

# A block of floats that stays in the cache; its logarithm is lost from each part.
_BLOCK = 1 << 15
_BLOCK_BITS = 16  # 2^16 is at least _BLOCK + 2
# Above this a power of two beyond the sum of a block may overflow.
_LARGE = 2.0**900
_LOWER_HALF = (1 << 32) - 1


def exact_sum(values: NDArray[np.float64 | np.int64]) -> Fraction:
    """Return the sum of finite floats, or of int64 (fewer than 2^31 of them), exactly.

    >>> exact_sum(np.array([1e300, 1.0, -1e300, 2.0**-1074])) == 1 + Fraction(1, 2**1074)
    True
    """
    if values.dtype == np.int64:
        integers = values.astype(np.int64, copy=False)
        upper, lower = int((integers >> 32).sum()), int((integers & _LOWER_HALF).sum())
        return Fraction((upper << 32) + lower)
    floats = values.astype(np.float64, copy=False)
    total = Fraction(0)
    for start in range(0, len(floats), _BLOCK):
        total += _block_sum(floats[start : start + _BLOCK])
    return total


def clamped_sum(values: NDArray[np.float64 | np.int64], clamp: Clamp) -> Fraction:
    """Return the sum of values, each clamped, exactly; 0 of none.

    >>> clamp = Clamp((Fraction(0), Fraction(1, 3)), 0.0, 1 / 3)
    >>> clamped_sum(np.array([-1.0, 0.25, 7.0]), clamp)
    Fraction(7, 12)
    """
    if not len(values):
        return Fraction(0)
    if values.min() >= clamp.first and values.max() <= clamp.last:
        return exact_sum(values)
    below, above = values < clamp.first, values > clamp.last
    inside = values[~(below | above)]
    total = exact_sum(inside) if len(inside) else Fraction(0)
    lower, upper = clamp.bounds
    return total + int(below.sum()) * lower + int(above.sum()) * upper


def _block_sum(block: FloatArray) -> Fraction:
    largest = max(abs(float(block.max())), abs(float(block.min())))
    if largest > _LARGE:
        large = np.abs(block) > _LARGE
        scaled = block[large] * 2.0**-200
        return _block_sum(scaled) * 2**200 + exact_sum(block[~large])
    total = Fraction(0)
    remainder = block
    while largest > 0.0:
        sigma = math.ldexp(1.0, math.frexp(largest)[1] + _BLOCK_BITS)
        top = (remainder + sigma) - sigma
        total += Fraction(float(top.sum()))
        remainder = remainder - top
        largest = max(abs(float(remainder.max())), abs(float(remainder.min())))
    return total
