"""The joint law of two sampled counts i and j beside a rest, as a product of tables.

P(i, j) = table_a(i) table_b(j) table_rest(n_draws - i - j) / norm, where the tables are
binomial (without replacement) or Poisson (with replacement) probabilities: all of them
are near their modes where it matters, so nothing cancels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.windows import LogWindow, log_binomial_pmf, log_poisson_pmf
from smoothdp.mechanisms.histogram.accounting.half_plane import (
    HalfPlane,
    hypergeometric_half_plane,
    multinomial_half_plane,
)
from smoothdp.mechanisms.histogram.accounting.line import BinomialLine, HypergeometricLine, Line
from smoothdp.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class PlaneLaw(ABC):
    """Law of (i, j) when n_draws are drawn from count_a + count_b + rest records."""

    count_a: int
    count_b: int
    rest: int
    n_draws: int

    @abstractmethod
    def support(self, j: int) -> tuple[int, int]:
        """Return the least and greatest possible i beside j."""

    @abstractmethod
    def marginal_b(self) -> Line:
        """Return the law of j."""

    @abstractmethod
    def law_of_a(self, j: int) -> Line:
        """Return the law of i given j."""

    @abstractmethod
    def table(self, k: IntArray, count: int) -> LogWindow:
        """Return ln of the factor of a category with ``count`` records, k of them sampled."""

    @abstractmethod
    def norm(self) -> LogWindow:
        """Return ln of the constant that the product of the factors is divided by."""

    @abstractmethod
    def ratio(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return P(i + 1, j) / P(i, j), four roundings."""

    @abstractmethod
    def curvature(self, i: IntArray, j: IntArray) -> FloatArray:
        """Return about by how much ln of the ratio falls from i to i + 1."""

    @abstractmethod
    def half_plane(self, epsilon: Real, bits: int) -> HalfPlane:
        """Return the outputs that the neighbour makes less likely."""

    @abstractmethod
    def weight(self, plane: HalfPlane, steps: FloatArray, j: IntArray) -> FloatArray:
        """Return 1 - e^epsilon / ratio where the gain is ``steps`` slopes, a row per j."""


@dataclass(frozen=True, slots=True)
class HypergeometricPlane(PlaneLaw):
    """Sampling without replacement."""

    def support(self, j: int) -> tuple[int, int]:
        return max(0, self.n_draws - j - self.rest), min(self.count_a, self.n_draws - j)

    def marginal_b(self) -> Line:
        return HypergeometricLine(self.count_b, self.count_a + self.rest, self.n_draws)

    def law_of_a(self, j: int) -> Line:
        return HypergeometricLine(self.count_a, self.rest, self.n_draws - j)

    def _rate(self) -> Fraction:
        return Fraction(self.n_draws, self.count_a + self.count_b + self.rest)

    def table(self, k: IntArray, count: int) -> LogWindow:
        return log_binomial_pmf(k, count, self._rate())

    def norm(self) -> LogWindow:
        total = self.count_a + self.count_b + self.rest
        return log_binomial_pmf(np.array([self.n_draws]), total, self._rate())

    def ratio(self, i: IntArray, j: IntArray) -> FloatArray:
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
class MultinomialPlane(PlaneLaw):
    """Sampling with replacement; count_a >= 2, count_b >= 1 and rest >= 1."""

    def support(self, j: int) -> tuple[int, int]:
        return 0, self.n_draws - j

    def marginal_b(self) -> Line:
        return BinomialLine(self.count_b, self.count_a + self.rest, self.n_draws)

    def law_of_a(self, j: int) -> Line:
        return BinomialLine(self.count_a, self.rest, self.n_draws - j)

    def _mean(self, count: int) -> Fraction:
        return Fraction(self.n_draws * count, self.count_a + self.count_b + self.rest)

    def table(self, k: IntArray, count: int) -> LogWindow:
        return log_poisson_pmf(k, self._mean(count))

    def norm(self) -> LogWindow:
        return log_poisson_pmf(np.array([self.n_draws]), Fraction(self.n_draws))

    def ratio(self, i: IntArray, j: IntArray) -> FloatArray:
        return (self.n_draws - i - j) / (i + 1.0) * (self.count_a / self.rest)

    def curvature(self, i: IntArray, j: IntArray) -> FloatArray:
        return np.asarray(1 / (self.n_draws - i - j + 1) + 1 / (i + 1))

    def half_plane(self, epsilon: Real, bits: int) -> HalfPlane:
        return multinomial_half_plane(self.count_a, self.count_b, epsilon, bits, self.n_draws)

    def weight(self, plane: HalfPlane, steps: FloatArray, j: IntArray) -> FloatArray:
        """Return -expm1(-gain), where gain = steps * slope."""
        del j  # the same in every row
        return -np.expm1(steps * -(plane.slope_a / plane.scale))
