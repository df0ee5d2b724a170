"""delta(h) of a histogram of two categories, as a function of the smaller count h.

Everything comes from g(A) = D(A, n - A): with h records in one category and n - h in the
other, delta(h) = max(g(h), g(h + 1), g(n - h), g(n - h + 1)), and with h <= 1 it is the
probability of being sampled, which it never exceeds (proofs/two-smallest#4, #6).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real, float_of
from smoothdp.mechanisms.histogram.accounting.binomial_table import BinomialTable
from smoothdp.mechanisms.histogram.accounting.hypergeometric_table import HypergeometricTable
from smoothdp.mechanisms.histogram.accounting.line_table import LineTable, LogArrays
from smoothdp.mechanisms.sampling.draws import Draws
from smoothdp.types import FloatArray, IntArray

FIRST = 2
"""The least count at which delta is not the cap."""


class Bracket(NamedTuple):
    """Bounds of ln of smoothed delta.

    ``vertex_counts`` is the composition that gives the lower bound: records per vertex;
    ``method`` says in words how the bounds were found.
    """

    logs: LogBounds
    vertex_counts: tuple[int, ...]
    method: str


@dataclass(frozen=True)
class DeltaLine:
    """delta(h) for h in 0..n // 2; delta(n - h) is the same."""

    table: LineTable
    cap: LogBounds

    @classmethod
    def of(cls, draws: Draws, epsilon: Real) -> DeltaLine:
        """Return the line of a sample; without replacement some record must be left out."""
        kind = BinomialTable if draws.replacing else HypergeometricTable
        return cls(kind(draws.n_records, draws.n_draws, epsilon), draws.log_inclusion())

    @property
    def n_records(self) -> int:
        return self.table.n_records

    @property
    def middle(self) -> int:
        """The largest h."""
        return self.n_records // 2

    @cached_property
    def breaks(self) -> IntArray:
        """Blocks of h, each a few percent of epsilon wide: block i is breaks[i]..breaks[i+1] - 1.

        They run from `FIRST` to the middle.
        """
        growth = 1 + min(max(float_of(self.table.epsilon) / 24, 1e-4), 0.03)
        number = int(np.log(max(2.0, self.middle / FIRST)) / np.log(growth)) + 2
        points = FIRST * growth ** np.arange(number, dtype=np.float64)
        inner = np.unique(np.minimum(points, self.middle + 1).astype(np.int64))
        return np.unique(np.append(inner, self.middle + 1))

    @cached_property
    def coarse(self) -> tuple[FloatArray, FloatArray]:
        """Bounds of ln g over each block: on the side of few records, on the side of many."""
        low, high = self.breaks[:-1], self.breaks[1:]
        n = self.n_records
        few = self.table.log_chernoff(low, np.minimum(high, n - 1))
        many = self.table.log_chernoff(np.maximum(n - high + 1, FIRST), n - low + 1)
        return np.minimum(few, self.cap.upper), np.minimum(many, self.cap.upper)

    @cached_property
    def coarse_envelope(self) -> FloatArray:
        """Bound ln delta(k) for every k from the start of each block up to the middle."""
        worst = np.maximum(*self.coarse)
        return np.maximum.accumulate(worst[::-1])[::-1]

    def window(self, first: int, last: int) -> LogArrays:
        """Return bounds of ln delta(h) for h = first..last, FIRST <= first, last <= middle."""
        few = self._pairwise(self.table.divergences(np.arange(first, last + 2)))
        blocks = self._blocks(first, last)
        edges = np.maximum(self.breaks[blocks[0] : blocks[1]] - first, 0)
        floor = np.minimum.reduceat(few.lower, edges)
        many = self.coarse[1][blocks[0] : blocks[1]] > floor
        # The side of many records is needed only where its coarse bound exceeds the other side.
        ends = np.append(edges[1:], last - first + 1)
        lower, upper = few.lower.copy(), few.upper.copy()
        for begin, end in _runs(edges[many], ends[many]):
            a, b = first + begin, first + end - 1
            n = self.n_records
            opposite = self._pairwise(self.table.divergences(np.arange(n - b, n - a + 2)))
            np.maximum(lower[begin:end], opposite.lower[::-1], out=lower[begin:end])
            np.maximum(upper[begin:end], opposite.upper[::-1], out=upper[begin:end])
        return LogArrays(np.minimum(lower, self.cap.lower), np.minimum(upper, self.cap.upper))

    def rough(self, h: IntArray) -> FloatArray:
        """Return about ln delta(h), a little above it, for FIRST <= h <= middle."""
        few = self.table.one_term_upper(h)
        many = self.table.one_term_upper(self.n_records - h)
        return np.minimum(np.maximum(few, many), self.cap.upper)

    def upper_envelope_beyond(self, h: int, *, level: float, most: int) -> float:
        """Bound ln delta(k) for every k in h..middle; stop once it is at most ``level``.

        Starts from the coarse bound and sharpens it, at most ``most`` counts at a time.
        """
        sharp, position, step = -np.inf, h, 4096
        while position <= self.middle:
            block = int(np.searchsorted(self.breaks, position, side="right")) - 1
            envelope = float(self.coarse_envelope[block])
            if envelope <= max(level, sharp) or position - h >= most:
                return max(sharp, envelope)
            last = min(position + step - 1, self.middle)
            sharp = max(sharp, self._upper(position, last, level))
            position, step = last + 1, min(2 * step, 1 << 18)
        return sharp

    def _upper(self, first: int, last: int, level: float) -> float:
        """Bound ln delta(k) for k in first..last; beyond ``level`` only, as sharp as can be."""
        n = self.n_records
        counts = np.arange(first, last + 2)
        best = -np.inf
        blocks = self._blocks(first, last)
        for side, positions in ((0, counts), (1, n + 1 - counts)):
            if float(self.coarse[side][blocks[0] : blocks[1]].max()) <= level:
                continue
            quick = self.table.one_term_upper(positions)
            high = quick > level
            best = max(best, float(quick[~high].max(initial=-np.inf)))
            if high.any():
                best = max(best, float(self.table.divergences(positions[high]).upper.max()))
        return min(max(best, level), self.cap.upper)

    def _blocks(self, first: int, last: int) -> tuple[int, int]:
        """Return the range of blocks that h = first..last touches."""
        begin, end = np.searchsorted(self.breaks, [first, last], side="right")
        return int(begin) - 1, int(end)

    @staticmethod
    def _pairwise(values: LogArrays) -> LogArrays:
        """Return the larger of each two neighbours."""
        return LogArrays(
            np.maximum(values.lower[:-1], values.lower[1:]),
            np.maximum(values.upper[:-1], values.upper[1:]),
        )


def _runs(begins: IntArray, ends: IntArray) -> list[tuple[int, int]]:
    """Join ranges that touch."""
    runs: list[tuple[int, int]] = []
    for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
        if runs and runs[-1][1] == begin:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((begin, end))
    return runs
