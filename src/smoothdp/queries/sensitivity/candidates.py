"""Candidates for the largest e^(-rate k) d, rate and d rational: compared and rounded exactly.

Two candidates with different k are never equal: e^x is irrational for rational x other than 0
(proofs/the-released-number#2).
So the precision is raised until the largest stands out for certain. Pairs of steps from a
search in floats become one exact difference for each distance, the largest.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.logspace.bounds import SMALLEST_FLOAT, LogBounds
from smoothdp.exact.logspace.double_double import exact_sum as two_sum
from smoothdp.exact.parameters.numbers import LogRatio, float_bounds
from smoothdp.queries.windows.sides import GAIN_ERROR, Sides
from smoothdp.types import IntArray

Candidate: TypeAlias = tuple[int, Fraction]
"""(k, d): the number e^(-rate k) d, d > 0."""

# Beyond this decay the largest difference of floats is far below the smallest float.
_NOTHING_LEFT = 3000
# Up to this many pairs become fractions one by one.
_FEW = 32


def largest(candidates: Iterable[Candidate], rate: Fraction) -> Candidate:
    """Return the candidate with the largest e^(-rate k) d; rate > 0, some d positive.

    >>> largest([(0, Fraction(1)), (1, Fraction(3)), (2, Fraction(7))], Fraction(1))
    (1, Fraction(3, 1))
    """
    rising: list[Candidate] = []
    for k, d in sorted(set(candidates), key=lambda c: (c[0], -c[1])):
        if d > (rising[-1][1] if rising else 0):
            rising.append((k, d))
    bits = 128
    while len(rising) > 1:
        with precision(bits):
            logs = [ball(LogRatio(d)) - ball(rate * k) for k, d in rising]
            floor = max(log.lower() for log in logs)
            rising = [c for c, log in zip(rising, logs, strict=True) if log.upper() >= floor]
        bits *= 2
    return rising[0]


def log_decayed(candidate: Candidate, rate: Fraction) -> LogBounds:
    """Return floats around ln d - rate k."""
    k, d = candidate
    with precision(192):
        log = ball(LogRatio(d)) - ball(rate * k)
        return LogBounds(-round_up(-log), round_up(log))


def decayed_upper(candidate: Candidate, rate: Fraction) -> float:
    """Return a float that is not below e^(-rate k) d, and at most the next but one above it.

    >>> decayed_upper((0, Fraction(1, 10)), Fraction(1)), decayed_upper((9000, Fraction(1)), 1)
    (0.1, 5e-324)
    """
    k, d = candidate
    undecayed = float_bounds(d)[1]
    if k == 0:
        return undecayed
    if rate * k > _NOTHING_LEFT:
        return SMALLEST_FLOAT
    with precision(192):
        decayed = round_up(ball(d) * (-ball(rate * k)).exp())
    return min(undecayed, max(SMALLEST_FLOAT, decayed))


# ---- from pairs of a search in floats to exact differences --------------------------------


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
        total, error = two_sum(u.astype(np.float64), -v.astype(np.float64))
        order = np.lexsort((error, total, k))
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
