"""The line in cells on which the privacy loss is bounded, and how a cell is cut further.

The bounds are gaps times elasticities (proofs/dilated-divergences#6).
"""

from __future__ import annotations

from dataclasses import dataclass

from smoothdp.exact.balls import special
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.balls.work import spend
from smoothdp.noise.divergences.offset import Offset
from smoothdp.noise.divergences.regions import Region, regions

_FIRST_REACH = 4.0
_PER_CELL = 20


@dataclass(frozen=True)
class LossCell:
    """A region of the line from coordinate ``low`` to ``high``; None is the end of the region.

    ``lower`` and ``upper`` bound the loss in it. Between two coordinates, ``middle`` is the loss
    halfway and ``slope`` contains every dL/du.
    """

    region: Region
    low: float | None
    high: float | None
    lower: Ball
    upper: Ball
    middle: Ball | None = None
    slope: Ball | None = None

    @property
    def is_tail(self) -> bool:
        return self.high is None and self.region.has_tail


class CellFactory:
    """Makes and cuts the cells of one offset, at a working precision of ``bits``."""

    def __init__(self, offset: Offset, bits: int) -> None:
        self.offset = offset
        # No range of losses narrower than this is cut: it may be rounding.
        self.blur = special.number(2.0 ** (24 - bits))
        # About the logarithm of the law's width: 1 / (2 f(0)).
        self.anchor = round(-float(offset.law._ball_log_peak()) - 0.7)

    def first(self) -> list[LossCell]:
        """Return cells that cover the line."""
        cells = []
        for region in regions(self.offset.shift):
            low = high = self.anchor
            if not region.has_tail:
                low = high = 0
            start, stop = float(low) - _FIRST_REACH, float(high) + _FIRST_REACH
            cells += [
                self.cell(region, None, start),
                self.cell(region, start, stop),
                self.cell(region, stop, None),
            ]
        return cells

    def cell(self, region: Region, low: float | None, high: float | None) -> LossCell:
        spend(_PER_CELL + 6 * self.offset.law._ball_work)
        if low is not None and high is not None:
            least, most, *at_middle = self.offset.loss_range(region, low, high)
            return LossCell(region, low, high, *_known(least, most), *at_middle)
        if high is None and region.has_tail:
            assert low is not None
            return LossCell(region, low, None, *_known(*self.offset.tail_loss(region, low)))
        edge = low if high is None else high
        assert edge is not None
        bounds = self.offset.end_loss(region, edge, upper=high is None)
        return LossCell(region, low, high, *_known(*bounds))

    def cut(self, cell: LossCell) -> list[LossCell] | None:
        """Return the two halves of a cell; None if the cell is as small as cells get."""
        edge = self._edge(cell)
        if edge is None:
            return None
        return [self.cell(cell.region, cell.low, edge), self.cell(cell.region, edge, cell.high)]

    def _edge(self, cell: LossCell) -> float | None:
        low, high = cell.low, cell.high
        if cell.upper - cell.lower < self.blur:
            return None
        if low is not None and high is not None:
            middle = (low + high) / 2
            small = (high - low) <= 2.0**-46 * (1 + abs(middle))
            return None if small else middle
        # A step outwards, twice as far from the middle of the law each time.
        if low is not None:
            distance = max(low - (self.anchor if cell.is_tail else 0), 2.0)
            furthest = 2.0**40 if self._is_light(cell) else 300.0
            return low + distance if distance < furthest else None
        assert high is not None
        distance = max((self.anchor if cell.region.has_tail else 0) - high, 2.0)
        return high - distance if distance < 200.0 else None

    def _is_light(self, cell: LossCell) -> bool:
        return cell.is_tail and self.offset.law._elasticity_limit() is None

    def masses(self, cell: LossCell) -> tuple[Ball, Ball]:
        """Return the probabilities of a cell under both laws."""
        spend(4 * self.offset.law._ball_work)
        ends = [self._tails(cell, cell.low, upper=False), self._tails(cell, cell.high, upper=True)]
        # Without a shift, one region stands for both sides of the line.
        times = 1 if self.offset.shift > 0 else 2
        return times * abs(ends[0][0] - ends[1][0]), times * abs(ends[0][1] - ends[1][1])

    def _tails(self, cell: LossCell, u: float | None, *, upper: bool) -> tuple[Ball, Ball]:
        if u is None and upper and cell.region.has_tail:
            return special.number(0.0), special.number(0.0)
        near: Ball | None
        far: Ball | None
        if u is None:
            near, far = cell.region.limit(upper=upper)
        else:
            logs = cell.region.logs(special.number(u))
            near, far = logs.near, logs.far
        t = self.offset.dilation
        return self._tail(near), self._tail(None if far is None else far - t)

    def _tail(self, v: Ball | None) -> Ball:
        return special.number(0.5) if v is None else self.offset.law._ball_survival(v.exp())


def _known(lower: Ball, upper: Ball) -> tuple[Ball, Ball]:
    """Return bounds of a loss, infinite where the law does not tell: nan would look like none."""
    unknown = special.infinity()
    return -unknown if lower.is_nan() else lower, unknown if upper.is_nan() else upper
