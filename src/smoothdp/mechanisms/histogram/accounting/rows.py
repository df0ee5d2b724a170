"""Rows of the half-plane: which values of j matter, and where each row begins.

A set of outputs {gain(i, j) > 0} is summed row by row: for each number j of sampled
records of category b, the i from `first` on. Rows with negligible mass are left out, and a
bound of what these rows could contribute is returned.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import log_sum_upper
from smoothdp.mechanisms.histogram.accounting.half_plane import HalfPlane
from smoothdp.mechanisms.histogram.accounting.line import Line
from smoothdp.text import whole_text
from smoothdp.types import BoolArray, FloatArray, IntArray

NATS = 36.0
"""Rows and terms below e^-36 of the largest are dropped (and bounded)."""
MOST_ROWS = 2 * 10**7
"""Lists of so many rows take 3 GB."""


class Rows(NamedTuple):
    """Rows j, their first i inside, and the gain there in units of the slope in i.

    ``ambiguous`` marks rows whose first gain is not resolved from zero; the ``step`` of such a
    row is the upper bound of that gain.
    """

    j: IntArray
    first: IntArray
    step: FloatArray
    ambiguous: BoolArray


class Window(NamedTuple):
    """Rows lowest..highest, and ln of an upper bound of the probability outside."""

    lowest: int
    highest: int
    log_dropped: float


def rows_inside(
    plane: HalfPlane, lowest: int, highest: int, support: Callable[[int], tuple[int, int]]
) -> Rows:
    """Locate the boundary on every row lowest..highest, in integers.

    ``support(j)`` returns the least and greatest possible i on the row; rows that lie
    wholly outside the half-plane are left out.

    Raises:
        OutOfReach: more than 2e7 rows; nothing of that size is built.
    """
    check_size(highest - lowest + 1, MOST_ROWS, "rows of outputs that matter")
    slope, slack = plane.slope_a, plane.slack
    js, firsts, steps, ambiguous = [], [], [], []
    level = plane.offset + plane.slope_b * lowest
    for j in range(lowest, highest + 1):
        least, greatest = support(j)
        first = max(level // slope + 1, least)
        if first <= greatest:
            gain = slope * first - level
            js.append(j)
            firsts.append(first)
            steps.append(gain / slope)
            ambiguous.append(gain >> 50 < slack)
        level += plane.slope_b
    return Rows(
        np.array(js, dtype=np.int64),
        np.array(firsts, dtype=np.int64),
        np.array(steps, dtype=np.float64),
        np.array(ambiguous, dtype=np.bool_),
    )


def check_size(size: int, most: int, what: str) -> None:
    """Raise OutOfReach for a sum of more than ``most`` parts."""
    if size > most:
        raise OutOfReach(
            expected=f"at most {most} {what}",
            got=whole_text(size),
            remedy="Use fewer draws or records; smoothed_delta bounds any number of them",
        )


def highest_row(height: Callable[[int], float], lowest: int, highest: int) -> float:
    """Return about the largest height, for heights that rise and then fall."""
    while highest - lowest > 8:
        third = (highest - lowest) // 3
        left, right = lowest + third, highest - third
        if height(left) < height(right):
            lowest = left + 1
        else:
            highest = right
    return max(height(j) for j in range(lowest, highest + 1))


def window(marginal: Line, log_target: float) -> Window:
    """Return the rows whose marginal probability matters beside e^log_target.

    ``marginal`` is the law of j. What lies outside is bounded by geometric series.
    """
    above, dropped_above = _one_side(marginal, log_target)
    below, dropped_below = _one_side(marginal.mirrored(), log_target)
    dropped = log_sum_upper(dropped_above, dropped_below)
    return Window(marginal.n_draws - below, above, dropped)


def _one_side(marginal: Line, log_target: float) -> tuple[int, float]:
    """Return the last row to keep, and ln of a bound of the probability beyond that row."""
    total = marginal.count_a + marginal.count_b
    mean = marginal.n_draws * marginal.count_a // total
    low, high = min(max(mean + 2, marginal.lowest), marginal.highest), marginal.highest
    last_row = least_integer(
        lambda j: marginal.log_probability(j).upper < log_target - NATS, low, high
    )
    if last_row >= marginal.highest:
        return marginal.highest, -math.inf
    ratio = marginal.ratio(last_row + 1) * (1 + 1e-12)
    if ratio >= 1.0:
        return marginal.highest, -math.inf
    return last_row, marginal.log_probability(last_row + 1).upper - math.log1p(-ratio) + 1e-12
