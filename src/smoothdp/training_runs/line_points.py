"""Weighted points along a line in the complex plane, and the errors of what they sum up to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from smoothdp.composition.laws.oscillation import Waves
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.types import FloatArray


class Points(NamedTuple):
    """Weighted points, and how far each is off relatively in its mass, and in its loss."""

    waves: Waves
    mass_error: FloatArray
    loss_error: FloatArray


class Line(NamedTuple):
    """Points along Im y = height, of masses relative to E e^(cL), and the error of their sum.

    Those of a half line lack the way up to it, which depends on t.
    """

    height: float
    points: Points
    constant: float


def joined(parts: list[Points]) -> Points:
    waves = Waves(*(np.concatenate(part) for part in zip(*(p.waves for p in parts), strict=True)))
    return Points(
        waves,
        np.concatenate([part.mass_error for part in parts]),
        np.concatenate([part.loss_error for part in parts]),
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


def size_from(points: Points, t: float) -> float:
    """Return the sum of the absolute values at t."""
    return float(np.sum(np.exp(points.waves.log_sizes - t * points.waves.damping)))


def error_from(line: Line, t: float) -> tuple[float, float]:
    """Return (constant, slope): a bound of what all is off by from t on, before its summation."""
    points = line.points
    sizes = np.exp(points.waves.log_sizes - t * points.waves.damping)
    mass, loss = float(sizes @ points.mass_error), float(sizes @ points.loss_error)
    return line.constant + 1.01 * mass, 1.01 * loss
