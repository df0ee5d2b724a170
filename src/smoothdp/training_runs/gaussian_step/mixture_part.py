"""The large losses of a mixture of normal laws, and the others, as laws of their own
(proofs/mixtures-of-gaussians#8)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from smoothdp.training_runs.gaussian_step.mixture_lines import ManyShifts
from smoothdp.training_runs.gaussian_step.path_law import PathLaw
from smoothdp.training_runs.gaussian_step.path_panels import Branch
from smoothdp.training_runs.gaussian_step.ratio import N_NODES

_TAIL = 45.0
_MOST_POINTS = 4e4
# Of a law without large losses, whose window is that of any tilt.
_STEEPEST = 1e5


@dataclass(frozen=True, eq=False)
class MixturePart(PathLaw):
    """The loss ln R of y above or below a point alone, y under the mixture: of less than all mass.

    Attributes:
        ratio: R.
        above, below: the point, and None.
    """

    ratio: ManyShifts
    above: float | None
    below: float | None

    @property
    def _mixture(self) -> ManyShifts:
        return self.ratio

    @cached_property
    def largest(self) -> float:
        if self.below is None:
            return math.inf
        size = float(self.ratio.log_real_ratio(np.array([self.below]))[0])
        return size + 1e-12 * (1 + abs(size))

    @property
    def largest_tilt(self) -> float:
        if self.below is not None:
            return _STEEPEST
        # The window takes at most _MOST_POINTS points: up to 14 beyond the peak.
        width = _MOST_POINTS * 2 * self._half(math.inf) / N_NODES
        return max(1.0, (width - 14.0) / self.ratio.m - 1.0)

    def _branches(self, tilt: float) -> list[Branch]:
        power = tilt + 1
        whole = self.ratio.window(power)
        if self.below is not None:
            return [Branch(power, whole.low, self.below, False, True)]
        assert self.above is not None
        peak = power * self.ratio.m
        # What is far below e^-45 of the tail is left out in turn.
        far = peak + math.hypot(max(0.0, self.above - peak), math.sqrt(2 * _TAIL))
        return [Branch(power, self.above, max(whole.high, far), True, False)]
