"""Smoothed delta of three or more categories from below: one category against the rest.

Merging all categories but one is post-processing, so the smoothed delta of two categories, a
against the rest, is never more (proofs/smoothed-delta#8).
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.array_pmf import LARGEST_TOTAL
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.smoothed.two_values.delta_line import Bracket, DeltaLine
from smoothdp.smoothed.two_values.two_values import two_values

Vertex = tuple[Fraction, ...]
_LINES = 4


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
