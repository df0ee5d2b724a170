"""The distance with the largest e^(-t k) B_k, exactly: branch and bound over k and j.

A pair (k, j) stands for Y(T) - Y(B). T and B rise in j, so on a range j_0, ..., j_1 the
difference is at most Y at T of j_1 minus Y at B of j_0 (proofs/private-size#7). Ranges whose
bound lies below the best pair found are dropped, the others are split. Floats decide with a
margin; what is left over is compared as exact rationals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from smoothdp.queries.private_size.cells import PaddedCells
from smoothdp.queries.private_size.gains import Gains
from smoothdp.queries.private_size.positions import Positions
from smoothdp.queries.sensitivity.candidates import Candidate, largest
from smoothdp.queries.windows.selected import first_reach, needed_reach
from smoothdp.types import FloatArray, IntArray

_AT_ONCE = 1 << 14
"""How many ranges are looked at together."""
_FIRST = 1 << 12
"""How many at first, before any have been dropped."""
_PARTS = 8
_FEW = 32
_MARGIN = 2.0**-46
"""Relative error of a score: 12 roundings of the difference, four of its logarithm, two of t k."""


class Ranges(NamedTuple):
    """For each k a range of j; ``shifted`` is 1 for Y(T - M) - Y(B - M), at j = 0."""

    distance: IntArray
    first: IntArray
    last: IntArray
    shifted: IntArray

    def take(self, kept: IntArray) -> Ranges:
        """Return some of the ranges."""
        return Ranges(*(column[kept] for column in self))


@dataclass
class Search:
    """The search on one column.

    Attributes:
        cells: the column. positions: the window on it.
        log_range: ln(b - a), not below.
    """

    cells: PaddedCells
    positions: Positions
    log_range: float
    gains: Gains = field(init=False)

    def __post_init__(self) -> None:
        self.gains = Gains(self.cells, self.positions.unit, self.positions.length)

    def at(self, distance: int) -> Fraction:
        """Return w B_k at one distance, exactly."""
        distance = min(distance, self.positions.furthest)
        self.cells.arrange(*self.positions.reached(distance))
        found = self._near(np.array([distance]), rate=0.0)
        return max(self._exact(found))

    def largest(self, rate: Fraction) -> Candidate:
        """Return (k, w B_k) with the largest e^(-rate k) B_k, exactly; rate > 0."""
        furthest = self.positions.furthest
        first = first_reach(max(2, self.positions.n_records), rate)
        start, reach = 0, min(first, furthest)
        ranges = self.positions.reached
        while True:
            self.cells.arrange(*ranges(reach))
            near = self._near(np.arange(start, reach + 1), rate=float(rate))
            if near.best == -math.inf:
                # X is level around the window: all is 0 up to a distance that is known.
                rises = self.cells.rises(self.positions.bottom_end // self.positions.unit + 1)
                start = self.positions.first_gain(*rises)
                reach = min(start + first, furthest)
                ranges = partial(self.positions.beyond, below=rises[0], above=rises[1])
                continue
            needed = min(start + needed_reach(self.log_range, near.best, rate), furthest)
            if needed <= reach:
                break
            reach = needed
        differences = self._exact(near)
        pairs = zip(near.ranges.distance.tolist(), differences, strict=True)
        return largest(pairs, rate)

    def _exact(self, near: _Near) -> list[Fraction]:
        top, bottom = self._ends(near.ranges, upper=False)
        return self.gains.exact(top, bottom)

    def _near(self, distances: IntArray, *, rate: float) -> _Near:
        """Return pairs that are certain to contain a maximiser at each rate and distance.

        Scores count distances from the first of them.
        """
        start = int(distances[0])
        zeros = np.zeros(len(distances), np.int64)
        last = zeros if self.positions.is_middle else distances
        both = zip(
            (distances, zeros, zeros, zeros + 1), (distances, zeros, last, zeros), strict=True
        )
        every = Ranges(*map(np.concatenate, both))
        # The near ones first: what they reach drops most of the others.
        order = np.argsort(every.distance, kind="stable")
        pending = [
            every.take(order[start : start + _FIRST]) for start in range(0, len(order), _FIRST)
        ][::-1]
        margin = _MARGIN * (8 + rate * float(distances[-1] - start))
        best = -math.inf
        leaves: list[tuple[Ranges, FloatArray]] = []
        while pending:
            ranges = pending.pop()
            scores = self._scores(ranges, rate, start, upper=True)
            # Of a single pair both are its score.
            several = np.flatnonzero(ranges.first < ranges.last)
            reached = scores
            if len(several):
                reached = scores.copy()
                reached[several] = self._scores(ranges.take(several), rate, start, upper=False)
            best = max(best, float(reached.max(initial=-math.inf)))
            slack = margin + _MARGIN * abs(best) if best > -math.inf else 0.0
            kept = np.flatnonzero((scores > -math.inf) & (scores >= best - slack))
            kept = kept[np.argsort(-scores[kept], kind="stable")]
            if len(kept) > _AT_ONCE:
                pending.append(ranges.take(kept[_AT_ONCE:]))
                kept = kept[:_AT_ONCE]
            alive, scores = ranges.take(kept), scores[kept]
            is_leaf = alive.first == alive.last
            leaves.append((alive.take(np.flatnonzero(is_leaf)), scores[is_leaf]))
            if not is_leaf.all():
                pending.append(_split(alive.take(np.flatnonzero(~is_leaf))))
        return self._kept(leaves, best, margin)

    def _kept(self, leaves: list[tuple[Ranges, FloatArray]], best: float, margin: float) -> _Near:
        if best == -math.inf:
            nothing = np.zeros(1, np.int64)
            return _Near(Ranges(nothing, nothing, nothing, nothing), best)
        columns = zip(*(ranges for ranges, _ in leaves), strict=True)
        ranges = Ranges(*(np.concatenate(column) for column in columns))
        scores = np.concatenate([score for _, score in leaves])
        near = ranges.take(np.flatnonzero(scores >= best - margin - _MARGIN * abs(best)))
        if len(near.distance) > _FEW:
            top, bottom = self._ends(near, upper=False)
            # The same difference at a larger distance is not the largest.
            order = np.argsort(near.distance, kind="stable")
            near = near.take(order[np.sort(self.gains.distinct(top[order], bottom[order]))])
        return _Near(near, best)

    def _ends(self, ranges: Ranges, *, upper: bool) -> tuple[IntArray, IntArray]:
        """Return T and B of the first pair of each range, or T of its last."""
        k, first, last, shifted = map(self.positions.whole_numbers, ranges)
        back = shifted * self.positions.length
        top = self.positions.top(k, last if upper else first) - back
        return top, self.positions.bottom(k, first) - back

    def _scores(self, ranges: Ranges, rate: float, start: int, *, upper: bool) -> FloatArray:
        logs = self.gains.logs(*self._ends(ranges, upper=upper))
        return np.asarray(logs - rate * (ranges.distance - start), np.float64)


class _Near(NamedTuple):
    """Pairs near the largest, and the largest score in floats."""

    ranges: Ranges
    best: float


def _split(ranges: Ranges) -> Ranges:
    """Split each range into at most _PARTS of about one length."""
    size = ranges.last - ranges.first + 1
    step = -(-size // _PARTS)
    count = -(-size // step)
    owner = np.repeat(np.arange(len(size)), count)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    first = ranges.first[owner] + place * step[owner]
    last = np.minimum(first + step[owner] - 1, ranges.last[owner])
    return Ranges(ranges.distance[owner], first, last, ranges.shifted[owner])
