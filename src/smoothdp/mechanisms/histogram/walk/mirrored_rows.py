"""Rows with replacement, where the smaller count is that of b: all numbers are negative.

The draws of b are few where the neighbour is less likely: a lower tail. With i and j put for
minus the draws of b and of a it becomes an upper tail, and the boundary keeps its form
(proofs/boundary-walk#6).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.probabilities.real_points import (
    ScaledPoint,
    log_multinomial_joint,
    scaled_binomial,
)
from smoothdp.mechanisms.histogram.walk.boundary import NEAR_ZERO, ONE
from smoothdp.mechanisms.histogram.walk.row_law import RowLaw, Shape, Steps, log_binomial
from smoothdp.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class MirroredRows(RowLaw):
    """-j ~ Bin(draws, beside / n), and given j, -i ~ Bin(draws + j, marked / (marked + rest)).

    The weight of i is 1 - e^(-c (i - kappa)) with c = ln((marked + 1) / marked).

    Args:
        marked, beside, rest, draws: at least 1.
    """

    marked: int
    beside: int
    rest: int
    draws: int

    @property
    def inner(self) -> int:
        return 1

    @property
    def slope(self) -> float:
        return math.log1p(1 / self.marked) * (1 + 1e-14)

    @property
    def rows(self) -> tuple[int, int]:
        return -self.draws, 0

    @property
    def certain(self) -> tuple[int, int] | None:
        return None

    def ends(self, j: int) -> tuple[int, int]:
        return -self.draws - j, 0

    def point(self, j: int, i: int) -> ScaledPoint:
        return scaled_binomial(-i, self.draws + j, self.marked, self.rest)

    def marginal(self, j: int) -> ScaledPoint:
        return scaled_binomial(-j, self.draws, self.beside, self.marked + self.rest)

    def marginal_falls(self, j: int) -> float:
        return (self.draws + j) / (1 - j) * (self.beside / (self.marked + self.rest))

    def log_joint(self, j: int, units: int) -> LogBounds:
        return log_multinomial_joint(-units, -j, (self.marked, self.beside, self.rest), self.draws)

    def ratio_below(self, j: int, units: int) -> float:
        after = ONE - units
        free = (self.draws + j) * ONE + units
        if min(after, free) < NEAR_ZERO:
            return math.inf
        return (after / free) * (self.rest / self.marked)

    def ratio_up(self, j: int, i: int) -> Callable[[FloatArray], FloatArray]:
        at, free, odds = float(-i), float(self.draws + j + i + 1), self.rest / self.marked

        def ratio(d: FloatArray) -> FloatArray:
            return (at - d) / (free + d) * odds

        return ratio

    def ratio_down(self, j: int, i: int) -> Callable[[FloatArray], FloatArray]:
        free, after, odds = float(self.draws + j + i), float(1 - i), self.marked / self.rest

        def ratio(d: FloatArray) -> FloatArray:
            return (free - d) / (after + d) * odds

        return ratio

    def steps(self, top: int, outside: FloatArray, falls: BoolArray) -> Steps:
        size = falls.size
        at = np.arange(size, dtype=np.float64)
        left = float(self.draws + top) - at
        k = -1.0 - outside[:-1]
        # Where k is above all draws, the whole row is inside: p is and stays 0.
        free = np.maximum(left - k, 0.0)
        # The last row has no draw left, and no step leads on from it.
        left = np.maximum(left, 1.0)
        total = self.marked + self.rest
        same = free / left * (total / self.rest)
        down = np.maximum(free - 1.0, 0.0) / (k + 1.0) * (self.marked / self.rest)
        marginal = left / (at + float(1 - top)) * (self.beside / total)
        kept, fallen = total / (total + 1), self.marked / (self.marked + 1)
        norm = np.ones(size + 1)
        np.cumprod(np.where(falls, kept * fallen, kept), out=norm[1:])
        mid = np.where(falls, fallen / (total + 1), 1 / (total + 1))
        new = np.where(falls, 1 / (self.marked + 1), 0.0)
        return Steps(same, k / left, down, np.zeros(size), mid, norm, marginal, new)

    def norm_error(self, size: int) -> float:
        return 5.0 * size * UNIT_ROUNDOFF

    def log_tail(self, gap: float) -> float:
        # A weight is at most the slope times i - kappa, and at most 1.
        return -math.log(gap) + min(0.0, math.log(self.slope) - math.log(gap))

    def gain(self, beyond: FloatArray) -> FloatArray:
        return -np.expm1(-math.log1p(1 / self.marked) * beyond)

    def weights(self, part: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        lost = np.expm1(-math.log1p(1 / self.marked) * part)
        return -lost, 1.0 + lost

    def shape(self, j: int, kappa: float) -> Shape:
        total = self.marked + self.rest
        left, share = self.draws + j, self.marked / total
        at_j = log_binomial(-j, self.draws, self.beside / (total + self.beside))
        mean = left * share
        deviation = math.sqrt(mean * (1 - share))
        return Shape(at_j + log_binomial(-kappa, left, share), at_j, -mean, deviation)
