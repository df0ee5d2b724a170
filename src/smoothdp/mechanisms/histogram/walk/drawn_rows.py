"""Rows with replacement: ``draws`` draws, j of them beside, and i marked among the others.

(proofs/boundary-walk#6)
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
class DrawnRows(RowLaw):
    """j ~ Bin(draws, beside / n), and given j, i ~ Bin(draws - j, marked / (marked + rest)).

    The weight of i is 1 - e^(-c (i - kappa)) with c = ln(marked / (marked - 1)).

    Args:
        marked: at least 2; beside: at least 1; rest: at least 1; draws: at least 1.
    """

    marked: int
    beside: int
    rest: int
    draws: int

    @property
    def slope(self) -> float:
        return math.log1p(1 / (self.marked - 1)) * (1 + 1e-14)

    @property
    def rows(self) -> tuple[int, int]:
        return 0, self.draws

    @property
    def certain(self) -> tuple[int, int] | None:
        return None

    def ends(self, j: int) -> tuple[int, int]:
        return 0, self.draws - j

    def point(self, j: int, i: int) -> ScaledPoint:
        return scaled_binomial(i, self.draws - j, self.marked, self.rest)

    def marginal(self, j: int) -> ScaledPoint:
        return scaled_binomial(j, self.draws, self.beside, self.marked + self.rest)

    def marginal_falls(self, j: int) -> float:
        return j / (self.draws - j + 1) * ((self.marked + self.rest) / self.beside)

    def log_joint(self, j: int, units: int) -> LogBounds:
        return log_multinomial_joint(units, j, (self.marked, self.beside, self.rest), self.draws)

    def ratio_below(self, j: int, units: int) -> float:
        free = (self.draws - j + 1) * ONE - units
        if min(units, free) < NEAR_ZERO:
            return math.inf
        return (free / units) * (self.marked / self.rest)

    def ratio_up(self, j: int, i: int) -> Callable[[FloatArray], FloatArray]:
        free, after, odds = float(self.draws - j - i), float(i + 1), self.marked / self.rest

        def ratio(d: FloatArray) -> FloatArray:
            return (free - d) / (after + d) * odds

        return ratio

    def ratio_down(self, j: int, i: int) -> Callable[[FloatArray], FloatArray]:
        free, at, odds = float(self.draws - j - i + 1), float(i), self.rest / self.marked

        def ratio(d: FloatArray) -> FloatArray:
            return (at - d) / (free + d) * odds

        return ratio

    def steps(self, top: int, outside: FloatArray, falls: BoolArray) -> Steps:
        size = falls.size
        at = np.arange(size, dtype=np.float64)
        after = float(self.draws - top + 1) + at
        c = outside[:-1]
        total = self.marked + self.rest
        same = after / (after - c) * (self.rest / total)
        down = c / ((after + 1.0) - c) * (self.rest / self.marked)
        j = float(top) - at
        marginal = j / (float(self.draws + 1) - j) * (total / self.beside)
        # One more draw is marked with chance q; e^-c = (marked - 1) / marked.
        flat, fallen = (total - 1) / total, (self.marked - 1) / self.marked
        norm = np.ones(size + 1)
        np.cumprod(np.where(falls, flat * fallen, flat), out=norm[1:])
        return Steps(
            same,
            np.full(size, self.marked / total),
            down,
            np.where(falls, fallen / total, 1 / total),
            np.where(falls, 1 / self.marked, 0.0),
            norm,
            marginal,
        )

    def norm_error(self, size: int) -> float:
        return 5.0 * size * UNIT_ROUNDOFF

    def log_tail(self, gap: float) -> float:
        # A weight is at most the slope times i - kappa, and at most 1.
        return -math.log(gap) + min(0.0, math.log(self.slope) - math.log(gap))

    def gain(self, beyond: FloatArray) -> FloatArray:
        return -np.expm1(-math.log1p(1 / (self.marked - 1)) * beyond)

    def weights(self, part: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        lost = np.expm1(-math.log1p(1 / (self.marked - 1)) * part)
        return -lost, 1.0 + lost

    def shape(self, j: int, kappa: float) -> Shape:
        total = self.marked + self.rest
        left, share = self.draws - j, self.marked / total
        at_j = log_binomial(j, self.draws, self.beside / (total + self.beside))
        mean = left * share
        deviation = math.sqrt(mean * (1 - share))
        return Shape(at_j + log_binomial(kappa, left, share), at_j, mean, deviation)
