"""Order statistics of simulated samples of any size: only at ranks that matter.

A sorted uniform sample is a sum of exponential numbers over their total, and a run of g of them
is one gamma number. So the joint law at chosen ranks is exact for every n, at a cost that does
not grow with n. Values between chosen ranks are taken on a straight line.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from smoothdp.planning.expected.assumption import Assumption
from smoothdp.types import FloatArray, IntArray

Drops = tuple[int, int]

_SEED = 20190605
# Sensitivities vary little between samples, and cost more.
_FOR_SENSITIVITY, _FOR_LARGE = 96, 32
_FOR_GAPS = 400
_LARGE = 50_000
_DENSE, _GROWTH = 12, 1.18


def steps(most: int) -> IntArray:
    """Return 0, 1, 2, ... and then geometric steps up to ``most``, ``most`` itself included."""
    ranks_beyond, step = list(range(min(_DENSE, most) + 1)), float(_DENSE)
    while step < most:
        step *= _GROWTH
        ranks_beyond.append(min(most, round(step)))
    return np.unique(np.array([*ranks_beyond, most], dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedSamples:
    """Samples of n records from the assumption, at some ranks.

    Attributes:
        n_records: n. bounds: (a, b).
        ranks: the ranks, from 1 to n, rising.
        values: the order statistics, one row a sample.
        sums: the sum of the order statistics up to each rank.
    """

    n_records: int
    bounds: tuple[float, float]
    ranks: IntArray
    values: FloatArray
    sums: FloatArray

    @classmethod
    def draw(
        cls,
        assumption: Assumption,
        n_records: int,
        windows: Iterable[Drops],
        bounds: tuple[float, float],
        *,
        n_samples: int,
    ) -> SimulatedSamples:
        """Return samples with the ranks that some windows need; the same ones every time."""
        n = n_records
        rank_sets = [np.array([1, n], dtype=np.int64)]
        for lo, hi in windows:
            inside = steps(n - lo - hi - 1)
            rank_sets += [lo + 1 - steps(lo), n - hi + steps(hi), lo + 1 + inside, n - hi - inside]
        ranks = np.unique(np.concatenate(rank_sets))
        ranks = ranks[(ranks >= 1) & (ranks <= n)]
        gaps = np.diff(ranks, prepend=0, append=n + 1)
        values = order_statistics(assumption, n, ranks, n_samples=n_samples)
        runs = gaps[1:-1] * values[:, :-1] + np.diff(values, axis=1) * (gaps[1:-1] + 1) / 2
        sums = np.concatenate([values[:, :1], values[:, :1] + np.cumsum(runs, axis=1)], axis=1)
        return cls(n, bounds, ranks, values, sums)

    def means(self, drops: Drops) -> FloatArray:
        """Return the mean of a window, one of the windows of `draw`, in each sample."""
        lo, hi = drops
        last, first = self._index(self.n_records - hi), self._index(lo + 1)
        total = self.sums[:, last] - self.sums[:, first] + self.values[:, first]
        return total / (self.n_records - lo - hi)

    def log_squared_sensitivities(self, drops: Drops, rates: Sequence[float]) -> list[float]:
        """Return ln E S^2 of the window's mean for each smoothing; inputs clamped."""
        log_squares = []
        for logs in self.log_sensitivities(drops, rates):
            top = 2 * logs.max()
            log_squares.append(float(top + np.log(np.exp(2 * logs - top).mean())))
        return log_squares

    def log_sensitivities(self, drops: Drops, rates: Sequence[float]) -> list[FloatArray]:
        """Return ln S of the window's mean in the first samples, for each smoothing."""
        lo, hi = drops
        n, width = self.n_records, self.n_records - lo - hi
        low, high = steps(lo), steps(hi)
        count = _FOR_SENSITIVITY if n < _LARGE else _FOR_LARGE
        values = self.values[:count]
        ends = [np.full((len(values), 1), bound) for bound in self.bounds]
        down = np.concatenate([values[:, self._indices(lo + 1 - low)], ends[0]], axis=1)
        up = np.concatenate([values[:, self._indices(n - hi + high)], ends[1]], axis=1)
        p, q = np.append(low, lo + 1), np.append(high, hi + 1)
        with np.errstate(divide="ignore"):
            logs = np.log(up[:, None, :] - down[:, :, None])
        distance = (p[:, None] + q - 1).astype(np.float64)
        logs[:, distance < 0] = -np.inf
        return [(logs - rate * distance).max(axis=(1, 2)) - np.log(width) for rate in rates]

    def _index(self, rank: int) -> int:
        return int(np.searchsorted(self.ranks, rank))

    def _indices(self, ranks: IntArray) -> IntArray:
        return np.searchsorted(self.ranks, ranks)


def order_statistics(
    assumption: Assumption, n_records: int, ranks: IntArray, *, n_samples: int
) -> FloatArray:
    """Return the order statistics at rising ranks from 1 to n, one row a sample; always the same.

    Args:
        assumption: the law of a record. n_records: n. n_samples: how many rows.
    """
    gaps = np.diff(ranks, prepend=0, append=n_records + 1)
    return assumption.at_log_odds(_log_odds(tuple(gaps.tolist()), n_samples))


@lru_cache(maxsize=16)
def _log_odds(gaps: tuple[int, ...], n_samples: int) -> FloatArray:
    """Return the log odds of ranks so far apart, for all laws and budgets that are compared."""
    draws = np.random.default_rng(_SEED).standard_gamma(gaps, size=(n_samples, len(gaps)))
    below = np.cumsum(draws[:, :-1], axis=1)
    above = np.cumsum(draws[:, :0:-1], axis=1)[:, ::-1]
    log_odds = np.log(below) - np.log(above)
    log_odds.flags.writeable = False
    return log_odds


def mean_gap(assumption: Assumption, n_records: int, rank: int) -> float:
    """Return the mean distance of neighbouring values near a rank; 0 where there is none.

    Over about sqrt(n) ranks, fewer than an order statistic spreads over.
    """
    reach = min(rank - 1, n_records - rank, max(1, round(math.sqrt(n_records) / 2)))
    if reach < 1:
        return 0.0
    ranks = np.array([rank - reach, rank + reach], dtype=np.int64)
    ends = order_statistics(assumption, n_records, ranks, n_samples=_FOR_GAPS)
    return float(np.diff(ends, axis=1).mean()) / (2 * reach)
