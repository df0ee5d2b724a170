"""Which rows a walk visits: a guess in floats, checked by what is left out.

(proofs/boundary-walk#5)
"""

from __future__ import annotations

import math
from collections.abc import Callable

from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.mechanisms.histogram.walk.boundary import Boundary
from smoothdp.mechanisms.histogram.walk.row_law import RowLaw


def highest_row(law: RowLaw, boundary: Boundary) -> int:
    """Return the last row that reaches beyond the boundary, or one below the first row."""
    lowest, highest = law.rows
    beyond = least_integer(
        lambda j: (boundary.at(j) >> 64) + 1 > law.ends(j)[1], lowest, highest + 1
    )
    return beyond - 1


def log_height(law: RowLaw, boundary: Boundary, j: int) -> float:
    """Return about ln of Q(j) W_j, or of a bound of the same order."""
    units = boundary.at(j)
    kappa = boundary.near(j)
    shape = law.shape(j, kappa)
    away = law.slope * (max(0.0, shape.mean - kappa) + shape.deviation + 1e-3)
    height = shape.log_marginal + math.log(away)
    ratio = law.ratio_below(j, units)
    if ratio < 1 and kappa > shape.mean:
        height = min(height, shape.log_joint + law.log_tail(1 - ratio))
    return height


def peak_row(height: Callable[[int], float], lowest: int, highest: int) -> int:
    """Return about where a height that rises and then falls is largest."""
    while highest - lowest > 8:
        third = (highest - lowest) // 3
        left, right = lowest + third, highest - third
        if height(left) < height(right):
            lowest = left + 1
        else:
            highest = right
    return max(range(lowest, highest + 1), key=height)


def rows_within(
    height: Callable[[int], float], peak: int, ends: tuple[int, int], nats: float
) -> tuple[int, int]:
    """Return the rows whose height is within ``nats`` of that of the peak."""
    least = height(peak) - nats
    lowest, highest = ends
    bottom = least_integer(lambda j: height(j) >= least, lowest, peak)
    top = least_integer(lambda j: height(j) < least, peak, highest + 1) - 1
    return bottom, max(peak, top)
