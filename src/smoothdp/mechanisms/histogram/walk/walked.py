"""The walk: row after row, a tail and what lies beyond it, by positive steps alone.

(proofs/boundary-walk#3, #4)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.mechanisms.histogram.walk.boundary import ONE, Boundary
from smoothdp.mechanisms.histogram.walk.row_law import RowLaw, Steps
from smoothdp.mechanisms.histogram.walk.start import State
from smoothdp.types import BoolArray, FloatArray

CHUNK = 4096
_FAR = 1e120
_ANCHOR = 4 * UNIT_ROUNDOFF
_PRODUCT = 9 * UNIT_ROUNDOFF
"""Roundings of one step of p: two ratios of three, and three products."""


class Walked(NamedTuple):
    """Sum of Q(j) W_j over the rows, in units of 2^exponent.

    Attributes:
        total, exponent: the sum.
        error: relative error of total.
        loss: how much total may be above or below by the rounding of the boundary.
        first, last: ln of W at the first and at the last row, rounded up.
    """

    total: float
    exponent: int
    error: float
    loss: float
    first: float
    last: float


class _Chunk(NamedTuple):
    """Sums of one chunk and the state after it."""

    total: float
    tails: float
    first: float
    last: float
    tail: float
    beyond: float
    falls: int
    size: int
    error: float
    tail_error: float
    beyond_error: float


def walk(law: RowLaw, boundary: Boundary, top: int, bottom: int, state: State) -> Walked:
    """Sum the rows top, top - 1, ..., bottom; ``state`` is that of the first row."""
    parts: list[tuple[float, float, int]] = []
    j, units = top, boundary.at(top)
    tail, beyond, exponent, tail_error = state
    beyond_error = tail_error
    room, error, first = CHUNK, 0.0, math.inf
    while True:
        k = (units >> 64) + 1
        outside, shift = _outside(law, j, k - 1 + law.inner)
        at_row = law.marginal(j)
        chunk = _walk_chunk(
            law,
            boundary,
            (j, units),
            # Row 0, where kappa may be 0, comes by itself: its boundary is hardly rounded.
            min(room, j - bottom + (j == 0 or bottom != 0)),
            (math.ldexp(outside, max(-1000, shift - exponent)), tail, beyond),
            (tail_error, beyond_error),
        )
        scale = at_row.mantissa
        loss = chunk.tails * (chunk.size + 4)
        parts.append((chunk.total * scale, loss * scale, exponent + at_row.exponent))
        error = max(error, chunk.error)
        if j == top:
            first = _log_up(chunk.first, exponent, chunk.error)
        j -= chunk.size
        if j < bottom:
            break
        room = min(CHUNK, 2 * chunk.size)
        units = _continued(boundary.at(j), k - chunk.falls)
        up = math.frexp(chunk.tail)[1] if chunk.tail > 0 else 0
        tail, beyond = math.ldexp(chunk.tail, -up), math.ldexp(chunk.beyond, -up)
        exponent += up
        tail_error, beyond_error = chunk.tail_error, chunk.beyond_error
    last = _log_up(chunk.last, exponent, error)
    certain = law.certain
    if certain is not None and certain[0] == bottom - 1:
        row, only = certain
        room_left = only * ONE - boundary.at(row)
        if room_left > 0:
            at_row = law.marginal(row)
            weight = float(law.gain(np.array([room_left / ONE]))[0])
            parts.append((weight * at_row.mantissa, 4 * at_row.mantissa, at_row.exponent))
    most = max(part[2] for part in parts)
    total = math.fsum(math.ldexp(part[0], max(-4000, part[2] - most)) for part in parts)
    losses = math.fsum(math.ldexp(part[1], max(-4000, part[2] - most)) for part in parts)
    return Walked(
        total,
        most,
        error + 16 * UNIT_ROUNDOFF,
        losses * 1.01 / ONE,
        first,
        last,
    )


def _log_up(value: float, exponent: int, error: float) -> float:
    """Return a float not below ln of value 2^exponent, where value has a relative error."""
    if value <= 0:
        return -math.inf
    log_value = math.log(value * (1 + 2 * error)) + exponent * math.log(2)
    return log_value + 1e-12 * (1 + abs(log_value))


def _outside(law: RowLaw, j: int, i: int) -> tuple[float, int]:
    """Return P(i given j) as a float times a power of two; 0 below the support."""
    if i < law.ends(j)[0]:
        return 0.0, 0
    return law.point(j, i)


def _continued(units: int, k: int) -> int:
    """Return the boundary of the next chunk's first row, where the last one has led to k.

    It differs from ``units``, the boundary rounded anew, only where the roundings within the
    chunk crossed a whole number.
    """
    return min(max(units, (k - 1) << 64), (k << 64) - 1)


def _walk_chunk(
    law: RowLaw,
    boundary: Boundary,
    place: tuple[int, int],
    size: int,
    state: tuple[float, float, float],
    errors: tuple[float, float],
) -> _Chunk:
    top, units = place
    first_p, first_tail, first_beyond = state
    fractions = np.arange(size + 1, dtype=np.uint64)
    fractions *= np.uint64(boundary.back)
    fractions += np.uint64(units % ONE)
    # kappa falls by 1 - back: its whole part by one, unless the fraction carries.
    falls = fractions[1:] >= fractions[:-1]
    outside = np.empty(size + 1)
    outside[0] = units >> 64
    np.cumsum(falls, out=outside[1:])
    np.subtract(outside[0], outside[1:], out=outside[1:])
    steps = law.steps(top, outside, falls)
    p, q, size = _products(steps, falls)
    if size < falls.size:
        falls, fractions = falls[:size], fractions[: size + 1]
        steps = _cut(steps, size)
    p *= first_p
    entered = p * steps.entering
    grown = p * steps.same
    grown *= falls
    grown += entered
    tail = np.empty(size + 1)
    tail[0] = 0.0
    np.cumsum(grown, out=tail[1:])
    tail += first_tail
    entered += tail[:-1]
    entered *= steps.mid
    entered += steps.old * tail[:-1]
    if steps.new is not None:
        entered += steps.new * tail[1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        entered /= steps.norm[1:]
    beyond = np.empty(size + 1)
    beyond[0] = 0.0
    np.cumsum(entered, out=beyond[1:])
    beyond += first_beyond / steps.norm[0]
    with np.errstate(invalid="ignore"):
        beyond *= steps.norm
    # 1 less the fraction, formed in whole numbers; a fraction of 0 leaves 1, not 0.
    part = (np.uint64(0) - fractions[:-1]).astype(np.float64)
    part *= 1.0 / ONE
    part[part == 0.0] = 1.0
    of_tail, of_beyond = law.weights(part)
    whole = tail[:-1] + p if law.inner else tail[:-1]
    weight = of_tail * whole
    weight += of_beyond * beyond[:-1]
    # A sum of positive terms adds a unit each to the error of its terms.
    drift = size * UNIT_ROUNDOFF
    unit = 32 * UNIT_ROUNDOFF
    tail_error = max(errors[0], _ANCHOR + _PRODUCT * size + drift + unit) + unit
    beyond_error = max(errors[1], tail_error + drift + unit) + 2 * law.norm_error(size) + unit
    error = max(tail_error, beyond_error) + unit + _ANCHOR + 5 * drift + drift
    return _Chunk(
        float(q @ weight),
        float(q @ whole),
        float(weight[0]),
        float(weight[-1]),
        float(tail[-1]),
        float(beyond[-1]),
        int(np.count_nonzero(falls)),
        size,
        error,
        tail_error,
        beyond_error,
    )


def _cut(steps: Steps, size: int) -> Steps:
    """Return the steps of the first rows alone."""
    return Steps(
        same=steps.same[:size],
        entering=steps.entering[:size],
        down=steps.down[:size],
        old=steps.old[:size],
        mid=steps.mid[:size],
        norm=steps.norm[: size + 1],
        marginal=steps.marginal[:size],
        new=None if steps.new is None else steps.new[:size],
    )


def _products(steps: Steps, falls: BoolArray) -> tuple[FloatArray, FloatArray, int]:
    """Return p and Q of each row beside those of the first, and for how many rows."""
    ratio = steps.same * np.where(falls, steps.down, 1.0)
    p, q = np.ones(falls.size), np.ones(falls.size)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        np.cumprod(ratio[:-1], out=p[1:])
        np.cumprod(steps.marginal[: falls.size - 1], out=q[1:])
        within = (q > 1 / _FAR) & (q < _FAR) & (steps.norm[:-1] > steps.norm[0] / _FAR)
        near = (p > 1 / _FAR) & (p < _FAR)
    size = falls.size
    if not within.all():
        size = int(np.argmin(within))
    if not near.all():
        far = int(np.argmin(near))
        if ratio[far - 1] == 0.0:
            p[far:] = 0.0
        else:
            size = min(size, far)
    return p[:size], q[:size], size
