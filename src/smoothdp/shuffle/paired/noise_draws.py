"""Exact draws of the noise of users or bins: shares by an urn, clumps by whole weights.

Every coin has a rational probability, but for the library's geometric law of a rational rate.

A negative binomial total of shape c / m0 over c cells is split as an urn splits it: the next unit
goes to a cell with weight 1 / m0 plus what the cell has. So all cells together cost as much as
they have units (proofs/paired-counts#7).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.random_words import WORD_BITS, random_words
from smoothdp.exact.random.samplers import binomial
from smoothdp.shuffle.noise_shares import negative_binomial_share
from smoothdp.types import IntArray

_FEW = 32
_MOST_CELLS = 1 << 62


class Noise(NamedTuple):
    """Noise of many cells: the cell of each + and each -, the cell and the size of each clump."""

    plus: IntArray
    minus: IntArray
    clumps: IntArray
    sizes: IntArray

    def n_messages(self) -> int:
        """Return how many messages all cells send."""
        return int(self.plus.size + self.minus.size + 2 * self.sizes.sum())

    def most_messages_in(self, cells_each: int) -> int:
        """Return the most messages of one user, whose cells are ``cells_each`` in a row."""
        owners = np.concatenate([self.plus, self.minus, self.clumps]) // cells_each
        if not owners.size:
            return 0
        weights = np.ones(owners.size, dtype=np.int64)
        weights[self.plus.size + self.minus.size :] = 2 * self.sizes
        _, places = np.unique(owners, return_inverse=True)
        return int(np.bincount(places, weights=weights).max())


def drawn_noise(
    n_cells: int,
    n_design: int,
    *,
    rate: Fraction,
    probability: Fraction,
    largest: int,
    rng: Entropy,
) -> Noise:
    """Draw the noise of so many cells, each with shares of shape 1 / n_design and its own clump.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> noise = drawn_noise(1000, 900, rate=Fraction(1), probability=Fraction(1, 9),
    ...     largest=2, rng=SeededRandom(1))
    >>> noise.clumps.size == noise.sizes.size, set(noise.sizes.tolist())
    (True, {1, 2})
    """
    if n_cells >= _MOST_CELLS:
        raise OutOfReach(
            expected="fewer than 2^62 noises",
            got=f"{n_cells}",
            remedy="Simulate fewer users or bins",
        )
    shape = Fraction(n_cells, n_design)
    plus = split_by_urn(negative_binomial_share(shape, rate, rng), n_cells, n_design, rng)
    minus = split_by_urn(negative_binomial_share(shape, rate, rng), n_cells, n_design, rng)
    clumps = distinct(binomial(n_cells, probability, rng), n_cells, rng)
    return Noise(plus, minus, clumps, clump_sizes(clumps.size, largest, rng))


def split_by_urn(n_units: int, n_cells: int, n_design: int, rng: Entropy) -> IntArray:
    """Return the cell of each unit of a total: a cell's weight is 1 / n_design plus its units.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> split_by_urn(3, 1, 10, SeededRandom(1)).tolist()
    [0, 0, 0]
    """
    cells: list[int] = []
    for unit in range(n_units):
        ticket = rng.below(n_cells + n_design * unit)
        # The first n_cells tickets are the cells', then n_design for each unit before.
        cells.append(ticket if ticket < n_cells else cells[(ticket - n_cells) // n_design])
    return np.array(cells, dtype=np.int64)


def distinct(count: int, n_cells: int, rng: Entropy) -> IntArray:
    """Return so many different cells: those of a uniform choice, in any order.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> sorted(distinct(5, 5, SeededRandom(1)).tolist())
    [0, 1, 2, 3, 4]
    """
    if 2 * count > n_cells:
        left_out = np.ones(n_cells, dtype=bool)
        left_out[distinct(n_cells - count, n_cells, rng)] = False
        return np.flatnonzero(left_out).astype(np.int64)
    chosen = np.zeros(0, dtype=np.int64)
    while chosen.size < count:
        # Every set of so many cells is as likely: each new cell is uniform among the others.
        drawn = np.concatenate([chosen, below(n_cells, count - chosen.size, rng)])
        _, first = np.unique(drawn, return_index=True)
        chosen = drawn[np.sort(first)]
    return chosen


def below(bound: int, count: int, rng: Entropy) -> IntArray:
    """Return independent uniform numbers in [0, bound), exactly, bound < 2^62.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> sorted(set(below(3, 100, SeededRandom(1)).tolist()))
    [0, 1, 2]
    """
    if count < _FEW:
        return np.array([rng.below(bound) for _ in range(count)], dtype=np.int64)
    # Words of a last part that is not whole are drawn again.
    last = np.uint64((1 << WORD_BITS) // bound * bound - 1)
    parts: list[IntArray] = []
    missing = count
    while missing:
        words = random_words(missing, rng)
        kept = (words[words <= last] % np.uint64(bound)).astype(np.int64)
        parts.append(kept)
        missing -= kept.size
    return np.concatenate(parts)


def clump_sizes(count: int, largest: int, rng: Entropy) -> IntArray:
    """Return sizes j = 1..k of probability 1 / (j H_k) each, by whole weights lcm(1..k) / j.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> clump_sizes(3, 1, SeededRandom(1)).tolist()
    [1, 1, 1]
    """
    if largest == 1:
        return np.ones(count, dtype=np.int64)
    ends = _weights(largest)
    tickets = [rng.below(ends[-1]) for _ in range(count)]
    if ends[-1] < 1 << 62:
        return np.searchsorted(np.array(ends), np.array(tickets, dtype=np.int64), side="right") + 1
    return np.array([_place(ends, ticket) + 1 for ticket in tickets], dtype=np.int64)


def _place(ends: tuple[int, ...], ticket: int) -> int:
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if ticket >= ends[middle] else (low, middle)
    return low


@lru_cache(maxsize=32)
def _weights(largest: int) -> tuple[int, ...]:
    """Return the cumulated weights lcm(1..k) / j."""
    whole, total, ends = math.lcm(*range(1, largest + 1)), 0, []
    for size in range(1, largest + 1):
        total += whole // size
        ends.append(total)
    return tuple(ends)
