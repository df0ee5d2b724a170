"""Cells of compositions, and one law that bounds the expectation of every composition in a cell.

A composition says how many records have which distribution. In the cell of all that have at least
``least[i]`` records of distribution i, let every record choose distribution i with probability
s_i, and the least share of each value else. The expectation of g under that law, over the
probability that no distribution is chosen by more than ``least[i]`` records, bounds delta's mean
for every composition of the cell (proofs/smoothed-brackets#8).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.smoothed.brackets.binomial_cells import log_below, log_cells, log_outside

Law = tuple[Fraction, ...]
_SLABS = 48
_REACH = 7.0
_DEVIATIONS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class CompositionCell:
    """All compositions with at least so many records of each distribution.

    Args:
        n_records: n; least: one whole number for each distribution, with a sum of at most n.
    """

    n_records: int
    least: tuple[int, ...]

    @property
    def size(self) -> int:
        """How many records are free to have any distribution."""
        return self.n_records - sum(self.least)

    @property
    def centre(self) -> tuple[int, ...]:
        """A composition in the middle of the cell.

        >>> CompositionCell(10, (4, 1)).centre
        (7, 3)
        """
        each, more = divmod(self.size, len(self.least))
        return tuple(k + each + (i < more) for i, k in enumerate(self.least))

    def split(self) -> list[CompositionCell]:
        """Return smaller cells that cover this one, one for each distribution.

        Of the free records, some distribution has its even share at least.

        >>> [cell.least for cell in CompositionCell(10, (0, 0)).split()]
        [(5, 0), (0, 5)]
        """
        step = -(-self.size // len(self.least))
        return [
            CompositionCell(
                self.n_records,
                tuple(k + step * (i == place) for i, k in enumerate(self.least)),
            )
            for place in range(len(self.least))
        ]

    def shares(self, slope: float) -> tuple[Fraction, ...]:
        """Return the s that is likely to give the least bound, where a free record costs so much.

        Fewer records that choose a distribution lose by what the others cost; more of them by a
        smaller probability that no distribution is chosen too often.
        """

        def cost(shares: tuple[Fraction, ...]) -> float:
            free = self.n_records * (1 - float(sum(shares)))
            return slope * free - log_within(self.n_records, shares, self.least)

        return min((self._below(deviations) for deviations in _DEVIATIONS), key=cost)

    def _below(self, deviations: float) -> tuple[Fraction, ...]:
        """Return shares so many standard deviations below least / n."""
        n = self.n_records
        return tuple(
            Fraction(max(0, k - math.ceil(deviations * math.sqrt(k * (n - k) / n))), n)
            for k in self.least
        )


def mixed_law(vertices: Sequence[Law], shares: Sequence[Fraction]) -> Law:
    """Return the law of a record that has distribution i with probability s_i, else the least.

    >>> first, second = (Fraction(1, 4), Fraction(3, 4)), (Fraction(3, 4), Fraction(1, 4))
    >>> mixed_law([first, second], [Fraction(1, 2), Fraction(0)])
    (Fraction(1, 4), Fraction(1, 2))
    """
    rest = 1 - sum(shares)
    return tuple(
        sum((s * p for s, p in zip(shares, chances, strict=True)), rest * min(chances))
        for chances in zip(*vertices, strict=True)
    )


def log_within(n: int, shares: Sequence[Fraction], least: Sequence[int]) -> float:
    """Return a float not above ln P(J_i <= least_i for all i), J multinomial of n with ``shares``.

    (proofs/smoothed-brackets#9)

    >>> half = Fraction(1, 2)
    >>> round(math.exp(log_within(2, [half, half], [1, 1])), 6)
    0.5
    """
    active = [(s, k) for s, k in zip(shares, least, strict=True) if s > 0 and k < n]
    if not active:
        return 0.0
    if len(active) == 1:
        share, most = active[0]
        return float(log_below(np.array([most]), np.array([n]), share).lower[0]) - _SLACK
    if len(active) == 2:
        return _two_within(n, active[0], active[1])
    missed = sum(
        math.exp(float(log_outside(np.array([k]), np.array([n]), s)[1].upper[0])) for s, k in active
    )
    return math.log1p(-missed) - _SLACK if missed < 1 - 1e-9 else -math.inf


def _two_within(n: int, first: tuple[Fraction, int], second: tuple[Fraction, int]) -> float:
    """Bound ln P(J_1 <= k_1, J_2 <= k_2) from below, by slabs of J_2."""
    (share, most), (beside, top) = first, second
    mean = float(n * beside)
    low = max(-1, math.floor(mean - _REACH * math.sqrt(mean) - 8))
    edges = np.unique(np.linspace(low, top, _SLABS + 1).astype(np.int64)) if top > low else None
    if edges is None:
        return -math.inf
    start, end = edges[:-1], edges[1:]
    slab = log_cells(start, end, np.full(start.shape, n), beside).lower
    left, given = n - start - 1, share / (1 - beside)
    if given >= 1:
        inside = np.where(left <= most, 0.0, -np.inf)
    else:
        inside = log_below(np.full(start.shape, most), left, given).lower
    logs = slab + inside
    peak = float(logs.max())
    if peak == -math.inf:
        return peak
    return min(0.0, peak + math.log(float(np.exp(logs - peak).sum())) - _SLACK)
