"""Maxima of the rows of a totally monotone table, level by level, and all pairs near the largest.

The columns of the row maxima never rise with the row. So the maximum of a middle row divides
the columns for the rows on its two sides, and a level of rows costs one pass over the columns:
O((rows + columns) log rows) in all, in whole arrays.

Rounding: a level loses at most two errors of F where it takes a wrong column, also for the rows
that it divides, so that a row maximum after all levels is within ``2 * error * levels`` of the
true one. For the same reason: where a pair in the column of the maximum of a nearer row is more
than that below the largest, so are all pairs further out in its row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.types import FloatArray, IntArray

# Pairs looked at in one go.
_CHUNK = 1 << 21


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """Rows (low side) and columns (high side) of pairs that are still in question."""

    rate: float
    most: int | None
    """Only pairs with p + q <= most count, if given."""
    low_gains: FloatArray
    low_steps: IntArray
    low_positions: IntArray
    high_gains: FloatArray
    high_steps: IntArray
    high_positions: IntArray

    def score(self, low: IntArray | int | slice, high: IntArray | int | slice) -> FloatArray:
        """Return F at rows and columns; -inf where the pair does not count."""
        steps = self.low_steps[low] + self.high_steps[high]
        with np.errstate(divide="ignore"):
            result = np.log(self.high_gains[high] + self.low_gains[low])
        result = result - self.rate * np.maximum(steps - 1, 0)
        if self.most is not None:
            result = np.where(steps <= self.most, result, -np.inf)
        return np.asarray(result)

    def error(self, best: float) -> float:
        """Return a bound of the error of F wherever F could be as large as ``best``.

        There ln d is between best and ln of the largest d, give or take the decay: the relative
        error of d, the logarithm, the rate as a float, its product and the difference.
        """
        decay = self.rate * float(self.low_steps[-1] + self.high_steps[-1])
        largest = float(self.low_gains[-1] + self.high_gains[-1])
        size = max(abs(best), abs(float(np.log(largest)))) + 2.0 * decay + 1.0
        return (LIBM_ERROR + 6 * UNIT_ROUNDOFF) * size


def near_row_maxima(table: PairTable) -> tuple[tuple[IntArray, IntArray], float]:
    """Return rows and columns of every pair that may be the largest, and the largest float F."""
    rows = len(table.low_gains)
    levels = rows.bit_length()
    columns, maxima = _row_maxima(table, levels)
    best = float(maxima.max())
    if best == -np.inf:
        return (np.zeros(1, np.int64), np.zeros(1, np.int64)), best
    error = table.error(best)
    hot = np.flatnonzero(maxima >= best - (2 * levels + 4) * error)
    first, last = _brackets(table, columns, hot, best - (4 * levels + 12) * error)
    near_pairs: list[tuple[IntArray, IntArray]] = []
    for run in _runs(first, last):
        row, column, _ = _ragged(hot[run], first[run], last[run])
        near = table.score(row, column) >= best - 4 * error
        near_pairs.append((row[near], column[near]))
    return (
        np.concatenate([f[0] for f in near_pairs]),
        np.concatenate([f[1] for f in near_pairs]),
    ), best


def _row_maxima(table: PairTable, levels: int) -> tuple[IntArray, FloatArray]:
    """Return the column and the value of the maximum of every row."""
    rows = len(table.low_gains)
    allowed = _allowed(table, np.arange(rows))
    columns = np.zeros(rows, np.int64)
    maxima = np.full(rows, -np.inf)
    for level in range(levels - 1, -1, -1):
        half = 1 << level
        row = np.arange(half - 1, rows, 2 * half)
        above, below = row - half, row + half
        last = np.where(above >= 0, columns[above], len(table.high_gains) - 1)
        last = np.minimum(last, allowed[row])
        first = np.where(below < rows, columns[np.minimum(below, rows - 1)], 0)
        # Where every pair of the bracket is forbidden, its first column stands for it.
        last = np.maximum(first, last)
        for run in _runs(first, last):
            chunk = row[run]
            index, column, starts = _ragged(chunk, first[run], last[run])
            scores = table.score(index, column)
            largest = np.maximum.reduceat(scores, starts)
            owner = np.repeat(np.arange(len(chunk)), np.diff([*starts, len(scores)]))
            ties = np.flatnonzero(scores == largest[owner])
            position = ties[np.searchsorted(owner[ties], np.arange(len(chunk)))]
            columns[chunk], maxima[chunk] = column[position], largest
    return columns, maxima


def _allowed(table: PairTable, row: IntArray) -> IntArray:
    """Return the last column that ``most`` allows in each row."""
    if table.most is None:
        return np.full(len(row), len(table.high_gains) - 1)
    room = table.most - table.low_steps[row]
    return np.maximum(np.searchsorted(table.high_steps, room, side="right") - 1, 0)


def _brackets(
    table: PairTable, columns: IntArray, hot: IntArray, threshold: float
) -> tuple[IntArray, IntArray]:
    """Return the first and last column within which every large pair of each hot row lies.

    The columns of rows 1, 2, 4, ... before and after are tried until one is too small.
    """
    rows = len(columns)
    ends = []
    for direction, limit in ((-1, _allowed(table, hot)), (1, np.zeros(len(hot), np.int64))):
        end = columns[hot].copy()
        is_open = np.ones(len(hot), np.bool_)
        step = 1
        while is_open.any():
            row = hot[is_open]
            rival = row + direction * step
            outside = (rival < 0) | (rival >= rows)
            column = np.where(outside, limit[is_open], columns[np.clip(rival, 0, rows - 1)])
            if direction < 0:
                column = np.minimum(column, limit[is_open])
                outside |= column == limit[is_open]
            end[is_open] = column
            closed = outside | (table.score(row, column) < threshold)
            is_open[np.flatnonzero(is_open)[closed]] = False
            step *= 2
        ends.append(end)
    return ends[1], ends[0]


def _runs(first: IntArray, last: IntArray) -> Iterator[slice]:
    """Split ranges of columns into runs of about _CHUNK pairs."""
    sizes = np.cumsum(last - first + 1)
    start = 0
    while start < len(sizes):
        before = sizes[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(sizes, before + _CHUNK, side="right")))
        yield slice(start, stop)
        start = stop


def _ragged(rows: IntArray, first: IntArray, last: IntArray) -> tuple[IntArray, ...]:
    """Return all (row, column) with column from first to last, and where each row starts."""
    lengths = last - first + 1
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    column = np.arange(int(lengths.sum())) + np.repeat(first - starts, lengths)
    return np.repeat(rows, lengths), column, starts
