"""The probabilities in Theorem 4's cells: of two counts, and of all others above them.

(proofs/smoothed-brackets#2, #3)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.smoothed.brackets.binomial_cells import log_cells, log_chernoff, log_outside
from smoothdp.types import FloatArray, IntArray


class Share(NamedTuple):
    """So many categories, each of the same probability; or, if not exact, of at least that."""

    chance: Fraction
    number: int
    exact: bool = True


@dataclass(frozen=True, slots=True)
class PairLaw:
    """Two categories of a multinomial law, and the others.

    Args:
        n_records: n; first, second: their probabilities, with a sum below 1.
        others: the other categories, given the two: probabilities over 1 - first - second.
        exact: whether the two probabilities are those of the law; there is no lower bound if not.
    """

    n_records: int
    first: Fraction
    second: Fraction
    others: tuple[Share, ...]
    exact: bool

    @classmethod
    def of(cls, n_records: int, shares: Sequence[Share], i: int, j: int) -> PairLaw:
        """Return the law of a category of share ``i`` and another of share ``j``."""
        first, second = shares[i].chance, shares[j].chance
        rest = 1 - first - second
        left = [s.number - (k == i) - (k == j) for k, s in enumerate(shares)]
        others = tuple(
            Share(s.chance / rest, count)
            for s, count in zip(shares, left, strict=True)
            if count > 0
        )
        return cls(n_records, first, second, others, shares[i].exact and shares[j].exact)

    def upper(
        self, x: tuple[IntArray, IntArray], y: tuple[IntArray, IntArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return ln of the two factors of the upper bound in cells (x0, x1] x (y0, y1].

        First the probabilities of the cells, with H_b given H_a = x1; second the product over the
        others of P(Bin >= max + 1).
        """
        n, given = self.n_records, self.second / (1 - self.first)
        cells = log_cells(x[0], x[1], np.full(x[0].shape, n), self.first).upper
        left = np.maximum(n - x[1], 0)
        cells = cells + log_cells(y[0], y[1], left, given).upper
        room = n - x[0] - y[0] - 2
        above = np.zeros(x[0].shape)
        most = np.maximum(x[0], y[0])
        for chance, count, _ in self.others:
            above += count * _above(most, np.maximum(room, 0), chance)
        # Histograms with a count below 2 are counted apart, for all pairs at once.
        return np.where((room >= 0) & (x[1] > 1), cells, -np.inf), above

    def log_rough(self, x: int, y: int) -> float:
        """Return about ln of the probability of (x, y) with all others above: Chernoff's bounds."""
        n, given = self.n_records, self.second / (1 - self.first)
        at = np.array([x]), np.array([y])
        result = _deviation(at[0], np.array([n]), self.first)
        result += _deviation(at[1], np.array([max(n - x, 0)]), given)
        room = np.array([max(n - x - y, 0)])
        most = max(x, y)
        for chance, count, _ in self.others:
            if chance < 1 and most > room[0] * float(chance):
                result += count * float(log_chernoff(room - most - 1, room, 1 - chance)[0])
        return result

    def lower(self, x: tuple[IntArray, IntArray], y: tuple[IntArray, IntArray]) -> FloatArray:
        """Return ln of the weight of a cell in the lower bound."""
        if not self.exact:
            return np.full(x[0].shape, -np.inf)
        n, given = self.n_records, self.second / (1 - self.first)
        cells = log_cells(x[0], x[1], np.full(x[0].shape, n), self.first).lower
        left = np.maximum(n - x[0] - 1, 0)
        cells = cells + log_cells(y[0], y[1], left, given).lower
        room = n - x[1] - y[1]
        fits = room >= 0
        missed = np.zeros(x[0].shape)
        most = np.maximum(x[1], y[1])
        for chance, count, _ in self.others:
            tails = np.exp(_below(most, np.maximum(room, 0), chance))
            missed += count * tails * (1 + 1e-12)
        with np.errstate(divide="ignore", invalid="ignore"):
            kept = np.log1p(-np.minimum(missed, 1.0)) - 1e-12
        return np.where(fits, cells + kept, -np.inf)


def _deviation(k: IntArray, n: IntArray, chance: Fraction) -> float:
    if k[0] > n[0]:
        return -math.inf
    low, high = log_chernoff(k, n, chance), log_chernoff(n - k - 1, n, 1 - chance)
    return float(min(low[0], high[0]))


def _above(k: IntArray, n: IntArray, chance: Fraction) -> FloatArray:
    """Bound ln P(Bin(n, chance) > k) from above."""
    if chance >= 1:
        return np.where(k < n, 0.0, -np.inf)
    return log_outside(k, n, chance)[1].upper


def _below(k: IntArray, n: IntArray, chance: Fraction) -> FloatArray:
    """Bound ln P(Bin(n, chance) <= k) from above."""
    if chance >= 1:
        return np.where(k >= n, 0.0, -np.inf)
    return log_outside(k, n, chance)[0].upper
