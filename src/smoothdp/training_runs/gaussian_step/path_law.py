"""The loss of a law of which N R^w is integrated, over a line or parts of it: panels along lines.

Up to t = 64 the real line is taken, beyond it the line on which the integral of |N R^w| is
least at the first t of a block; that integral, which falls with t, also is the decay. A half line
is joined by a path up from its end (proofs/mixtures-of-gaussians#8). Whole lines may have sums of
their own, which need no panels (`plain_sums`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field

import numpy as np

from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.law import Excess, LossLaw, Moments, TiltedSums
from smoothdp.composition.laws.oscillation import damped_sums
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.training_runs.gaussian_step.line_points import (
    Line,
    Points,
    error_from,
    joined,
    scaled,
    size_from,
)
from smoothdp.training_runs.gaussian_step.path_panels import (
    Branch,
    PanelRow,
    between,
    leftwards,
    rightwards,
    upwards,
)
from smoothdp.training_runs.gaussian_step.plain_sums import PlainSums, moments_of, transform_of
from smoothdp.training_runs.gaussian_step.ratio import N_NODES, Ratio

REAL = 64.0
"""The real line serves up to here; blocks of t double from here on."""
MOST_CACHED = 8
_HIGHEST = 9.0
_MOST_LINES = 10
# A line is chosen by its size, and by its error times this: counts multiply errors.
_WEIGHT = 1e5


@dataclass(frozen=True, eq=False)
class PathLaw(LossLaw):
    """The loss ln R or -ln R, by integrals of N R^w over intervals of the line."""

    _moments: dict[float, Moments] = field(
        default_factory=dict, repr=False, compare=False, kw_only=True
    )
    _choices: dict[tuple[float, int], int] = field(
        default_factory=dict, repr=False, compare=False, kw_only=True
    )
    _known: dict[float, list[Line]] = field(
        default_factory=dict, repr=False, compare=False, kw_only=True
    )

    @property
    @abstractmethod
    def _mixture(self) -> Ratio:
        """R."""

    @abstractmethod
    def _branches(self, tilt: float) -> list[Branch]:
        """Return the powers of R and where they are integrated."""

    def _plain(self, tilt: float) -> PlainSums | None:
        """Return the sums over the whole line, which need no panels; None for parts of it."""
        del tilt
        return None

    def _more_points(self) -> list[Points]:
        """Return atoms that belong to every line."""
        return []

    def _half(self, most: float) -> float:
        """Return a power of 2 as the half-length of panels, at most 4 / 3 of ``most``."""
        return 2.0 ** math.floor(math.log2(min(1.0, 0.5 / self._mixture.m, most / 0.75)))

    # ---- points -----------------------------------------------------------------------

    def _unscaled(self, tilt: float, height: float) -> tuple[Points, list[PanelRow]]:
        """Return the points of a line, of masses that are not yet normalised."""
        half = self._half(math.inf if height == 0.0 else height)
        points, rows = [], []
        for branch in self._branches(tilt):
            if branch.ends_left and branch.ends_right:
                rows.append(between(branch.low, branch.high, height, half))
            elif branch.ends_right:
                rows.append(leftwards(branch.high, branch.low, height, half))
            else:
                rows.append(rightwards(branch.low, branch.high, height, half))
            points.append(self._mixture.points(branch.power, rows[-1]))
        return joined([*points, *self._more_points()]), rows

    def _constant(self, tilt: float, height: float, rows: list[PanelRow], log_mgf: float) -> float:
        """Return the error of the sum over the points of a line."""
        last = REAL if height == 0.0 else math.inf
        total = 0.0
        for branch, row in zip(self._branches(tilt), rows, strict=True):
            total += self._mixture.rule_error(
                branch.power, row, log_mgf=log_mgf, first=0.0, last=last
            )
            total += self._mixture.beyond(branch, row, log_mgf)
        return total

    def _lines(self, tilt: float) -> list[Line]:
        """Return lines of several heights, the real one first."""
        lines = self._known.get(tilt)
        if lines is None:
            log_mgf = self.moments(tilt).log_mgf
            highest = min((math.pi / 2 - 0.375) / self._mixture.m, _HIGHEST)
            heights = [highest / math.sqrt(2) ** i for i in range(_MOST_LINES)]
            heights = [0.0, *(height for height in heights if height >= min(0.25, highest))]
            lines = []
            for height in heights:
                points, rows = self._unscaled(tilt, height)
                constant = self._constant(tilt, height, rows, log_mgf)
                lines.append(Line(height, scaled(points, log_mgf), constant))
            if len(self._known) >= MOST_CACHED:
                self._known.clear()
            self._known[tilt] = lines
        return lines

    def _choice(self, tilt: float, t: float) -> int:
        """Return the index of the line that is least at the power of 2 below t."""
        key = tilt, math.frexp(t)[1]
        choice = self._choices.get(key)
        if choice is None:
            lines, about = self._lines(tilt), math.ldexp(0.5, key[1])
            scores = [size_from(line.points, about) + _WEIGHT * line.constant for line in lines]
            choice = 1 + int(np.argmin(scores[1:]))
            if len(self._choices) >= 64 * MOST_CACHED:
                self._choices.clear()
            self._choices[key] = choice
        return choice

    def _line(self, tilt: float, first: float, last: float) -> Line:
        """Return about the line that is least at ``first``, good up to ``last``."""
        lines = self._lines(tilt)
        if last <= REAL:
            return lines[0]
        line = lines[self._choice(tilt, first)]
        log_mgf = self.moments(tilt).log_mgf
        point_sets, constant = [line.points], line.constant
        for power, start, turn in _ends(self._branches(tilt)):
            for row in upwards(start, self._mixture.m, line.height, last):
                points = self._mixture.points(power, row)
                waves = points.waves._replace(phases=points.waves.phases + turn)
                point_sets.append(scaled(points._replace(waves=waves), log_mgf))
                constant += self._mixture.rule_error(
                    power, row, log_mgf=log_mgf, first=first, last=last
                )
        return Line(line.height, joined(point_sets), constant)

    # ---- what a law offers ------------------------------------------------------------

    def moments(self, tilt: float) -> Moments:
        moments = self._moments.get(tilt)
        if moments is None:
            plain = self._plain(tilt)
            if plain is not None and plain.serves(0.0):
                moments = moments_of(plain)
            else:
                moments = self._moments_by_panels(tilt)
            if len(self._moments) >= 64 * MOST_CACHED:
                self._moments.clear()
            self._moments[tilt] = moments
        return moments

    def _moments_by_panels(self, tilt: float) -> Moments:
        points, rows = self._unscaled(tilt, 0.0)
        x = points.waves.positions
        moments = AtomsLaw(points.waves.log_sizes - tilt * x, x).moments(tilt)
        line = Line(
            0.0,
            scaled(points, moments.log_mgf),
            self._constant(tilt, 0.0, rows, moments.log_mgf),
        )
        return moments._replace(error=moments.error + 1.1 * error_from(line, 0.0)[0])

    def transform(self, tilt: float, *, step: float, count: int, budget: float) -> TiltedSums:
        moments = self.moments(tilt)
        values = np.empty(count, dtype=np.complex128)
        error = np.empty(count)
        plain, served, excess = self._plain(tilt), 0, None
        if plain is not None:
            served = plain.served(step, count)
        if plain is not None and served:
            whole = transform_of(plain, moments, step=step, count=served)
            values[:served], error[:served] = whole.values, whole.error
            excess = whole.excess
        for first, size in _blocks(step, count, served):
            t = step * np.arange(first, first + size, dtype=np.float64)
            line = self._line(tilt, float(t[0]), float(t[-1]))
            waves = line.points.waves
            waves = waves._replace(positions=waves.positions - moments.mean)
            sums = damped_sums(waves, first=first, step=step, count=size, budget=budget)
            constant, slope = error_from(line, float(t[0]))
            # Positions less the centre are rounded once more.
            slope += sums.slope
            block = slice(first, first + size)
            values[block] = sums.values
            error[block] = 1.01 * (sums.constant + constant + (sums.slope + slope) * t)
        error += 1.01 * moments.error
        if excess is not None and served < count:
            # Beyond, what is left of psi - 1 is no better than psi.
            rest = error[served:] + UNIT_ROUNDOFF
            excess = Excess(
                np.concatenate([excess.values, values[served:] - 1]),
                np.concatenate([excess.error, rest]),
            )
        return TiltedSums(values, error, moments.mean, excess)

    def cost(self, tilt: float, *, last: float, budget: float) -> int:
        del last, budget
        width = math.fsum(branch.high - branch.low for branch in self._branches(tilt))
        return math.ceil(width / self._half(math.inf) * N_NODES / 2)

    def decay(self, tilt: float, last: float) -> float:
        plain = self._plain(tilt)
        if plain is not None:
            size = plain.bound_from(last, self.moments(tilt).log_mgf)
            if size < 1.0:
                return size
        if last <= REAL:
            return 1.0
        line = self._lines(tilt)[self._choice(tilt, last)]
        log_mgf = self.moments(tilt).log_mgf
        rounding, _ = error_from(line, last)
        size = size_from(line.points, last) + rounding
        for power, start, _ in _ends(self._branches(tilt)):
            size += self._mixture.way_up(power, start, line.height, last, log_mgf)
        return min(1.0, 1.0001 * size)


def _ends(branches: list[Branch]) -> list[tuple[float, float, float]]:
    """Return (power, end, turn of the way up there) of all half lines."""
    return [(branch.power, branch.low, 0.0) for branch in branches if branch.ends_left] + [
        (branch.power, branch.high, math.pi) for branch in branches if branch.ends_right
    ]


def _blocks(step: float, count: int, served: int) -> list[tuple[int, int]]:
    """Return (first, size) of runs of nodes beyond those served: up to 64, then doubling."""
    blocks, first = [], served
    end = min(count, max(math.floor(REAL / step) + 1, 2 * served))
    while first < count:
        blocks.append((first, end - first))
        first, end = end, min(count, max(end + 1, 2 * end))
    return blocks
