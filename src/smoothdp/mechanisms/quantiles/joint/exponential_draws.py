"""The sampler that opens the cells of a column: several quantiles by the exponential mechanism.

Cells are proposed by float tables and accepted in balls, so that the law is exactly the stated
one whatever the floats were rounded to (proofs/joint-quantiles#8, #9).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from smoothdp.claims.open_sealed import opened
from smoothdp.claims.sealed import Sealed
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.coin import exponential_coin
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.lazy import LazyLaw, RoundedDraws
from smoothdp.mechanisms.quantiles.joint.cells import Cells
from smoothdp.mechanisms.quantiles.joint.chain_tables import WEIGHT_BITS
from smoothdp.mechanisms.quantiles.joint.needed_reach import RARE_BITS, enough_tables
from smoothdp.types import FloatArray, IntArray

_LOCATE_BITS = 64


def _uniform(positive: bool, u: Ball) -> Ball:
    del positive
    return u


_UNIFORM = LazyLaw(1, lambda: _uniform)


def quantile_draws(
    cells: Sealed[Cells], *, targets: Sequence[Fraction], rate: Fraction
) -> ExponentialDraws:
    """Return the draws for one private column: as private as the data.

    Args:
        cells: of the column, sealed.
        targets: n q_1 < ... < n q_m. rate: epsilon / 4, rational.
    """
    return ExponentialDraws(opened(cells), targets=targets, rate=rate)


class ExponentialDraws:
    """Draws of m points with density exp(-rate sum_j |count_j - n (q_(j+1) - q_j)|) on [a, b].

    Args:
        cells: of the column.
        targets: n q_1 < ... < n q_m. rate: rational, > 0.
        rare_bits: cells outside the bands are looked for in one attempt of 2^rare_bits; the law
            does not depend on it.
    """

    def __init__(
        self,
        cells: Cells,
        *,
        targets: Sequence[Fraction],
        rate: Fraction,
        rare_bits: int = RARE_BITS,
    ) -> None:
        self._cells, self._targets, self._rate = cells, tuple(targets), rate
        self._rare_bits = rare_bits
        self.tables = enough_tables(cells, targets=targets, rate=rate, rare_bits=rare_bits)
        # The exponent of the bound: weight <= e^bound times the probability of the proposal.
        self._bound = Fraction(self.tables.log_total + self.tables.slack)

    def draw(self, rng: Entropy, *, step: Fraction, limits: tuple[int, int]) -> tuple[int, ...]:
        """Return the m points, each rounded to a multiple of the step, rising.

        Args:
            rng: the bits. step: of the grid. limits: the least and the largest result.
        """
        found: list[int] = []
        for cell, count in sorted(Counter(self.draw_cells(rng)).items()):
            # Given their cell, points are uniform in it and independent.
            points = RoundedDraws(
                _UNIFORM,
                centre=self._cells.end(cell) / step,
                factor=self._cells.length(cell) / step,
                decay=Fraction(0),
                lowest=limits[0],
                highest=limits[1],
            )
            found += sorted(points.draw(rng) for _ in range(count))
        return tuple(found)

    def draw_cells(self, rng: Entropy) -> tuple[int, ...]:
        """Return the cells c_1 <= ... <= c_m of one draw, exactly in law."""
        while True:
            if not self.tables.is_whole and rng.bits(self._rare_bits) == 0:
                cells = self._uniform_cells(rng)
                ratio = self._spread() * ((1 << self._rare_bits) - 1)
                if self._is_inside(cells):
                    continue
            else:
                cells, chance = self._proposed(rng)
                ratio = self._measure(cells) / chance
            if exponential_coin(ratio, -self._rate * self.variation(cells) - self._bound, rng):
                return cells

    def variation(self, cells: Sequence[int]) -> Fraction:
        """Return sum_j |c_(j+1) - c_j - n (q_(j+1) - q_j)|, exactly."""
        away = [c - t for c, t in zip(cells, self._targets, strict=True)]
        return sum(
            (abs(after - before) for before, after in pairwise([Fraction(0), *away, Fraction(0)])),
            Fraction(0),
        )

    def _measure(self, cells: Sequence[int]) -> Fraction:
        """Return the product of d^k / k! over the cells."""
        product = Fraction(1)
        for cell, count in Counter(cells).items():
            product *= self._cells.length(cell) ** count / math.factorial(count)
        return product

    def _spread(self) -> Fraction:
        """Return (b - a)^m / m!: the measure of cells over the chance of uniform points in them."""
        lower, upper = self._cells.bounds
        m = len(self._targets)
        return (upper - lower) ** m / math.factorial(m)

    def _is_inside(self, cells: Sequence[int]) -> bool:
        bands = zip(cells, self.tables.bands, strict=True)
        return all(low <= cell <= high for cell, (low, high) in bands)

    def _uniform_cells(self, rng: Entropy) -> tuple[int, ...]:
        """Return the cells of m independent uniform points of [a, b], in order."""
        return tuple(sorted(self._uniform_cell(rng) for _ in self._targets))

    def _uniform_cell(self, rng: Entropy) -> int:
        drawn, bits = 0, 0
        while True:
            drawn, bits = drawn << _LOCATE_BITS | rng.bits(_LOCATE_BITS), bits + _LOCATE_BITS
            found = self._cells.locate(Fraction(drawn, 1 << bits), Fraction(1, 1 << bits))
            if found is not None:
                return found

    def _proposed(self, rng: Entropy) -> tuple[tuple[int, ...], Fraction]:
        """Return cells inside the bands, run by run from the last, and their exact chance."""
        tables = self.tables
        g, f = tables.tables
        level = tables.n_levels
        found: list[int] = []
        place, chance = _choose(f[-1] - tables.end_cost(level - 1), rng)
        cell = tables.bands[level - 1][0] + place
        while True:
            weights = np.full(tables.longest_run(level), -np.inf)
            for k in range(1, len(weights) + 1):
                first, last = tables.bands[level - k]
                if first <= cell <= last:
                    begun = float(g[level - k][cell - first])
                    lengths = k * float(tables.log_lengths[cell])
                    weights[k - 1] = begun + lengths + tables.run_log_weight(level, k)
            k, share = _choose(weights, rng)
            chance *= share
            found += [cell] * (k + 1)
            level -= k + 1
            if level == 0:
                return tuple(reversed(found)), chance
            low, high = tables.bands[level - 1]
            high = min(high, cell - 1)
            gap = tables.gap(level)
            whole = math.floor(gap)
            steps = cell - np.arange(low, high + 1) - whole - float(gap - whole)
            place, share = _choose(
                f[level - 1][: high + 1 - low] - tables.rate * np.abs(steps), rng
            )
            chance *= share
            cell = low + place


def _choose(log_weights: FloatArray, rng: Entropy) -> tuple[int, Fraction]:
    """Return a place with about the stated weights, and exactly its chance.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> _choose(np.array([-math.inf, 3.0]), SeededRandom(1))
    (1, Fraction(1, 1))
    """
    weights = whole_weights(log_weights)
    sums = np.cumsum(weights)
    total = int(sums[-1])
    place = int(np.searchsorted(sums, rng.below(total), side="right"))
    return place, Fraction(int(weights[place]), total)


def whole_weights(log_weights: FloatArray) -> IntArray:
    """Return floor(2^40 e^(v - max)) + 1 for v > -inf, so that none is below its part; else 0.

    >>> whole_weights(np.array([-math.inf, 3.0, -2000.0])).tolist()
    [0, 1099511627777, 1]
    """
    shifted = np.exp(log_weights - np.max(log_weights))
    weights = (shifted * 2.0**WEIGHT_BITS).astype(np.int64) + 1
    weights[np.isneginf(log_weights)] = 0
    return weights
