"""How far an order statistic may be from the mean of a window, in units of smooth sensitivity."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from smoothdp.exact.balls.balls import exp_bounds


class Excess(NamedTuple):
    """For a rank J: f - x_(J) <= up S and x_(J+1) - f <= down S; both rounded up.

    >>> max(Excess(2.0, 3.0))
    3.0
    """

    up: float
    down: float


def excess_at_rank(
    n_records: int, drops: tuple[int, int], rank_below: int, smoothing: Fraction
) -> Excess:
    """Return the excess at J = rank_below of the window l..u = lo + 1..n - hi, w = u - l + 1.

        up = 0 if J >= u, u - J if l <= J <= u, w e^(t (l - J - 1)) below;
        down = 0 if J + 1 <= l, J + 1 - l if l <= J + 1 <= u, w e^(t (J - u)) above.

    Source: proofs/quantile-bars#1.

    Args:
        n_records: n. drops: (lo, hi). rank_below: J in 0..n. smoothing: t >= 0 of S.

    >>> round(max(excess_at_rank(1001, (498, 498), 480, Fraction(1, 50))), 12)
    7.166647072802
    """
    first, last = drops[0] + 1, n_records - drops[1]
    width, j = last - first + 1, rank_below

    def beyond(distance: int) -> float:
        grown = exp_bounds(smoothing * distance).upper if distance * smoothing < 700 else math.inf
        return width if distance == 0 else math.nextafter(width * grown, math.inf)

    up = float(max(last - j, 0)) if j >= first else beyond(first - j - 1)
    down = float(max(j + 1 - first, 0)) if j + 1 <= last else beyond(j - last)
    return Excess(float(up), float(down))
