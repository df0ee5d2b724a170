"""Errors of smooth-sensitivity releases, exactly given the data."""

from __future__ import annotations

import math

import numpy as np

from smoothdp.mechanisms.release.bars.pivot import panels
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.queries import Query
from smoothdp.queries.worst_case import WorstCase
from smoothdp.types import FloatArray

# ln P(Z > z), from 1/2 down to where nothing is left.
_EDGES = np.linspace(-60, math.log(0.5), 121)


def clamped_squares(
    mechanism: SmoothNoise, targets: FloatArray, columns: list[FloatArray]
) -> FloatArray:
    """Return E (y - target)^2 for each column, y clamped to the bounds."""
    law, shift = mechanism.noise, mechanism.calibration.shift
    lower, upper = (float(bound) for bound in mechanism.query.bounds)
    nodes, weights = panels(_EDGES)
    z, chance = np.asarray(law.tail_quantile(nodes)), weights * np.exp(nodes)
    found = []
    for data, target in zip(columns, targets, strict=True):
        value, noise = _statistic(mechanism).value(data), _sensitivity(mechanism, data) / shift * z
        both = (np.clip(value + side * noise, lower, upper) - target for side in (1, -1))
        found.append(sum(float(chance @ side**2) for side in both))
    return np.array(found)


def parts(mechanism: SmoothNoise, columns: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the statistic of each column, and the variance of the noise on it."""
    deviation = mechanism.calibration.standard_deviation
    values, noises = [], []
    for data in columns:
        values.append(mechanism.windowed.value(data))
        noises.append((_sensitivity(mechanism, data) * deviation) ** 2)
    return np.array(values), np.array(noises)


def _statistic(mechanism: SmoothNoise) -> Query:
    """Return the mean of order statistics that is released."""
    query = mechanism.query
    return query.query if isinstance(query, WorstCase) else mechanism.windowed


def _sensitivity(mechanism: SmoothNoise, data: FloatArray) -> float:
    """Return S at public data."""
    fixed = mechanism.query.fixed_sensitivity(len(data))
    if fixed is not None:
        return float(fixed)
    return mechanism.windowed.smooth_sensitivity(data, smoothing=mechanism.smoothing)
