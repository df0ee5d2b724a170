"""The expectation of g over one pair of categories, bracketed on a grid that is refined where it helps.

(proofs/smoothed-brackets#2, #3)
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from smoothdp.smoothed.brackets.two_counts import TwoCounts
from smoothdp.smoothed.brackets.weights import PairLaw
from smoothdp.types import BoolArray, FloatArray, IntArray

_BATCH = 12
_SPLITS = 4
_SHARES = (0.02, 0.1, 0.25, 0.45, 0.65, 0.8, 0.9, 0.95)


class PairGrid:
    """Cells (x0, x1] x (y0, y1] that partition the counts of a pair, with their weights.

    The weights do not depend on the mechanism or on epsilon; they are kept.
    """

    def __init__(self, law: PairLaw, log_factor: float) -> None:
        self.law, self.log_factor = law, log_factor
        n = law.n_records
        self.x = _first_knots(n, law.first)
        self.y = _first_knots(n, law.second)
        self._fill(np.ones(self.x.size - 1, bool), np.ones(self.y.size - 1, bool), None)

    def split(self, x: Iterable[int], y: Iterable[int]) -> None:
        """Add knots, and the weights of the cells that they make."""
        for axis, knots in ((0, x), (1, y)):
            old = self.x if axis == 0 else self.y
            merged = np.union1d(old, np.array(list(knots), dtype=np.int64))
            merged = merged[(merged >= -1) & (merged <= self.law.n_records)]
            if merged.size == old.size:
                continue
            place = np.searchsorted(old, merged[:-1], side="right") - 1
            kept = (old[place] == merged[:-1]) & (old[place + 1] == merged[1:])
            before = (self._weight, self._above, self._below)
            taken = [np.take(values, place, axis=axis) for values in before]
            if axis == 0:
                self.x = merged
                self._fill(~kept, np.zeros(self.y.size - 1, bool), taken)
            else:
                self.y = merged
                self._fill(np.zeros(self.x.size - 1, bool), ~kept, taken)

    def _fill(self, rows: BoolArray, columns: BoolArray, taken: list[FloatArray] | None) -> None:
        shape = (self.x.size - 1, self.y.size - 1)
        new = rows[:, None] | columns[None, :]
        if taken is None:
            taken = [np.empty(shape) for _ in range(3)]
        i, j = np.nonzero(new)
        x, y = (self.x[i], self.x[i + 1]), (self.y[j], self.y[j + 1])
        taken[0][new], taken[1][new] = self.law.upper(x, y)
        taken[2][new] = self.law.lower(x, y)
        self._weight, self._above, self._below = taken

    def bounds(self, values: TwoCounts) -> Bounds:
        """Return the bracket with the values known so far."""
        return Bounds(self, values)


class Bounds:
    """Upper and lower ends of each cell of a grid at one epsilon, in logarithms."""

    def __init__(self, grid: PairGrid, values: TwoCounts) -> None:
        self._grid, self._values = grid, values
        shape = (grid.x.size, grid.y.size)
        self._high = np.full(shape, np.nan)
        self._low = np.full(shape, np.nan)
        for i, x in enumerate(grid.x.tolist()):
            for j, y in enumerate(grid.y.tolist()):
                known = values.known(x, y)
                if known is not None:
                    self._low[i, j], self._high[i, j] = known
        self._join()

    def _join(self) -> None:
        grid, cap = self._grid, self._values.cap.upper
        # g falls: a node has at most the value of any node before it, and at least that of any after.
        high = np.where(np.isnan(self._high), cap, self._high)
        high = np.minimum.accumulate(np.minimum.accumulate(high, axis=0), axis=1)
        low = np.where(np.isnan(self._low), -np.inf, self._low)[::-1, ::-1]
        low = np.maximum.accumulate(np.maximum.accumulate(low, axis=0), axis=1)[::-1, ::-1]
        self._node = high[:-1, :-1] + grid._above
        self.cell_upper = grid._weight + self._node + grid.log_factor
        self.cell_lower = grid._below + low[1:, 1:] + grid.log_factor
        self.upper, self.lower = _log_sum(self.cell_upper), _log_sum(self.cell_lower)

    def refine(self) -> bool:
        """Evaluate g, or split cells, where the gap is widest; False where nothing is left to do."""
        gap = _gaps(self.cell_upper, self.cell_lower)
        order = np.argsort(gap, axis=None)[::-1][:_BATCH]
        cells = [(int(c) // gap.shape[1], int(c) % gap.shape[1]) for c in order]
        widest = gap[cells[0]]
        cells = [cell for cell in cells if gap[cell] > 0.05 * widest]
        asked = False
        for i, j in cells:
            # Where a cell's upper end fell by what was evaluated before it, it may wait.
            for a, b in ((i, j), (i + 1, j + 1)):
                if np.isnan(self._high[a, b]) and self._fits(a, b):
                    x, y = int(self._grid.x[a]), int(self._grid.y[b])
                    self._low[a, b], self._high[a, b] = self._values.at(x, y)
                    asked = True
        if asked:
            self._join()
            return True
        return self._split(gap)

    def _fits(self, a: int, b: int) -> bool:
        return int(self._grid.x[a] + self._grid.y[b]) <= self._grid.law.n_records

    def _split(self, gap: FloatArray) -> bool:
        """Halve the intervals that the widest gaps come from."""
        grid = self._grid
        along_x = np.full(gap.shape, 50.0)
        along_y = np.full(gap.shape, 50.0)
        with np.errstate(invalid="ignore"):
            along_x[:-1] = np.clip(np.nan_to_num(self._node[:-1] - self._node[1:], nan=0.0), 0, 50)
            along_y[:, :-1] = np.clip(
                np.nan_to_num(self._node[:, :-1] - self._node[:, 1:], nan=0.0), 0, 50
            )
        along_x[(np.diff(grid.x) <= 1), :] = -1.0
        along_y[:, (np.diff(grid.y) <= 1)] = -1.0
        by_x = np.where((along_x >= along_y) & (along_x >= 0), gap, 0.0).sum(axis=1)
        by_y = np.where((along_y > along_x) & (along_y >= 0), gap, 0.0).sum(axis=0)
        most = max(float(by_x.max()), float(by_y.max()))
        if not most > 0:
            return False
        rows = _largest(by_x, most)
        columns = _largest(by_y, most)
        grid.split(
            [int(grid.x[i] + grid.x[i + 1]) // 2 for i in rows],
            [int(grid.y[j] + grid.y[j + 1]) // 2 for j in columns],
        )
        self.__init__(grid, self._values)  # type: ignore[misc]
        return True


def _largest(votes: FloatArray, most: float) -> list[int]:
    chosen = np.argsort(votes)[::-1][:_SPLITS]
    return [int(c) for c in chosen if votes[c] > 0.3 * most]


def _gaps(upper: FloatArray, lower: FloatArray) -> FloatArray:
    """Return e^upper - e^lower, beside the largest."""
    top = float(upper.max())
    if top == -math.inf:
        return np.zeros(upper.shape)
    return np.asarray(np.maximum(np.exp(upper - top) - np.exp(lower - top), 0.0))


def _log_sum(logs: FloatArray) -> float:
    top = float(logs.max())
    if top == -math.inf:
        return top
    return top + math.log(float(np.exp(logs - top).sum()))


def _first_knots(n: int, chance: object) -> IntArray:
    mean = float(n * chance)  # type: ignore[operator]
    spread = math.sqrt(mean)
    knots = {-1, 0, 1, n, min(n, int(mean)), min(n, int(mean + 4 * spread))}
    knots |= {int(mean * share) for share in _SHARES}
    return np.array(sorted(knots), dtype=np.int64)
