"""The cells between neighbouring values of a column, with their weights in balls.

On [a, b] the density exp(-lambda |#{x < v} - q n|) is constant between neighbouring values. Of a
large column only the cells near rank q n are looked at: what lies further out has a mass of a
known bound, which shrinks as the precision rises (proofs/exponential-quantile#4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from smoothdp.exact.balls.balls import ball, log_bounds, precision
from smoothdp.exact.balls.special import Ball, interval
from smoothdp.exact.random.masses import GUARD_BITS, Masses
from smoothdp.queries.read_arguments import Bounds, Values
from smoothdp.queries.windows.selected import OrderStatistics
from smoothdp.queries.windows.sides import Clamp

_LN_2 = 0.7


@dataclass(frozen=True, slots=True)
class Edge:
    """An end of cells: the value, and how many records lie at or below it."""

    value: Fraction
    count: int


@dataclass(frozen=True, slots=True)
class CellTable:
    """Neighbouring cells of positive length, at one precision.

    Attributes:
        edges: their ends, rising; cell j lies between edges j and j + 1, with `count` of edge j.
        weights: e^(-lambda (|count - q n| - its least value)), by cell.
        masses: weight times length of each cell, and of all cells outside, on the same scale.
    """

    edges: list[Edge]
    weights: list[Ball]
    masses: Masses


class Cells:
    """The cells of one column, as private as it is.

    Args:
        values: the column, n >= 0 of them. level: q. bounds: (a, b). slope: lambda > 0.

    >>> cells = Cells(np.array([2.0, 2.0, 5.0]), Fraction(1, 2), (Fraction(0), Fraction(8)),
    ...     slope=Fraction(1))
    >>> [(str(edge.value), edge.count) for edge in cells.table(64).edges]
    [('0', 0), ('2', 2), ('5', 3), ('8', 3)]
    """

    __slots__ = ("_bounds", "_centre", "_clamp", "_ordered", "_run", "_slope", "_tables")

    def __init__(self, values: Values, level: Fraction, bounds: Bounds, *, slope: Fraction) -> None:
        self._bounds, self._slope = bounds, slope
        self._centre = level * len(values)
        self._clamp = Clamp.on(values, bounds)
        self._ordered = OrderStatistics(values)
        self._run = self._middle_run()
        self._tables: dict[int, CellTable] = {}

    def table(self, bits: int) -> CellTable:
        """Return the cells to a precision: those left out have a share of about 2^-bits at most."""
        found = self._tables.get(bits)
        if found is None:
            with precision(bits + GUARD_BITS):
                found = self._tables[bits] = self._table(self._reach(bits))
        return found

    def _middle_run(self) -> tuple[int, int]:
        """Return the ranks of the values that are tied with that of rank ceil(q n)."""
        values = self._ordered.values
        if not len(values):
            return 0, 0
        place = min(max(math.ceil(self._centre), 1), len(values)) - 1
        self._ordered.arrange([(place, place + 1)])
        raw, (low, high) = values[place].item(), self._bounds
        value = self._clamp.value(raw)
        first, last = self._clamp.first, self._clamp.last
        if value == low:
            at = values <= first if Fraction(first) == low else values < first
            return 0, int(np.count_nonzero(at))
        if value == high:
            at = values >= last if Fraction(last) == high else values > last
            return len(values) - int(np.count_nonzero(at)), len(values)
        return int(np.count_nonzero(values < raw)), int(np.count_nonzero(values <= raw))

    def _reach(self, bits: int) -> int:
        """Return how many ranks beyond the middle run count at a precision.

        The cells next to the run have a length d > 0, so that those K ranks further out have a
        share of e^(-lambda K) (b - a) / d at most.
        """
        n_records = len(self._ordered)
        edges = self._edges(1)
        nearest = min(range(len(edges) - 1), key=lambda j: abs(edges[j].count - self._centre))
        low, high = self._bounds
        length = edges[nearest + 1].value - edges[nearest].value
        nats = bits * _LN_2 + log_bounds((high - low) / length).upper
        return min(math.ceil(Fraction(nats) / self._slope), n_records) + 1

    def _edges(self, reach: int) -> list[Edge]:
        """Return the ends of cells, out to ``reach`` ranks beyond the middle run."""
        values, (start, stop) = self._ordered.values, self._run
        lowest, highest = max(0, start - reach), min(len(values), stop + reach)
        ranges = [ends for ends in ((lowest, start), (stop, highest)) if ends[0] < ends[1]]
        if ranges:
            self._ordered.arrange(ranges)
        middle = min(start + 1, stop)
        raw = np.concatenate([values[lowest:middle], values[stop:highest]])
        counts = np.concatenate([np.arange(lowest, start), [stop - 1], np.arange(stop, highest)])
        counts = counts[: len(raw)] + 1
        (low, high), clamp = self._bounds, self._clamp
        edges = [Edge(low, 0)] if lowest == 0 else []
        first, last = np.searchsorted(raw, clamp.first), np.searchsorted(raw, clamp.last, "right")
        if first:
            edges = [Edge(low, int(counts[first - 1]))]
        raw, counts, is_beyond = raw[first:last], counts[first:last], last < len(raw)
        ends = np.append(raw[1:] != raw[:-1], True)[: len(raw)]
        inside = zip(raw[ends].tolist(), counts[ends].tolist(), strict=True)
        edges += [Edge(Fraction(value), count) for value, count in inside]
        if len(edges) > 1 and edges[1].value == low:
            del edges[0]
        if is_beyond or highest == len(values):
            if edges[-1].value == high:
                del edges[-1]
            edges.append(Edge(high, len(values)))
        return edges

    def _table(self, reach: int) -> CellTable:
        edges, centre = self._edges(reach), self._centre
        scale, rate = centre.denominator, ball(self._slope / centre.denominator)
        # Distances from rank q n in whole numbers of 1 / scale.
        steps = [abs(edge.count * scale - centre.numerator) for edge in edges[:-1]]
        least = min(steps)
        weights = _powers(rate, [step - least for step in steps])
        (low, high), (start, stop) = self._bounds, self._run

        def outside(length: Fraction, steps: Fraction) -> Ball:
            most = (-rate * ball(steps - least)).exp() * ball(length)
            return interval(ball(0), most) if length else ball(0)

        n_records = len(self._ordered)
        lowest, highest = max(0, start - reach), min(n_records, stop + reach)
        below = outside(edges[0].value - low, abs(centre - lowest) * scale)
        above = outside(high - edges[-1].value, abs(highest - centre) * scale)
        # A difference of balls is as narrow as wanted, at enough bits, and quicker than one exact.
        places = [ball(edge.value) for edge in edges]
        lengths = (right - left for left, right in pairwise(places))
        masses = (weight * length for weight, length in zip(weights, lengths, strict=True))
        ends = list(accumulate(masses, initial=below))
        return CellTable(edges, weights, Masses(ends, above))


def _powers(rate: Ball, steps: list[int]) -> list[Ball]:
    """Return e^(-rate step) for each step, by one multiplication each: most are one apart."""
    powers, factors = [(-rate * steps[0]).exp()], dict[int, Ball]()
    for before, step in pairwise(steps):
        change = step - before
        if change not in factors:
            factors[change] = (-rate * change).exp()
        powers.append(powers[-1] * factors[change])
    return powers
