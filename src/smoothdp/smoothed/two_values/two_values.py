"""Smoothed delta of a histogram of two categories, at any number of records.

The expectation with j records of the first distribution is largest at an end, j = 0 or n,
wherever delta(h) is valley-shaped: falling, then rising (proofs/smoothed-delta#3). delta(h) is
not always so: lattice effects make small interior maxima (#6). So the expectation of the least
symmetric valley-shaped function above delta bounds all j at once (proofs/smoothed-delta#4); where
that leaves too wide a gap, all j are evaluated.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.smoothed.two_values.compositions import all_compositions, one_composition
from smoothdp.smoothed.two_values.delta_line import FIRST, Bracket, DeltaLine
from smoothdp.smoothed.two_values.endpoint import Endpoint, coarse_endpoint, endpoint
from smoothdp.types import FloatArray

_SHARP = 1e-11
_WIDE = 1e-4
_SMALL = 20_000
LARGEST_SHARPENED = 100_000
_DEEP = math.log(1e-270)


def two_values(line: DeltaLine, chances: tuple[Fraction, ...], *, sharpen: bool = False) -> Bracket:
    """Bound smoothed delta over one or two distributions of two values.

    Args:
        line: delta as a function of the count.
        chances: the probability of the first value under each distribution.
        sharpen: evaluate all compositions whatever the gap, up to 100,000 records.
    """
    n = line.n_records
    if len(chances) == 1:
        logs = endpoint(line, chances[0]).expectation
        return Bracket(logs, (n,), "one distribution: the expectation over its databases")
    first, second = chances
    ends = _ends(line, (first, second))
    worst_end = int(ends[1].expectation.lower > ends[0].expectation.lower)
    lower = ends[worst_end].expectation.lower
    upper = max(end.envelope for end in ends)
    worst = (n, 0) if worst_end == 0 else (0, n)
    gap = upper - lower
    if n <= _SMALL and not sharpen and _is_valley(line):
        upper = max(end.expectation.upper for end in ends)
        return Bracket(
            LogBounds(lower, upper), worst, "endpoint theorem: delta(h) falls, then rises (checked)"
        )
    feasible = (n <= _SMALL and gap > _SHARP) or (n <= LARGEST_SHARPENED and gap > _WIDE)
    if (feasible or (sharpen and n <= LARGEST_SHARPENED)) and lower > _DEEP:
        return _all(line, (first, second), Bracket(LogBounds(lower, upper), worst, ""))
    return Bracket(LogBounds(lower, upper), worst, "ends of the model, monotone envelope above")


def _ends(line: DeltaLine, chances: tuple[Fraction, Fraction]) -> tuple[Endpoint, Endpoint]:
    """Evaluate both ends of the model; the lesser end coarsely where that is enough."""
    coarse = [coarse_endpoint(line, chance) for chance in chances]
    large = int(coarse[1] > coarse[0])
    main = endpoint(line, chances[large])
    if coarse[1 - large] < main.expectation.lower:
        lesser = Endpoint(LogBounds(-math.inf, coarse[1 - large]), coarse[1 - large])
    else:
        lesser = endpoint(line, chances[1 - large])
    return (lesser, main) if large else (main, lesser)


def _is_valley(line: DeltaLine) -> bool:
    """Whether delta(h), which is symmetric, certainly never rises from h = 1 to the middle."""
    if line.middle < FIRST:
        return True
    values = line.window(FIRST, line.middle)
    # Below h = 2 stands the cap, which nothing exceeds.
    return bool(np.all(values.upper[1:] <= values.lower[:-1]))


def _all(line: DeltaLine, chances: tuple[Fraction, Fraction], known: Bracket) -> Bracket:
    lower, upper = delta_arrays(line)
    values, error, allowance = all_compositions(upper, chances)
    j = int(np.argmax(values))
    high = math.log(float(values[j]) * (1 + error) + allowance)
    value, error = one_composition(lower, j, chances)
    low = math.log(value * (1 - error)) if value > 0 else -math.inf
    low = math.nextafter(low - 1e-15 * abs(low), -math.inf)
    counts: tuple[int, ...] = (j, line.n_records - j)
    if low <= known.logs.lower:
        low, counts = known.logs.lower, known.vertex_counts
    high = math.nextafter(high + 1e-15 * abs(high), math.inf)
    return Bracket(
        LogBounds(low, min(known.logs.upper, max(high, low))), counts, "all compositions"
    )


def delta_arrays(line: DeltaLine) -> tuple[FloatArray, FloatArray]:
    """Return lower and upper bounds of delta(0..n) as floats; below 1e-300 they are coarse."""
    n = line.n_records
    lower, upper = (np.full(n + 1, bound) for bound in line.cap.linear())
    if line.middle >= FIRST:
        values = line.window(FIRST, line.middle)
        low = np.exp(values.lower) * (1 - 1e-15)
        high = np.exp(values.upper) * (1 + 1e-15) + 1e-300
        lower[FIRST : line.middle + 1], upper[FIRST : line.middle + 1] = low, high
        lower[n - line.middle : n - FIRST + 1] = low[::-1]
        upper[n - line.middle : n - FIRST + 1] = high[::-1]
    return lower, np.minimum(upper, 1.0)
