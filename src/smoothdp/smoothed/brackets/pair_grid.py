"""The expectation of g over one pair of categories, bracketed on a grid that is refined.

(proofs/smoothed-brackets#2, #3)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.smoothed.brackets.two_counts import TwoCounts
from smoothdp.smoothed.brackets.weights import PairLaw
from smoothdp.types import BoolArray, FloatArray, IntArray

_BATCH = 16
_SEEDS = 10
_FAR = 50.0
_SPLITS = 4
_SHARES = (0.1, 0.3, 0.6, 0.85, 0.95)


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
            before = (self.weight, self.above, self.below)
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
        self.weight, self.above, self.below = taken

    def bounds(self, values: TwoCounts) -> Bounds:
        """Return the bracket with the values known so far."""
        return Bounds(self, values)


class Bounds:
    """Upper and lower ends of each cell of a grid at one epsilon, in logarithms."""

    def __init__(self, grid: PairGrid, values: TwoCounts) -> None:
        self._grid, self._values = grid, values
        self._read()

    def _read(self) -> None:
        """Bound g at every node by what is known: it falls in both counts."""
        grid, shape = self._grid, (self._grid.x.size, self._grid.y.size)
        self._high = np.full(shape, self._values.cap.upper)
        self._low = np.full(shape, -np.inf)
        self._low[grid.x <= 1] = self._values.cap.lower
        self._low[:, grid.y <= 1] = self._values.cap.lower
        known = self._values.all_known()
        if known:
            self._take_all(known)
        self._join()

    def _take_all(self, known: Sequence[tuple[tuple[int, int], LogBounds]]) -> None:
        """Do what `_take` does for each of many values, in one sweep along both axes."""
        small, large = np.array([key for key, _ in known], dtype=np.int64).T
        logs = np.array([value for _, value in known])
        for x, y in ((small, large), (large, small)):
            self._sweep(x, y, logs)

    def _sweep(self, x: IntArray, y: IntArray, logs: FloatArray) -> None:
        grid, nodes = self._grid, self._high.shape
        i, j = np.searchsorted(grid.x, x), np.searchsorted(grid.y, y)
        some = (i < nodes[0]) & (j < nodes[1])
        np.minimum.at(self._high, (i[some], j[some]), logs[some, 1])
        for axis in (0, 1):
            np.minimum.accumulate(self._high, axis=axis, out=self._high)
        i, j = np.searchsorted(grid.x, x, "right"), np.searchsorted(grid.y, y, "right")
        some = (i > 0) & (j > 0)
        np.maximum.at(self._low, (i[some] - 1, j[some] - 1), logs[some, 0])
        back = self._low[::-1, ::-1]
        for axis in (0, 1):
            np.maximum.accumulate(back, axis=axis, out=back)

    def _take(self, x: int, y: int, known: LogBounds) -> None:
        grid = self._grid
        for a, b in ((x, y), (y, x)):
            i, j = np.searchsorted(grid.x, a), np.searchsorted(grid.y, b)
            part = self._high[i:, j:]
            np.minimum(part, known.upper, out=part)
            i, j = np.searchsorted(grid.x, a, "right"), np.searchsorted(grid.y, b, "right")
            part = self._low[:i, :j]
            np.maximum(part, known.lower, out=part)

    def _join(self) -> None:
        grid = self._grid
        self._node = self._high[:-1, :-1] + grid.above
        self.cell_upper = grid.weight + self._node + grid.log_factor
        self.cell_lower = grid.below + self._low[1:, 1:] + grid.log_factor
        self.upper, self.lower = _log_sum(self.cell_upper), _log_sum(self.cell_lower)

    def seed(self, x: Sequence[int], y: Sequence[int]) -> None:
        """Evaluate g at some of the given knots, spread evenly."""
        for a in _spread(x):
            for b in _spread(y):
                if min(a, b) >= 2 and a + b <= self._grid.law.n_records:
                    self._take(a, b, self._values.at(a, b))
        self._join()

    def refine(self) -> bool:
        """Evaluate g, or split cells, where the gap is widest; False if nothing is left to do."""
        evaluated = False
        for _ in range(_BATCH):
            gap = _gaps(self.cell_upper, self.cell_lower)
            i, j = divmod(int(gap.argmax()), gap.shape[1])
            nodes = [node for node in ((i, j), (i + 1, j + 1)) if self._unknown(*node)]
            if not nodes:
                return evaluated or self._split(gap)
            x, y = int(self._grid.x[nodes[0][0]]), int(self._grid.y[nodes[0][1]])
            self._take(x, y, self._values.at(x, y))
            evaluated = True
            self._join()
        return True

    def _unknown(self, a: int, b: int) -> bool:
        x, y = int(self._grid.x[a]), int(self._grid.y[b])
        return x + y <= self._grid.law.n_records and self._values.known(x, y) is None

    def _split(self, gap: FloatArray) -> bool:
        """Halve the intervals that the widest gaps come from."""
        grid = self._grid
        along_x, along_y = np.full(gap.shape, _FAR), np.full(gap.shape, _FAR)
        with np.errstate(invalid="ignore"):
            along_x[:-1] = np.nan_to_num(self._node[:-1] - self._node[1:], nan=0.0, posinf=_FAR)
            along_y[:, :-1] = np.nan_to_num(
                self._node[:, :-1] - self._node[:, 1:], nan=0.0, posinf=_FAR
            )
        along_x[(np.diff(grid.x) <= 1), :] = -np.inf
        along_y[:, (np.diff(grid.y) <= 1)] = -np.inf
        by_x = np.where((along_x >= along_y) & (along_x > -np.inf), gap, 0.0).sum(axis=1)
        by_y = np.where(along_y > along_x, gap, 0.0).sum(axis=0)
        most = max(float(by_x.max()), float(by_y.max()))
        if not most > 0:
            return False
        rows, columns = _largest(by_x, most), _largest(by_y, most)
        grid.split(
            [int(grid.x[i] + grid.x[i + 1]) // 2 for i in rows],
            [int(grid.y[j] + grid.y[j + 1]) // 2 for j in columns],
        )
        self._read()
        return True


def _spread(knots: Sequence[int]) -> list[int]:
    places = np.unique(np.linspace(0, len(knots) - 1, _SEEDS).astype(int))
    return [knots[place] for place in places]


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
