"""Sums of a sample without replacement, around one database."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.mechanisms.average.sum_layers import (
    Bracket,
    Layers,
    alternating,
    check_work,
    smallest_in_reach,
    subset_layers,
    weight_unit,
    with_record,
)
from smoothdp.types import FloatArray


@dataclass(frozen=True)
class _Frame:
    """Where sums lie in an array: of the records drawn, or of the fewer records lost.

    The sum s of the drawn is the sum of all minus the sum q of the lost. With L lost, position
    (L + 1) span - q leaves room for neighbours, whose total moves by w - v.
    """

    n_draws: int
    n_lost: int
    span: int

    @property
    def losing(self) -> bool:
        return self.n_lost < self.n_draws

    @property
    def depth(self) -> int:
        """The size of the subsets that are counted."""
        return min(self.n_draws, self.n_lost)

    @property
    def drawn_layer(self) -> int:
        """The size of the subsets of the shared records when one more record is drawn."""
        return self.n_lost if self.losing else self.n_draws - 1

    @property
    def length(self) -> int:
        return (self.depth + (2 if self.losing else 0)) * self.span + 1

    def put(self, layer: FloatArray, start: int) -> FloatArray:
        frame = np.zeros(self.length)
        frame[start : start + layer.size] = layer[::-1] if self.losing else layer
        return frame

    def whole(self, layer: FloatArray) -> FloatArray:
        return self.put(layer, self.span if self.losing else 0)

    def drawn_start(self, key: int) -> int:
        return self.span + key if self.losing else key

    def key(self, removed: int, added: int) -> int:
        return added - removed if self.losing else added


@dataclass(frozen=True)
class SubsetShared:
    """Weights around the shared records (see `average.search.Shared`)."""

    frame: _Frame
    layers: Layers
    removed: int
    error: float

    @cached_property
    def kept(self) -> FloatArray:
        frame = self.frame
        if not frame.losing:
            return frame.put(self.layers[frame.n_draws], 0)
        if frame.n_lost == 0:
            return np.zeros(frame.length)
        return frame.put(self.layers[frame.n_lost - 1], 2 * frame.span - self.removed)

    def drawn(self, value: int) -> FloatArray:
        start = self.frame.drawn_start(self.frame.key(self.removed, value))
        return self.frame.put(self.layers[self.frame.drawn_layer], start)


@dataclass(frozen=True)
class SubsetOutline:
    """Bounds of these weights (see `average.search.Outline`)."""

    frame: _Frame
    drawn: Bracket
    removed: int

    def _start(self, value: int) -> int:
        return self.frame.drawn_start(self.frame.key(self.removed, value))

    @property
    def own(self) -> Bracket:
        start = self._start(self.removed)
        return Bracket(*(self.frame.put(bound, start) for bound in self.drawn))

    def floor(self, low: int, high: int) -> FloatArray:
        lower = self.drawn.lower[::-1] if self.frame.losing else self.drawn.lower
        start, frame = self._start(low), np.zeros(self.frame.length)
        least = smallest_in_reach(lower, high - low)
        frame[start : start + least.size] = least
        return frame

    def added(self, low: int, high: int, cost: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the weights at rest and the least cost that they meet when moved by w."""
        upper = self.drawn.upper[::-1] if self.frame.losing else self.drawn.upper
        start = self._start(low)
        met = cost[start : start + upper.size + high - low]
        return upper, smallest_in_reach(met, high - low)[high - low : met.size]


class SubsetSums:
    """The subsets of n_draws of the records, by their sum (see `average.search`).

    Bounds: proofs/noisy-histograms#5.

    Args:
        counts: records per value 0, 1, ..., at least two records.
    """

    def __init__(self, counts: Sequence[int], n_draws: int) -> None:
        n, span = sum(counts), len(counts) - 1
        self.counts = tuple(counts)
        self.present = tuple(value for value, count in enumerate(counts) if count)
        self.frame = _Frame(n_draws, n - n_draws, span)
        depth = self.frame.depth
        check_work(
            additions=(n + 4.0 * len(self.present)) * depth**2 * span / 2,
            numbers=3.0 * depth**2 * span + n,
        )
        bits = weight_unit(largest=math.comb(n, depth))
        self.unit = math.ldexp(1.0, -bits)
        # One rounding for each record that is put in.
        self.error = 1.01 * n * UNIT_ROUNDOFF
        self.log_total = log_bounds(Fraction(math.comb(n, depth), 2**bits))
        low, high = self.present[0], self.present[-1]
        layers = self._layers_without(low, high)
        without_high = with_record(layers, low)
        self._ends = {
            high: without_high,
            low: without_high if low == high else with_record(layers, high),
        }
        self.layers = with_record(without_high, high)
        self.whole = self.frame.whole(self.layers[depth])

    def _layers_without(self, *removed: int) -> Layers:
        left = list(self.counts)
        for value in removed:
            left[value] -= 1
        records = [value for value, count in enumerate(left) for _ in range(count)]
        return subset_layers(records, self.frame.depth, self.frame.span, self.unit)

    def shared(self, removed: int) -> SubsetShared:
        layers = self._ends.get(removed) or self._layers_without(removed)
        return SubsetShared(self.frame, layers, removed, self.error)

    def by_sum(self) -> FloatArray:
        if not self.frame.losing:
            return self.whole
        weights = np.zeros(self.frame.n_draws * self.frame.span + 1)
        lost = self.layers[self.frame.n_lost]
        possible = np.flatnonzero(lost)
        total = sum(value * self.counts[value] for value in self.present)
        weights[total - possible] = lost[possible]
        return weights

    def outline(self, removed: int) -> SubsetOutline:
        top = self.frame.drawn_layer
        drawn = alternating(self.layers[: top + 1], removed, [1.0] * (top + 1), self.error)
        return SubsetOutline(self.frame, drawn, removed)

    def key(self, removed: int, added: int) -> int:
        return self.frame.key(removed, added)

    def inserted(self, key: int) -> FloatArray:
        # Without the removed record there are fewer subsets, never more.
        layer = self.layers[self.frame.drawn_layer] * (1 + 2 * self.error)
        return self.frame.put(layer, self.frame.drawn_start(key))

    def own_floor(self) -> FloatArray:
        if not self.frame.losing:
            return np.zeros(self.frame.length)
        # Draws that lose the removed record lose n_lost - 1 others.
        losing_others = np.zeros(self.layers[self.frame.n_lost].size)
        if self.frame.n_lost:
            losing_others = -smallest_in_reach(-self.layers[self.frame.n_lost - 1], self.frame.span)
        kept = self.layers[self.frame.n_lost] * (1 - 2 * self.error) - losing_others * (
            1 + 2 * self.error
        )
        return self.frame.whole(np.maximum(kept, 0.0))
