"""All pairs of steps at which e^(-rate k) (U_q + W_p) may be largest, by floats with a margin.

k = max(p + q - 1, 0) is the distance at which the pair counts. With F the logarithm of that
product, and d = U_q + W_p:

* float F is within ``error`` of the truth (`Problem.error`), so that a pair more than two errors
  below another is not the largest. Every comparison here keeps at least that margin.
* For q < q', F(p, q') - F(p, q) = ln((U_q' + W_p) / (U_q + W_p)) - rate (q' - q) falls with W_p:
  further rows prefer nearer columns, and the columns of the row maxima never rise. So a column
  that loses at the nearest row to a nearer one, or at the furthest row to a further one, is out.

k of the pair (0, 0) is 0 and not -1. That lowers F there, which leaves the order intact (it only
helps larger q at the nearest row), but column 0 may not be used to rule out others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.queries.row_maxima import near_row_maxima
from smoothdp.queries.sides import Sides
from smoothdp.types import BoolArray, FloatArray, IntArray

# Up to this many pairs are simply all looked at.
_ALL_PAIRS = 1 << 19
_ROUNDS = 3


class Pairs(NamedTuple):
    """Places of pairs on the low and the high side, and the largest F seen."""

    low: IntArray
    high: IntArray
    best: float


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Rows (low side) and columns (high side) that are still in question."""

    rate: float
    most: int | None
    """Only pairs with p + q <= most count, if given."""
    low_gains: FloatArray
    low_steps: IntArray
    low_places: IntArray
    high_gains: FloatArray
    high_steps: IntArray
    high_places: IntArray

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


def near_maxima(sides: Sides, rate: float, *, most: int | None = None) -> Pairs:
    """Return pairs that are certain to contain every maximiser of F.

    Args:
        sides: the values beyond both ends of the window.
        rate: the smoothing t, as the nearest float.
        most: only pairs with p + q <= most, if given (at least 1).

    Returns the pairs, and the largest float F (-inf if all differences are 0).
    """
    low, high = sides
    problem = Problem(
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
        problem = _pruned(problem)
    rows, columns = len(problem.low_gains), len(problem.high_gains)
    if rows * columns <= _ALL_PAIRS:
        scores = problem.score(np.arange(rows)[:, None], np.arange(columns)[None, :])
        best = float(scores.max())
        near = np.nonzero(scores >= best - _margin(problem, best))
    else:
        near, best = near_row_maxima(problem)
    if best == -np.inf:
        near = (near[0][:1], near[1][:1])
    return Pairs(problem.low_places[near[0]], problem.high_places[near[1]], best)


def _margin(problem: Problem, best: float) -> float:
    """Return how far below the largest float F the largest pair may lie."""
    return 4 * problem.error(best) if best > -np.inf else 0.0


def _pruned(problem: Problem) -> Problem:
    """Drop rows and columns that cannot hold the largest pair."""
    best = _climbed(problem)
    for _ in range(_ROUNDS):
        margin = _margin(problem, best)
        for _ in ("columns", "rows"):
            kept = _kept(problem, best, margin)
            problem = _exchanged(
                replace(
                    problem,
                    high_gains=problem.high_gains[kept],
                    high_steps=problem.high_steps[kept],
                    high_places=problem.high_places[kept],
                )
            )
    return problem


def _exchanged(problem: Problem) -> Problem:
    """Return the same problem with rows as columns."""
    return replace(
        problem,
        low_gains=problem.high_gains,
        low_steps=problem.high_steps,
        low_places=problem.high_places,
        high_gains=problem.low_gains,
        high_steps=problem.low_steps,
        high_places=problem.low_places,
    )


def _climbed(problem: Problem) -> float:
    """Return a large F: the best column of a row, the best row of that column, and so on."""
    best, row = -np.inf, 0
    for _ in range(4):
        column = int(np.argmax(problem.score(row, slice(None))))
        scores = problem.score(slice(None), column)
        row = int(np.argmax(scores))
        if scores[row] <= best:
            break
        best = float(scores[row])
    return best


def _kept(problem: Problem, best: float, margin: float) -> BoolArray:
    """Return which columns may hold the largest pair.

    A column is out if its bound over all rows is too small; if a nearer column (not column 0) is
    better at the nearest row; or if a further one is better at the furthest row, unless the
    further one may be forbidden there by ``most``.
    """
    decay = problem.rate * problem.high_steps
    with np.errstate(divide="ignore"):
        nearest = np.log(problem.high_gains + problem.low_gains[0]) - decay
        furthest = np.log(problem.high_gains + problem.low_gains[-1]) - decay
    # e^(-rate k) with k = p + q - 1, or 0 for the pair (0, 0), which this bounds as well.
    bound = furthest - problem.rate * (float(problem.low_steps[0]) - 1.0)
    kept: BoolArray = bound >= best - margin
    rivals = np.where(problem.high_steps > 0, nearest, -np.inf)
    before = np.maximum.accumulate(rivals)[:-1]
    kept[1:] &= nearest[1:] >= before - margin
    if problem.most is None:
        after = np.maximum.accumulate(furthest[::-1])[::-1][1:]
        kept[:-1] &= furthest[:-1] >= after - margin
    return kept
