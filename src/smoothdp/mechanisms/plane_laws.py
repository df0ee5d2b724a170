"""The joint law of two sampled counts i and j beside a rest, as a product of tables.

P(i, j) = table_a(i) table_b(j) table_rest(n_draws - i - j) / norm, where the tables are
binomial (without replacement) or Poisson (with replacement) probabilities: all of them
are near their modes where it matters, so nothing cancels.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.binomial import log_binomial_pmf
from smoothdp.exact.logwindow import LogWindow
from smoothdp.exact.parameters import Real
from smoothdp.exact.poisson import log_poisson_pmf
from smoothdp.mechanisms.half_plane import (
    HalfPlane,
    hypergeometric_half_plane,
    multinomial_half_plane,
)
from smoothdp.mechanisms.line import BinomialLine, HypergeometricLine, Line

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class PlaneLaw(Protocol):
    """Law of (i, j) when n_draws are drawn from count_a + count_b + rest records."""

    count_a: int
    count_b: int
    rest: int
    n_draws: int

    def support(self, j: int) -> tuple[int, int]: ...
    def marginal_b(self) -> Line: ...
    def given_b(self, j: int) -> Line: ...
    def table_a(self, i: IntArray) -> LogWindow: ...
    def table_b(self, j: IntArray) -> LogWindow: ...
    def table_rest(self, k: IntArray) -> LogWindow: ...
    def norm(self) -> LogWindow: ...
    def ratio(self, i: IntArray, j: IntArray) -> FloatArray: ...
    def curvature(self, i: IntArray, j: IntArray) -> FloatArray: ...
    def half_plane(self, epsilon: Real, bits: int) -> HalfPlane: ...
    def weight(self, plane: HalfPlane, steps: FloatArray, j: IntArray) -> FloatArray: ...


@dataclass(frozen=True, slots=True)
class HypergeometricPlane:
    """Sampling without replacement."""

    count_a: int
    count_b: int
    rest: int
    n_draws: int

    def support(self, j: int) -> tuple[int, int]:
        return max(0, self.n_draws - j - self.rest), min(self.count_a, self.n_draws - j)

    def marginal_b(self) -> Line:
        return HypergeometricLine(self.count_b, self.count_a + self.rest, self.n_draws)

    def given_b(self, j: int) -> Line:
        return HypergeometricLine(self.count_a, self.rest, self.n_draws - j)

    def _rate(self) -> Fraction:
        return Fraction(self.n_draws, self.count_a + self.count_b + self.rest)

    def table_a(self, i: IntArray) -> LogWindow:
        return log_binomial_pmf(i, self.count_a, self._rate())

    def table_b(self, j: IntArray) -> LogWindow:
        return log_binomial_pmf(j, self.count_b, self._rate())

    def table_rest(self, k: IntArray) -> LogWindow:
        return log_binomial_pmf(k, self.rest, self._rate())

    def norm(self) -> LogWindow:
        total = self.count_a + self.count_b + self.rest
        return log_binomial_pmf(np.array([self.n_draws]), total, self._rate())

    def ratio(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return P(i + 1, j) / P(i, j), four roundings."""
        left = self.n_draws - i - j
        above = (self.count_a - i) * left.astype(np.float64)
        return above / ((i + 1) * (self.rest - left + 1).astype(np.float64))

    def curvature(self, i: IntArray, j: IntArray) -> FloatArray:
        left = self.n_draws - i - j
        sides = 1 / (self.count_a - i + 1) + 1 / (left + 1)
        return np.asarray(sides + 1 / (i + 1) + 1 / (self.rest - left + 1))

    def half_plane(self, epsilon: Real, bits: int) -> HalfPlane:
        return hypergeometric_half_plane(self.count_a, self.count_b, epsilon, bits)

    def weight(self, plane: HalfPlane, steps: FloatArray, j: IntArray) -> FloatArray:
        """Return gain / [count_a (count_b + 1 - j)], where gain = steps * slope."""
        slope = plane.slope_a / (plane.scale * self.count_a)
        return steps * (slope / (self.count_b + 1 - j))[:, None]


@dataclass(frozen=True, slots=True)
class MultinomialPlane:
    """Sampling with replacement; count_a >= 2, count_b >= 1 and rest >= 1."""

    count_a: int
    count_b: int
    rest: int
    n_draws: int

    def support(self, j: int) -> tuple[int, int]:
        return 0, self.n_draws - j

    def marginal_b(self) -> Line:
        return BinomialLine(self.count_b, self.count_a + self.rest, self.n_draws)

    def given_b(self, j: int) -> Line:
        return BinomialLine(self.count_a, self.rest, self.n_draws - j)

    def _mean(self, count: int) -> Fraction:
        return Fraction(self.n_draws * count, self.count_a + self.count_b + self.rest)

    def table_a(self, i: IntArray) -> LogWindow:
        return log_poisson_pmf(i, self._mean(self.count_a))

    def table_b(self, j: IntArray) -> LogWindow:
        return log_poisson_pmf(j, self._mean(self.count_b))

    def table_rest(self, k: IntArray) -> LogWindow:
        return log_poisson_pmf(k, self._mean(self.rest))

    def norm(self) -> LogWindow:
        return log_poisson_pmf(np.array([self.n_draws]), Fraction(self.n_draws))

    def ratio(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return P(i + 1, j) / P(i, j), four roundings."""
        return (self.n_draws - i - j) / (i + 1.0) * (self.count_a / self.rest)

    def curvature(self, i: IntArray, j: IntArray) -> FloatArray:
        return np.asarray(1 / (self.n_draws - i - j + 1) + 1 / (i + 1))

    def half_plane(self, epsilon: Real, bits: int) -> HalfPlane:
        return multinomial_half_plane(self.count_a, self.count_b, epsilon, bits, self.n_draws)

    def weight(self, plane: HalfPlane, steps: FloatArray, j: IntArray) -> FloatArray:
        """Return -expm1(-gain), where gain = steps * slope."""
        return -np.expm1(steps * -(plane.slope_a / plane.scale))
