"""The cells of Figures 2 to 6 of paper 2: calibrations with certificates, and batches of data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import SmoothdpError
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    Laplace,
    LaplaceLogNormal,
    NoiseDistribution,
    UniformLogNormal,
)
from smoothdp.noise.calibration import best_shape, calibrate
from smoothdp.noise.calibration.concentrated.shift import concentrated_estimate
from smoothdp.papers.average_case_averages.mean_squares import mean_squares
from smoothdp.papers.average_case_averages.noise_deviations import approximate, truncated, zcdp

Cell = list[Any]
"""["noise", law, epsilon, smoothing, certify] or ["data", n, trims, smoothings, batch, size];
exact numbers as text."""

GUARANTEES = {
    "LLN": "zCDP",
    "ULN": "zCDP",
    "arsinhN": "zCDP",
    "Lap": "approximate",
    "N": "truncated CDP",
}
"""The guarantee that each law with a certificate keeps."""

SMOOTHINGS = tuple(f"{9 * (1e-9 / 9) ** (index / 149):.4g}" for index in range(150))
"""The 150 values of t of the paper, from 9 to 1e-9, evenly spaced in their logarithms."""

# t / epsilon. The first six are in the shipped table for the arsinh-normal law.
_RATIOS = ["0.02", "0.05", "0.1", "0.2", "0.3", "0.5", "0.14", "0.25", "0.38", "0.7"]
_MORE_RATIOS = ["0.035", "0.07", "0.12", "0.17", "0.22", "0.27", "0.33", "0.43", "0.6", "0.85"]
# Below, the log-normal laws need no less noise to speak of, and their certificates fail.
_LEAST_RATIO = 0.0999
# Where Laplace and Gaussian noise can be best: the first in units of epsilon, for omega is fixed.
_LAPLACE_RANGE, _GAUSSIAN_RANGE = (0.01, 0.1), (0.003, 0.0527)
# What the search over shapes finds for the uniform log-normal law at epsilon = 1, by t / epsilon.
_ULN_SHAPES = (
    (0.1, 0.14, 0.2, 0.25, 0.3, 0.38, 0.5, 0.7, 0.85),
    (0.4428, 0.4658, 0.4978, 0.5233, 0.5484, 0.5888, 0.6525, 0.7709, 0.8925),
)
# The best sigma of the Laplace log-normal law is its least, t / epsilon, or next to it.
_LLN_SHAPE = Fraction("1.05")


def noise_cells(epsilon: str, *, full: bool) -> list[Cell]:
    """Return the calibrations of a figure.

    Calibrations of the Laplace and uniform log-normal laws take 10 seconds each with a
    certificate, so that the quick size estimates them.
    """
    e = Fraction(epsilon)
    ratios = _RATIOS + _MORE_RATIOS if full else _RATIOS
    times = [str(float(Fraction(ratio) * e)) for ratio in ratios]
    cells: list[Cell] = []
    for law in ("LLN", "ULN"):
        near = [t for t in times if float(t) >= _LEAST_RATIO * float(e)]
        cells += [["noise", law, epsilon, t, full] for t in near]
    cells += [["noise", "arsinhN", epsilon, t, True] for t in times]
    low, high = (end * float(e) for end in _LAPLACE_RANGE)
    grid = [t for t in SMOOTHINGS if low <= float(t) <= high]
    cells += [["noise", "Lap", epsilon, t, True] for t in grid[:: 1 if full else 2]]
    low, high = _GAUSSIAN_RANGE
    grid = [t for t in SMOOTHINGS if low <= float(t) <= high]
    return [*cells, *(["noise", "N", epsilon, t, True] for t in grid)]


def data_cells(
    n_records: int, trims: Sequence[int], smoothings: Sequence[str], *, n_samples: int, size: int
) -> list[Cell]:
    """Return batches of data, each with its number as seed."""
    times = list(smoothings)
    sizes = [size] * (n_samples // size) + [n_samples % size] * (n_samples % size > 0)
    return [
        ["data", n_records, list(trims), times, batch, count] for batch, count in enumerate(sizes)
    ]


def compute_cell(cell: Cell) -> Any:
    """Return [standard deviation or None, label], or means of S^2 and S^4 by trim."""
    task, *arguments = cell
    if task == "noise":
        return _deviation(*arguments)
    n_records, trims, smoothings, batch, size = arguments
    times = [float(t) for t in smoothings]
    return mean_squares(n_records, trims, times, batch=batch, n_samples=size)


def _deviation(name: str, epsilon: str, smoothing: str, certify: bool) -> list[Any]:
    e, t = Fraction(epsilon), Fraction(smoothing)
    law, guarantee = _noise(name, e, t)
    try:
        if certify:
            calibration = calibrate(law, guarantee, smoothing=t)
            return [calibration.standard_deviation, calibration.label]
        shift = concentrated_estimate(law, zcdp(e), t)
        return [law.standard_deviation / shift, "numerical"]
    except SmoothdpError:
        return [None, ""]


def _noise(name: str, e: Fraction, t: Fraction) -> tuple[NoiseDistribution, Guarantee]:
    if name == "Lap":
        return Laplace(), approximate(e)
    if name == "N":
        return Gaussian(), truncated(e)
    if name == "arsinhN":
        return best_shape(ArsinhNormal, zcdp(e), smoothing=t), zcdp(e)
    if name == "LLN":
        return LaplaceLogNormal(_LLN_SHAPE * t / e), zcdp(e)
    shape = round(float(np.interp(float(t / e), *_ULN_SHAPES)), 4)
    return UniformLogNormal(Fraction(str(shape))), zcdp(e)
