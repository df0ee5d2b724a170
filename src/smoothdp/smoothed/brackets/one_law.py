"""E delta for records of one distribution, from both sides: Theorem 4, pair by pair.

(proofs/smoothed-brackets#2, #3)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.smoothed.brackets.binomial_cells import log_below
from smoothdp.smoothed.brackets.pair_grid import Bounds, PairGrid
from smoothdp.smoothed.brackets.saddle import knots_near_saddle
from smoothdp.smoothed.brackets.two_counts import TwoCounts
from smoothdp.smoothed.brackets.weights import PairLaw, Share

_SLACK = 1e-9
_ALMOST = 0.02
_MOST_EVALUATIONS = 2_500
_MOST_STEPS = 160
_LOOK = 12
_STALLED = 0.97
_NEGLIGIBLE = -12.0
_STEPS = 5


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
        counts = [share.number for share in self.shares]
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
        most = values.n_evaluations + _MOST_EVALUATIONS
        few = self.some_count_below_two()
        certain = values.cap.lower + few.lower
        if certain >= values.cap.upper - min(tolerance, _ALMOST):
            return LogBounds(certain - _SLACK, values.cap.upper)
        pairs = self.pairs()
        parts = {pairs[0][:2]: self._part(pairs[0], values, tolerance)}
        beside = [values.cap.upper + few.upper]
        for pair in pairs[1:]:
            rare = values.cap.upper + self._log_rare(pair)
            if rare < max(certain, parts[pairs[0][:2]].lower) + _NEGLIGIBLE:
                beside.append(rare)
            else:
                parts[pair[:2]] = self._part(pair, values, tolerance)
        steps = dict.fromkeys(parts, 0)
        before = math.inf
        for number in range(_MOST_STEPS):
            upper = _log_sum([*beside, *(part.upper for part in parts.values())])
            lower = max(certain, _log_sum([part.lower for part in parts.values()]))
            if upper - lower <= tolerance or values.n_evaluations > most:
                break
            if log_target is not None and (upper < log_target - _SLACK or lower > log_target):
                break
            if not steps:
                break
            if number % _LOOK == _LOOK - 1:
                # What is left may be the gap between product and Bonferroni's bound.
                if upper - lower > _STALLED * before:
                    break
                before = upper - lower
            key = max(steps, key=lambda key: _gap(parts[key]))
            if key not in self._aimed and steps[key] == _STEPS:
                parts[key] = self._aim(key, self._grids[key], values, tolerance)
            elif not parts[key].refine():
                del steps[key]
                continue
            steps[key] += 1
        return LogBounds(lower - _SLACK, upper + _SLACK)

    def _part(self, pair: tuple[int, int, int], values: TwoCounts, tolerance: float) -> Bounds:
        key = pair[:2]
        grid = self._grids.get(key)
        if grid is None:
            law = PairLaw.of(self.n_records, self.shares, *key)
            grid = self._grids[key] = PairGrid(law, math.log(pair[2]))
        return grid.bounds(values) if self._aimed else self._aim(key, grid, values, tolerance)

    def some_count_below_two(self) -> LogBounds:
        """Bound ln P(some category has at most one record), where delta is its cap."""
        n, one = np.array([self.n_records]), np.array([1])
        above, below = [], [-math.inf]
        for chance, number, exact in self.shares:
            tail = log_below(one, n, chance)
            above.append(math.log(number) + float(tail.upper[0]))
            if exact:
                below.append(math.log(number) + float(tail.lower[0]))
        # None has with a probability of at most the product of 1 - t, at most e^-(sum of t).
        total = _log_sum(below)
        lower = math.log(-math.expm1(-math.exp(total))) if total > -30 else total - 1e-12
        return LogBounds(lower - _SLACK, min(0.0, _log_sum(above) + _SLACK))

    def _log_rare(self, pair: tuple[int, int, int]) -> float:
        """Bound ln of how often some such pair is that of the two smallest (Chernoff's bound)."""
        i, j, number = pair
        left = [s.number - (k == i) - (k == j) for k, s in enumerate(self.shares)]
        other = next((k for k, number in enumerate(left) if number > 0), j)
        low, high = self.shares[other].chance, self.shares[j].chance
        if low >= high:
            return 0.0
        apart = float(high - low) / (math.sqrt(high) + math.sqrt(low)) * (1 - 1e-12)
        return math.log(number) + self.n_records * math.log1p(-(apart**2)) * (1 - 1e-12)

    def _aim(
        self, key: tuple[int, int], grid: PairGrid, values: TwoCounts, tolerance: float
    ) -> Bounds:
        self._aimed.add(key)
        x, y = knots_near_saddle(grid.law, values, max(0.02, min(0.4, tolerance / 2)))
        if key[0] == key[1]:
            x = y = sorted({*x, *y})
        grid.split(x, y)
        part = grid.bounds(values)
        part.seed(x, y)
        return part


def _gap(part: Bounds) -> float:
    """Return about ln(e^upper - e^lower)."""
    apart = part.lower - part.upper
    if part.upper == -math.inf or apart >= 0:
        return -math.inf
    return part.upper + math.log(-math.expm1(apart))


def _log_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    if top == -math.inf:
        return top
    return top + math.log(math.fsum(math.exp(value - top) for value in logs))
