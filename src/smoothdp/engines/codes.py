"""Numbers as 64-bit codes in the same order, and counts of codes by their leading bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from smoothdp.queries.read_arguments import Values
from smoothdp.types import BoolArray, IntArray, WordArray

LEVEL_BITS = 12
_TOP = np.uint64(1 << 63)


def codes_of(values: Values) -> WordArray:
    """Return codes that are in the order of the values; equal values have equal codes.

    >>> codes = codes_of(np.array([-1.5, -0.0, 0.0, 2.0]))
    >>> bool(codes[0] < codes[1] == codes[2] < codes[3])
    True
    """
    if values.dtype == np.int64:
        return values.view(np.uint64) ^ _TOP
    words = (values + 0.0).view(np.uint64)  # one zero, not two
    negative = words >= _TOP
    return np.where(negative, ~words, words | _TOP)


def values_of(codes: WordArray, *, whole: bool) -> Values:
    """Return the values with these codes.

    >>> values_of(codes_of(np.array([-1.5, 2.0])), whole=False)
    array([-1.5,  2. ])
    """
    if whole:
        return (codes ^ _TOP).view(np.int64)
    return np.where(codes >= _TOP, codes ^ _TOP, ~codes).view(np.float64)


class Cell(NamedTuple):
    """The codes from ``start`` on that share their leading 64 - ``bits`` bits."""

    start: int
    bits: int

    @property
    def last(self) -> int:
        """The greatest code in it."""
        return self.start + (1 << self.bits) - 1

    @property
    def shift(self) -> int:
        """How many bits each of its parts leaves open."""
        return max(0, self.bits - LEVEL_BITS)

    def part(self, index: int) -> Cell:
        """Return one of the parts that `count_parts` counts."""
        return Cell(self.start + (index << self.shift), self.shift)


WHOLE = Cell(0, 64)


def within(codes: WordArray, cell: Cell) -> BoolArray:
    """Return which codes are in a cell."""
    return (codes >= np.uint64(cell.start)) & (codes <= np.uint64(cell.last))


def count_parts(codes: WordArray, cell: Cell) -> IntArray:
    """Return how many codes are in each of the equal parts of a cell, 4,096 at most."""
    if cell != WHOLE:
        codes = codes[within(codes, cell)]
    index = (codes - np.uint64(cell.start)) >> np.uint64(cell.shift)
    size = 1 << (cell.bits - cell.shift)
    return np.bincount(index.astype(np.int64), minlength=size).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Sorted distinct codes, how often each occurs, and how many values are below it."""

    codes: WordArray
    counts: IntArray
    below: IntArray

    def at_ranks(self, first: int, last: int) -> WordArray:
        """Return the codes of the ranks first, ..., last, from 1, ascending."""
        start = np.maximum(self.below, first - 1)
        stop = np.minimum(self.below + self.counts, last)
        return np.repeat(self.codes, np.maximum(0, stop - start))

    def around(self, code: int) -> tuple[int, int]:
        """Return (how many values are below a code of these, how many are up to it)."""
        index = int(np.searchsorted(self.codes, np.uint64(code)))
        below = int(self.below[index])
        return below, below + int(self.counts[index])
