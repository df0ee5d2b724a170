"""From pairs found by floats to exact differences: one for each distance, the largest."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from smoothdp.exact.logspace.double_double import exact_sum as two_sum
from smoothdp.queries.decays import Candidate
from smoothdp.queries.sides import GAIN_ERROR, Sides
from smoothdp.types import IntArray

# Up to this many pairs become fractions one by one.
_FEW = 32


def exact_candidates(sides: Sides, low: IntArray, high: IntArray) -> list[Candidate]:
    """Return (k, largest u_q - v_p) for each k that occurs among the pairs, k = max(p+q-1, 0)."""
    distance = np.maximum(sides.low.steps[low] + sides.high.steps[high] - 1, 0)
    if len(low) > _FEW:
        kept = _largest_by_distance(sides, low, high, distance)
        low, high, distance = low[kept], high[kept], distance[kept]
    best: dict[int, Fraction] = {}
    for k, p, q in zip(distance.tolist(), low.tolist(), high.tolist(), strict=True):
        best[k] = max(best.get(k, Fraction(0)), sides.difference(p, q))
    return list(best.items())


def _largest_by_distance(
    sides: Sides, low: IntArray, high: IntArray, distance: IntArray
) -> IntArray:
    """Keep, for each distance, the largest pair of data, and every pair with a bound.

    A difference of two floats is a float and its rounding error, which order as a pair.
    """
    clamped = np.isin(low, list(sides.low.clamped)) | np.isin(high, list(sides.high.clamped))
    rows = np.flatnonzero(~clamped)
    u, v = sides.high.raw[high[rows]], sides.low.raw[low[rows]]
    k = distance[rows]
    if u.dtype == np.int64:
        order = np.lexsort((u - v, k))
    else:
        total, rest = two_sum(u.astype(np.float64), -v.astype(np.float64))
        order = np.lexsort((rest, total, k))
    last = np.ones(len(order), np.bool_)
    last[:-1] = k[order][1:] != k[order][:-1]
    return np.concatenate([rows[order[last]], np.flatnonzero(clamped)])


def largest_within(sides: Sides, distance: int) -> Fraction:
    """Return the largest u_q - v_p with p + q <= distance + 1, exactly; 0 if there is none."""
    low, high = sides
    rows = np.flatnonzero(low.steps <= distance + 1)
    columns = np.searchsorted(high.steps, distance + 1 - low.steps[rows], side="right") - 1
    gains = low.gains[rows] + high.gains[columns]
    near = gains >= gains.max() * (1 - 3 * GAIN_ERROR)
    # One distance for all: the largest is wanted whatever its steps are.
    low_near, high_near = rows[near], columns[near]
    if len(low_near) > _FEW:
        same = np.zeros(len(low_near), np.int64)
        kept = _largest_by_distance(sides, low_near, high_near, same)
        low_near, high_near = low_near[kept], high_near[kept]
    return max(
        sides.difference(p, q) for p, q in zip(low_near.tolist(), high_near.tolist(), strict=True)
    )
