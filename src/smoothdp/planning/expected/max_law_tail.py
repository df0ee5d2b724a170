"""The value's part of the max law, as far as errors of a plan need it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from smoothdp.noise.joint.max_law import MaxLawCalibration
from smoothdp.types import FloatArray

_WIDTH, _DEEPEST = 0.02, 1e-264


@dataclass(frozen=True)
class MaxLawTail:
    """|Z| of the max law in units of S, whatever ln S is released as; its scale is 1.

    Attributes:
        calibration: of the pair.
    """

    calibration: MaxLawCalibration

    @property
    def standard_deviation(self) -> float:
        """The root of E Z^2; inf where epsilon <= 2 t."""
        return math.sqrt(self.calibration.moment("square"))

    def tail_quantile(self, log_tail: FloatArray) -> FloatArray:
        """Return z with ln P(Z > z) as given, by interpolation between close points.

        Args:
            log_tail: from ln(1/2) down to -600.
        """
        points, _, tails = self.calibration.cells(_WIDTH, _DEEPEST)
        known = tails > 0
        logs = np.log(tails[known] / 2)
        return np.asarray(np.interp(-log_tail, -logs, points[known]))
