"""The largest expectation over every way to mix a few distributions: branch and bound.

Cells of compositions, each with one proved bound; the cell with the largest bound is split, until
that is close enough to a lower end, or nothing improves (proofs/smoothed-brackets#8).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from smoothdp.smoothed.brackets.composition_cells import (
    CompositionCell,
    Law,
    log_within,
    mixed_law,
)
from smoothdp.smoothed.brackets.one_law import OneLaw
from smoothdp.smoothed.brackets.shares import shares_of
from smoothdp.smoothed.brackets.two_counts import TwoCounts

_MOST_DIVERGENCES = 12_000
_ALMOST = 1e-6


@dataclass(order=True)
class _Leaf:
    """A cell with the negative of its bound; ``slope``: what a free record costs, in ln."""

    negative: float
    cell: CompositionCell = field(compare=False)
    slope: float = field(compare=False)


@dataclass
class Mixtures:
    """Every mixture of some distributions, over all categories or over some that are counted.

    Args:
        n_records: n; vertices: positive probabilities of the categories that are counted.
    """

    n_records: int
    vertices: Sequence[Law]

    def upper(
        self,
        values: TwoCounts,
        *,
        start: float,
        goal: Callable[[], float],
        tolerance: float,
        most_cells: int,
        look: Callable[[CompositionCell], None] | None = None,
    ) -> float:
        """Bound ln of the largest mean of g at the two smallest counts less 1.

        Args:
            values: g. start: a proved bound for all compositions.
            goal: a bound at or below which nothing is gained any more, asked at each step.
            tolerance: of the bound of one law. most_cells: so many bounds are computed.
            look: told of each cell that is split, before that.
        """
        root = CompositionCell(self.n_records, (0,) * len(self.vertices))
        leaves = [_Leaf(-start, root, 0.0)]
        made = 0
        while made < most_cells and values.n_evaluations < _MOST_DIVERGENCES:
            leaf = leaves[0]
            if look is not None:
                look(leaf.cell)
            if -leaf.negative <= goal() or leaf.cell.size == 0:
                break
            heapq.heappop(leaves)
            for cell in leaf.cell.split():
                bound = self._bound(values, cell, leaf, tolerance, goal())
                slope = max(leaf.slope, (-leaf.negative - bound) / (leaf.cell.size - cell.size))
                heapq.heappush(leaves, _Leaf(-bound, cell, slope))
                made += 1
        return -leaves[0].negative

    def _bound(
        self,
        values: TwoCounts,
        cell: CompositionCell,
        above: _Leaf,
        tolerance: float,
        target: float,
    ) -> float:
        best = -above.negative
        for shares in cell.choices(above.slope):
            inside = log_within(self.n_records, shares, cell.least)
            if inside == -math.inf:
                continue
            law = OneLaw(self.n_records, shares_of(mixed_law(self.vertices, shares)))
            found = law.bracket(values, tolerance=tolerance, log_target=target + inside).upper
            best = min(best, found - inside + _ALMOST)
        return best
