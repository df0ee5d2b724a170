"""Rows of records that are kept, or lost, independently: i and j do not depend on each other.

(proofs/boundary-walk#2, #3)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.probabilities.real_points import (
    ScaledPoint,
    log_binomial_pair,
    scaled_binomial,
)
from smoothdp.mechanisms.histogram.walk.boundary import NEAR_ZERO, ONE
from smoothdp.mechanisms.histogram.walk.row_law import RowLaw, Shape, Steps, log_binomial
from smoothdp.types import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class IndependentRows(RowLaw):
    """i ~ Bin(marked, p) and j ~ Bin(beside, p), with p = hit / (hit + miss) in (0, 1)."""

    marked: int
    beside: int
    hit: int
    miss: int

    @property
    def rows(self) -> tuple[int, int]:
        return 0, self.beside

    @property
    def certain(self) -> tuple[int, int] | None:
        return None

    def ends(self, j: int) -> tuple[int, int]:
        del j  # the same on every row
        return 0, self.marked

    def point(self, j: int, i: int) -> ScaledPoint:
        del j
        return scaled_binomial(i, self.marked, self.hit, self.miss)

    def marginal(self, j: int) -> ScaledPoint:
        return scaled_binomial(j, self.beside, self.hit, self.miss)

    def marginal_falls(self, j: int) -> float:
        return j / (self.beside - j + 1) * (self.miss / self.hit)

    def log_joint(self, j: int, units: int) -> LogBounds:
        first = (self.marked, self.hit, self.miss)
        return log_binomial_pair(units, j, first, (self.beside, self.hit, self.miss))

    def ratio_below(self, j: int, units: int) -> float:
        del j
        kept = (self.marked + 1) * ONE - units
        if min(units, kept) < NEAR_ZERO:
            return math.inf
        return (kept / units) * (self.hit / self.miss)

    def ratio_up(self, j: int, i: int) -> Callable[[FloatArray], FloatArray]:
        del j
        kept, after, odds = float(self.marked - i), float(i + 1), self.hit / self.miss

        def ratio(d: FloatArray) -> FloatArray:
            return (kept - d) / (after + d) * odds

        return ratio

    def ratio_down(self, j: int, i: int) -> Callable[[FloatArray], FloatArray]:
        del j
        kept, at, odds = float(self.marked - i + 1), float(i), self.miss / self.hit

        def ratio(d: FloatArray) -> FloatArray:
            return (at - d) / (kept + d) * odds

        return ratio

    def steps(self, top: int, outside: FloatArray, falls: BoolArray) -> Steps:
        size = falls.size
        ones, zeros = np.ones(size), np.zeros(size)
        c = outside[:-1]
        odds = self.miss / self.hit
        down = c / ((float(self.marked) + 1.0) - c) * odds
        j = float(top) - np.arange(size, dtype=np.float64)
        marginal = j / ((float(self.beside) + 1.0) - j) * odds
        norm = np.ones(size + 1)
        return Steps(ones, zeros, down, zeros, falls.astype(np.float64), norm, marginal)

    def gain(self, beyond: FloatArray) -> FloatArray:
        return beyond

    def weights(self, part: FloatArray) -> tuple[FloatArray, FloatArray | float]:
        return part, 1.0

    def shape(self, j: int, kappa: float) -> Shape:
        whole = self.hit + self.miss
        share, miss = self.hit / whole, self.miss / whole
        at_j = log_binomial(j, self.beside, share, miss)
        mean = self.marked * share
        deviation = math.sqrt(mean * miss)
        joint = at_j + log_binomial(kappa, self.marked, share, miss)
        return Shape(joint, at_j, mean, deviation)
