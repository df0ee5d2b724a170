"""Plans in the benchmarks: the mechanism of their best window, and the errors of any method."""

from __future__ import annotations

import numpy as np

from benchmarks.accuracy.smooth import clamped_squares
from smoothdp.mechanisms import ExponentialQuantile, SmoothNoise
from smoothdp.planning import Plan
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
    middle = float(sum(mechanism.bounds)) / 2
    return (targets - middle) ** 2
