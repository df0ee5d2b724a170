"""The values beyond each end of a window of order statistics, as distances from its start.

For the mean of x_(lo+1), ..., x_(n-hi), values clamped to [a, b], write v_p = x_(lo+1-p) and
u_q = x_(n-hi+q), with a and b outside. Replacing k records moves the ends of the window p and q
ranks outwards, p + q = k, and the local sensitivity at distance k is the largest u_q - v_p
with p + q = k + 1, over the width (Proposition 40 of paper 2; proofs/windows-around-the-rank#3
for windows that are not symmetric). Here u_q - v_p is written U_q + W_p, with U_q = u_q - v_0 and
W_p = v_0 - v_p: both are nonnegative, so that their sum in floats has a relative error of a few
roundings however close the values are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.queries.read_arguments import LARGEST_WHOLE, Bounds, Values
from smoothdp.types import FloatArray, IntArray

# A gain is a difference, a constant and their sum, each rounded once; then the sum of two.
GAIN_ERROR = 4 * UNIT_ROUNDOFF


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One side of a window: gains in float, and what they are exactly.

    Values that occur again further out add nothing, so each stands once: at its first step.
    """

    gains: FloatArray
    """Distances from v_0, never falling: U_q or W_p. Sums of the two are within GAIN_ERROR."""
    steps: IntArray
    """q or p: how many ranks beyond the end of the window, increasing from 0."""
    raw: Values
    """The values themselves where they are not replaced by a bound."""
    clamped: Mapping[int, Fraction]
    """The positions whose value is a bound."""

    def __len__(self) -> int:
        return len(self.gains)

    def exact(self, position: int) -> Fraction:
        """Return the value at a position, clamped."""
        bound = self.clamped.get(position)
        return Fraction(self.raw[position].item()) if bound is None else bound


class Sides(NamedTuple):
    """Both sides of a window: low holds v_p, high holds u_q."""

    low: Side
    high: Side

    def difference(self, p: int, q: int) -> Fraction:
        """Return u_q - v_p exactly, by their positions."""
        return self.high.exact(q) - self.low.exact(p)


@dataclass(frozen=True, slots=True)
class Clamp:
    """Bounds [a, b] on the inputs, next to the values that the column can hold."""

    bounds: Bounds
    first: int | float
    """The least value of the column's type that is at least a."""
    last: int | float
    """The greatest that is at most b."""

    @staticmethod
    def on(values: Values, bounds: Bounds) -> Clamp:
        """Return the clamp for a column."""
        lower, upper = bounds
        if values.dtype == np.int64:
            # Every value lies strictly between these limits.
            first = min(
                max(-(-lower.numerator // lower.denominator), -LARGEST_WHOLE), LARGEST_WHOLE
            )
            last = min(max(upper.numerator // upper.denominator, -LARGEST_WHOLE), LARGEST_WHOLE)
            return Clamp(bounds, first, last)
        return Clamp(bounds, float_bounds(lower)[1], float_bounds(upper)[0])

    def value(self, raw: int | float) -> Fraction:
        """Return a value clamped, exactly."""
        if raw < self.first:
            return self.bounds[0]
        if raw > self.last:
            return self.bounds[1]
        return Fraction(raw)


def sides(
    low: Values,
    high: Values,
    clamp: Clamp,
    *,
    complete: tuple[bool, bool],
    second: tuple[int, int] = (1, 1),
) -> Sides:
    """Return the sides of a window, from v_0, v_1, ... (falling) and u_0, u_1, ... (rising).

    ``complete`` tells of each side whether all its values are there: then the bound itself
    stands one step further, unless a value is clamped to it before. ``second`` is the step of
    the second value of each side, if those between the first and it are ties and left out.
    """
    reference = clamp.value(low[0].item())
    return Sides(
        _side(low, clamp, reference, falling=True, complete=complete[0], second=second[0]),
        _side(high, clamp, reference, falling=False, complete=complete[1], second=second[1]),
    )


def _side(
    raw: Values,
    clamp: Clamp,
    reference: Fraction,
    *,
    falling: bool,
    complete: bool,
    second: int,
) -> Side:
    """Return one side; the first positions may be clamped to the bound of the other side."""
    near, far = clamp.bounds[::-1] if falling else clamp.bounds
    if falling:
        before = int(np.searchsorted(-raw, -clamp.last, side="left"))
        after = int(np.searchsorted(-raw, -clamp.first, side="right"))
    else:
        before = int(np.searchsorted(raw, clamp.first, side="left"))
        after = int(np.searchsorted(raw, clamp.last, side="right"))
    inside = raw[before:after]
    positions = np.arange(before, after)
    new = np.ones(len(inside), dtype=np.bool_)
    new[1:] = inside[1:] != inside[:-1]
    inside, positions = inside[new], positions[new]
    gains = _distances(inside, clamp, reference, falling=falling)
    clamped: dict[int, Fraction] = {}
    head: list[int] = []
    if before:
        clamped[0] = near
        head = [0]
    tail = [after] if after < len(raw) or complete else []
    size = len(head) + len(inside) + len(tail)
    if tail:
        clamped[size - 1] = far
    ends = [float(abs(clamped[i] - reference)) if i in clamped else 0.0 for i in (0, size - 1)]
    steps = np.concatenate([head, positions, tail]).astype(np.int64)
    return Side(
        np.concatenate([ends[:1] * len(head), gains, ends[1:] * len(tail)]),
        np.where(steps > 0, steps + (second - 1), 0),
        np.concatenate([raw[:1] * 0] * len(head) + [inside] + [raw[:1] * 0] * len(tail)),
        clamped,
    )


def _distances(inside: Values, clamp: Clamp, reference: Fraction, *, falling: bool) -> FloatArray:
    """Return |value - reference| of values inside the bounds, all on one side of it."""
    are_integers = inside.dtype == np.int64
    if reference == clamp.bounds[0] and not falling:
        start = Fraction(clamp.first)
    elif reference == clamp.bounds[1] and falling:
        start = Fraction(clamp.last)
    else:
        start = reference
    beyond_start = float(abs(start - reference))
    if are_integers:
        first = np.int64(int(start))
        gap = first - inside if falling else inside - first
        return gap.astype(np.float64) + beyond_start
    gap = float(start) - inside if falling else inside - float(start)
    return np.asarray(gap, dtype=np.float64) + beyond_start
