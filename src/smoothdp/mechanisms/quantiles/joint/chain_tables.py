"""Sums over all choices of cells for several quantiles, as logarithms in floats with a bound.

Points in cells c_1 <= ... <= c_m have the weight

    exp(-rate sum_j |c_(j+1) - c_j - n (q_(j+1) - q_j)|) prod over cells d^k / k!

(k points in a cell of length d; c_0 = 0, c_(m+1) = n, q_0 = 0, q_(m+1) = 1). A *run* is all points
of one cell. With F_l(i) the sum over c_1, ..., c_l = i where the run ends at l, and G_l(i) the sum
over c_1, ..., c_l with the step to a run that begins at l + 1 in cell i > c_l,

    F_l(i) = sum_k G_(l-k)(i) d_i^k / k! e^(-rate n (q_l - q_(l-k+1))),
    G_l(i) = sum over i' < i of F_l(i') e^(-rate |i - i' - n (q_(l+1) - q_l)|).

G is a running sum of falling exponentials beyond the tip of the kernel and a sliding one before
it: no FFT, O(1) an entry, all terms positive. Cells further than ``reach`` from n q_j are left out
for c_j; what is outside is at least 2 rate reach in the exponent (proofs/joint-quantiles#8, #9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from smoothdp.types import FloatArray

_ROUNDING = 2.0**-52
_ROOM = 64
"""An operation at magnitude v is wrong by at most 2^-52 (v + 64): exp and log1p within 4 ulp."""
_LARGEST_LOG = 750
"""Of the lengths of cells that floats can hold."""


@dataclass(frozen=True, eq=False)
class ChainTables:
    """F and G at one database, for cells within ``reach`` of their levels.

    Attributes:
        log_lengths: ln d_i, i = 0, ..., n; -inf for an empty cell.
        targets: n q_1, ..., n q_m.
        rate: lambda > 0 of the exponent.
        reach: how far c_j may be from n q_j.
    """

    log_lengths: FloatArray
    targets: tuple[Fraction, ...]
    rate: float
    reach: int

    @property
    def n_records(self) -> int:
        """n."""
        return len(self.log_lengths) - 1

    @property
    def n_levels(self) -> int:
        """m."""
        return len(self.targets)

    @property
    def is_whole(self) -> bool:
        """Whether no cell is left out."""
        return self.reach >= self.n_records

    @cached_property
    def bands(self) -> list[tuple[int, int]]:
        """The first and the last cell of each level j = 1, ..., m, at the places 0, ..., m - 1."""
        n = self.n_records
        return [
            (max(0, math.ceil(t) - self.reach), min(n, math.floor(t) + self.reach))
            for t in self.targets
        ]

    def gap(self, level: int) -> Fraction:
        """Return n (q_(l+1) - q_l) for l = 1, ..., m - 1."""
        return self.targets[level] - self.targets[level - 1]

    def end_cost(self, place: int) -> FloatArray:
        """Return rate |i - n q_j| over the band of a level, j = place + 1."""
        low, high = self.bands[place]
        whole = math.floor(self.targets[place])
        part = float(self.targets[place] - whole)
        found: FloatArray = self.rate * np.abs(np.arange(low - whole, high + 1 - whole) - part)
        return found

    def starts(self) -> FloatArray:
        """Return G_0: the first run, after c_0 = 0."""
        return -self.end_cost(0)

    @cached_property
    def tables(self) -> tuple[list[FloatArray], list[FloatArray]]:
        """(G_0, ..., G_(m-1)) and (F_1, ..., F_m), each over the band of its run's level."""
        g, f = [self.starts()], []
        for level in range(1, self.n_levels + 1):
            f.append(self._ends_at(level, g))
            if level < self.n_levels:
                g.append(self._steps_from(level, f[-1]))
        return g, f

    def run_log_weight(self, level: int, length: int) -> float:
        """Return -ln k! - rate n (q_l - q_(l-k+1)) of a run of k points that ends at level l."""
        span = self.targets[level - 1] - self.targets[level - length]
        return -math.log(math.factorial(length)) - self.rate * float(span)

    def longest_run(self, level: int) -> int:
        """Return how many points a run that ends at a level may have: its bands must meet."""
        low = self.bands[level - 1][0]
        return sum(1 for place in range(level) if self.bands[place][1] >= low)

    def _ends_at(self, level: int, g: list[FloatArray]) -> FloatArray:
        low, high = self.bands[level - 1]
        total = np.full(high + 1 - low, -np.inf)
        lengths = self.log_lengths[low : high + 1]
        for k in range(1, self.longest_run(level) + 1):
            first, last = self.bands[level - k]
            shared = slice(0, min(high, last) + 1 - low)
            begun = g[level - k][low - first : min(high, last) + 1 - first]
            term = begun + k * lengths[shared] + self.run_log_weight(level, k)
            total[shared] = np.logaddexp(total[shared], term)
        return total

    def _steps_from(self, level: int, f: FloatArray) -> FloatArray:
        (low, high), (first, last) = self.bands[level - 1], self.bands[level]
        gap, rate = self.gap(level), self.rate
        tip, size = math.floor(gap), last + 1 - first
        # Beyond the tip: c_(l+1) - c_l > tip. Counted from cell `low`.
        far = np.logaddexp.accumulate(f + rate * np.arange(high + 1 - low))
        index = np.arange(first, last + 1) - tip - 1 - low
        found = np.where(index >= 0, far[np.clip(index, 0, high - low)], -np.inf)
        total: FloatArray = found - rate * (np.arange(first, last + 1) - low - float(gap))
        if tip:
            # Before it: the cells i - tip, ..., i - 1, a window that slides.
            near = np.full(size + tip - 1, -np.inf)
            start, stop = max(low, first - tip), min(high, last - 1)
            if start <= stop:
                terms = f[start - low : stop + 1 - low] - rate * np.arange(
                    start - low, stop + 1 - low
                )
                near[start - first + tip : stop + 1 - first + tip] = terms
            window = _sliding_sums(near, tip)
            offset = rate * (np.arange(first, last + 1) - low - float(gap))
            total = np.logaddexp(total, window + offset)
        return total

    @cached_property
    def log_total(self) -> float:
        """ln of the sum over all c inside the bands; -inf if there is none."""
        ended = self.tables[1][-1] - self.end_cost(self.n_levels - 1)
        return float(np.logaddexp.reduce(ended))

    @cached_property
    def error(self) -> float:
        """A bound of the error of every entry, and of `log_total` (proofs/joint-quantiles#9)."""
        finite = [a[np.isfinite(a)] for tables in self.tables for a in tables]
        largest = max(float(np.max(np.abs(a), initial=0.0)) for a in finite)
        lengths = self.log_lengths[np.isfinite(self.log_lengths)]
        largest += self.n_levels * float(np.max(np.abs(lengths), initial=0.0))
        widest = max(high + 1 - low for low, high in self.bands)
        return _error(self.n_records, self.n_levels, self.rate, largest, widest)

    @cached_property
    def slack(self) -> float:
        """A bound of ln(weight / chance of being proposed) - `log_total`, inside the bands."""
        widest = max(high + 1 - low for low, high in self.bands)
        return _slack(self.n_levels, widest, self.error)


