"""Many databases of two categories, sampled with replacement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.probabilities.array_pmf import log_binomial_points
from smoothdp.exact.probabilities.windows import LogWindow
from smoothdp.mechanisms.histogram.accounting.hockey_stick import multinomial_line_divergence
from smoothdp.mechanisms.histogram.accounting.line_table import LineTable, Start, chernoff_exponent
from smoothdp.types import FloatArray, IntArray


@dataclass(frozen=True)
class BinomialTable(LineTable):
    """D(A, n - A) with replacement, for 2 <= A <= n - 1; n_draws < 2^31."""

    sharp: ClassVar[bool] = False

    @cached_property
    def target(self) -> tuple[float, float]:
        """A float near epsilon, and how far the float may lie from epsilon."""
        low, high = real_bounds(self.epsilon)
        return low, high - low

    def _slopes(self, count_a: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ln(A / (A - 1)) and ln((B + 1) / B), for B = n - A."""
        return np.log1p(1 / (count_a - 1)), np.log1p(1 / (self.n_records - count_a))

    def starts(self, count_a: IntArray) -> Start:
        """Solve k ln(A/(A-1)) - (T - k) ln((B+1)/B) > epsilon for k (proofs/two-smallest#2)."""
        rise, fall = self._slopes(count_a.astype(np.float64))
        target, doubt = self.target
        slope = rise + fall
        level = target + self.n_draws * fall
        first = np.floor(level / slope).astype(np.int64) + 1
        # The boundary carries the error of two logarithms; near a whole number it may be
        # one too late, so start one earlier wherever the gain there could be positive.
        error = (LIBM_ERROR + 4 * UNIT_ROUNDOFF) * (first * slope + level) + doubt
        earlier = (first - 1) * slope - level > -error
        first = np.maximum(np.where(earlier, first - 1, first), 0)
        has_outputs = first <= self.n_draws
        positions = np.flatnonzero(has_outputs)
        gain = (first * slope - level)[has_outputs]
        first, chosen = first[has_outputs], count_a[has_outputs]
        odds = chosen / (self.n_records - chosen).astype(np.float64)
        factors = np.array([self.n_draws - first, first + 1.0, odds])
        return Start(
            positions, chosen, first, gain, error[has_outputs], slope[has_outputs], factors
        )

    def one_divergence(self, count_a: int) -> LogBounds:
        return multinomial_line_divergence(
            count_a, self.n_records - count_a, self.n_draws, self.epsilon
        )

    def log_first(self, start: Start) -> LogWindow:
        return log_binomial_points(start.first, self.n_draws, start.count_a, self.n_records)

    def n_terms(self, start: Start) -> IntArray:
        return self.n_draws - start.first + 1

    def ratio(self, start: Start, d: int) -> FloatArray:
        left, after, odds = start.factors
        return np.asarray(np.maximum(left - d, 0.0) / (after + d) * odds)

    def weight(self, start: Start, gain: FloatArray, d: int) -> FloatArray:
        return -np.expm1(-(gain + d * start.slope))

    def weight_growth(self, start: Start) -> FloatArray:
        return np.asarray(start.slope * (1 + 1e-14))

    def log_chernoff(self, law: IntArray, boundary: IntArray) -> FloatArray:
        """Bound the probability that at least x of the draws are of category a.

        x solves gain = 0. The draws of category a grow with A, so the greatest A gives the
        law; x is bounded from below over the range.
        """
        low = np.minimum(law, boundary).astype(np.float64)
        high = np.maximum(law, boundary).astype(np.float64)
        n, draws = self.n_records, self.n_draws
        # A gain is k rise - (T - k) fall - epsilon. Over the range rise is largest at the
        # lowest A and fall is least there, so the gain's upper bound vanishes at:
        rise, fall = self._slopes(low)
        x = (self.target[0] + draws * fall) / (rise + fall)
        return -chernoff_exponent(float(draws), 1 - x / draws, 1 - high / n)
