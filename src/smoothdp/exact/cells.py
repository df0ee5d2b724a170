"""One cell of a table of counts: its deviance from a rational mean, formed exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.stirling import deviance

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
_INT64_ROOM = 1 << 62


def cell_deviance(x: IntArray, mean: Fraction) -> FloatArray:
    """Return x ln(x / M) + M - x for counts x >= 0 and a rational mean M > 0.

    x - M and (x - M) / (x + M) come from whole numbers, x b -+ a for M = a / b: exactly,
    in 64 bits while they fit and in Python integers beyond.
    """
    numerator, denominator = mean.numerator, mean.denominator
    largest = max(int(x.max(initial=0)), 1) * denominator + numerator
    if largest < _INT64_ROOM:
        scaled = x * denominator
        below, above = scaled - numerator, scaled + numerator
        difference = below / float(denominator)
        relative = below / above.astype(np.float64)
    else:
        wide = [int(value) * denominator for value in x]
        difference = np.array([(value - numerator) / denominator for value in wide])
        relative = np.array([(value - numerator) / (value + numerator) for value in wide])
    return deviance(x, numerator / denominator, difference, relative)
