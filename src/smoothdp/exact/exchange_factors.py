"""The factors of an exchange sum: one binomial law, tilted to where it is needed.

For the exchange sum see `exchange_sum`. R is the law of Bin(N, p).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.balls import log_bounds

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_RELATIVE_CUT = 2.0**-46


def tilted_law(
    places: IntArray, centre: int, total: int, odds: Fraction, tilt: float
) -> tuple[FloatArray, float]:
    """Return R(k) / R(centre) e^(c (k - centre)) at consecutive k, and c.

    c is the logarithm of a float over the true odds, about the tilt, so the products of
    ratios have no rounding of the odds in them: three roundings a step.
    """
    tilted = max(float(odds), 1e-300) * math.exp(tilt)
    log_tilt = log_bounds(Fraction(tilted) / odds).upper
    middle = centre - int(places[0])
    k = places.astype(np.float64)
    up, down = k[middle:-1], k[middle:0:-1]
    result = np.ones(places.size)
    result[middle + 1 :] = np.multiply.accumulate((total - up) / (up + 1.0) * tilted)
    falling = np.multiply.accumulate(down / ((total - down + 1.0) * tilted))
    result[:middle] = falling[::-1]
    return result, log_tilt


def log_ratio(k: int, total: int, odds: Fraction) -> float:
    """Return ln of R(k + 1) / R(k), about."""
    return math.log(max(total - k, 0.5) / (k + 1)) + log_bounds(odds).upper


def share_beyond(
    sums: tuple[FloatArray, FloatArray, FloatArray],
    lowest: int,
    last: int,
    total: int,
    odds: Fraction,
    log_tilt: float,
) -> float | None:
    """Bound the share of A and B that lies beyond the window, at every threshold up to last.

    Beyond its end h the law falls at least geometrically, by r: A(h + 1) <= R(h) r / (1 - r).
    The shares are largest at the last threshold. None if they matter.
    """
    laws, first_sums, second_sums = sums
    highest = lowest + laws.size - 1
    if highest == total:
        return 0.0
    ratio = (total - highest) / (highest + 1) * float(odds) * (1 + 1e-15)
    if ratio >= 1.0 or last == highest:
        return None
    beyond = float(laws[-1]) * math.exp(-log_tilt * (highest - last)) * ratio / (1 - ratio)
    first, second = float(first_sums[last - lowest]), float(second_sums[last - lowest])
    share = max(beyond / first, beyond * (highest - last + 1 / (1 - ratio)) / second)
    return share * (1 + 1e-9) if share <= _RELATIVE_CUT else None


def add_up(values: FloatArray) -> float:
    """Sum positive numbers by blocks of 256, and the blocks exactly."""
    return math.fsum(np.add.reduceat(values, np.arange(0, values.size, 256)).tolist())
