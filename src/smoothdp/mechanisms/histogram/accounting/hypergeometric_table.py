"""Many databases of two categories, sampled without replacement."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from smoothdp.exact.balls.balls import expm1_fixed
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.double_double import (
    exact_product,
    exact_sum,
    split_integers,
    split_rational,
)
from smoothdp.exact.parameters.numbers import LogRatio, Real, float_of
from smoothdp.exact.probabilities.array_pmf import log_hypergeometric_points
from smoothdp.exact.probabilities.windows import LogWindow
from smoothdp.mechanisms.histogram.accounting.hockey_stick import hypergeometric_line_divergence
from smoothdp.mechanisms.histogram.accounting.line_table import LineTable, Start, chernoff_exponent
from smoothdp.types import FloatArray, IntArray

_BITS = 160


@dataclass(frozen=True)
class HypergeometricTable(LineTable):
    """D(A, n - A) without replacement; 0 < n_draws < n_records < 2^31."""

    sharp: ClassVar[bool] = True

    @cached_property
    def excess(self) -> tuple[float, float]:
        """e^epsilon - 1 as two floats, to a relative 2^-104."""
        epsilon: Real = self.epsilon
        largest = LogRatio(Fraction(self.n_records + 2))
        if float_of(epsilon) > math.log(self.n_records + 2) + 1:
            # No finite likelihood ratio exceeds n: only the infinite one counts.
            epsilon = largest
        below, _ = expm1_fixed(epsilon, _BITS)
        return split_rational(Fraction(below, 1 << _BITS))

    def starts(self, count_a: IntArray) -> Start:
        """Solve A (k - T) + k (B + 1) > (e^epsilon - 1) (A - k) (B + 1) for k
        (proofs/two-smallest#2)."""
        n, draws = self.n_records, self.n_draws
        after_b = n - count_a + 1
        excess, _ = self.excess
        lowest = np.maximum(0, draws - (after_b - 1))
        highest = np.minimum(count_a, draws)
        a, b = count_a.astype(np.float64), after_b.astype(np.float64)
        slope = a + (1 + excess) * b
        boundary = a * ((excess * b + draws) / slope)
        first = np.floor(boundary).astype(np.int64) + 1
        # The float boundary may be off by one: settle it by the sign of the exact gain.
        gain, error = self._gain(count_a, first - 1)
        first = np.where(gain > error, first - 1, first)
        gain, error = self._gain(count_a, first)
        first = np.where(gain < -error, first + 1, first)
        first = np.maximum(first, lowest)
        has_outputs = first <= highest
        positions = np.flatnonzero(has_outputs)
        count_a, first = count_a[has_outputs], first[has_outputs]
        gain, error = self._gain(count_a, first)
        a = a[has_outputs]
        left_draws = draws - first
        beside = n - count_a - left_draws + 1
        factors = np.array([count_a - first, left_draws, first + 1, beside], dtype=np.float64)
        return Start(
            positions, count_a, first, gain / a, error / a, slope[has_outputs] / a, factors
        )

    def _gain(self, count_a: IntArray, k: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the gain at k, two roundings beyond an absolute error that is returned."""
        after_b = self.n_records - count_a + 1
        product_sum, product_sum_low = split_integers(count_a * (k - self.n_draws) + k * after_b)
        factor, factor_low = split_integers((count_a - k) * after_b)
        excess, excess_low = self.excess
        product, product_low = exact_product(excess, factor)
        product_low = product_low + (excess * factor_low + excess_low * factor)
        gain, low = exact_sum(product_sum, -product)
        error = np.where(np.abs(factor) > 0, np.abs(product) * 2.0**-98, 0.0)
        return gain + (low + (product_sum_low - product_low)), error

    def one_divergence(self, count_a: int) -> LogBounds:
        return hypergeometric_line_divergence(
            count_a, self.n_records - count_a, self.n_draws, self.epsilon
        )

    def log_first(self, start: Start) -> LogWindow:
        return log_hypergeometric_points(start.first, start.count_a, self.n_draws, self.n_records)

    def n_terms(self, start: Start) -> IntArray:
        return np.minimum(start.count_a, self.n_draws) - start.first + 1

    def ratio(self, start: Start, d: int) -> FloatArray:
        left_a, left_draws, after, beside = start.factors
        above = np.maximum(left_a - d, 0.0) * np.maximum(left_draws - d, 0.0)
        return np.asarray(above / ((after + d) * (beside + d)))

    def weight(self, start: Start, gain: FloatArray, d: int) -> FloatArray:
        """Return gain / (B + 1 less the sampled records of category b)."""
        return np.asarray((gain + d * start.slope) / (start.factors[3] + d))

    def weight_growth(self, start: Start) -> FloatArray:
        return np.asarray(start.slope / start.factors[3])

    def log_chernoff(self, law: IntArray, boundary: IntArray) -> FloatArray:
        """Bound the probability that fewer than x of the lost records are of category a.

        x = A (L + 1) / (A + e^epsilon (B + 1)) is where the gain is 0; both x and the lost
        count grow with A, so the least A gives the law and the greatest the boundary. A
        hypergeometric tail is at most the Chernoff bound of the binomial with the same
        mean (Hoeffding 1963, section 6), in each of its four readings.
        """
        n, lost = self.n_records, self.n_records - self.n_draws
        low = np.minimum(law, boundary).astype(np.float64)
        high = np.maximum(law, boundary).astype(np.float64)
        growth = 1 + self.excess[0]
        x = high * ((lost + 1) / (high + growth * (n - high + 1)))
        b = n - low
        readings = (
            (float(lost), x / lost, low / n),
            (low, x / low, np.full_like(low, lost / n)),
            (float(self.n_draws), (b - lost + x) / self.n_draws, b / n),
            (b, 1 - (lost - x) / b, np.full_like(low, self.n_draws / n)),
        )
        return np.asarray(-np.max([chernoff_exponent(*reading) for reading in readings], axis=0))
