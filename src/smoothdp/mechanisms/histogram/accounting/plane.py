"""Hockey-stick divergence with more than two categories: a sum over two counts.

Only the sampled numbers i and j of the two categories concerned matter
(proofs/two-smallest#1). Rows of equal j are summed in blocks; what is dropped is bounded and
added to the upper bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    LOG_ZERO,
    UNIT_ROUNDOFF,
    LogBounds,
    log_sum_upper,
)
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.windows import LogWindow
from smoothdp.mechanisms.histogram.accounting.half_plane import BITS, HalfPlane
from smoothdp.mechanisms.histogram.accounting.plane_laws import PlaneLaw
from smoothdp.mechanisms.histogram.accounting.rows import (
    NATS,
    Rows,
    check_size,
    highest_row,
    rows_inside,
    window,
)
from smoothdp.types import FloatArray

_CELLS = 1 << 19
# Hours of work; the memory for a block; and the whole numbers that fit into 64 bits.
_MOST_CELLS, _LARGEST_BLOCK, _MOST_DRAWS = 10**11, 5 * 10**7, 1 << 62


class _Block(NamedTuple):
    """Sum of a block of rows over e^scale, a bound of what the sum leaves out, and its error."""

    total: float
    remainder: float
    error: float


def plane_divergence(law: PlaneLaw, epsilon: Real) -> LogBounds:
    """Bound ln D: the sum over gain(i, j) > 0 of P(i, j) (1 - e^epsilon / ratio).

    Raises:
        OutOfReach: more outputs matter than can be summed.
    """
    check_size(law.n_draws, _MOST_DRAWS, "records drawn")
    plane = law.half_plane(epsilon, BITS)
    marginal = law.marginal_b()
    peak = highest_row(lambda j: _height(law, plane, j), marginal.lowest, marginal.highest)
    if peak == -math.inf:
        return LOG_ZERO
    span = window(marginal, peak)
    rows = rows_inside(plane, span.lowest, span.highest, law.support)
    if not rows.j.size:
        return LogBounds(-math.inf, span.log_dropped)
    return _sum_rows(law, plane, rows, span.log_dropped)


def _height(law: PlaneLaw, plane: HalfPlane, j: int) -> float:
    """Return about ln of the largest probability on row j, inside the half-plane."""
    least, greatest = law.support(j)
    first = max(plane.first_inside(j), least)
    if first > greatest:
        return -math.inf
    line = law.law_of_a(j)
    mean = line.n_draws * line.count_a // max(1, line.count_a + line.count_b)
    inside = min(max(first, mean), greatest)
    return law.marginal_b().log_probability(j).upper + line.log_probability(inside).upper


def _sum_rows(law: PlaneLaw, plane: HalfPlane, rows: Rows, log_dropped: float) -> LogBounds:
    norm_values, norm_error = law.norm()
    norm = float(norm_values[0])
    at_b = law.table(rows.j, law.count_b)
    at_first = law.table(rows.first, law.count_a)
    at_rest = law.table(law.n_draws - rows.first - rows.j, law.rest)
    heights = at_first.log_values + at_b.log_values + at_rest.log_values
    with np.errstate(divide="ignore"):
        log_ratio = np.log(law.ratio(rows.first, rows.j))
    curvature = law.curvature(rows.first, rows.j)
    # A row that still rises peaks near log_ratio / curvature, log_ratio^2 / 2 curvature up.
    rise = np.where(log_ratio > 0, log_ratio**2 / (2 * curvature), 0.0)
    scale = float(np.max(heights + rise))
    depth = np.maximum(heights + rise - scale + NATS, 1.0)
    lengths = 4 + np.ceil(
        np.where(
            log_ratio > 0,
            log_ratio / curvature + np.sqrt(2 * depth / curvature),
            2 * depth / (np.sqrt(log_ratio**2 + 2 * depth * curvature) - log_ratio),
        )
    ).astype(np.int64)
    keep = (heights + rise > scale - NATS) | (log_ratio > -1e-3)
    # A dropped row falls from its first term: at most first / (1 - ratio).
    dropped = float(np.sum(np.exp(heights[~keep] - scale) / -np.expm1(log_ratio[~keep])))
    dropped += float(np.sum(np.exp(heights[rows.ambiguous] - scale))) * 2.0**-50
    totals, remainders, error = [], [dropped * 1.001], 0.0
    kept = np.flatnonzero(keep)
    check_size(int(lengths[kept].sum()), _MOST_CELLS, "outputs that matter")
    start = 0
    while start < kept.size:
        stop = start + 1
        longest = int(lengths[kept[start]])
        while stop < kept.size:
            candidate = max(longest, int(lengths[kept[stop]]))
            if candidate * (stop + 1 - start) > _CELLS:
                break
            longest, stop = candidate, stop + 1
        chosen = kept[start:stop]
        block = _sum_block(
            law,
            plane,
            Rows(rows.j[chosen], rows.first[chosen], rows.step[chosen], rows.ambiguous[chosen]),
            LogWindow(at_b.log_values[chosen], at_b.error[chosen]),
            scale,
            longest,
        )
        totals.append(block.total)
        remainders.append(block.remainder)
        error = max(error, block.error)
        start = stop
    total = math.fsum(totals)
    remainder = math.fsum(remainders) * (1 + 1e-9)
    if not math.isfinite(total + remainder):
        # A row rose beyond floats before it fell: nothing is claimed.
        return LogBounds(-math.inf, 0.0)
    # Roundings: the sum of three logs and the scale, exp, the weight, sums of rows.
    size = abs(scale) + abs(norm) + NATS + 64
    error += float(norm_error[0]) + 8 * size * UNIT_ROUNDOFF + LIBM_ERROR * 2
    error += (int(lengths.max()) + kept.size + 32) * UNIT_ROUNDOFF
    base = scale - norm
    lower = base + math.log(total) - 1.01 * error if total > 0 else -math.inf
    upper = base + math.log(total + remainder) + 1.01 * error
    return LogBounds(lower, log_sum_upper(upper, log_dropped))


def _sum_block(
    law: PlaneLaw,
    plane: HalfPlane,
    rows: Rows,
    at_b: LogWindow,
    scale: float,
    length: int,
) -> _Block:
    """Sum ``length`` terms of each row, doubling the length until the rest is negligible."""
    while True:
        check_size(rows.j.size * length, _LARGEST_BLOCK, "outputs that matter in a row")
        steps = np.arange(length)
        i = rows.first[:, None] + steps
        sampled_rest = law.n_draws - rows.j[:, None] - i
        first_i, last_i = int(rows.first.min()), int(rows.first.max()) + length - 1
        table_a = law.table(np.arange(first_i, last_i + 1), law.count_a)
        first_rest, last_rest = int(sampled_rest.min()), int(sampled_rest.max())
        table_rest = law.table(np.arange(first_rest, last_rest + 1), law.rest)
        logs = table_a.log_values[i - first_i]
        logs += table_rest.log_values[sampled_rest - first_rest]
        logs += (at_b.log_values - scale)[:, None]
        # An ambiguous first term counts as zero below; its bound is in the remainder.
        step = np.where(rows.ambiguous, 0.0, rows.step)
        terms = np.exp(logs)
        terms *= law.weight(plane, step[:, None] + steps, rows.j)
        total = math.fsum(terms.sum(axis=1).tolist())
        remainder = _remainder(law, rows, logs[:, -1], length)
        if remainder <= 2.0**-42 * total or remainder == 0.0:
            break
        length *= 2
    # Cells below e^-45 of the largest weigh nothing, whatever their error.
    row, column = np.nonzero(logs > -45.0)
    error = 0.0
    if row.size:
        error += float(at_b.error[row].max())
        error += float(table_a.error[i[row, column] - first_i].max())
        error += float(table_rest.error[sampled_rest[row, column] - first_rest].max())
    # Terms that underflow are below e^-700 of the largest.
    return _Block(total, remainder + i.size * 1e-290, error)


def _remainder(law: PlaneLaw, rows: Rows, last_logs: FloatArray, length: int) -> float:
    """Bound the terms beyond the block: last P times a geometric series, weights <= 1."""
    alive = np.isfinite(last_logs)
    if not alive.any():
        return 0.0
    ratio = law.ratio(rows.first[alive] + length - 1, rows.j[alive]) * (1 + 1e-12)
    if np.any(ratio >= 1.0):
        return math.inf
    return float(np.sum(np.exp(last_logs[alive]) * ratio / (1 - ratio))) * 1.001
