"""Smoothed delta by all compositions, and by a proved bound where there are too many."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import ball, precision, round_down
from smoothdp.exact.logspace.bounds import LIBM_ERROR, LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.array_pmf import LARGEST_TOTAL
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.mechanisms.sampling.sampled import SampledMechanism
from smoothdp.smoothed.brackets.many_laws import ManyLaws
from smoothdp.smoothed.many_values.closed_bound import log_bound_of_drawn, log_bound_of_lost
from smoothdp.smoothed.many_values.compositions import (
    LARGEST_FACTORS,
    delta_table,
    expectation,
    expectations,
    relative_error,
)
from smoothdp.smoothed.many_values.merged import merged
from smoothdp.smoothed.two_values.delta_line import Bracket
from smoothdp.text import whole_text

Vertex = tuple[Fraction, ...]
LARGEST_LINE = LARGEST_TOTAL
TOLERANCE = 0.7
"""The gap in ln at which a bracket is narrow enough: a factor of 2."""
MOST_COMPOSITIONS = 1_000_000
MOST_WORK = 20_000_000_000
MOST_CELLS = 20_000_000
# Seconds of one delta(x) outside the fast tables, and of one step of the recursion.
_SECONDS_EACH = 1e-3
_SECONDS_A_CELL = 3e-9
_MOST_SECONDS = 120.0
# Beyond, a number of records is no float.
_MOST_RECORDS = 10**300
_BITS = 128


def every_composition(
    mechanism: SampledMechanism[Any], vertices: tuple[Vertex, ...], epsilon: Real
) -> Bracket | None:
    """Evaluate all compositions, or return None for a histogram that is too large.

    They hold the largest expectation (proofs/smoothed-delta#1), which need not be where all
    records come from one vertex (#6).

    Raises:
        OutOfReach: too many for a mechanism for which no bound is known.
    """
    n, m = mechanism.n_records, len(vertices[0])
    # Whole numbers, at any size: 256 categories of 100 records are 10^511 cells, no float.
    compositions = math.comb(n + len(vertices) - 1, len(vertices) - 1)
    cells = (n + 1) ** (m - 1)
    few = compositions <= MOST_COMPOSITIONS and cells <= MOST_CELLS
    seconds = compositions * cells * _SECONDS_A_CELL if few else math.inf
    if few and seconds <= _MOST_SECONDS:
        seconds += _table_seconds(mechanism, m)
    if seconds > _MOST_SECONDS:
        if isinstance(mechanism, HistogramMechanism):
            return None
        work = f" and about {seconds:.2g} s" if few else ""
        raise OutOfReach(
            expected=(
                f"at most {MOST_COMPOSITIONS} compositions, {MOST_CELLS} histograms and "
                f"about {_MOST_SECONDS:.0f} s of work"
            ),
            got=f"{whole_text(compositions)} compositions, {whole_text(cells)} histograms{work}",
            remedy=(
                "Use smoothed_delta_interval, which samples databases and gives a confidence "
                "interval, or fewer records"
            ),
        )
    low_table, high_table = delta_table(mechanism, m, epsilon)
    error = relative_error(n, m)
    high, where = max((value, counts) for counts, value in expectations(high_table, n, vertices))
    # Any composition bounds the largest from below.
    low = expectation(low_table, where, vertices)
    # Entries and products below the smallest float were rounded: at most 1e-300 in all.
    upper = high * (1 + error) + 1e-300
    lower = low * (1 - error) - 1e-300
    logs = LogBounds(math.log(lower) if lower > 0 else -math.inf, min(0.0, math.log(upper)))
    return Bracket(_outwards(logs), where, "all compositions, exact table of delta(x)")


def _table_seconds(mechanism: SampledMechanism[Any], m: int) -> float:
    n = mechanism.n_records
    if (
        isinstance(mechanism, SamplingHistogram)
        and m > 2
        and (n + 1) * (mechanism.n_draws + 1) <= LARGEST_FACTORS
    ):
        return 1e-8 * n**3
    histograms = math.comb(n + m - 1, m - 1)
    if isinstance(mechanism, HistogramMechanism):
        # Only the two smallest counts matter.
        return min(histograms, n * n / 6 + n) * _SECONDS_EACH
    return histograms * m * (m - 1) * _SECONDS_EACH


def bounded(
    mechanism: HistogramMechanism,
    laws: ManyLaws,
    epsilon: Real,
    *,
    tolerance: float = TOLERANCE,
    log_target: float | None = None,
) -> Bracket:
    """Bracket the smoothed delta of a histogram, at any size, for every composition.

    By the two smallest counts (proofs/smoothed-brackets#2, #5, #8) for three or more values, by
    tails and by merging; the best of each side counts. With a target it stops where it is certain
    on which side of it smoothed delta lies.
    """
    n, vertices = laws.n_records, laws.vertices
    cap = mechanism.cap.logs
    sampled = mechanism if isinstance(mechanism, SamplingHistogram) else None
    replacing = sampled is not None and sampled.draws.replacing
    if sampled is not None and replacing:
        upper = log_bound_of_drawn(n, vertices, epsilon, sampled.n_draws)
    else:
        upper = log_bound_of_lost(n, vertices, epsilon, 1 - mechanism.inclusion())
    upper, above = min(upper, cap.upper), "proved upper bound by tails"
    worst, lower = 0, -math.inf
    if sampled is not None and not replacing:
        worst, lower = _all_of_a_value_lost(sampled, vertices)
    composition = tuple(n if index == worst else 0 for index in range(len(vertices)))
    if len(vertices[0]) == 2 or not laws.within_reach:
        return Bracket(LogBounds(lower, max(lower, upper)), composition, above)
    decided = log_target is not None and (upper <= log_target or lower > log_target)
    if not decided and upper - lower > tolerance:
        try:
            close, inside = laws.bracket(
                mechanism, epsilon, tolerance=tolerance, log_target=log_target
            )
        except OutOfReach:
            # Too many draws for the divergence of a pair; the bounds by tails hold.
            close, inside = LogBounds(lower, upper), composition
        if close.lower > lower:
            lower, composition = close.lower, inside
        if close.upper < upper:
            upper, above = close.upper, laws.method
    if sampled is not None and upper - lower > tolerance and log_target is None:
        below = merged(sampled, vertices, epsilon)
        if below is not None and below.logs.lower > lower:
            lower, composition = below.logs.lower, below.vertex_counts
    return Bracket(LogBounds(lower, max(lower, upper)), composition, above)


def _all_of_a_value_lost(
    mechanism: SamplingHistogram, vertices: tuple[Vertex, ...]
) -> tuple[int, float]:
    """Return the vertex and ln of (1 - p)^(n - T) - (1 - T/n) (1 - p)^n, the largest.

    With p the probability of a value: the event that no record of it is lost while one is
    there has probability 0 after a record moves away (proofs/smoothed-delta#7).
    """
    n = mechanism.n_records
    best = (0, -math.inf)
    if n > _MOST_RECORDS:
        return best
    for index, vertex in enumerate(vertices):
        # It falls in p: the least is best.
        value = _log_nothing_lost(min(vertex), n, mechanism.n_draws)
        if value > best[1]:
            best = (index, value)
    return best


def _log_nothing_lost(p: Fraction, n: int, draws: int) -> float:
    """Return ln of (1 - p)^(n - T) - (1 - T/n) (1 - p)^n, rounded down; p <= 1/2.

    As (1 - p)^(n - T) [T/n - (1 - T/n) ((1 - p)^T - 1)], where nothing cancels: the logarithms
    of the two powers may be of size n p, and differ by no more than (1/n + p) T.
    """
    with precision(_BITS):
        absent = (-ball(p)).log1p()
        kept = ball(Fraction(draws, n)) - ball(Fraction(n - draws, n)) * (draws * absent).expm1()
        return min(0.0, round_down((n - draws) * absent + kept.log()))


def _outwards(logs: LogBounds) -> LogBounds:
    """Move logarithms of two floats by the error of a logarithm, which grows with it."""
    lower, upper = logs.lower, logs.upper
    lower = math.nextafter(lower - LIBM_ERROR * abs(lower), -math.inf)
    return LogBounds(lower, min(0.0, math.nextafter(upper + LIBM_ERROR * abs(upper), math.inf)))