WEIGHT_BITS = 40
"""Choices are made with whole weights of this size."""


def largest_slack(n_records: int, n_levels: int, rate: float) -> float:
    """Return what `ChainTables.slack` is at most, whatever the data are.

    >>> largest_slack(10_000, 9, 0.25) < 0.001
    True
    """
    largest = n_levels * (2 * _LARGEST_LOG + math.log(n_levels)) + 2 * rate * n_records
    error = _error(n_records, n_levels, rate, largest, n_records + 1)
    return _slack(n_levels, n_records + 1, error)


def _error(n: int, m: int, rate: float, largest: float, widest: int) -> float:
    """A sum of logarithms passes errors on with weights that sum to 1, so each operation adds at
    most its own; a level has at most N + m + 40 in a chain, and arguments are shifted by at most
    4 rate n."""
    return (
        (m + 1) * (widest + m + 40) * _ROUNDING * (largest + m * math.log(m) + 4 * rate * n + _ROOM)
    )


def _slack(m: int, widest: int, error: float) -> float:
    """A path has at most 2 m choices; each loses twice the error of its logarithms, and
    (N + 8) 2^-40 by whole weights; the total is wrong by one error."""
    whole = (max(widest, m) + 8) * 2.0**-WEIGHT_BITS
    return 2 * m * (2 * error + 2 * whole) + 2 * error


def _sliding_sums(terms: FloatArray, width: int) -> FloatArray:
    """Return logarithms of the sums of ``width`` neighbours, by sums from the ends of blocks.

    >>> np.exp(_sliding_sums(np.log([1.0, 2.0, 3.0, 4.0]), 2)).round(9).tolist()
    [3.0, 5.0, 7.0]
    """
    count = len(terms) - width + 1
    blocks = -(-len(terms) // width)
    padded = np.full(blocks * width, -np.inf)
    padded[: len(terms)] = terms
    table = padded.reshape(blocks, width)
    forward = np.logaddexp.accumulate(table, axis=1).ravel()
    backward = np.logaddexp.accumulate(table[:, ::-1], axis=1)[:, ::-1].ravel()
    start = np.arange(count)
    # A window that begins with a block is that block.
    head = np.where(start % width == 0, -np.inf, forward[start + width - 1])
    found: FloatArray = np.logaddexp(backward[:count], head)
    return found
