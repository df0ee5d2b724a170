"""Sums of a sample with replacement, around one database."""

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
    sequence_layers,
    smallest_in_reach,
    weight_unit,
)
from smoothdp.types import FloatArray

# Values whose layers are kept for the next removed value.
_MOST_KEPT = 16


def repeated(layers: Layers, value: int, coefficients: list[float]) -> FloatArray:
    """Return sum_k c_k layers[top - k] shifted by k * value, k >= 1."""
    top = len(layers) - 1
    total = np.zeros(layers[top].size)
    for k in range(1, top + 1):
        term = layers[top - k]
        total[k * value : k * value + term.size] += coefficients[k] * term
    return total


@dataclass(frozen=True)
class SequenceShared:
    """Weights around the shared records (see `average.search.Shared`)."""

    layers: Layers
    coefficients: list[float]
    error: float

    @property
    def kept(self) -> FloatArray:
        return self.layers[-1]

    def drawn(self, value: int) -> FloatArray:
        return repeated(self.layers, value, self.coefficients)


@dataclass(frozen=True)
class SequenceOutline:
    """Bounds of these weights (see `average.search.Outline`)."""

    sums: SequenceSums
    removed: int

    @cached_property
    def own(self) -> Bracket:
        sums = self.sums
        return alternating(sums.layers, self.removed, sums.coefficients, sums.error, first=1)

    def floor(self, low: int, high: int) -> FloatArray:
        """Return lower bounds that count the samples with the one more record once."""
        frame = np.zeros(self.sums.whole.size)
        least = smallest_in_reach(self._once, high - low)
        frame[low : low + least.size] = least
        return frame

    @cached_property
    def _once(self) -> FloatArray:
        sums = self.sums
        return alternating(sums.layers[:-1], self.removed, sums.coefficients, sums.error).lower

    def added(self, low: int, high: int, cost: FloatArray) -> tuple[FloatArray, FloatArray]:
        if low == high:
            sums = self.sums
            layers = sums.inserted_layers(low)
            return alternating(layers, self.removed, sums.coefficients, sums.error).upper, cost
        return self.sums.inserted_between(low, high), cost


class SequenceSums:
    """The sequences of n_draws of the records, by their sum (see `average.search`).

    Bounds: proofs/noisy-histograms#5.

    Args:
        counts: records per value 0, 1, ..., at least two records.
    """

    def __init__(self, counts: Sequence[int], n_draws: int) -> None:
        n, span = sum(counts), len(counts) - 1
        self.counts, self.n_draws, self.span = tuple(counts), n_draws, span
        self.present = tuple(value for value, count in enumerate(counts) if count)
        length = n_draws * span + 1
        check_work(
            additions=n_draws * length * (span + 4.0 * len(self.present) + n_draws),
            numbers=10.0 * n_draws * length,
        )
        least = math.factorial(n_draws)
        # Layers, even with one more record, grow with t as long as t <= n.
        most = max((n + 1) ** t // math.factorial(t) for t in (n_draws, min(n + 1, n_draws)))
        bits = weight_unit(largest=4 * (most + 1), smallest=least)
        self.unit = math.ldexp(1.0, -bits)
        # Divisions by t and products, and the sums over values and repetitions.
        self.error = 1.01 * n_draws * (len(self.present) + 6) * UNIT_ROUNDOFF
        self.log_total = log_bounds(Fraction(n**n_draws, least << bits))
        self.coefficients = [1.0 / math.factorial(k) for k in range(n_draws + 1)]
        self.layers = sequence_layers(self.counts, n_draws, self.unit)
        self.whole = self.layers[-1]
        self._inserted: dict[int, Layers] = {}

    def by_sum(self) -> FloatArray:
        return self.whole

    def shared(self, removed: int) -> SequenceShared:
        counts = list(self.counts)
        counts[removed] -= 1
        layers = sequence_layers(counts, self.n_draws, self.unit)
        return SequenceShared(layers, self.coefficients, self.error)

    def outline(self, removed: int) -> SequenceOutline:
        return SequenceOutline(self, removed)

    def key(self, removed: int, added: int) -> int:  # noqa: ARG002 - as for subsets
        return added

    def inserted(self, key: int) -> FloatArray:
        # Without the removed record there are fewer sequences, never more.
        return repeated(self.layers, key, self.coefficients) * (1 + 2 * self.error)

    def inserted_between(self, low: int, high: int) -> FloatArray:
        """Return upper bounds of drawn_w that hold for all w in [low, high]."""
        total = np.zeros(self.whole.size)
        for k in range(1, self.n_draws + 1):
            most = -smallest_in_reach(-self.layers[self.n_draws - k], k * (high - low))
            total[k * low : k * low + most.size] += self.coefficients[k] * most
        return total * (1 + 2 * self.error)

    def inserted_layers(self, value: int) -> Layers:
        """Return for every t the weights of sequences of length t with the one more record."""
        if value not in self._inserted:
            if len(self._inserted) >= _MOST_KEPT:
                self._inserted.clear()
            self._inserted[value] = [
                repeated(self.layers[: t + 1], value, self.coefficients)
                for t in range(self.n_draws + 1)
            ]
        return self._inserted[value]

    def own_floor(self) -> FloatArray:
        return np.zeros(self.whole.size)
