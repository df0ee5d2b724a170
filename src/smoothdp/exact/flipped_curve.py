"""All tests of zeros against ones by the total of flipped bits: type I error and power."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.logspace import UNIT_ROUNDOFF
from smoothdp.exact.tilted_window import tilted_window

FloatArray = NDArray[np.float64]


def flip_knots(
    n_zeros: int, n_ones: int, flip: Fraction, n_bits: int
) -> tuple[FloatArray, FloatArray]:
    """Return (alphas, powers) of the tests "total <= t", from low t to high.

    Null: one user holds ``n_bits`` ones; alternative: zeros. The others hold n_zeros zeros and
    n_ones ones. By monotone likelihood ratios these are all tests that matter. Alphas are not
    above the truth and powers not below it; what lies outside the windows, below 1e-21, is
    counted for the power and not for alpha.

    >>> alphas, powers = flip_knots(0, 0, Fraction(1, 5), 1)
    >>> alphas.round(12).tolist(), powers.round(12).tolist()
    ([0.2, 1.0], [0.8, 1.0])
    """
    low_power, power, error, dropped = _total(n_zeros + n_bits, n_ones, flip)
    low_alpha, alpha, other_error, _ = _total(n_zeros, n_ones + n_bits, flip)
    low = min(low_power, low_alpha)
    high = max(low_power + power.size, low_alpha + alpha.size)
    cumulated = []
    for start, masses in ((low_alpha, alpha), (low_power, power)):
        padded = np.concatenate(
            [np.zeros(start - low), masses, np.zeros(high - start - masses.size)]
        )
        cumulated.append(np.cumsum(padded))
    rounding = (high - low + 8) * UNIT_ROUNDOFF
    alphas = cumulated[0] * (1 - other_error - rounding)
    powers = np.minimum(1.0, cumulated[1] * (1 + error + rounding) + dropped)
    return alphas, powers


def _total(n_zeros: int, n_ones: int, flip: Fraction) -> tuple[int, FloatArray, float, float]:
    """Return the law of the total: first count, masses, relative error, mass left out."""
    first = tilted_window(n_zeros, float(flip / (1 - flip)), odds_roundings=1)
    second = tilted_window(n_ones, float((1 - flip) / flip), odds_roundings=1)
    masses = np.convolve(first.mass, second.mass)
    n_sums = min(first.mass.size, second.mass.size) + 4
    error = first.error + second.error + n_sums * 1.01 * UNIT_ROUNDOFF
    return first.low + second.low, masses, error, 1.01 * (first.dropped + second.dropped)
