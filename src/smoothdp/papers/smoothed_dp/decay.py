"""How fast delta falls: exponential fits, and the laws that pass through intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

ORDINARY_DP = "ordinary DP, T/n"
"""The curve that paper 1 draws dashed and pink: delta of DP, at every finite epsilon."""


class ExponentialFit(NamedTuple):
    """delta = e^(start + slope n) by least squares of ln delta.

    Attributes:
        start, slope: natural logarithms; the slope for one record more.
        worst_factor: by which a fitted delta is off at most, at the sizes fitted.
    """

    start: float
    slope: float
    worst_factor: float

    def log_delta(self, n_records: float) -> float:
        """Return ln of the fitted delta."""
        return self.start + self.slope * n_records


def exponential_fit(sizes: Sequence[float], log_deltas: Sequence[float]) -> ExponentialFit:
    """Return the exponential that fits best: a straight line where delta is on a log scale.

    >>> fit = exponential_fit([10, 20, 30], [-1.0, -2.0, -3.0])
    >>> round(fit.slope, 12), round(fit.worst_factor, 12)
    (-0.1, 1.0)
    """
    slope, start = (float(value) for value in np.polyfit(sizes, log_deltas, 1))
    residuals = np.array(log_deltas) - start - slope * np.array(sizes, dtype=np.float64)
    return ExponentialFit(start, slope, math.exp(float(np.abs(residuals).max())))


class Range(NamedTuple):
    """The least and the largest of some numbers; there are none if least > largest."""

    least: float
    largest: float

    def __bool__(self) -> bool:
        return self.least <= self.largest


def slopes_through(xs: Sequence[float], lowers: Sequence[float], uppers: Sequence[float]) -> Range:
    """Return the slopes of the lines that pass through every interval [lower, upper] at its x.

    A line of slope p passes iff lower_i - p x_i <= upper_j - p x_j for all i, j: each pair with
    x_i != x_j bounds p from one side.

    >>> slopes_through([0, 1, 2], [0, 1, 2], [0.1, 1.1, 2.1])
    Range(least=0.95, largest=1.05)
    >>> bool(slopes_through([0, 1, 2], [0, 1, 4], [0.1, 1.1, 4.1]))
    False
    """
    points = sorted(zip(xs, lowers, uppers, strict=True))
    least, largest = -math.inf, math.inf
    for position, (x, lower, upper) in enumerate(points):
        for before, lower_before, upper_before in points[:position]:
            largest = min(largest, (upper - lower_before) / (x - before))
            least = max(least, (lower - upper_before) / (x - before))
    return Range(least, largest)


def exponentials_through(
    sizes: Sequence[int], log_lowers: Sequence[float], log_uppers: Sequence[float]
) -> Range:
    """Return the b of which some a e^(-b n) passes through every interval of delta."""
    slopes = slopes_through(sizes, log_lowers, log_uppers)
    return Range(-slopes.largest, -slopes.least)


def powers_through(
    sizes: Sequence[int], log_lowers: Sequence[float], log_uppers: Sequence[float]
) -> Range:
    """Return the p of which some e^(-c n^p) passes through every interval; delta below 1.

    >>> logs = [-0.3 * n**0.5 for n in (25, 100, 400)]
    >>> found = powers_through([25, 100, 400], [log - 0.1 for log in logs], [l + 0.1 for l in logs])
    >>> found.least < 0.5 < found.largest
    True
    """
    return slopes_through(
        [math.log(n) for n in sizes],
        [math.log(-value) if value < 0 else -math.inf for value in log_uppers],
        [math.log(-value) for value in log_lowers],
    )
