"""The passes over a column that its summary takes: pure, and merged in any order."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from smoothdp.engines.codes import Cell, codes_of, count_parts
from smoothdp.engines.job import Partition
from smoothdp.errors import InvalidData, OutOfReach
from smoothdp.queries.read_arguments import LARGEST_FLOAT, LARGEST_WHOLE, Bounds, Values
from smoothdp.queries.windows.exact_sums import exact_sum
from smoothdp.queries.windows.sides import Clamp
from smoothdp.types import IntArray, WordArray

MOST_COLLECTED = 1 << 23


def numbers(columns: Partition) -> Values:
    """Return the one column as floats or int64, with no value missing.

    Raises:
        InvalidData: another type, or a value that is missing, infinite or too large.
    """
    (column,) = columns
    if column.dtype.kind == "u" and column.dtype.itemsize == 8 and len(column):
        column = column if column.max() >= 1 << 62 else column.astype(np.int64)
    if column.dtype.kind in "iu" and column.dtype != np.uint64:
        values = column.astype(np.int64)
        good = (values > -LARGEST_WHOLE) & (values < LARGEST_WHOLE)
    elif column.dtype.kind == "f" and column.dtype.itemsize <= 8:
        values = column.astype(np.float64)
        good = np.abs(values) <= LARGEST_FLOAT
    else:
        raise InvalidData(
            expected="one column of numbers",
            got=f"type {column.dtype}",
            remedy="Convert the column to float64 or int64",
        )
    if not good.all():
        raise InvalidData(
            expected="finite numbers that are not too large",
            got="one that is missing, infinite or too large",
            remedy="Replace such numbers by a public constant inside the bounds",
        )
    return values


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How many values there are, of which type, and how many in each part of some cells."""

    n: int
    whole: bool | None
    counts: tuple[IntArray, ...]

    def __add__(self, other: Tally) -> Tally:
        if None not in (self.whole, other.whole) and self.whole != other.whole:
            raise InvalidData(
                expected="numbers of one type",
                got="floats and whole numbers",
                remedy="Convert the column to float64 in every part",
            )
        counts = tuple(a + b for a, b in zip(self.counts, other.counts, strict=True))
        whole = other.whole if self.whole is None else self.whole
        return Tally(self.n + other.n, whole, counts)


@dataclass(frozen=True)
class TallyCells:
    """Count the parts of cells."""

    cells: tuple[Cell, ...]

    def __call__(self, columns: Partition) -> Tally:
        values = numbers(columns)
        codes = codes_of(values)
        counts = tuple(count_parts(codes, cell) for cell in self.cells)
        # A partition without rows has no type worth knowing.
        return Tally(len(values), values.dtype == np.int64 if len(values) else None, counts)


@dataclass(frozen=True)
class CollectCells:
    """Return the distinct codes in cells, which are in order, and how often each occurs."""

    cells: tuple[Cell, ...]

    def __call__(self, columns: Partition) -> tuple[WordArray, IntArray]:
        codes = codes_of(numbers(columns))
        starts = np.array([cell.start for cell in self.cells], dtype=np.uint64)
        # A cell may lie inside another: up to here everything that began is covered.
        ends = np.maximum.accumulate(np.array([c.last for c in self.cells], dtype=np.uint64))
        index = np.searchsorted(starts, codes, side="right") - 1
        chosen = (index >= 0) & (codes <= ends[np.maximum(index, 0)])
        distinct, counts = np.unique(codes[chosen], return_counts=True)
        return distinct, counts.astype(np.int64)


def merge_codes(
    a: tuple[WordArray, IntArray], b: tuple[WordArray, IntArray]
) -> tuple[WordArray, IntArray]:
    """Return the codes of both, counts added."""
    codes, inverse = np.unique(np.concatenate([a[0], b[0]]), return_inverse=True)
    if len(codes) > MOST_COLLECTED:
        raise OutOfReach(
            expected=f"tails of at most {MOST_COLLECTED} values",
            got="more",
            remedy="Raise the smoothing",
        )
    counts = np.zeros(len(codes), dtype=np.int64)
    np.add.at(counts, inverse, np.concatenate([a[1], b[1]]))
    return codes, counts


@dataclass(frozen=True)
class SumBetween:
    """Add the values whose codes are strictly between two, clamped to bounds, exactly."""

    low: int
    high: int
    bounds: Bounds

    def __call__(self, columns: Partition) -> Fraction:
        values = numbers(columns)
        codes = codes_of(values)
        part = values[(codes > np.uint64(self.low)) & (codes < np.uint64(self.high))]
        if not len(part):
            return Fraction(0)
        clamp = Clamp.on(part, self.bounds)
        below, above = part < clamp.first, part > clamp.last
        inside = part[~(below | above)]
        total = exact_sum(inside) if len(inside) else Fraction(0)
        lower, upper = self.bounds
        return total + int(below.sum()) * lower + int(above.sum()) * upper
