"""The state of a walk at its first row: two sums of positive terms beside one point in balls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.logspace.ratio_sum import expected_length, log_ratio_sum
from smoothdp.mechanisms.histogram.walk.row_law import RowLaw
from smoothdp.types import FloatArray

_DEVIATIONS = 10.0
_BLOCK = 1 << 16
_MOST_BLOCKS = 1000
"""So many take seconds; more outputs are refused."""
_NEGLIGIBLE = 2.0**-42


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
    ratio = law.ratio_up(j, first)
    length = 2
    if greatest > first:
        start = float(ratio(np.zeros(1))[0])
        length = expected_length(math.log(max(start, 1e-300)), 1.0 / max(deviation, 0.1) ** 2)
    if length < _BLOCK:
        total = _block(law, j, first, greatest - first + 1, weight, length)
    else:
        total = _blocks(law, j, first, greatest, weight)
    if not (places[0] < first and first > least):
        return total
    # What is left out, beside the first term, which is a part of the sum.
    below = float(law.ratio_down(j, first)(np.zeros(1))[0]) * (1 + 1e-12)
    if below >= 1:
        return total._replace(error=math.inf)
    point = law.point(j, first)
    first_term = math.ldexp(point.mantissa, max(-1000, point.exponent - total.exponent))
    left_out = first_term * float(weight(np.zeros(1))[0]) * below / (1 - below)
    return total._replace(error=total.error + 1.01 * left_out / total.mantissa)


def _block(
    law: RowLaw,
    j: int,
    first: int,
    n_terms: int,
    weight: Callable[[FloatArray], FloatArray],
    length: int,
) -> _Sum:
    """Sum so many terms from the first on; of many, those that matter."""
    bounds = log_ratio_sum(
        law.ratio_up(j, first),
        weight,
        n_terms=n_terms,
        length=length,
        ratio_roundings=3,
        weight_roundings=20,
    )
    point = law.point(j, first)
    middle = (bounds.lower + bounds.upper) / 2
    error = (bounds.upper - bounds.lower) * 0.51 + 16 * UNIT_ROUNDOFF * (1 + abs(middle))
    return _Sum(point.mantissa * math.exp(middle), point.exponent, error)


def _blocks(
    law: RowLaw, j: int, first: int, greatest: int, weight: Callable[[FloatArray], FloatArray]
) -> _Sum:
    """Sum by blocks, in constant memory, until what follows is negligible."""
    parts: list[_Sum] = []
    place, remainder = first, 0.0
    while place <= greatest:
        if len(parts) == _MOST_BLOCKS:
            raise OutOfReach(
                expected=f"at most {_MOST_BLOCKS * _BLOCK} outputs that matter",
                got="more of them",
                remedy="Take fewer draws or records, or the bounds of smoothed delta",
            )
        size = min(_BLOCK, greatest - place + 1)
        offset = float(place - first)
        parts.append(_block(law, j, place, size, lambda d: weight(d + offset), size))  # noqa: B023
        most = max(part.exponent for part in parts)
        total = math.fsum(_shifted(part, most) for part in parts)
        ratio = law.ratio_up(j, place)(np.array([0.0, size - 1.0]))
        last = weight(np.array([size - 1.0, float(size)]) + offset)
        growth = float(ratio[1] * last[1] / last[0]) * (1 + 1e-12)
        place += size
        remainder = 0.0
        if place <= greatest and float(ratio[0]) < 1 and growth < 1:
            # The last term is at most the whole block.
            remainder = _shifted(parts[-1], most) * growth / (1 - growth)
            if remainder <= _NEGLIGIBLE * total:
                break
    error = max(part.error for part in parts) + 1.01 * remainder / total + 8 * UNIT_ROUNDOFF
    return _Sum(total, most, error)


def _shifted(part: _Sum, exponent: int) -> float:
    return math.ldexp(part.mantissa, max(-4000, part.exponent - exponent))
