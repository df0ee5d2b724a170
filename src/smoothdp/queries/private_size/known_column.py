"""A column of which only some order statistics are here: those that a padded window reads.

A window around q n reads ranks near its ends alone, and a search for the smooth sensitivity says
how far. So a column that is in many places need not come here: `KnownColumn` holds the values of
some ranks, as runs of equal ones, and asks for more where they do not suffice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.queries.private_size.cells import CellValues, PaddedCells
from smoothdp.queries.read_arguments import Bounds
from smoothdp.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class KnownRanks:
    """The values of the ranks below + 1, ..., below + sum(counts), as runs of equal ones.

    Values beyond the bounds of the statistic may stand as any one value beyond them.

    Attributes:
        n_records: n, of the whole column.
        below: how many values are less than all of these.
        values: distinct, rising. counts: how often each occurs.
    """

    n_records: int
    below: int
    values: FloatArray
    counts: IntArray

    @property
    def ends(self) -> IntArray:
        """The rank of the last of each run."""
        return np.asarray(self.below + np.cumsum(self.counts), np.int64)

    def mirrored(self) -> KnownRanks:
        """Return those of the negated column."""
        above = self.n_records - self.below - int(self.counts.sum())
        return KnownRanks(self.n_records, above, -self.values[::-1], self.counts[::-1])


@dataclass(slots=True, eq=False, repr=False)
class KnownColumn:
    """The order statistics that are here, and where further ones come from.

    Attributes:
        ranks: what is known. Other ranks are asked for when they are read.
        more: returns what is known with the ranks from first to last, counted from 1, among it,
            and all that equal them.

    As private as the data.
    """

    ranks: KnownRanks
    more: Callable[[int, int], KnownRanks]

    @property
    def n_records(self) -> int:
        """n, of the whole column."""
        return self.ranks.n_records

    def need(self, first: int, last: int) -> KnownRanks:
        """Return what is known, with these ranks among it."""
        known = self.ranks
        if first <= known.below or last > known.below + int(known.counts.sum()):
            self.ranks = self.more(first, last)
        return self.ranks

    def whole(self) -> FloatArray:
        """Return all values, rising: for what reads all of a small group."""
        if not self.n_records:
            return np.empty(0, np.float64)
        known = self.need(1, self.n_records)
        return np.repeat(known.values, known.counts)


class KnownCells(PaddedCells):
    """The cells of a column of which some ranks are known."""

    __slots__ = ("_column", "_known", "_mirror")

    def __init__(self, column: KnownColumn, bounds: Bounds, *, mirror: bool) -> None:
        super().__init__(np.empty(0, np.float64), bounds)
        self.n_records = column.n_records
        self._column, self._mirror = column, mirror
        self._take(column.ranks)

    def _take(self, known: KnownRanks) -> None:
        self._known = known.mirrored() if self._mirror else known

    def _need(self, first: int, last: int) -> None:
        """Have the ranks from first to last."""
        if self._mirror:
            first, last = self.n_records + 1 - last, self.n_records + 1 - first
        self._take(self._column.need(first, last))

    def arrange(self, *ranges: tuple[int, int]) -> None:
        """Have the cells of the ranges [u, v] of the line, and those between them."""
        n = self.n_records
        cut = [(max(0, u), min(n, v + 1)) for u, v in ranges]
        wanted = [(start, stop) for start, stop in cut if start < stop]
        if wanted:
            self._need(min(start for start, _ in wanted) + 1, max(stop for _, stop in wanted))

    def _runs_of(self, cells: IntArray) -> IntArray:
        """Return the place of the run of each rank; of the nearest one where it is not known."""
        found = np.searchsorted(self._known.ends, cells, side="left")
        return np.minimum(found, max(0, len(self._known.counts) - 1))

    def exact(self, cell: int) -> Fraction:
        """Return the value of the i-th cell, exactly."""
        if cell <= 0:
            return self.clamp.bounds[0]
        if cell > self.n_records:
            return self.clamp.bounds[1]
        self._need(cell, cell)
        return self.clamp.value(self._known.values[self._runs_of(np.array([cell]))[0]].item())

    def values(self, cells: IntArray) -> CellValues:
        """Return the values of many cells, in an array of any shape."""
        inside = cells[(cells > 0) & (cells <= self.n_records)]
        if len(inside):
            self._need(int(inside.min()), int(inside.max()))
        known = self._known.values
        raw = known[self._runs_of(cells)] if len(known) else np.zeros(cells.shape)
        return self.from_raw(cells, raw)

    def rises(self, cell: int) -> tuple[int | None, int | None]:
        """Return the ranks next to a cell, below and above it, after which X rises."""
        (lower, upper), value = self.clamp.bounds, self.exact(cell)
        below = self._rank_before(cell, value) if value > lower else None
        above = self._rank_after(cell, value) if value < upper else None
        return below, above

    def _rank_before(self, cell: int, value: Fraction) -> int:
        """Return how many of the values, clamped, are below that of a cell."""
        return self._edge(min(cell, self.n_records), value, -1)

    def _rank_after(self, cell: int, value: Fraction) -> int:
        """Return how many of the values, clamped, are up to that of a cell."""
        return self._edge(max(cell, 1), value, 1)

    def _edge(self, rank: int, value: Fraction, step: int) -> int:
        """Return where the run of equal clamped values ends that begins at a rank, or at a pad."""
        n = self.n_records
        while 1 <= rank <= n and self.exact(rank) == value:
            place = int(self._runs_of(np.array([rank]))[0])
            end = int(self._known.ends[place])
            rank = end + 1 if step > 0 else end - int(self._known.counts[place])
        return rank - 1 if step > 0 else rank

    def _sum(self, start: int, stop: int) -> Fraction:
        """Return the sum of the cells start + 1, ..., stop."""
        n, (lower, upper) = self.n_records, self.clamp.bounds
        below = max(0, min(stop, 0) - start)
        above = max(0, stop - max(start, n))
        total = below * lower + above * upper
        first, last = max(start, 0), min(stop, n)
        if first < last:
            self._need(first + 1, last)
            ends = self._known.ends
            begins = ends - self._known.counts
            counts = np.minimum(ends, last) - np.maximum(begins, first)
            for place in np.flatnonzero(counts > 0).tolist():
                value = self.clamp.value(self._known.values[place].item())
                total += int(counts[place]) * value
        return total
