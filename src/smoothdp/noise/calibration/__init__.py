"""Exact calibration: the largest shift, hence the least noise, for a guarantee."""

from __future__ import annotations

from smoothdp.noise.calibration.calibrate import Calibration, calibrate
from smoothdp.noise.calibration.shapes import best_shape, optimise_shape

__all__ = ["Calibration", "best_shape", "calibrate", "optimise_shape"]
