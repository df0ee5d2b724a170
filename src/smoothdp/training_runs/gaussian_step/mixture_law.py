"""The loss of a mixture of normal laws: integrals of N R^w over the whole line.

E e^(zL) is the integral of N(y) R(y)^w: with the record first w = z + 1, without it w = -z. The
trapezoid rule on the real line serves small t, the same rule on lines off it all others
(`plain_sums`; proofs/mixtures-of-gaussians#5, #6).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from smoothdp.composition.laws.law import LossLaw, Moments, TiltedSums
from smoothdp.composition.laws.oscillation import damped_sums
from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.training_runs.gaussian_step.line_points import error_from
from smoothdp.training_runs.gaussian_step.mixture_lines import ManyShifts
from smoothdp.training_runs.gaussian_step.mixture_step import Shifts
from smoothdp.training_runs.gaussian_step.path_panels import Branch
from smoothdp.training_runs.gaussian_step.plain_sums import PlainSums, moments_of, transform_of
from smoothdp.types import FloatArray

First = Literal["with_record", "without_record"]
# e^-45 = 3e-20 of a tail is left out, on lines of this height, too.
_TAIL = 45.0
_HIGHEST = 9.0
# Where the ends of the line are looked for.
_N_PLACES = 400
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
        plain = PlainSums(self._ratio, self._branch(tilt))
        return plain.n_points(0.0)

    def _power(self, tilt: float) -> float:
        return tilt + 1 if self.first == "with_record" else -tilt

    def _branch(self, tilt: float) -> Branch:
        """Return the power of R, and an interval beyond which little is left: estimates."""
        power, ratio = self._power(tilt), self._ratio
        sizes = [float(m) for m in self.shifts.sizes]
        log_p = [log_bounds(p).lower for p in self.shifts.probabilities]
        room = _TAIL + 0.5 * min(_HIGHEST, 0.5 * math.pi / ratio.m) ** 2
        if power > 0:
            # Of the transform: it is at least 1, and that of each part alone.
            grown = power * (power - 1) / 2
            parts = zip(sizes, log_p, strict=True)
            about = max(0.0, *(power * log + m * m * grown for m, log in parts))
            right = np.linspace(0, math.sqrt(2 * (room + ratio.m**2 * grown)), _N_PLACES)
            right += power * ratio.m
            high = _first(right, lambda at: ratio.log_right(power, right[at], 0.0) - about + room)
            return Branch(power, -math.sqrt(2 * room), high, False, False)
        # R is at least p_1 e^(m_1 y - m_1^2 / 2), and rises.
        middle, grown = power * sizes[0], power * (power - 1) * sizes[0] ** 2 / 2
        wide = math.sqrt(2 * (room + power * log_p[0] + grown))
        left, right = np.linspace(middle, middle - wide, _N_PLACES), np.linspace(0, wide, _N_PLACES)
        logs = ratio.log_real_ratio(np.concatenate([left, right]))
        y = np.concatenate([left, right])
        about = max(0.0, float((power * logs - 0.5 * y * y).max()) - 3.0)
        onward = logs[left.size :]
        low = _first(left, lambda at: ratio.log_left(power, left[at], 0.0) - about + room)
        high = _first(
            right, lambda at: ratio.log_right(power, right[at], onward[at]) - about + room
        )
        return Branch(power, low, high, False, False)

    def _plain(self, tilt: float) -> PlainSums:
        plain = self._sums.get(tilt)
        if plain is None:
            if len(self._sums) >= _MOST_CACHED:
                self._sums.clear()
            plain = PlainSums(self._ratio, self._branch(tilt))
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

    def cost(self, tilt: float, *, last: float, budget: float) -> int:
        del last, budget
        return math.ceil(self._plain(tilt).n_points(0.0))

    def decay(self, tilt: float, last: float) -> float:
        return self._plain(tilt).bound_from(last, self.moments(tilt).log_mgf)


def _first(places: FloatArray, log_tail: Callable[[int], float]) -> float:
    """Return the first place with little beyond it, else the last: what is left falls."""
    found = bisect_left(range(places.size), 1, key=lambda at: log_tail(at) < 0)
    return float(places[min(found, places.size - 1)])


def _blocks(step: float, count: int, served: int) -> Iterator[tuple[int, int]]:
    """Yield (first, size) of runs of nodes beyond those served, of which t doubles."""
    first, end = served, max(2 * served, math.floor(_BLOCK / step) + 1)
    while first < count:
        size = min(end, count) - first
        yield first, size
        first, end = first + size, 2 * end
