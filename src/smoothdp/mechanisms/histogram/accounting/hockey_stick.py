"""Hockey-stick divergence between neighbours, for two categories.

For a database with counts H and the neighbour H - e_a + e_b (one record of category a
replaced by one of category b) write D(H_a, H_b) for the hockey-stick divergence of the
sampled histogram of the first from that of the second. The reverse direction is
D(H_b + 1, H_a - 1) (proofs/two-smallest#1).
"""

from __future__ import annotations

import numpy as np

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.mechanisms.histogram.accounting.half_plane import HalfPlane
from smoothdp.mechanisms.histogram.accounting.line import (
    BinomialLine,
    HypergeometricLine,
    Weight,
    tail_sum,
)
from smoothdp.types import FloatArray


def hypergeometric_line_divergence(
    count_a: int, count_b: int, n_draws: int, epsilon: Real
) -> LogBounds:
    """Bound ln D(count_a, count_b) for two categories, sampled without replacement."""

    def weight_from(half_line: HalfPlane, first: int) -> tuple[Weight, int]:
        unit = half_line.scale * count_a
        gain = half_line.gain(first, 0) / unit
        slope = half_line.slope_a / unit
        unsampled_b = float(count_b + 1 - n_draws + first)

        def weight(d: FloatArray) -> FloatArray:
            return (gain + d * slope) / (unsampled_b + d)

        return weight, 6

    line = HypergeometricLine(count_a, count_b, n_draws)
    return tail_sum(line, (count_a, count_b), epsilon, weight_from)


def multinomial_line_divergence(
    count_a: int, count_b: int, n_draws: int, epsilon: Real
) -> LogBounds:
    """Bound ln D(count_a, count_b) for two categories, sampled with replacement.

    Domain: count_a >= 2, count_b >= 1.
    """

    def weight_from(half_line: HalfPlane, first: int) -> tuple[Weight, int]:
        gain = half_line.gain(first, 0) / half_line.scale
        slope = half_line.slope_a / half_line.scale

        def weight(d: FloatArray) -> FloatArray:
            return -np.expm1(-(gain + d * slope))

        return weight, 14

    line = BinomialLine(count_a, count_b, n_draws)
    return tail_sum(line, (count_a, count_b), epsilon, weight_from)
