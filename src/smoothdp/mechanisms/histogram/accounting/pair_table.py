"""delta of a histogram of three or more categories, for every pair of two smallest counts.

D(A, B; rest) = sum over (i, j) of P(i, j) (1 - e^epsilon u_i v_j)_+ , where the probability is
a product of three factors (see `plane_laws`) and the inverse likelihood ratio one of two:

    without replacement  u_i = (A - i) / A,        v_j = (B + 1) / (B + 1 - j)
    with replacement     u_i = ((A - 1) / A)^i,    v_j = ((B + 1) / B)^j

(proofs/two-smallest#2). All B beside one A are summed at once. One pass gives every
database of n records.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

import numpy as np

from smoothdp.exact.balls.balls import exp_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import LogRatio, Real, float_of
from smoothdp.exact.probabilities.windows import log_binomial_pmf, log_poisson_pmf
from smoothdp.mechanisms.sampling.draws import Draws
from smoothdp.types import FloatArray, IntArray

_CELLS = 1 << 17
_SMALLEST = 1e-38
"""Probabilities below this number are left out, and their sum is added to the upper bounds."""


class PairTable:
    """Bounds of delta by the two smallest counts, as floats.

    Args:
        draws: the sample; without replacement at least one record is left out.
        epsilon: >= 0, exact.

    ``lower[c, d]`` and ``upper[c, d]`` hold for 0 <= c <= d, c + 2 d <= n_records.
    """

    def __init__(self, draws: Draws, epsilon: Real) -> None:
        self.draws = draws
        self.growth = exp_bounds(_within_reach(epsilon, draws))
        self.lower, self.upper = self._table()

    @cached_property
    def factors(self) -> tuple[FloatArray, float]:
        """P(k) of a category with c records, as rows c, and the relative error."""
        n, t = self.draws.n_records, self.draws.n_draws
        size = t + 1 if self.draws.replacing else min(n, t) + 1
        k = np.arange(size)
        table = np.zeros((n + 1, size))
        worst = 0.0
        for count in range(n + 1):
            if self.draws.replacing:
                window = log_poisson_pmf(k, Fraction(t * count, n))
            else:
                window = log_binomial_pmf(k, count, Fraction(t, n))
            table[count] = np.exp(window.log_values)
            is_kept = table[count] >= _SMALLEST
            worst = max(worst, float(window.error[is_kept].max(initial=0.0)))
        return table, worst + LIBM_ERROR

    def _table(self) -> tuple[FloatArray, FloatArray]:
        n = self.draws.n_records
        half = n // 2
        cap = self.draws.log_inclusion().linear()
        lower, upper = (np.full((half + 2, half + 2), bound) for bound in cap)
        # D(A, B) for the ordered pairs that `worst_pairs` asks for.
        low, high = np.zeros((half + 2, half + 2)), np.zeros((half + 2, half + 2))
        for a in range(2, half + 2):
            # As the smaller count or one more; as the larger or one more.
            largest_b = (n - a + 1) // 2 if a <= n // 3 + 1 else 0
            largest_b = max(largest_b, min(a, n - 2 * a + 2))
            if largest_b >= 1:
                b = np.arange(1, largest_b + 1)
                low[a, b], high[a, b] = self._divergences(a, b)
        for c in range(2, n // 3 + 1):
            d = np.arange(c, (n - c) // 2 + 1)
            for table, source, most in ((lower, low, cap[0]), (upper, high, cap[1])):
                worst = np.maximum(source[c, d], source[d, c])
                worst = np.maximum(worst, source[d + 1, c - 1])
                worst = np.maximum(worst, source[c + 1, d - 1])
                table[c, d] = np.minimum(worst, most)
        return lower, upper

    def _divergences(self, a: int, b: IntArray) -> tuple[FloatArray, FloatArray]:
        """Bound D(a, b; rest) for one a and consecutive b."""
        factors, error = self.factors
        n, t = self.draws.n_records, self.draws.n_draws
        inside = np.flatnonzero(factors[a] >= _SMALLEST)
        u = self._u(a, inside)
        growth = self.growth.upper
        # v_j >= 1: rows with e^epsilon u_i >= 1 lie outside.
        keep = growth * u < 1
        i, u = inside[keep], u[keep]
        low, high = np.zeros(b.size), np.zeros(b.size)
        if i.size == 0:
            return low, high + self._left_out()
        # Rows kept hold at least what lies inside.
        mass = float(factors[a][i] @ factors[n - a][t - i]) * 1.01
        norm = float(factors[n, t])
        position = 0
        while position < b.size:
            columns = np.flatnonzero(factors[b[position]] >= _SMALLEST).size
            step = max(1, _CELLS // (i.size * columns))
            chosen = b[position : position + step]
            sums = self._block(a, i, u, chosen)
            # Three factors, three products and the sums, in relative terms; each weight is
            # off by a few units of 1.
            units = (16 + i.size + columns) * UNIT_ROUNDOFF + 4 * error
            loose = mass * (self._weight_units(u, chosen, columns) * UNIT_ROUNDOFF)
            high[position : position + step] = (sums + loose) / norm * (1 + units)
            low[position : position + step] = (sums - loose) / norm * (1 - units)
            position += step
        return np.maximum(low, 0.0), high + self._left_out()

    def _block(self, a: int, i: IntArray, u: FloatArray, b: IntArray) -> FloatArray:
        """Return the sums of probability times weight, times the norm."""
        factors, _ = self.factors
        n, t = self.draws.n_records, self.draws.n_draws
        columns = np.flatnonzero((factors[b] >= _SMALLEST).any(axis=0))
        j = np.arange(columns[0], columns[-1] + 1)
        at_b = factors[b][:, j]
        # rest(b, t - i - j), as a view with equal entries along i + j.
        totals = t - (int(i[0]) + int(j[0])) - np.arange(i.size + j.size - 1)
        at_rest = np.where(totals >= 0, factors[n - a - b][:, np.maximum(totals, 0)], 0.0)
        beside = np.lib.stride_tricks.sliding_window_view(at_rest, j.size, axis=1)
        inverse = (self.growth.upper * u)[None, :, None]
        weight = inverse * self._v(b, j)[:, None, :]
        np.subtract(1.0, weight, out=weight)
        np.maximum(weight, 0.0, out=weight)
        weight *= beside
        sums = np.matmul(weight, at_b[:, :, None])[:, :, 0] @ factors[a][i]
        return np.asarray(sums)

    def _u(self, a: int, i: IntArray) -> FloatArray:
        if self.draws.replacing:
            return np.asarray(np.exp(i * np.log1p(-1 / a)))
        return (a - i) / a

    def _v(self, b: IntArray, j: IntArray) -> FloatArray:
        if self.draws.replacing:
            return np.asarray(np.exp(j[None, :] * np.log1p(1 / b)[:, None]))
        after = b[:, None] + 1
        return np.asarray(after / np.maximum(after - j[None, :], 1))

    def _weight_units(self, u: FloatArray, b: IntArray, columns: int) -> float:
        """Bound the error of e^epsilon u_i v_j where it is below 1, in units of 2^-53."""
        if not self.draws.replacing:
            return 12.0
        # Powers as exponentials: the rounding of the exponent, and exp and ln.
        exponents = float(-np.log(u.min())) + columns / float(b.min())
        return 64.0 + 16.0 * exponents

    def _left_out(self) -> float:
        """Bound the probability of the outputs whose factors are below the smallest."""
        size = self.factors[0].shape[1]
        return 4.0 * int(size) * _SMALLEST / float(self.factors[0][-1, self.draws.n_draws])


def _within_reach(epsilon: Real, draws: Draws) -> Real:
    """Return epsilon, or a lower one that excludes all finite ratios, or all but e^-600 of them."""
    size = float_of(epsilon)
    if not draws.replacing and size > math.log(draws.n_records + 2) + 1:
        return LogRatio(Fraction(draws.n_records + 2))
    return Fraction(600) if size > 600 else epsilon
