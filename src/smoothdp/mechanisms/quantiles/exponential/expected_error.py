"""The error that the exponential mechanism is to be expected to make on public data."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball, interval, nearest
from smoothdp.mechanisms.quantiles.exponential.cells import Cells
from smoothdp.queries.read_arguments import Bounds

_MOST_BITS = 192


def root_mean_square(cells: Cells, target: Fraction, bounds: Bounds) -> float:
    """Return the root of the mean square distance of a draw from a target, to a float.

    With d_i the length of a cell and w_i its weight, the mean square is

        sum_i w_i ((x_(i+1) - theta)^3 - (x_(i) - theta)^3) / 3  /  sum_i w_i d_i.

    Source: proofs/release-rules#4.

    >>> import numpy as np
    >>> ends = Fraction(0), Fraction(12)
    >>> empty = Cells(np.array([]), Fraction(1, 2), ends, slope=Fraction(1))
    >>> root_mean_square(empty, Fraction(6), ends)    # of a uniform number: 12 / sqrt(12)
    3.4641016151377544
    """
    furthest = max(abs(bound - target) for bound in bounds) ** 2
    bits = _MOST_BITS // 2

    def compute() -> Ball:
        nonlocal bits
        bits = min(2 * bits, 1 << 14)
        table = cells.table(bits)
        squares = ball(Fraction(0))
        for weight, (left, right) in zip(table.weights, pairwise(table.edges), strict=True):
            low, high = left.value - target, right.value - target
            thirds = (high - low) * (low * low + low * high + high * high) / 3
            squares += weight * ball(thirds)
        masses = table.masses
        squares += (masses.below + masses.above) * interval(ball(0), ball(furthest))
        return (squares / (masses.ends[-1] + masses.above)).sqrt()

    return nearest(compute, bits=_MOST_BITS)
