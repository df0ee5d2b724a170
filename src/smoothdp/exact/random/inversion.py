"""Exact draws by comparing uniform numbers with numbers known as balls, many at a time.

A uniform number is a word of 64 bits, continued by further bits only where the word does not
decide. So a million draws are one search in a sorted table, and still have exactly the law.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from flint import arb, fmpz

from smoothdp.exact.balls.balls import precision
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.random_words import WORD_BITS, random_words
from smoothdp.types import BoolArray, IntArray, WordArray

_TABLE = 1 << 16
"""Ladders of more rungs are searched one draw at a time."""
_GUARD_BITS = 64
_LARGEST_WORD = (1 << WORD_BITS) - 1


class Ladder:
    """Numbers F_0, F_1, ... in [0, 1], each enclosed by a ball at any precision.

    Args:
        n_rungs: how many there are.
        rung: encloses F_j at the present precision, in rising order; the balls shrink as the
            precision rises.

    >>> from smoothdp.exact.balls.balls import ball
    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> thirds = Ladder(2, lambda j: ball(j + 1) / 3)
    >>> sorted(set(thirds.draw(100, SeededRandom(1)).tolist()))
    [0, 1, 2]
    """

    __slots__ = ("_n_rungs", "_rung", "_words")

    def __init__(self, n_rungs: int, rung: Callable[[int], arb]) -> None:
        self._n_rungs, self._rung = n_rungs, rung
        self._words: tuple[WordArray, WordArray] | None = None

    def draw(self, count: int, rng: Entropy) -> IntArray:
        """Return how many F_j a uniform number reaches, for rising F: inversion of a law."""
        if self._n_rungs > _TABLE:
            return np.array(
                [self._search(0, self._n_rungs, rng) for _ in range(count)], dtype=np.int64
            )
        below, above = self._table()
        words = random_words(count, rng)
        # Reached for certain where the word is above; not reached where it is below.
        reached = np.searchsorted(above, words, side="left").astype(np.int64)
        open_end = np.searchsorted(below, words, side="right").astype(np.int64)
        for place in np.flatnonzero(reached < open_end):
            reached[place] = self._search(
                int(reached[place]), int(open_end[place]), rng, int(words[place]), WORD_BITS
            )
        return reached

    def passed(self, rungs: IntArray, rng: Entropy) -> BoolArray:
        """Return for each draw whether a uniform number of its own reaches its rung."""
        below, above = self._table()
        words = random_words(len(rungs), rng)
        passed: BoolArray = words > above[rungs]
        for place in np.flatnonzero(~passed & (words >= below[rungs])):
            rung = int(rungs[place])
            end = self._search(rung, rung + 1, rng, int(words[place]), WORD_BITS)
            passed[place] = end > rung
        return passed

    def _table(self) -> tuple[WordArray, WordArray]:
        """Return the words that each F_j lies in: the first and the last that it may be."""
        if self._words is None:
            with precision(WORD_BITS + _GUARD_BITS):
                size = fmpz(1) << WORD_BITS
                ends = [
                    (_word(value.lower() * size), _word(value.upper() * size))
                    for value in map(self._rung, range(self._n_rungs))
                ]
            table = np.array(ends, dtype=np.uint64).reshape(self._n_rungs, 2)
            # Two that nearly agree may be out of order by rounding: wider ends are in order.
            below = np.minimum.accumulate(table[::-1, 0])[::-1].copy()
            self._words = below, np.maximum.accumulate(table[:, 1])
        return self._words

    def _search(self, low: int, high: int, rng: Entropy, drawn: int = 0, bits: int = 0) -> int:
        """Return how many F_j are reached, between low and high, by a number whose bits go on."""
        while low < high:
            middle = (low + high) // 2
            with precision(bits + _GUARD_BITS + self._n_rungs.bit_length()):
                value = self._rung(middle) * (fmpz(1) << bits)
                reached = bool(value <= arb(fmpz(drawn)))
                missed = bool(value >= arb(fmpz(drawn + 1)))
            if reached:
                low = middle + 1
            elif missed:
                high = middle
            else:
                drawn, bits = drawn << WORD_BITS | rng.bits(WORD_BITS), bits + WORD_BITS
        return low


def _word(value: arb) -> int:
    whole = value.floor().unique_fmpz()
    assert whole is not None
    return min(max(int(whole), 0), _LARGEST_WORD)
