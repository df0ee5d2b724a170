"""Weighted points along a line in the complex plane, and the errors of their sums."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smoothdp.composition.laws.oscillation import Waves
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.types import FloatArray


class Points(NamedTuple):
    """Weighted points, and the relative error of each mass, and the error of each loss."""

    waves: Waves
    mass_error: FloatArray
    loss_error: FloatArray


class Line(NamedTuple):
    """Points along Im y = height, of masses relative to E e^(cL), and the error of their sum.

    Points of a half line lack the way up to the line, which depends on t.
    """

    height: float
    points: Points
    constant: float


def joined(sets: list[Points]) -> Points:
    """Return all points of several sets."""
    columns = zip(*(points.waves for points in sets), strict=True)
    waves = Waves(*(np.concatenate(arrays) for arrays in columns))
    return Points(
        waves,
        np.concatenate([points.mass_error for points in sets]),
        np.concatenate([points.loss_error for points in sets]),
    )


def scaled(points: Points, log_mgf: float) -> Points:
    """Divide the masses by E e^(cL)."""
    waves = points.waves
    log_sizes = waves.log_sizes - log_mgf
    rounding = UNIT_ROUNDOFF * (np.abs(waves.log_sizes) + np.abs(log_sizes))
    return Points(
        waves._replace(log_sizes=log_sizes), points.mass_error + rounding, points.loss_error
    )


def atom_at_zero(log_mass: float) -> Points:
    none = np.zeros(1)
    return Points(
        Waves(np.array([log_mass]), none, none, none),
        np.array([4 * UNIT_ROUNDOFF * (1 + abs(log_mass))]),
        none,
    )


def without_last(points: Points) -> Points:
    """Return all points but the last."""
    waves = Waves(*(column[:-1] for column in points.waves))
    return Points(waves, points.mass_error[:-1], points.loss_error[:-1])


def size_from(points: Points, t: float) -> float:
    """Return the sum of the absolute values at t."""
    return float(np.sum(np.exp(points.waves.log_sizes - t * points.waves.damping)))


def error_from(line: Line, t: float) -> tuple[float, float]:
    """Return (constant, slope): a bound of the error of the sum from t on, before its summation."""
    points = line.points
    sizes = np.exp(points.waves.log_sizes - t * points.waves.damping)
    mass, loss = float(sizes @ points.mass_error), float(sizes @ points.loss_error)
    return line.constant + 1.01 * mass, 1.01 * loss
