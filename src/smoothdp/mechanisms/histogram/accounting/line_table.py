"""The divergence D(A, n - A) of two categories at many counts A at once.

What `hockey_stick` does for one database, in arrays: the boundary of the likelihood ratio
in twice the digits of a float, the first probability by Loader's method, the tail by exact
ratios, all positive. One pass costs microseconds per database.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.windows import LogWindow
from smoothdp.types import BoolArray, FloatArray, IntArray


def chernoff_exponent(
    n_trials: FloatArray | float, share: FloatArray, chance: FloatArray
) -> FloatArray:
    """Return e with P(K <= share n_trials) <= exp(-e), K ~ Bin(n_trials, chance), below truth.

    e = n_trials KL(share || chance) where share < chance, else 0. The arguments may carry a
    few roundings: share is raised and chance lowered by 1e-12 of themselves and of their
    complements, and e lowered by what its own arithmetic can be wrong by.
    """
    slip = 1e-12
    s = np.maximum(share + slip * np.maximum(share, 0.0) + 1e-15, 0.0)
    p = np.minimum(chance * (1 - slip), 1 - (1 - chance) * (1 + slip)) - 1e-15
    valid = (s < p) & (p > 0) & (p < 1) & (s < 1)
    s, p = np.where(valid, s, 0.25), np.where(valid, p, 0.5)
    gap = p - s
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(s > 0, s * np.log1p(-gap / p), 0.0)
        misses = (1 - s) * np.log1p(gap / (1 - p))
    # ln(s/p) = log1p(-gap/p) and ln((1-s)/(1-p)) = log1p(gap/(1-p)); they cancel to second
    # order in the gap.
    value = hits + misses - 1e-14 * (np.abs(hits) + np.abs(misses))
    exponents = np.asarray(n_trials * np.maximum(value, 0.0) * (1 - 1e-12))
    return np.where(valid, exponents, 0.0)


_CHUNK = 1 << 14
_CHECK_EVERY = 8
_REMAINDER = 2.0**-44
_RARE = -600.0


class LogArrays(NamedTuple):
    """Bounds of ln of many numbers: lower <= ln(truth) <= upper."""

    lower: FloatArray
    upper: FloatArray


class Start(NamedTuple):
    """Where the sum of each database begins, for the databases that have one.

    ``positions`` are those in the array of counts; ``first`` is the first output inside;
    ``gain`` and its error bound the gain at ``first``, ``slope`` is the step of the gain, in
    units in which the weight is `weight`.
    ``factors`` are whole numbers, as floats, that ratios and weights are made of.
    """

    positions: IntArray
    count_a: IntArray
    first: IntArray
    gain: FloatArray
    gain_error: FloatArray
    slope: FloatArray
    factors: FloatArray

    def take(self, keep: BoolArray) -> Start:
        """Return the chosen databases."""
        positions, count_a, first, gain, gain_error, slope, factors = self
        return Start(
            positions[keep],
            count_a[keep],
            first[keep],
            gain[keep],
            gain_error[keep],
            slope[keep],
            factors[:, keep],
        )


@dataclass(frozen=True)
class LineTable(ABC):
    """Databases of n_records in two categories, n_draws of them sampled, one epsilon."""

    n_records: int
    n_draws: int
    epsilon: Real
    sharp: ClassVar[bool]
    """Whether the error of a gain is below its rounding from the second output on."""

    @abstractmethod
    def starts(self, count_a: IntArray) -> Start:
        """Locate the first output that the neighbour makes less likely, for each count."""

    @abstractmethod
    def log_first(self, start: Start) -> LogWindow:
        """Return ln of the probability of the first output."""

    @abstractmethod
    def n_terms(self, start: Start) -> IntArray:
        """Return how many outputs lie at or beyond the first."""

    @abstractmethod
    def ratio(self, start: Start, d: int) -> FloatArray:
        """Return P(first + d + 1) / P(first + d), three roundings each."""

    @abstractmethod
    def weight(self, start: Start, gain: FloatArray, d: int) -> FloatArray:
        """Return 1 - e^epsilon / ratio at first + d, for a gain at first; 8 roundings."""

    @abstractmethod
    def log_chernoff(self, law: IntArray, boundary: IntArray) -> FloatArray:
        """Bound ln D(A) from above for every A between ``law`` and ``boundary``.

        Either may be the smaller one; equal arrays bound each A alone.
        """

    @abstractmethod
    def weight_growth(self, start: Start) -> FloatArray:
        """Bound weight(d + 1) - weight(d), for every d, from above."""

    def divergences(self, count_a: IntArray) -> LogArrays:
        """Bound ln D(A, n - A) for each A in 2..n - 1."""
        lower = np.full(count_a.shape, -np.inf)
        upper = np.full(count_a.shape, -np.inf)
        for begin in range(0, count_a.size, _CHUNK):
            chunk = slice(begin, begin + _CHUNK)
            start = self.starts(count_a[chunk])
            if start.positions.size:
                logs = self.log_first(start)
                # From an output this rare upwards, sums of ratios would overflow.
                far = (logs.log_values < _RARE) & (self.ratio(start, 0) > 1)
                for position in start.positions[far].tolist():
                    lower[begin + position], upper[begin + position] = self.one_divergence(
                        int(count_a[begin + position])
                    )
                start, near = start.take(~far), logs.log_values[~far]
                low, high = self._sums(start)
                error = logs.error[~far]
                lower[chunk][start.positions] = (near - error) + low
                upper[chunk][start.positions] = (near + error) + high
        return LogArrays(_outwards(lower, -1), np.minimum(_outwards(upper, 1), 0.0))

    @abstractmethod
    def one_divergence(self, count_a: int) -> LogBounds:
        """Bound ln D(A, n - A) of one database, by the route that starts anywhere."""

    def one_term_upper(self, count_a: IntArray) -> FloatArray:
        """Bound ln D(A, n - A) from above by its first term and a geometric series.

        The ratios of a log-concave law fall, so P(first + d) <= P(first) r^d.
        """
        upper = np.full(count_a.shape, -np.inf)
        for begin in range(0, count_a.size, _CHUNK):
            chunk = slice(begin, begin + _CHUNK)
            start = self.starts(count_a[chunk])
            if start.positions.size == 0:
                continue
            logs = self.log_first(start)
            first_weight = self.weight(start, start.gain + start.gain_error, 0)
            total = first_weight + self._tail(start, first_weight, 0)
            with np.errstate(divide="ignore"):
                value = logs.log_values + logs.error + np.log(total * (1 + 1e-13))
            upper[chunk][start.positions] = value
        return np.minimum(_outwards(upper, 1), 0.0)

    def _tail(self, start: Start, weight: FloatArray, d: int) -> FloatArray:
        """Bound the terms beyond d, over P(first + d)."""
        ratio = np.where(self.n_terms(start) > d + 1, self.ratio(start, d) * (1 + 1e-14), 0.0)
        geometric = np.where(ratio < 1, ratio / np.maximum(1 - ratio, 2.0**-40), np.inf)
        return np.asarray(
            geometric * weight + self.weight_growth(start) * geometric * (1 + geometric)
        )

    def _sums(self, start: Start) -> tuple[FloatArray, FloatArray]:
        """Return ln of lower and upper bounds of the sums, over the first probability."""
        n = start.positions.size
        lower, upper = np.zeros(n), np.zeros(n)
        alive = np.arange(n)
        current = start
        products = np.ones(n)
        totals_low, totals = np.zeros(n), np.zeros(n)
        d = 0
        while alive.size:
            weights = self.weight(current, current.gain + current.gain_error, d)
            term = products * weights
            totals += term
            if d == 0 or not self.sharp:
                low = self.weight(current, current.gain - current.gain_error, d)
                term = products * np.maximum(low, 0.0)
            totals_low += term
            if d % _CHECK_EVERY == 0 or d < 4:
                tails = products * self._tail(current, weights, d)
                converged = tails <= _REMAINDER * totals
                if converged.any():
                    units = (5.0 * (d + 1) + 32.0) * UNIT_ROUNDOFF
                    finished = alive[converged]
                    # Products that underflow are below 1e-300; weights are at most 1.
                    upper[finished] = (totals[converged] + tails[converged]) * (
                        1 + units
                    ) + 1e-300 * (d + 1)
                    lower[finished] = totals_low[converged] * (1 - units)
                    keep = ~converged
                    alive, products = alive[keep], products[keep]
                    totals, totals_low = totals[keep], totals_low[keep]
                    current = current.take(keep)
            # Beyond the last output the ratio is 0, because one of its factors is.
            products = products * self.ratio(current, d)
            d += 1
        with np.errstate(divide="ignore"):
            return np.log(lower), np.log(upper)


def _outwards(logs: FloatArray, direction: int) -> FloatArray:
    """Move logarithms by the error of one ln and one addition."""
    with np.errstate(invalid="ignore"):
        moved = logs + direction * (LIBM_ERROR * 2) * (np.abs(logs) + 64.0)
    return np.where(np.isfinite(logs), moved, logs)
