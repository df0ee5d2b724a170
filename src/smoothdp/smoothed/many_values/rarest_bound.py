"""Smoothed delta of three or more categories, bounded on both sides at any number of records.

Above: let a be the category with the smallest count of x and c a number. Where all but one
category have at least c records, delta(x) <= V(H_a), V(h) = D(h, max(h, c)), because delta
falls in the two smallest counts (proofs/two-smallest#5). So

    E delta <= sum over a of E V(H_a) + cap * P(some count but that of the rarest is below c).

V and the tails fall when H_a grows, and H_a is least, in distribution, when all records come
from the vertex that gives a the smallest probability: that bounds every composition at once
(proofs/smoothed-delta#8).

Below: merging all categories but one is post-processing, so the smoothed delta of two
categories, a against the rest, is never more.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.logspace.log_sums import log_total_upper
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.array_pmf import LARGEST_TOTAL
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.smoothed.many_values.falling_steps import (
    falling_steps,
    least_count,
    log_any_below,
    two_smallest,
)
from smoothdp.smoothed.two_values.delta_line import Bracket, DeltaLine
from smoothdp.smoothed.two_values.two_values import two_values

Vertex = tuple[Fraction, ...]
LARGEST, LARGEST_SAMPLE = 5_000_000, 20_000
"""Where the divergences of pairs take milliseconds: records, and the fewer of drawn and lost."""
_AHEAD = 4.0
_COARSE, _FINE = 24, 90
_LINES = 4


def log_bound_by_rarest(
    mechanism: HistogramMechanism,
    vertices: tuple[Vertex, ...],
    epsilon: Real,
    *,
    log_near: float,
) -> float:
    """Bound ln of smoothed delta from above, for at most `LARGEST` records.

    ``log_near`` is a first guess of the result, such as a lower bound.
    """
    n, cap = mechanism.n_records, mechanism.cap.logs.upper
    least_chances = [min(shares) for shares in zip(*vertices, strict=True)]
    rarest = least_chances.index(min(least_chances))
    others = [p for category, p in enumerate(least_chances) if category != rarest]
    distinct = set(least_chances)
    value = two_smallest(mechanism, epsilon)

    def total(least: int, evaluations: int) -> float:
        def log_value(h: int) -> float:
            return value(h, max(h, least))

        each = max(6, evaluations // len(distinct))
        totals = {p: falling_steps(log_value, n, p, evaluations=each).log_total for p in distinct}
        beside = log_any_below(n, others, least) + cap
        return log_total_upper([*(totals[p] for p in least_chances), beside])

    # A tail below the truth costs nothing; the least such c that is known is the second.
    best, chosen = math.inf, 1
    target = log_near - cap - _AHEAD
    for _ in range(2):
        least = least_count(n, others, target)
        bound = total(least, _COARSE)
        if bound < best:
            best, chosen = bound, least
        target = bound - cap - _AHEAD
    return min(cap, total(chosen, _FINE))


def merged(
    mechanism: SamplingHistogram, vertices: tuple[Vertex, ...], epsilon: Real
) -> Bracket | None:
    """Return the smoothed delta of one category against the rest, the largest of a few.

    Its lower bound is one of all categories; its composition is over the vertices.
    """
    n = mechanism.n_records
    if max(n, mechanism.n_draws) >= LARGEST_TOTAL:
        return None
    line = DeltaLine.of(mechanism.draws, epsilon)
    shares = list(zip(*vertices, strict=True))
    rarest = sorted(range(len(shares)), key=lambda category: min(shares[category]))[:_LINES]
    best: Bracket | None = None
    for category in rarest:
        ends = sorted({min(shares[category]), max(shares[category])})
        bracket = two_values(line, tuple(ends))
        if best is None or bracket.logs.lower > best.logs.lower:
            counts = [0] * len(vertices)
            for end, count in zip(ends, bracket.vertex_counts, strict=True):
                counts[shares[category].index(end)] += count
            best = Bracket(bracket.logs, tuple(counts), bracket.method)
    return best
