"""What a walk leaves out above its first row and below its last, bounded.

(proofs/boundary-walk#5)
"""

from __future__ import annotations

import math
from typing import NamedTuple

from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.exact.probabilities.real_points import ScaledPoint
from smoothdp.mechanisms.histogram.walk.boundary import Boundary
from smoothdp.mechanisms.histogram.walk.row_law import RowLaw

_LN2 = math.log(2.0)
_MARGIN = 1e-9
"""Added to each logarithm: far above the roundings of the few operations that made it."""
_SHARES = (0, 1, 2, 3, 4, 6, 9, 13, 18, 25)


class Edge(NamedTuple):
    """A row, and ln of an upper bound of W there."""

    j: int
    log_weight: float


def log_above(law: RowLaw, boundary: Boundary, edge: Edge, highest: int) -> float:
    """Bound ln of the sum of Q(j) W_j over edge.j < j <= highest."""
    if edge.j >= highest:
        return -math.inf
    # Q falls at least geometrically, and W falls.
    rise = law.marginal_falls(edge.j + 1) * (1 - _MARGIN) - 1
    flat = math.inf
    if rise > _MARGIN:
        flat = _log(law.marginal(edge.j)) - math.log(rise) + edge.log_weight + _MARGIN
    units = boundary.at(edge.j + 1)
    return min(flat, _log_steep(law, boundary, edge.j, 1, law.ratio_below(edge.j + 1, units)))


def log_below(law: RowLaw, boundary: Boundary, edge: Edge, lowest: int) -> float:
    """Bound ln of the sum of Q(j) W_j over lowest <= j < edge.j."""
    if edge.j <= lowest:
        return -math.inf
    best = _log_flat(law, edge, edge.j)

    def ratio(j: int) -> float:
        return law.ratio_below(j, boundary.at(j))

    at_edge = ratio(edge.j - 1)
    if at_edge >= 1:
        return best
    seen = set()
    for share in _SHARES:
        limit = 1 - (1 - at_edge) * 2.0**-share
        split = edge.j - 1
        if share:
            split = least_integer(lambda j: ratio(j) <= limit, lowest, edge.j - 1)  # noqa: B023
        if split in seen:
            continue
        seen.add(split)
        steep = _log_steep(law, boundary, edge.j, -1, ratio(split))
        rest = -math.inf if split == lowest else _log_flat(law, edge, split)
        best = min(best, log_sum_upper(steep, rest))
    return best


def _log_flat(law: RowLaw, edge: Edge, j: int) -> float:
    """Bound ln of the sum below row j: W grows by at most two slopes a row."""
    falls = law.marginal_falls(j) * (1 + _MARGIN)
    if falls >= 1 - _MARGIN:
        return math.inf
    start = log_sum_upper(
        edge.log_weight, math.log(2.0 * law.slope * (edge.j - j + 1 / (1 - falls)))
    )
    if falls <= 0:
        return -math.inf
    return _log(law.marginal(j)) + math.log(falls / (1 - falls)) + start + _MARGIN


def _log_steep(law: RowLaw, boundary: Boundary, j: int, side: int, ratio: float) -> float:
    """Bound ln of the sum beyond row j, one side, as far as r is at most ``ratio``.

    Q(j) W_j <= e^f(j) / (1 - r)^2, or less, with f concave: beyond j a geometric series.
    """
    gap = 1 - ratio * (1 + 1e-14)
    if not gap > 1e-12:
        return math.inf
    units = boundary.at(j + side)
    if not math.isfinite(law.ratio_below(j, boundary.at(j))):
        return math.inf
    here, beyond = law.log_joint(j, boundary.at(j)), law.log_joint(j + side, units)
    fall = beyond.upper - here.lower
    if not fall < -1e-13 * abs(here.lower) - 1e-300:
        return math.inf
    return beyond.upper - math.log(-math.expm1(fall)) + law.log_tail(gap) + _MARGIN


def _log(point: ScaledPoint) -> float:
    """Return a float not below ln of the point."""
    value = math.log(point.mantissa) + point.exponent * _LN2
    return value + 1e-14 * (1 + abs(value))
