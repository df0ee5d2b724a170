"""Sums and products of two floats with their rounding error: twice the digits, in arrays.

Source: T. J. Dekker, A floating-point technique for extending the available precision (1971).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from smoothdp.types import FloatArray, IntArray

_SPLITTER = 134217729.0  # 2^27 + 1


def split_rational(value: Fraction) -> tuple[float, float]:
    """Return floats (high, low) with |value - high - low| <= 2^-105 |value|."""
    high = float(value)
    return high, float(value - Fraction(high))


def split_integers(values: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return floats (high, low) whose sums are the whole numbers, |values| < 2^62, exactly."""
    high = values.astype(np.float64)
    return high, (values - high.astype(np.int64)).astype(np.float64)


def exact_product(a: float, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (product, error) with product + error = a b exactly, |a b| < 1e290."""
    product = a * b
    a_high = a * _SPLITTER - (a * _SPLITTER - a)
    b_high = b * _SPLITTER - (b * _SPLITTER - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def exact_sum(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (sum, error) with sum + error = a + b exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
