"""Rows without replacement: ``drawn`` records from marked + beside + rest, i marked, j beside.

(proofs/boundary-walk#2, #3)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.probabilities.real_points import (
    ScaledPoint,
    log_hypergeometric_joint,
    scaled_hypergeometric,
)
from smoothdp.mechanisms.histogram.walk.boundary import NEAR_ZERO, ONE
from smoothdp.mechanisms.histogram.walk.row_law import RowLaw, Shape, Steps, log_binomial
from smoothdp.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class HypergeometricRows(RowLaw):
    """Given j, i is the marked number among drawn - j records from marked + rest.

    Args:
        marked, beside, rest: counts; drawn: 1 <= drawn < marked + beside + rest.
    """

    marked: int
    beside: int
    rest: int
    drawn: int

    @property
    def others(self) -> int:
        """The records that are not counted by j."""
        return self.marked + self.rest

    @property
    def rows(self) -> tuple[int, int]:
        # On the row drawn - others everything is drawn: a step to it would divide 0 by 0.
        return max(0, self.drawn - self.others + 1), min(self.beside, self.drawn)

    @property
    def certain(self) -> tuple[int, int] | None:
        lowest = self.drawn - self.others
        return (lowest, self.marked) if lowest >= 0 else None

    def ends(self, j: int) -> tuple[int, int]:
        left = self.drawn - j
        return max(0, left - self.rest), min(self.marked, left)

    def point(self, j: int, i: int) -> ScaledPoint:
        return scaled_hypergeometric(i, self.drawn - j, self.marked, self.rest)

    def marginal(self, j: int) -> ScaledPoint:
        return scaled_hypergeometric(j, self.drawn, self.beside, self.others)

    def marginal_falls(self, j: int) -> float:
        left = self.drawn - j
        return j * (self.others - left) / ((self.beside - j + 1) * (left + 1))

    def log_joint(self, j: int, units: int) -> LogBounds:
        return log_hypergeometric_joint(units, j, (self.marked, self.beside, self.rest), self.drawn)

    def ratio_below(self, j: int, units: int) -> float:
        left = self.drawn - j
        kept = (self.marked + 1) * ONE - units
        free = (left + 1) * ONE - units
        beyond = (self.rest - left) * ONE + units
        if min(units, kept, free, beyond) < NEAR_ZERO:
            return math.inf
        return (kept / units) * (free / beyond)

    def ratio_up(self, j: int, i: int) -> Callable[[FloatArray], FloatArray]:
        left = self.drawn - j
        kept, free = float(self.marked - i), float(left - i)
        after, beyond = float(i + 1), float(self.rest - left + i + 1)

        def ratio(d: FloatArray) -> FloatArray:
            return ((kept - d) * (free - d)) / ((after + d) * (beyond + d))

        return ratio

    def ratio_down(self, j: int, i: int) -> Callable[[FloatArray], FloatArray]:
        left = self.drawn - j
        kept, free = float(self.marked - i + 1), float(left - i + 1)
        at, beyond = float(i), float(self.rest - left + i)

        def ratio(d: FloatArray) -> FloatArray:
            return ((at - d) * (beyond - d)) / ((kept + d) * (free + d))

        return ratio

    def steps(self, top: int, outside: FloatArray, falls: BoolArray) -> Steps:
        size = falls.size
        at = np.arange(size + 1, dtype=np.float64)
        norm = float(self.others - self.drawn + top) - at
        here = norm[:-1]
        left = float(self.drawn - top) + at[:-1]
        c = outside[:-1]
        # Where the whole row is inside, c lies below the support: p is and stays 0.
        room = np.maximum(float(self.rest) - left + c, 0.0)
        free = left - c + 1.0
        kept = float(self.marked) - c
        drawn = left + 1.0
        same = (drawn * room) / (free * here)
        down = (c * np.maximum(room - 1.0, 0.0)) / ((kept + 1.0) * (free + 1.0))
        j = float(top) - at[:-1]
        marginal = (j * here) / ((float(self.beside) - j + 1.0) * drawn)
        return Steps(same, kept / here, down, (kept - 1.0) / here, falls.astype(np.float64),
                     norm, marginal)  # fmt: skip

    def gain(self, beyond: FloatArray) -> FloatArray:
        return beyond

    def weights(self, part: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        return part, 1.0

    def shape(self, j: int, kappa: float) -> Shape:
        left = self.drawn - j
        total = self.others + self.beside
        share = self.drawn / total
        at_j = log_binomial(j, self.beside, share) - _log_drawn(self.drawn, total)
        joint = at_j + log_binomial(kappa, self.marked, share)
        joint += log_binomial(left - kappa, self.rest, share)
        mean = left * self.marked / self.others
        spread = mean * (self.rest / self.others) * (self.others - left)
        deviation = math.sqrt(max(spread, 0.0) / max(self.others - 1, 1))
        return Shape(joint, at_j + log_binomial(left, self.others, share), mean, deviation)


@lru_cache(maxsize=256)
def _log_drawn(drawn: int, total: int) -> float:
    """Return about ln P(drawn) of Bin(total, drawn / total): the same on all rows."""
    return log_binomial(drawn, total, drawn / total)
