"""All pairs of steps at which e^(-rate k) (U_q + W_p) may be largest, by floats with a margin.

k = max(p + q - 1, 0) is the distance at which the pair counts. With F the logarithm of that
product, and d = U_q + W_p:

* float F is within ``error`` of the truth (`PairTable.error`), so that a pair more than two errors
  below another is not the largest. Every comparison here keeps at least that margin.
* For q < q', F(p, q') - F(p, q) = ln((U_q' + W_p) / (U_q + W_p)) - rate (q' - q) falls with W_p:
  further rows prefer nearer columns, and the columns of the row maxima never rise. So a column
  that loses at the nearest row to a nearer one, or at the furthest row to a further one, is out.

k of the pair (0, 0) is 0 and not -1. That lowers F there, which leaves the order intact (it only
helps larger q at the nearest row), but column 0 may not be used to rule out others.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from smoothdp.queries.sensitivity.row_maxima import PairTable, near_row_maxima
from smoothdp.queries.windows.sides import Sides
from smoothdp.types import BoolArray, IntArray

# Up to so many pairs, all are looked at.
_ALL_PAIRS = 1 << 19
_ROUNDS = 3


class Pairs(NamedTuple):
    """Positions of pairs on the low and the high side, and the largest F seen."""

    low: IntArray
    high: IntArray
    best: float


def near_maxima(sides: Sides, rate: float, *, most: int | None = None) -> Pairs:
    """Return pairs that are certain to contain every maximiser of F.

    Args:
        sides: the values beyond both ends of the window.
        rate: the smoothing t, as the nearest float.
        most: only pairs with p + q <= most, if given (at least 1).

    Returns the pairs, and the largest float F (-inf if all differences are 0).
    """
    low, high = sides
    table = PairTable(
        rate,
        most,
        low.gains,
        low.steps,
        np.arange(len(low)),
        high.gains,
        high.steps,
        np.arange(len(high)),
    )
    if low.gains[-1] + high.gains[-1] == 0.0:
        return Pairs(np.zeros(1, np.int64), np.zeros(1, np.int64), -np.inf)
    if len(low) * len(high) > _ALL_PAIRS >> 5:
        table = _pruned(table)
    rows, columns = len(table.low_gains), len(table.high_gains)
    if rows * columns <= _ALL_PAIRS:
        scores = table.score(np.arange(rows)[:, None], np.arange(columns)[None, :])
        best = float(scores.max())
        near = np.nonzero(scores >= best - _margin(table, best))
    else:
        near, best = near_row_maxima(table)
    if best == -np.inf:
        near = (near[0][:1], near[1][:1])
    return Pairs(table.low_positions[near[0]], table.high_positions[near[1]], best)


def _margin(table: PairTable, best: float) -> float:
    """Return how far below the largest float F the largest pair may lie."""
    return 4 * table.error(best) if best > -np.inf else 0.0


def _pruned(table: PairTable) -> PairTable:
    """Drop rows and columns that cannot hold the largest pair."""
    best = _climbed(table)
    for _ in range(_ROUNDS):
        margin = _margin(table, best)
        for _ in ("columns", "rows"):
            kept = _kept(table, best, margin)
            table = _exchanged(
                replace(
                    table,
                    high_gains=table.high_gains[kept],
                    high_steps=table.high_steps[kept],
                    high_positions=table.high_positions[kept],
                )
            )
    return table


def _exchanged(table: PairTable) -> PairTable:
    """Return the table with rows as columns."""
    return replace(
        table,
        low_gains=table.high_gains,
        low_steps=table.high_steps,
        low_positions=table.high_positions,
        high_gains=table.low_gains,
        high_steps=table.low_steps,
        high_positions=table.low_positions,
    )


def _climbed(table: PairTable) -> float:
    """Return a large F: the best column of a row, the best row of that column, and so on."""
    best, row = -np.inf, 0
    for _ in range(4):
        column = int(np.argmax(table.score(row, slice(None))))
        scores = table.score(slice(None), column)
        row = int(np.argmax(scores))
        if scores[row] <= best:
            break
        best = float(scores[row])
    return best


def _kept(table: PairTable, best: float, margin: float) -> BoolArray:
    """Return which columns may hold the largest pair.

    A column is out if its bound over all rows is too small; if a nearer column (not column 0) is
    better at the nearest row; or if a further one is better at the furthest row, unless the
    further one may be forbidden there by ``most``.
    """
    decay = table.rate * table.high_steps
    with np.errstate(divide="ignore"):
        nearest = np.log(table.high_gains + table.low_gains[0]) - decay
        furthest = np.log(table.high_gains + table.low_gains[-1]) - decay
    # e^(-rate k) with k = p + q - 1, or 0 for the pair (0, 0), which this bounds as well.
    bound = furthest - table.rate * (float(table.low_steps[0]) - 1.0)
    kept: BoolArray = bound >= best - margin
    rivals = np.where(table.high_steps > 0, nearest, -np.inf)
    before = np.maximum.accumulate(rivals)[:-1]
    kept[1:] &= nearest[1:] >= before - margin
    if table.most is None:
        after = np.maximum.accumulate(furthest[::-1])[::-1][1:]
        kept[:-1] &= furthest[:-1] >= after - margin
    return kept
