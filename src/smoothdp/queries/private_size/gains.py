"""Differences of two integrals of X over intervals of one length, for many pairs at once.

Y(u) is the integral of X over [u, u + M], 1/2 <= M <= 1, and T >= B. Between them stand at most
three pieces on which both run through one cell, so that

    Y(T) - Y(B) = sum over pieces of length (X_t - X_b),

a sum of products that are not negative: floats lose a few roundings of it, however close the
values are (proofs/private-size#7). Positions are whole numbers of units 1 / D, so that lengths
and cells are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.queries.private_size.cells import PaddedCells
from smoothdp.types import FloatArray, IntArray

RELATIVE_ERROR = 12 * UNIT_ROUNDOFF
"""Of a difference: 3 roundings of X_t - X_b, 3 of its product with a length over D, 2 of sums."""
_BELOW_ALL = -5000
"""An exponent below that of every float."""


class Pieces(NamedTuple):
    """Three pieces of each pair: lengths in units, cells at T and at B."""

    lengths: tuple[IntArray, IntArray, IntArray]
    tops: tuple[IntArray, IntArray, IntArray]
    bottoms: tuple[IntArray, IntArray, IntArray]


@dataclass(frozen=True, slots=True)
class Gains:
    """Y(T) - Y(B) on the cells of one column.

    Attributes:
        cells: the column, arranged as far out as is asked for.
        unit: D. length: M D, a whole number.
    """

    cells: PaddedCells
    unit: int
    length: int

    def pieces(self, top: IntArray, bottom: IntArray) -> Pieces:
        """Return the pieces of pairs (T, B), T >= B, in units."""
        cell_top, cell_bottom = top // self.unit, bottom // self.unit
        room_top = np.minimum(self.unit * (cell_top + 1) - top, self.length)
        room_bottom = np.minimum(self.unit * (cell_bottom + 1) - bottom, self.length)
        near, far = np.minimum(room_top, room_bottom), np.maximum(room_top, room_bottom)
        first, second = _whole(cell_top) + 1, _whole(cell_bottom) + 1
        turns = room_top <= room_bottom
        return Pieces(
            (near, far - near, self.length - far),
            (first, np.where(turns, first + 1, first), first + 1),
            (second, np.where(turns, second, second + 1), second + 1),
        )

    def logs(self, top: IntArray, bottom: IntArray) -> FloatArray:
        """Return ln(Y(T) - Y(B)) in floats, of a difference within RELATIVE_ERROR; -inf of 0.

        Values may differ by less than the least normal float: a product of such a gap and a
        length would lose its digits or be 0, so mantissas and exponents are kept apart.
        """
        pieces = self.pieces(top, bottom)
        lengths = np.asarray(np.stack(pieces.lengths), np.float64) / self.unit
        # One look at all cells: most calls are about few pairs.
        tops = self.cells.values(np.stack(pieces.tops))
        gaps, exponents = np.frexp(tops.minus(self.cells.values(np.stack(pieces.bottoms))))
        parts = lengths * gaps
        exponents = np.where(parts > 0, exponents, _BELOW_ALL)
        highest = exponents.max(axis=0)
        near, middle, far = np.ldexp(parts, exponents - highest)
        with np.errstate(divide="ignore"):
            logs = np.log(near + middle + far) + highest * math.log(2)
        return np.asarray(logs, np.float64)

    def exact(self, top: IntArray, bottom: IntArray) -> list[Fraction]:
        """Return Y(T) - Y(B) of each pair, exactly."""
        pieces = self.pieces(top, bottom)
        totals = [Fraction(0)] * len(top)
        for length, cell_top, cell_bottom in zip(*pieces, strict=True):
            lists = length.tolist(), cell_top.tolist(), cell_bottom.tolist()
            for place, (units, t, b) in enumerate(zip(*lists, strict=True)):
                if units:
                    totals[place] += units * (self.cells.exact(t) - self.cells.exact(b))
        return [total / self.unit for total in totals]

    def distinct(self, top: IntArray, bottom: IntArray) -> IntArray:
        """Return positions that hold every exact difference which occurs, most of them once."""
        if self.length * 3 >= 1 << 62:
            # Lengths of more than 64 bits are not compared.
            return np.arange(len(top))
        pieces = self.pieces(top, bottom)
        rows = [_whole(length) for length in pieces.lengths]
        for length, t, b in zip(*pieces, strict=True):
            used = np.asarray(length, np.float64) > 0
            rows.extend(np.where(used, self.cells.keys(t), 0))
            rows.extend(np.where(used, self.cells.keys(b), 0))
        _, kept = np.unique(np.stack(rows), axis=1, return_index=True)
        return np.asarray(kept, np.int64)


def _whole(numbers: IntArray) -> IntArray:
    """Return 64-bit numbers; positions may be Python's, cells are never that large."""
    return np.asarray(numbers, dtype=np.int64)
