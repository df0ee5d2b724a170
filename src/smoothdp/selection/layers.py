"""The profile of a selection as a mixture of shifted profiles of what is run.

A run of which a share u of all runs is worse under one database, and v under the other, is
selected with densities f'(u) and f'(v). With B convex and B(f'(u)) <= f'(v) wherever (u, v) can
be, the selection has at E at most the integral of D(E B'(a)) over a from 0 to f'(1)
(proofs/repeat-and-select#1). Here B is a polygon: weights and slopes (#4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import Real
from smoothdp.selection.chords import Chords
from smoothdp.selection.counts import RunCount
from smoothdp.types import FloatArray

_N_SHARES, _N_SMALL_SHARES = 12_000, 2_000
_SMALL_SHARE, _SMALLEST_SHARE = 1e-8, 1e-40
# Next to a corner of the curve the cells are this narrow, if there are few corners.
_NEAR = 1e-7
_FEW = 200
_TINY, _SMALL = 1e-300, 1e-100
_LOOSE = 300.0
_U = UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class Layers:
    """Weights that add up to 1, and shifts of epsilon: D_best(e) <= E[K] sum w D(e + s).

    Attributes:
        last: the epsilon from which on D_best is 0, inf if there is none.
        weights: floats not below the truth.
        shifts: rising floats, not above the truth; -inf where D counts as 1.
    """

    base: Chords
    log_mean: float
    last: float
    weights: FloatArray
    shifts: FloatArray

    @classmethod
    def of(cls, base: Chords, count: RunCount) -> Layers:
        """Return the layers of the largest polygon B that a few thousand shares give."""
        shares = _shares(base, count)
        log_high, high_error = count.log_weights(shares)
        log_low, low_error = count.log_weights(base.most(shares))
        high = np.exp(log_high + high_error) * (1 + 16 * _U) + _TINY
        # f'(v) is convex in w, as z is concave and f' convex: but for its rounding, and for a line
        # of `most` that is not the least one by rounding.
        low = np.exp(log_low)
        error = low * (np.expm1(np.minimum(_LOOSE * low_error, 1.0)) * 2 + 16 * _U)
        low = _lowered(shares, low, error)
        last = math.inf
        if base.logs[-1] == -math.inf:
            # One run is pure DP, and so is the best of them.
            last = count.pure_epsilon(float(base.losses[-1]))
        return cls(base, count.log_mean.upper, last, *_slopes(high[::-1], low[::-1]))

    def log_upper(self, epsilon: Real) -> float:
        """Return a float not below ln D_best(epsilon), for epsilon >= 0."""
        at = real_bounds(epsilon).lower
        if at >= self.last:
            return -math.inf
        with np.errstate(invalid="ignore"):
            asked = np.nextafter(at + self.shifts, -math.inf)
        asked[self.shifts == -math.inf] = -math.inf
        logs = self.base.log_upper(asked)
        top = float(logs.max())
        if top == -math.inf:
            return top
        total = math.fsum((self.weights * np.exp(logs - top)).tolist())
        value = self.log_mean + top + math.log(total)
        return value + 64 * _U * (1 + abs(top) + abs(value))


def _shares(base: Chords, count: RunCount) -> FloatArray:
    """Return shares w of better runs, from 0 to 1: dense where the weight falls."""
    least = _SMALLEST_SHARE / max(1.0, count.steepness)
    near = np.geomspace(_SMALL_SHARE, 1.0, _N_SHARES)
    corners = base.lines.tails
    parts = [np.zeros(1), np.geomspace(least, _SMALL_SHARE, _N_SMALL_SHARES), near]
    parts.append(1 - near[near < 0.5][::8])
    if corners.size <= _FEW:
        growths, sticks, tails = base.lines
        for found in (tails, 1 - (sticks + growths * tails)):
            inner = found[(found > 0) & (found < 1)]
            parts += [inner, inner * (1 - _NEAR), inner * (1 + _NEAR)]
    shares = np.unique(np.concatenate(parts))
    return shares[(shares >= 0) & (shares <= 1)]


def _lowered(shares: FloatArray, low: FloatArray, error: FloatArray) -> FloatArray:
    """Return values at the points such that a convex B below them is below f'(v) in between.

    On a cell of width d between chords of slopes c and c', a convex function is at most
    d (c' - c) / 4 below its chord: both ends are lowered by that. Where that leaves nothing, B at
    the upper end is not above the value at the lower one (proofs/repeat-and-select#4).
    """
    widths = np.diff(shares)
    slopes = np.diff(low) / widths
    slips = (error[1:] + error[:-1]) / widths
    bend = (slopes[2:] + slips[2:]) - (slopes[:-2] - slips[:-2])
    gaps = np.full(widths.size, math.inf)
    gaps[1:-1] = widths[1:-1] * np.maximum(bend, 0.0) / 4 * (1 + 16 * _U) + error[1:-2]
    gaps[1:-1] += error[2:-1]
    curved = gaps + error[1:] < low[1:]
    # `shares` rise, and f'(v) falls along them.
    falls = low[:-1] - low[1:] + error[1:]
    worst = np.zeros(shares.size)
    worst[:-1] = np.where(curved, np.minimum(gaps, 1e300), falls)
    worst[1:] = np.maximum(worst[1:], np.where(curved, gaps, 0.0))
    return np.maximum(low - error - worst - 4 * _U * low, 0.0)


def _slopes(at: FloatArray, value: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the widths and ln of the slopes of a convex polygon from (0, 0), below the points."""
    # Products of smaller numbers than these would underflow.
    value = np.where(at < _SMALL, 0.0, value)
    x = np.concatenate([[0.0], at]).tolist()
    y = np.concatenate([[0.0], value]).tolist()
    kept: list[int] = []
    for i in range(len(x)):
        if kept and x[i] <= x[kept[-1]]:
            continue
        while len(kept) >= 2 and (y[kept[-1]] - y[kept[-2]]) * (x[i] - x[kept[-1]]) >= (
            y[i] - y[kept[-1]]
        ) * (x[kept[-1]] - x[kept[-2]]):
            kept.pop()
        kept.append(i)
    knots, heights = np.array(x)[kept], np.array(y)[kept]
    widths = np.diff(knots)
    slopes = np.maximum(np.diff(heights), 0.0) / widths
    slopes = np.maximum.accumulate(slopes)
    # What rounding has put above a point is taken from all slopes.
    polygon = np.concatenate([[0.0], np.cumsum(slopes * widths)])
    reached = np.interp(at, knots, polygon)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(reached > 0, reached / value, 1.0)
    worst = max(1.0, float(excess.max()))
    with np.errstate(divide="ignore"):
        logs = np.log(slopes) - math.log(worst) - 1e-12
    logs -= 8 * _U * np.abs(np.where(np.isfinite(logs), logs, 0.0))
    return widths * (1 + 4 * _U), logs
