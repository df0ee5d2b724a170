"""The largest privacy loss between a law and its shifted and dilated copy."""

from __future__ import annotations

import heapq
import math
from itertools import count

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import round_down, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.noise.loss_cells import CellFactory, LossCell
from smoothdp.noise.offset import Offset
from smoothdp.noise.panels import BITS

_TOLERANCE = 1e-14
_MOST_CUTS = 4000


def loss_supremum(offset: Offset) -> tuple[float, float]:
    """Bound the supremum over x of ln p(x) / q(x), by cutting the most promising cell.

    Where the elasticity has no limit and q is narrower than p, the loss is unbounded.
    """
    if offset.law._elasticity_limit() is None and offset.dilation < 0:
        return math.inf, math.inf
    factory = CellFactory(offset, BITS)
    order = count()
    best = special.number(0.0)
    heap: list[tuple[float, int, LossCell]] = []
    done = special.number(0.0)
    for cell in factory.first():
        best = special.maximum(best, _witness(cell))
        heapq.heappush(heap, (-float(cell.upper), next(order), cell))
    for _ in range(_MOST_CUTS):
        if not heap or not heap[0][2].upper > best + _TOLERANCE * best:
            break
        cell = heapq.heappop(heap)[2]
        halves = factory.cut(cell)
        if halves is None:
            done = special.maximum(done, cell.upper)
            continue
        for half in halves:
            best = special.maximum(best, _witness(half))
            if not half.upper <= best:
                heapq.heappush(heap, (-float(half.upper), next(order), half))
    for _, _, cell in heap:
        done = special.maximum(done, cell.upper)
    return max(0.0, round_down(best)), max(0.0, round_up(special.maximum(done, best)))


def _witness(cell: LossCell) -> Ball:
    """Return a number that the supremum is not below: the least loss of the cell."""
    if cell.middle is None:
        return cell.lower
    return special.lower(special.maximum(cell.middle, cell.lower))
