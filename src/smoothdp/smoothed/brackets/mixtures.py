"""The largest expectation over every way to mix a few distributions: branch and bound.

Cells of compositions, each with one proved bound; the cell with the largest bound is split, until
that is close enough to a lower end, or nothing improves (proofs/smoothed-brackets#8).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
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

MOST_DIVERGENCES = 8_000
"""So many take some twenty seconds: what is proved until then counts."""

_ROUGH = 2.5
_LITTLE = 0.05
_ROUNDING = 1e-6


@dataclass(order=True)
class _Leaf:
    """A cell with the negative of its bound; ``slope``: what a free record costs, in ln."""

    negative: float
    cell: CompositionCell = field(compare=False)
    slope: float = field(compare=False)


class Mixtures:
    """Every mixture of some distributions, over all categories or over some that are counted.

    ``upper`` bounds ln of the largest mean of g at the two smallest counts less 1, over all
    compositions; `split` lowers it.

    Args:
        n_records: n; vertices: positive probabilities of the categories that are counted.
        values: g; upper: a proved bound for all compositions.
    """

    def __init__(
        self, n_records: int, vertices: Sequence[Law], values: TwoCounts, upper: float
    ) -> None:
        self.n_records, self.vertices = n_records, tuple(vertices)
        self.n_cells = 0
        self._values = values
        root = CompositionCell(n_records, (0,) * len(self.vertices))
        self._leaves = [_Leaf(-upper, root, 0.0)]

    @property
    def upper(self) -> float:
        return -self._leaves[0].negative

    @property
    def worst(self) -> CompositionCell:
        """The cell whose bound is the largest."""
        return self._leaves[0].cell

    @property
    def can_improve(self) -> bool:
        """Whether the free records of the worst cell cost more than a little."""
        leaf = self._leaves[0]
        if leaf.cell.size == 0:
            return False
        return leaf.slope == 0 or leaf.slope * leaf.cell.size > _LITTLE

    def split(self, *, target: float, tolerance: float) -> None:
        """Split the worst cell; bounds at or below ``target`` need not be close."""
        leaf = heapq.heappop(self._leaves)
        for cell in leaf.cell.split():
            bound = min(-leaf.negative, self._bound(cell, leaf.slope, tolerance, target))
            fewer = leaf.cell.size - cell.size
            slope = max(leaf.slope, (-leaf.negative - bound) / fewer)
            heapq.heappush(self._leaves, _Leaf(-bound, cell, slope))
            self.n_cells += 1

    def _bound(self, cell: CompositionCell, slope: float, tolerance: float, target: float) -> float:
        shares = cell.shares(slope)
        inside = log_within(self.n_records, shares, cell.least)
        law = OneLaw(self.n_records, shares_of(mixed_law(self.vertices, shares)))
        rough = law.bracket(self._values, tolerance=max(_ROUGH, tolerance)).upper
        wanted = target + inside
        if wanted < rough <= wanted + _ROUGH:
            rough = law.bracket(self._values, tolerance=tolerance, log_target=wanted).upper
        return min(rough - inside + _ROUNDING, self._values.cap.upper)
