"""The loss of a mixture of normal laws: integrals of N R^w over the whole line.

E e^(zL) is the integral of N(y) R(y)^w: with the record first w = z + 1, without it w = -z. The
trapezoid rule on the real line serves small t, the same rule on lines off it all others
(`plain_sums`; proofs/mixtures-of-gaussians#5, #6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from smoothdp.composition.laws.law import LossLaw, Moments, Split, TiltedSums
from smoothdp.composition.laws.oscillation import damped_sums
from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.training_runs.gaussian_step.line_points import error_from
from smoothdp.training_runs.gaussian_step.mixture_lines import ManyShifts
from smoothdp.training_runs.gaussian_step.mixture_part import MixturePart
from smoothdp.training_runs.gaussian_step.mixture_step import Shifts
from smoothdp.training_runs.gaussian_step.plain_sums import PlainSums, moments_of, transform_of

First = Literal["with_record", "without_record"]
_MOST_POINTS = 1.2e4
# Blocks of t double from here on.
_BLOCK = 64.0
_MOST_CACHED = 64


@dataclass(frozen=True, eq=False)
class MixtureLaw(LossLaw):
    """The loss of a mixture of N(m_i, 1) against N(0, 1), or of the latter against the former.

    Attributes:
        shifts: the shifts and their probabilities.
        first: whose law is the first.
    """

    shifts: Shifts
    first: First
    _sums: dict[float, PlainSums] = field(default_factory=dict, repr=False, compare=False)
    _moments: dict[float, Moments] = field(default_factory=dict, repr=False, compare=False)
    _splits: dict[float, Split | None] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _ratio(self) -> ManyShifts:
        return ManyShifts(self.shifts)

    @property
    def largest(self) -> float:
        if self.first == "without_record" and self.shifts.still:
            # R is above p_0.
            return -log_bounds(self.shifts.still).lower
        return math.inf

    @cached_property
    def largest_tilt(self) -> float:
        tilt = 1.0
        while tilt < 1e9 and self._size(2 * tilt) <= _MOST_POINTS:
            tilt *= 2
        return tilt

    def _size(self, tilt: float) -> float:
        """Return about how many points a line has."""
        plain = PlainSums(self._ratio, self._ratio.window(self._power(tilt)))
        return plain.n_points(0.0)

    def _power(self, tilt: float) -> float:
        return tilt + 1 if self.first == "with_record" else -tilt

    def _plain(self, tilt: float) -> PlainSums:
        plain = self._sums.get(tilt)
        if plain is None:
            if len(self._sums) >= _MOST_CACHED:
                self._sums.clear()
            plain = PlainSums(self._ratio, self._ratio.window(self._power(tilt)))
            if plain.n_points(0.0) > 4 * _MOST_POINTS:
                raise OutOfReach(
                    expected="shifts of some dozen standard deviations of the noise at most, to "
                    "compose",
                    got=f"one of {self._ratio.m:g}",
                    remedy="Raise the noise: with so little a record that is used is seen",
                )
            self._sums[tilt] = plain
        return plain

    # ---- what a law offers ------------------------------------------------------------

    def moments(self, tilt: float) -> Moments:
        moments = self._moments.get(tilt)
        if moments is None:
            if len(self._moments) >= 8 * _MOST_CACHED:
                self._moments.clear()
            moments = self._moments[tilt] = moments_of(self._plain(tilt))
        return moments

    def transform(self, tilt: float, *, step: float, count: int, budget: float) -> TiltedSums:
        moments, plain = self.moments(tilt), self._plain(tilt)
        values = np.empty(count, dtype=np.complex128)
        error = np.empty(count)
        served = plain.served(step, count)
        if served:
            whole = transform_of(plain, moments, step=step, count=served)
            values[:served], error[:served] = whole.values, whole.error
        for first, size in _blocks(step, count, served):
            t = step * np.arange(first, first + size, dtype=np.float64)
            line = plain.lifted(float(t[0]), moments.log_mgf)
            if line is None:
                # |psi| is at most 1.
                values[first : first + size], error[first : first + size] = 0.0, 1.0
                continue
            waves = line.points.waves
            waves = waves._replace(positions=waves.positions - moments.mean)
            sums = damped_sums(waves, first=first, step=step, count=size, budget=budget)
            constant, slope = error_from(line, float(t[0]))
            # Positions less the centre are rounded once more.
            block, slope = slice(first, first + size), slope + 2 * sums.slope
            values[block] = sums.values
            error[block] = 1.01 * (sums.constant + constant + slope * t)
        return TiltedSums(values, error + 1.01 * moments.error, moments.mean)

    def split(self, loss: float) -> Split | None:
        if self.first == "without_record" or loss <= 0:
            return None
        cut = 0.25 * round(4 * self._ratio.place(min(loss, 700.0)))
        if cut not in self._splits:
            if len(self._splits) >= _MOST_CACHED:
                self._splits.clear()
            self._splits[cut] = self._ratio_split(cut)
        return self._splits[cut]

    def _ratio_split(self, cut: float) -> Split | None:
        if cut <= float(self.shifts.moving[0][0]):
            return None
        head, tail = MixturePart(self._ratio, None, cut), MixturePart(self._ratio, cut, None)
        return Split(head, tail, self._ratio.log_mass_above(cut))

    def cost(self, tilt: float, *, last: float, budget: float) -> int:
        del last, budget
        return math.ceil(self._plain(tilt).n_points(0.0))

    def decay(self, tilt: float, last: float) -> float:
        return self._plain(tilt).bound_from(last, self.moments(tilt).log_mgf)


def _blocks(step: float, count: int, served: int) -> Iterator[tuple[int, int]]:
    """Yield (first, size) of runs of nodes beyond those served, of which t doubles."""
    first, end = served, max(2 * served, math.floor(_BLOCK / step) + 1)
    while first < count:
        size = min(end, count) - first
        yield first, size
        first, end = first + size, 2 * end
