"""The worst score orders outputs by nested intervals of the likelihood ratio.

Sort outputs by the ratio, the largest first, and let G(x) be the largest mass under P of events
that have mass x under Q. For every score,

    D_best(E) <= G(0) f'(1) + integral over x of
        the largest, over y >= x, of (f'(G(y) - G(x)) G'(x) - E f'(y - x))_+

(proofs/repeat-and-select#3): the best of the runs is at x, and those between x and y are worse.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smoothdp.exact.balls.balls import exp_bounds
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import Real
from smoothdp.selection.cells import Cells
from smoothdp.selection.counts import RunCount
from smoothdp.types import FloatArray, IntArray

_ROUND = 1e-12
_FARTHEST = 600.0
_ENDS = (0.5, 0.9, 0.99, 0.999, 1.0)


@dataclass(frozen=True, eq=False)
class Nested:
    """Both ends of the cost of the worst score, by cells of a law above and of one below."""

    above: Cells
    below: Cells | None
    count: RunCount

    # ---- from above -----------------------------------------------------------------

    @cached_property
    def _weights(self) -> tuple[FloatArray, FloatArray]:
        """f'(u) from above and f'(v) from below, over f'(1), at edges x (rows) and y (columns).

        Between edges f'(u) is at most what is between its values at the corners, and f'(v) is at
        least that less (dx^2 + dy^2) f''' / 8, f''' taken at the largest v (#4).
        """
        cells, count = self.above, self.count
        outside_p = cells.above_p[:, None] + cells.below_p[None, :]
        high, high_error = count.log_weights(
            np.clip(outside_p - 2 * cells.slip - _ROUND, -1e-10, 1.0)
        )
        outside_q = cells.above_q[:, None] + cells.below_q[None, :] + _ROUND
        low, low_error = count.log_weights(np.clip(outside_q, 0.0, 1.0))
        widths = np.concatenate([[0.0], cells.q, [0.0]])
        widest = np.maximum(widths[1:], widths[:-1])
        # v one cell further out on both sides.
        before = np.concatenate([[0.0], cells.above_q[:-1]])
        after = np.concatenate([cells.below_q[1:], cells.below_q[-1:]])
        wider = np.clip(before[:, None] + after[None, :] - _ROUND, 0.0, 1.0)
        bends = np.exp(count.log_bends(wider)) * (1 + 1e-11)
        gaps = bends * (widest[:, None] ** 2 + widest[None, :] ** 2) / 8
        # Beyond 1, where f' is asked for the sake of rounding, it may pass all floats.
        with np.errstate(over="ignore"):
            upper = np.exp(high + high_error) * (1 + _ROUND)
        lower = np.exp(low - low_error) * (1 - _ROUND) - gaps * (1 + _ROUND)
        # y >= x only: elsewhere nothing is gained.
        wrong = np.tri(cells.above_q.size, k=-1, dtype=bool)
        upper[wrong] = 0.0
        lower[wrong] = 0.0
        return upper, lower

    @cached_property
    def _within(self) -> tuple[FloatArray, FloatArray]:
        """The weights where x and y are in one cell: at y - x = 0 and as far as they can be."""
        cells, count = self.above, self.count
        p, q = cells.p * (1 + 2 * cells.slip), cells.q
        zero = np.ones_like(p)
        high = [count.log_weights(np.maximum(1 - part - _ROUND, 0.0)) for part in (0 * p, p)]
        low = [count.log_weights(np.minimum(1 - part + _ROUND, zero)) for part in (0 * q, q)]
        bends = np.exp(count.log_bends(np.maximum(1 - q - _ROUND, 0.0)))
        gap = bends * (1 + 1e-11) * q * q / 8
        upper = [np.exp(each.values + each.error) * (1 + _ROUND) for each in high]
        lower = [np.exp(each.values - each.error) * (1 - _ROUND) - gap for each in low]
        return np.array(upper), np.array(lower)

    @cached_property
    def _reach(self) -> FloatArray:
        """For each cell a float not below the E from which on it gains nothing."""
        cells = self.above
        upper, lower = self._weights
        ratio = np.zeros(cells.p.size)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inside = [u / np.maximum(v, 0.0) for u, v in zip(*self._within, strict=True)]
            for rows in (slice(0, -1), slice(1, None)):
                each = upper[rows, 1:] / np.maximum(lower[rows, 1:], 0.0)
                each[np.isnan(each)] = 0.0
                _only_after(each)
                ratio = np.maximum(ratio, each.max(axis=1))
            ratio = np.maximum(ratio, np.nan_to_num(np.max(inside, axis=0), nan=0.0, posinf=np.inf))
            reach = ratio * (cells.p / cells.q) * (1 + 1e-9)
        return np.where(cells.p > 0, np.where(np.isnan(reach), np.inf, reach), 0.0)

    def log_upper(self, epsilon: Real) -> float:
        """Return a float not below ln of the cost of the worst score, for epsilon >= 0."""
        growth = min(exp_bounds(epsilon).lower, math.exp(_FARTHEST))
        cells = self.above
        rows = np.flatnonzero(self._reach >= growth)
        p, q = cells.p[rows] * (1 + 2 * cells.slip), cells.q[rows] * growth
        upper, lower = self._weights
        inside_upper, inside_lower = (each[:, rows] for each in self._within)
        inside = np.max(inside_upper * p - inside_lower * q, axis=0)
        before = np.arange(cells.p.size)[None, :] < rows[:, None]
        total = np.zeros(rows.size)
        for edge in (rows, rows + 1):
            gain = upper[edge, 1:] * p[:, None] - lower[edge, 1:] * q[:, None]
            gain[before] = 0.0
            total += np.maximum(np.maximum(gain.max(axis=1, initial=0.0), inside), 0.0) / 2
        # A difference of two rounded products.
        spare = 8 * UNIT_ROUNDOFF * float(np.sum(p[total > 0]) + np.sum(q[total > 0]))
        infinite = cells.infinite * (1 + 2 * cells.slip)
        value = (infinite + math.fsum(total.tolist()) + spare) * (1 + 1e-12)
        return math.log(value) + self.count.log_mean.upper + 1e-14 if value > 0 else -math.inf

    # ---- from below -----------------------------------------------------------------

    @cached_property
    def _plain(self) -> tuple[FloatArray, FloatArray]:
        """About f'(u) and f'(v) in the middle of a cell x, with the edge y."""
        cells = self.below
        assert cells is not None
        middles_p = (cells.above_p[1:] + cells.above_p[:-1]) / 2
        middles_q = (cells.above_q[1:] + cells.above_q[:-1]) / 2
        both = []
        for middle, after in ((middles_p, cells.below_p), (middles_q, cells.below_q)):
            outside = np.clip(middle[:, None] + after[None, 1:], 0.0, 1.0)
            weights = np.exp(self.count.log_weights(outside).values)
            _only_after(weights)
            both.append(weights)
        return both[0], both[1]

    @cached_property
    def _most(self) -> FloatArray:
        """About the largest f'(u) / f'(v) of each cell."""
        first, second = self._plain
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = first / second
        most: FloatArray = np.where(np.isnan(ratio), 0.0, ratio).max(axis=1, initial=0.0)
        return most

    def log_lower(self, epsilon: Real) -> float:
        """Return a float not above ln of what one score costs, nearly the worst.

        The cells are taken from the inside out: before the cell x all others up to an edge y(x)
        that never falls as x goes to 0 (#5).
        """
        cells = self.below
        growth = exp_bounds(epsilon).upper
        if cells is None or growth > math.exp(_FARTHEST):
            return -math.inf
        p, q = cells.p, cells.q * growth
        rows = np.flatnonzero(cells.p * self._most > q)
        first, second = self._plain
        gain = first[rows] * p[rows, None] - second[rows] * q[rows, None]
        edges = np.zeros(p.size, dtype=np.int64)
        gains = np.zeros(p.size)
        if rows.size:
            edges[rows] = np.argmax(gain, axis=1)
            gains[rows] = np.maximum(gain.max(axis=1), 0.0)
        best = self._gained(edges[:0], p[:0], q[:0])
        # The event whose runs count ends at one of these cells.
        running = np.cumsum(gains)
        for share in _ENDS:
            count = int(np.searchsorted(running, share * running[-1])) + 1 if rows.size else 0
            # From the inside out, and never before the cells themselves.
            until = np.maximum(np.maximum.accumulate(edges[:count][::-1])[::-1], count - 1) + 1
            best = max(best, self._gained(until, p[:count], q[:count]))
        if best <= 0:
            return -math.inf
        return math.log(best) + self.count.log_mean.lower - 1e-14 * (1 + abs(math.log(best)))

    def _gained(self, edges: IntArray, p: FloatArray, q: FloatArray) -> float:
        """Return a float not above what the first cells gain, each with the others up to an edge.

        f' is convex: its mean over a cell is at least its middle, and at most the mean of ends.
        What is at infinity comes last.
        """
        cells, count = self.below, self.count
        assert cells is not None
        spare = cells.slip + _ROUND
        after_p, after_q = cells.below_p[edges], cells.below_q[edges]
        tops, bottoms = cells.above_p[: p.size + 1], cells.above_q[: p.size + 1]
        middle = after_p + (tops[1:] + tops[:-1]) / 2
        high = count.log_weights(np.clip(middle + 2 * spare, 0.0, 1.0))
        ends = [
            count.log_weights(np.clip(after_q + edge - 2 * spare, 0.0, 1.0))
            for edge in (bottoms[1:], bottoms[:-1])
        ]
        gained = p * np.exp(high.values - high.error) * (1 - spare - _ROUND)
        first, second = (np.exp(each.values + each.error) for each in ends)
        lost = q * ((first + second) / 2) * (1 + _ROUND)
        total = math.fsum(np.maximum(gained - lost, 0.0).tolist())
        if cells.infinite > 0:
            outside = cells.infinite + (float(after_p[0]) if after_p.size else 0.0) + 2 * spare
            weight = count.log_weights(np.array([min(outside, 1.0)]))
            total += cells.infinite * math.exp(float(weight.values[0] - weight.error[0]))
        return total * (1 - spare - 1e-12)


def _only_after(rows: FloatArray) -> None:
    """Put 0 where y is not after the cell x: columns are the edges after each cell."""
    rows[np.tri(rows.shape[0], k=-1, dtype=bool)] = 0.0
