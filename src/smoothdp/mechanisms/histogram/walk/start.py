"""The state of a walk at its first row: two sums of positive terms beside one point in balls."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.logspace.ratio_sum import expected_length, log_ratio_sum
from smoothdp.mechanisms.histogram.walk.row_law import RowLaw
from smoothdp.types import FloatArray

_DEVIATIONS = 10.0


class State(NamedTuple):
    """F = P(i >= k) and V = E[gain(i - k); i >= k] in units of 2^exponent; a relative error."""

    tail: float
    beyond: float
    exponent: int
    error: float


def state_at(law: RowLaw, j: int, k: int, mean: float, deviation: float) -> State:
    """Return the state at row j, for k at most the greatest i there.

    Sums begin at k, or ten deviations below the mean: below that point probabilities fall at
    least geometrically, and what is left out is part of the error.
    """
    least, greatest = law.ends(j)
    low = max(k, least, min(greatest, math.floor(mean - _DEVIATIONS * deviation) - 16))
    tail, exponent, error = _sum(law, j, low, greatest, np.ones_like, deviation)
    if k < low and low > least:
        error += _left_out(law, j, low)
    first = max(k + 1, low)
    if first > greatest:
        return State(tail, 0.0, exponent, error)

    def gain(d: FloatArray) -> FloatArray:
        return law.gain(d + float(first - k))

    beyond, shift, beyond_error = _sum(law, j, first, greatest, gain, deviation)
    if first == low and low > least:
        beyond_error += _left_out(law, j, low)
    return State(
        tail, math.ldexp(beyond, shift - exponent), exponent, max(error, beyond_error)
    )


def _sum(law, j, first, greatest, weight, deviation):  # type: ignore[no-untyped-def]
    n_terms = greatest - first + 1
    ratio = law.ratio_up(j, first)
    length = 2
    if n_terms > 1:
        start = float(ratio(np.zeros(1))[0])
        length = expected_length(math.log(max(start, 1e-300)), 1.0 / max(deviation, 0.1) ** 2)
    bounds = log_ratio_sum(
        ratio, weight, n_terms=n_terms, length=length, ratio_roundings=3, weight_roundings=9
    )
    point = law.point(j, first)
    middle = (bounds.lower + bounds.upper) / 2
    error = (bounds.upper - bounds.lower) * 0.51 + 16 * UNIT_ROUNDOFF * (1 + abs(middle))
    return point.mantissa * math.exp(middle), point.exponent, error


def _left_out(law: RowLaw, j: int, low: int) -> float:
    """Bound P(i < low) / P(low), which is also a share of the tail: below 1, or inf."""
    ratio = float(law.ratio_down(j, low)(np.zeros(1))[0]) * (1 + 1e-12)
    return math.inf if ratio >= 1 else ratio / (1 - ratio)
