"""Hockey-stick divergence when every record is kept independently.

The sampled counts i ~ Bin(count_a, p) and j ~ Bin(count_b, p) are independent of each
other and of the rest, and the likelihood ratio is that of sampling without replacement.
Row j contributes P(j) slope [step SF(first) + U(first)] / [count_a (count_b + 1 - j)],
with SF(f) = P(i >= f) and U(f) = sum over i >= f of (i - f) P(i): all positive.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from smoothdp.exact.logspace.bounds import (
    LIBM_ERROR,
    LOG_ZERO,
    UNIT_ROUNDOFF,
    LogBounds,
    log_sum_upper,
)
from smoothdp.exact.logspace.ratio_sum import expected_length
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.mechanisms.histogram.accounting.half_plane import (
    BITS,
    HalfPlane,
    hypergeometric_half_plane,
)
from smoothdp.mechanisms.histogram.accounting.line import BinomialLine
from smoothdp.mechanisms.histogram.accounting.rows import (
    MOST_ROWS,
    check_size,
    highest_row,
    rows_inside,
    window,
)
from smoothdp.types import FloatArray, IntArray


def independent_divergence(
    count_a: int, count_b: int, keep_probability: Fraction, epsilon: Real
) -> LogBounds:
    """Bound ln D(count_a, count_b) when each record is kept with a given probability.

    Domain: 0 < keep_probability < 1, count_a >= 1, count_b >= 0.

    Raises:
        OutOfReach: more outputs matter than can be summed.
    """
    plane = hypergeometric_half_plane(count_a, count_b, epsilon, BITS)
    kept, lost = keep_probability.numerator, keep_probability.denominator
    lost -= kept
    line_a = BinomialLine(kept, lost, count_a)
    line_b = BinomialLine(kept, lost, count_b)

    def height(j: int) -> float:
        first = max(plane.first_inside(j), 0)
        if first > count_a:
            return -math.inf
        inside = max(first, min(count_a, count_a * kept // (kept + lost)))
        return line_b.log_probability(j).upper + line_a.log_probability(inside).upper

    peak = highest_row(height, 0, count_b)
    if peak == -math.inf:
        return LOG_ZERO
    span = window(line_b, peak)
    rows = rows_inside(plane, span.lowest, span.highest, lambda _: (0, count_a))
    if not rows.j.size:
        return LogBounds(-math.inf, span.log_dropped)

    lowest, highest = int(rows.first.min()), int(rows.first.max())
    survival, excess, tail_error = _tails(line_a, lowest, highest)
    at_a = log_binomial_pmf(rows.first, count_a, keep_probability)
    at_b = log_binomial_pmf(rows.j, count_b, keep_probability)
    logs = at_a.log_values + at_b.log_values
    scale = float(logs.max())
    step = np.where(rows.ambiguous, 0.0, rows.step)
    position = rows.first - lowest
    with np.errstate(invalid="ignore", over="ignore"):
        terms = np.exp(logs - scale) * (step * survival[position] + excess[position])
        terms *= _row_slopes(plane, count_a, count_b, rows.j)
    total = math.fsum(terms.tolist()) if np.isfinite(terms).all() else math.inf
    if total == math.inf:
        # A tail beyond floats times its least probability: nothing is claimed.
        return LogBounds(-math.inf, 0.0)
    unresolved = float(np.sum(np.exp(logs[rows.ambiguous] - scale))) * 2.0**-50

    near = logs > scale - 50.0
    error = float((at_a.error + at_b.error)[near].max()) + float(tail_error[position].max())
    error += 4 * (abs(scale) + 64) * UNIT_ROUNDOFF + 2 * LIBM_ERROR + 16 * UNIT_ROUNDOFF
    lower = scale + math.log(total) - 1.01 * error if total > 0 else -math.inf
    upper = scale + math.log(total + unresolved + 1e-290) + 1.01 * error
    return LogBounds(lower, log_sum_upper(upper, span.log_dropped))


def _row_slopes(plane: HalfPlane, count_a: int, count_b: int, j: IntArray) -> FloatArray:
    return np.asarray(plane.slope_a / (plane.scale * count_a) / (count_b + 1 - j))


def _tails(
    line: BinomialLine, lowest: int, highest: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return SF(i) / P(i), U(i) / P(i) and their relative error, for i in lowest..highest.

    From above: m(i) = 1 + r(i) m(i + 1) and v(i) = r(i) (m(i + 1) + v(i + 1)), where
    r(i) = P(i + 1) / P(i). The error e of m obeys e(i) <= 5u + e(i + 1) (1 - 1 / m(i)):
    e contracts. The error of v is a mean of the errors of m and v beyond, plus 6u.
    """
    top = line.n_draws
    if highest < line.n_draws:
        decay = math.log(line.ratio(highest))
        mean = line.n_draws * line.count_a // (line.count_a + line.count_b)
        start = highest if decay < 0 else max(highest, mean)
        reach = expected_length(min(0.0, math.log(line.ratio(start))), line.curvature(start))
        top = min(line.n_draws, start + 2 * reach + 8)
    check_size(top - lowest + 1, MOST_ROWS, "outputs that matter in a row")
    size = highest - lowest + 1
    survival, excess, error = np.empty(size), np.empty(size), np.empty(size)
    m, v, error_m, error_v = 1.0, 0.0, 0.0, 0.0
    if top < line.n_draws:
        # Start from the geometric bounds; what they overstate has decayed by e^-60 or more.
        last_ratio = line.ratio(top)
        m, v = 1.0 / (1.0 - last_ratio), last_ratio / (1.0 - last_ratio) ** 2
        error_m = error_v = 1.0
    at = np.arange(lowest, top, dtype=np.float64)
    odds = line.count_a / line.count_b
    ratios = ((line.n_draws - at) / (at + 1.0) * odds).tolist()
    for i in range(top, lowest - 1, -1):
        if i < top:
            r = ratios[i - lowest]
            v_next = r * (m + v)
            error_v = (m * error_m + v * error_v) / (m + v) + 6 * UNIT_ROUNDOFF
            m_next = 1.0 + r * m
            error_m = error_m * (1.0 - 1.0 / m_next) + 5 * UNIT_ROUNDOFF
            m, v = m_next, v_next
        if i <= highest:
            survival[i - lowest], excess[i - lowest] = m, v
            error[i - lowest] = max(error_m, error_v)
    return survival, excess, error
