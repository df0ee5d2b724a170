"""E delta for records of one distribution, from both sides: Theorem 4, pair by pair.

(proofs/smoothed-brackets#2, #3)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.smoothed.brackets.pair_grid import Bounds, PairGrid
from smoothdp.smoothed.brackets.saddle import knots_near_saddle
from smoothdp.smoothed.brackets.two_counts import TwoCounts
from smoothdp.smoothed.brackets.weights import PairLaw, Share

_SLACK = 1e-9
_MOST_EVALUATIONS = 6_000


class OneLaw:
    """Histograms of n records of one law: grids for its pairs, kept between epsilons.

    Args:
        n_records: n.
        shares: probabilities, rising, with a sum of at most 1: what is missing is not counted.
    """

    def __init__(self, n_records: int, shares: Sequence[Share]) -> None:
        self.n_records, self.shares = n_records, tuple(shares)
        self._grids: dict[tuple[int, int], PairGrid] = {}
        self._aimed: set[tuple[int, int]] = set()

    def pairs(self) -> list[tuple[int, int, int]]:
        """Return (i, j, how many pairs of categories have these shares)."""
        counts = [share.count for share in self.shares]
        found = []
        for i, first in enumerate(counts):
            if first > 1:
                found.append((i, i, first * (first - 1) // 2))
            found.extend((i, j, first * counts[j]) for j in range(i + 1, len(counts)))
        return found

    def bracket(
        self, values: TwoCounts, *, tolerance: float, log_target: float | None = None
    ) -> LogBounds:
        """Bracket ln E G, G = g of the two smallest counts; refined until it is narrow enough.

        With a target: until it is known on which side of the target the expectation is.
        """
        parts: dict[tuple[int, int], Bounds] = {}
        for i, j, count in self.pairs():
            grid = self._grids.get((i, j))
            if grid is None:
                law = PairLaw.of(self.n_records, self.shares, i, j)
                grid = self._grids[i, j] = PairGrid(law, math.log(count))
            if not self._aimed:
                self._aim((i, j), grid, values, tolerance)
            parts[i, j] = grid.bounds(values)
        stuck: set[tuple[int, int]] = set()
        while True:
            upper = _log_sum([part.upper for part in parts.values()])
            lower = _log_sum([part.lower for part in parts.values()])
            if upper - lower <= tolerance or values.n_evaluations > _MOST_EVALUATIONS:
                break
            if log_target is not None and (upper < log_target - _SLACK or lower > log_target):
                break
            left = [key for key in parts if key not in stuck]
            if not left:
                break
            key = max(left, key=lambda key: _gap(parts[key]))
            if key not in self._aimed and parts[key].upper > lower - 3:
                self._aim(key, self._grids[key], values, tolerance)
                parts[key] = self._grids[key].bounds(values)
            elif not parts[key].refine():
                stuck.add(key)
        return LogBounds(lower - _SLACK, upper + _SLACK)

    def _aim(
        self, key: tuple[int, int], grid: PairGrid, values: TwoCounts, tolerance: float
    ) -> None:
        self._aimed.add(key)
        x, y = knots_near_saddle(grid.law, values, max(0.02, min(0.4, tolerance / 2)))
        if key[0] == key[1]:
            x = y = sorted({*x, *y})
        grid.split(x, y)


def shares_of(chances: Sequence[Fraction]) -> list[Share]:
    """Return the distinct probabilities, rising, with how often they occur."""
    counts: dict[Fraction, int] = {}
    for chance in sorted(chances):
        counts[chance] = counts.get(chance, 0) + 1
    return [Share(chance, count) for chance, count in counts.items()]


def _gap(part: Bounds) -> float:
    if part.upper == -math.inf:
        return -math.inf
    return part.upper + math.log1p(-math.exp(min(0.0, part.lower - part.upper)) + 1e-300)


def _log_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in logs))
