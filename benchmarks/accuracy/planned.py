"""Plans in the benchmarks: the mechanism of their best window, and the errors of any method."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.accuracy.smooth import clamped_squares
from smoothdp.mechanisms import ExponentialQuantile, HalfShift, SmoothNoise
from smoothdp.mechanisms.release.bars.pair_noise import PairNoise
from smoothdp.planning import Plan
from smoothdp.queries.many.half_shift import HalfShiftColumn
from smoothdp.types import FloatArray


def window_of(plan: Plan) -> SmoothNoise:
    """Return the mechanism of the best window of a plan, whatever won."""
    if plan.method != "window":
        plan = plan.instead(next(way for way in plan.runners_up if way.method == "window"))
    mechanism = plan.mechanism()
    assert isinstance(mechanism, SmoothNoise)
    return mechanism


def planned_squares(plan: Plan, targets: FloatArray, columns: list[FloatArray]) -> FloatArray:
    """Return E (y - target)^2 for each column, y what the plan releases, within the bounds."""
    mechanism = plan.mechanism()
    if isinstance(mechanism, SmoothNoise):
        return clamped_squares(mechanism, targets, columns)
    if isinstance(mechanism, ExponentialQuantile):
        pairs = zip(columns, targets, strict=True)
        return np.array([mechanism.rmse(data, target=float(about)) ** 2 for data, about in pairs])
    if isinstance(mechanism, HalfShift):
        return shifted_squares(mechanism, targets, columns)
    assert not isinstance(mechanism, PairNoise)
    middle = float(sum(mechanism.bounds)) / 2
    return (targets - middle) ** 2


def shifted_squares(
    mechanism: HalfShift, targets: FloatArray, columns: list[FloatArray]
) -> FloatArray:
    """Return E (y - target)^2 for each column, over the hidden shift and quantiles of the noise."""
    (part,) = mechanism.parts
    window, law, bounds = part.window, part.calibration.law, mechanism.query.bounds
    variance = float(mechanism.shift_variance)
    reach = math.ceil(6 * math.sqrt(variance))
    shifts = range(-reach, reach + 1, max(1, math.floor(math.sqrt(variance) / 3)))
    weights = np.array([math.exp(-h * h / (2 * variance)) for h in shifts])
    noise = np.asarray(law.quantile((np.arange(2000) + 0.5) / 2000)) / part.calibration.shift
    found = []
    for data, target in zip(columns, targets, strict=True):
        column = HalfShiftColumn(np.asarray(data), bounds)
        column.arrange([(window, h) for h in shifts])
        squares = []
        for h in shifts:
            k, difference = column.largest(window, h)
            size = math.exp(-float(window.smoothing) * k) * float(difference) / window.cells
            y = np.clip(
                float(column.value(window, h)) + size * noise, float(bounds[0]), float(bounds[1])
            )
            squares.append(float(np.mean((y - target) ** 2)))
        found.append(float(weights @ np.array(squares) / weights.sum()))
    return np.array(found)
