"""Panels of a path in the complex plane: along lines Im y = s, and up to such a line."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.types import FloatArray

# The way up is divided into panels that double, from one on which e^(t m y) is tame.
_TAME = 32.0
# More would not fit in memory.
# A few seconds for each value of delta.
_MOST = 10_000


class Branch(NamedTuple):
    """A power of G and the interval over which N G^w is integrated.

    An end is one of the integral itself, or else a point beyond which little is left.
    """

    power: float
    low: float
    high: float
    ends_left: bool
    ends_right: bool


class PanelRow(NamedTuple):
    """Panels of one direction and half-length, around (middle, height)."""

    middles: FloatArray
    heights: FloatArray
    half: float
    up: bool


def rightwards(start: float, end: float, height: float, half: float) -> PanelRow:
    """Return panels along Im y = height from exactly ``start`` to the end or beyond."""
    numbers = _numbers((end - start) / (2 * half))
    middles = start + half * (2 * numbers + 1)
    return PanelRow(middles, np.full(middles.size, height), half, up=False)


def between(start: float, end: float, height: float, half: float) -> PanelRow:
    """Return panels along Im y = height that fill the way from ``start`` to ``end``.

    The ends are whole panels apart, but for the rounding of both: one panel more would be another
    integral.
    """
    numbers = _numbers(round((end - start) / (2 * half)))
    return PanelRow(start + half * (2 * numbers + 1), np.full(numbers.size, height), half, up=False)


def _numbers(panels: float) -> FloatArray:
    if not panels <= _MOST:
        raise OutOfReach(
            expected=f"noise that needs at most {_MOST} panels of an integral",
            got=f"{panels:.3g}",
            remedy="Raise the noise: with so little there is next to no privacy",
        )
    return np.arange(max(1, math.ceil(panels)), dtype=np.float64)


def leftwards(start: float, end: float, height: float, half: float) -> PanelRow:
    """Return panels along Im y = height from exactly ``start`` down to the end or beyond."""
    numbers = _numbers((start - end) / (2 * half))
    middles = start - half * (2 * numbers + 1)
    return PanelRow(middles[::-1], np.full(middles.size, height), half, up=False)


def upwards(start: float, m: float, height: float, last: float) -> list[PanelRow]:
    """Return panels from the real point ``start`` up to the height, good for t <= last."""
    edges = [0.0, min(height, _TAME / (last * m))]
    while edges[-1] < height:
        edges.append(min(height, 2 * edges[-1]))
    middle = np.array([start])
    return [
        PanelRow(middle, np.array([0.5 * (low + high)]), 0.5 * (high - low), up=True)
        for low, high in itertools.pairwise(edges)
    ]
