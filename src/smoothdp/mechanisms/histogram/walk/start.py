"""The state of a walk at its first row: two sums of positive terms beside one point in balls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.logspace.ratio_sum import expected_length, log_ratio_sum
from smoothdp.mechanisms.histogram.walk.row_law import RowLaw
from smoothdp.types import FloatArray

_DEVIATIONS = 10.0


class State(NamedTuple):
    """F = P(i >= k + inner), V = E[gain(i - k); i >= k], in units of 2^exponent."""

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
    low = max(least, min(greatest, math.floor(mean - _DEVIATIONS * deviation) - 16))

    def gain(d: FloatArray) -> FloatArray:
        return law.gain(d + float(max(k + 1, low) - k))

    tail = _sum(law, j, (k + law.inner, low), np.ones_like, deviation)
    beyond = _sum(law, j, (k + 1, low), gain, deviation)
    shift = max(-4000, beyond.exponent - tail.exponent)
    return State(
        tail.mantissa,
        math.ldexp(beyond.mantissa, shift),
        tail.exponent,
        max(tail.error, beyond.error),
    )


class _Sum(NamedTuple):
    mantissa: float
    exponent: int
    error: float


def _sum(
    law: RowLaw,
    j: int,
    places: tuple[int, int],
    weight: Callable[[FloatArray], FloatArray],
    deviation: float,
) -> _Sum:
    """Sum P(i) weight(i) from the first of two places on, or from the second if that is later."""
    least, greatest = law.ends(j)
    first = max(places)
    if first > greatest:
        return _Sum(0.0, law.point(j, greatest).exponent, 0.0)
    n_terms = greatest - first + 1
    ratio = law.ratio_up(j, first)
    length = 2
    if n_terms > 1:
        start = float(ratio(np.zeros(1))[0])
        length = expected_length(math.log(max(start, 1e-300)), 1.0 / max(deviation, 0.1) ** 2)
    bounds = log_ratio_sum(
        ratio, weight, n_terms=n_terms, length=length, ratio_roundings=3, weight_roundings=20
    )
    point = law.point(j, first)
    middle = (bounds.lower + bounds.upper) / 2
    error = (bounds.upper - bounds.lower) * 0.51 + 16 * UNIT_ROUNDOFF * (1 + abs(middle))
    if places[0] < first and first > least:
        # What is left out, beside the first probability, which is a part of the sum.
        ratio_below = float(law.ratio_down(j, first)(np.zeros(1))[0]) * (1 + 1e-12)
        error += (
            math.inf if ratio_below >= 1 else math.exp(-middle) * ratio_below / (1 - ratio_below)
        )
    return _Sum(point.mantissa * math.exp(middle), point.exponent, error)
