"""The loss of the subsampled Gaussian: integrals along lines (`subsampled_lines`).

E e^(zL) is an integral of N(y) G(y)^w over y:

mixture against base: L = ln G under the mixture, w = z + 1;
base against mixture: L = -ln G under N(0, 1), w = -z;
symmetric: losses l > 0 of the first, their mirror image (w = -z), both over y > m / 2, and
    the rest of the mass at l = 0. The symmetric law has D(E) = q D_Gauss(1 + (E - 1) / q) for
    E >= 1, the bound of sampling without replacement (Balle, Barthe, Gaboardi 2018, Theorem 9).

Up to t = 64 the real line is taken, beyond it the line on which the integral of |N G^w| is
least at the first t of a block; that integral, which falls with t, also is the decay.

Tails beyond the panels, e^(s^2 / 2) times those on the real line or less: G^w <= G(y_min)^(c+1) to
the left and <= (q + (1 - q) e^-a(y_max))^(c+1) e^((c+1) a) to the right for w = c + 1; (1 - q)^-c
and |G(y_max + is)|^-c for w = -c, as |G| >= 1 - q for b <= pi / 2.

The end of a half line is off by u m, its mass by less than 4 u (m + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from typing import Literal

import numpy as np

from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.law import LossLaw, Moments, Split, Still, TiltedSums
from smoothdp.composition.laws.oscillation import damped_sums
from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.balls.special import normal_tail
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.training_runs.gaussian_step.line_points import (
    Line,
    Points,
    atom_at_zero,
    error_from,
    joined,
    scaled,
    size_from,
    without_last,
)
from smoothdp.training_runs.gaussian_step.one_step import log_mixture_excess
from smoothdp.training_runs.gaussian_step.path_panels import (
    Branch,
    PanelRow,
    leftwards,
    rightwards,
    upwards,
)
from smoothdp.training_runs.gaussian_step.plain_sums import PlainSums, moments_of, transform_of
from smoothdp.training_runs.gaussian_step.subsampled_lines import N_NODES, Mixture, log_tail

View = Literal["mixture", "base", "symmetric"]
# e^-45 = 3e-20 of a tail is left out.
_TAIL = 45.0
# The real line serves up to here; blocks of t double from here on.
_REAL = 64.0
_HIGHEST = 9.0
_MOST_LINES = 10
# A line is chosen by its size, and by its error times this: counts multiply errors.
_WEIGHT = 1e5
_MOST_POINTS = 4e4
_MOST_CACHED = 8


@dataclass(frozen=True, eq=False)
class SubsampledGaussianLaw(LossLaw):
    """The loss of a Gaussian shift by mu, seen with probability ``rate`` in (0, 1).

    Attributes:
        rate, mu: q in (0, 1) and m > 0.
        view: which loss.
        above, below: if not None, the law of y above or below that point alone, y under the
            mixture: a law of less than all mass. See `split`.
    """

    rate: Fraction
    mu: Fraction
    view: View
    above: float | None = None
    below: float | None = None
    _moments: dict[float, Moments] = field(default_factory=dict, repr=False, compare=False)
    _splits: dict[float, Split] = field(default_factory=dict, repr=False, compare=False)
    _choices: dict[tuple[float, int], int] = field(default_factory=dict, repr=False, compare=False)
    _sums: dict[float, PlainSums] = field(default_factory=dict, repr=False, compare=False)
    _known: dict[float, list[Line]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def _mixture(self) -> Mixture:
        return Mixture(self.rate, self.mu)

    @property
    def largest(self) -> float:
        if self.view == "base":
            # -ln G <= -ln(1 - q).
            return math.nextafter(-math.log1p(-float(self.rate)) * (1 + 1e-14), math.inf)
        if self.below is not None:
            size, _ = self._mixture.log_ratio(np.array([self.below]), np.zeros(1))
            return float(size[0]) * (1 + 1e-12) + 1e-12
        return math.inf

    @property
    def largest_tilt(self) -> float:
        # The window takes at most _MOST_POINTS points.
        width = _MOST_POINTS * 2 * self._half(math.inf) / N_NODES
        if self.view == "base":
            return max(1.0, (width * width / 8 - _TAIL) / -math.log1p(-float(self.rate)))
        return max(1.0, width / float(self.mu) - 20.0)

    def _half(self, most: float) -> float:
        """Return a power of 2 as the half-length of panels, at most 4 / 3 of ``most``."""
        m = float(self.mu)
        return 2.0 ** math.floor(math.log2(min(1.0, 0.5 / m, most / 0.75)))

    def _branches(self, tilt: float) -> list[Branch]:
        """Return the powers of G and where they are integrated."""
        m, q = float(self.mu), float(self.rate)
        reach = math.sqrt(2 * (_TAIL - tilt * math.log1p(-q)))
        if self.view == "base":
            return [Branch(-tilt, -reach, reach, False, False)]
        # Beyond a = ln((c + 1) / q) the mixture is all but the shifted normal.
        shifted = (tilt + 1) * m + math.sqrt(2 * (_TAIL + 2))
        wide = (tilt + 1) * m + math.sqrt(2 * _TAIL + m * m * tilt * (tilt + 1))
        high = min(wide, max(shifted, (math.log((tilt + 2) / q) + m * m / 2) / m))
        low = -math.sqrt(2 * _TAIL)
        if self.view == "symmetric" and self.above is None:
            losses = Branch(tilt + 1, m / 2, high, True, False)
            branches = [losses, Branch(-tilt, m / 2, reach, True, False)]
        elif self.above is not None:
            # The part of the tail far below e^-45 of its mass is left out in turn.
            far = math.sqrt(self.above * self.above + 2 * _TAIL)
            branches = [Branch(tilt + 1, self.above, max(high, far), True, False)]
        else:
            branches = [Branch(tilt + 1, low, high, False, False)]
        if self.below is not None:
            branches[0] = branches[0]._replace(high=self.below, ends_right=True)
        return branches

    def split(self, loss: float) -> Split | None:
        if self.view == "base" or self.above is not None or self.below is not None or loss <= 0:
            return None
        m, q = float(self.mu), float(self.rate)
        cut = (math.log1p(math.expm1(min(loss, 700.0)) / q) + m * m / 2) / m
        # Panels of the head of a half line fit between both of its ends.
        grid, start = (2 * self._half(math.inf), m / 2) if self.view == "symmetric" else (0.25, 0.0)
        cut = start + grid * round((cut - start) / grid)
        if cut <= m / 2 or cut <= m:
            return None
        split = self._splits.get(cut)
        if split is None:
            head = SubsampledGaussianLaw(self.rate, self.mu, self.view, None, cut)
            tail = SubsampledGaussianLaw(self.rate, self.mu, self.view, cut, None)
            mass = (1 - q) * math.exp(log_tail(cut) - log_tail(cut - m)) + q
            log_mass = log_tail(cut - m) + math.log(mass) + 1e-9
            split = self._splits[cut] = Split(head, tail, log_mass)
        return split

    # ---- the whole line ---------------------------------------------------------------

    def _plain(self, tilt: float) -> PlainSums | None:
        """Return the sums over the whole line, which need no panels; None for parts of it."""
        if self.view == "symmetric" or self.above is not None or self.below is not None:
            return None
        plain = self._sums.get(tilt)
        if plain is None:
            if len(self._sums) >= 8 * _MOST_CACHED:
                self._sums.clear()
            plain = PlainSums(self._mixture, self._branches(tilt)[0])
            self._sums[tilt] = plain
        return plain

    # ---- points -----------------------------------------------------------------------

    def _unscaled(self, tilt: float, height: float) -> tuple[Points, list[PanelRow]]:
        """Return the points of a line, of masses that are not yet normalised."""
        half = self._half(math.inf if height == 0.0 else height)
        points, rows = [], []
        for branch in self._branches(tilt):
            along = leftwards if branch.ends_right and not branch.ends_left else rightwards
            ends = (branch.high, branch.low) if along is leftwards else (branch.low, branch.high)
            rows.append(along(*ends, height, half))
            points.append(self._mixture.points(branch.power, rows[-1]))
        if self.view == "symmetric" and self.above is None:
            points.append(atom_at_zero(log_mass_at_zero(self.rate, self.mu).upper))
        return joined(points), rows

    def _constant(self, tilt: float, height: float, rows: list[PanelRow], log_mgf: float) -> float:
        """Return the error of the sum over the points of a line."""
        last = _REAL if height == 0.0 else math.inf
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
            highest = min((math.pi / 2 - 0.375) / float(self.mu), _HIGHEST)
            heights = [highest / math.sqrt(2) ** i for i in range(_MOST_LINES)]
            heights = [0.0, *(height for height in heights if height >= min(0.25, highest))]
            lines = []
            for height in heights:
                points, rows = self._unscaled(tilt, height)
                constant = self._constant(tilt, height, rows, log_mgf)
                lines.append(Line(height, scaled(points, log_mgf), constant))
            if len(self._known) >= _MOST_CACHED:
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
            if len(self._choices) >= 64 * _MOST_CACHED:
                self._choices.clear()
            self._choices[key] = choice
        return choice

    def _line(self, tilt: float, first: float, last: float) -> Line:
        """Return about the line that is least at ``first``, good up to ``last``."""
        lines = self._lines(tilt)
        if last <= _REAL:
            return lines[0]
        line = lines[self._choice(tilt, first)]
        log_mgf = self.moments(tilt).log_mgf
        point_sets, constant = [line.points], line.constant
        for power, start, turn in _ends(self._branches(tilt)):
            for row in upwards(start, float(self.mu), line.height, last):
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
            if len(self._moments) >= 64 * _MOST_CACHED:
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
        plain, served = self._plain(tilt), 0
        if plain is not None:
            served = plain.served(step, count)
        if plain is not None and served:
            whole = transform_of(plain, moments, step=step, count=served)
            values[:served], error[:served] = whole.values, whole.error
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
        return TiltedSums(values, error + 1.01 * moments.error, moments.mean)

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
        if last <= _REAL:
            return 1.0
        line = self._lines(tilt)[self._choice(tilt, last)]
        log_mgf = self.moments(tilt).log_mgf
        rounding, _ = error_from(line, last)
        size = size_from(line.points, last) + rounding
        for power, start, _ in _ends(self._branches(tilt)):
            size += self._mixture.way_up(power, start, line.height, last, log_mgf)
        return min(1.0, 1.0001 * size)

    def moving_decay(self, tilt: float, last: float) -> float:
        if self.still is None or last <= _REAL:
            return 1.0
        line = self._lines(tilt)[self._choice(tilt, last)]
        # The last point is the atom at 0 (proofs/tilted-contour#11).
        size = size_from(without_last(line.points), last) + error_from(line, last)[0]
        size += self._mixture.both_ways_up(tilt, line.height, last, self.moments(tilt).log_mgf)
        return min(1.0, size * 1.0001)

    @cached_property
    def still(self) -> Still | None:
        if self.view != "symmetric" or self.above is not None or self.below is not None:
            return None
        log_mass = log_mass_at_zero(self.rate, self.mu)
        if log_mass.lower == -math.inf:
            return None
        return Still(log_mass, partial(log_mixture_excess, self.rate, self.mu))


def _ends(branches: list[Branch]) -> list[tuple[float, float, float]]:
    """Return (power, end, turn of the way up there) of all half lines."""
    return [(branch.power, branch.low, 0.0) for branch in branches if branch.ends_left] + [
        (branch.power, branch.high, math.pi) for branch in branches if branch.ends_right
    ]


def _blocks(step: float, count: int, served: int) -> list[tuple[int, int]]:
    """Return (first, size) of runs of nodes beyond those served: up to 64, then doubling."""
    blocks, first = [], served
    end = min(count, max(math.floor(_REAL / step) + 1, 2 * served))
    while first < count:
        blocks.append((first, end - first))
        first, end = end, min(count, max(end + 1, 2 * end))
    return blocks


@lru_cache(maxsize=256)
def log_mass_at_zero(rate: Fraction, mu: Fraction) -> LogBounds:
    """Bound ln of 1 - P(y > mu/2) - Q(y > mu/2), P the mixture and Q = N(0, 1)."""
    with precision(192):
        q, shift = ball(rate), ball(mu)
        value = 1 - (2 - q) * normal_tail(shift / 2) - q * normal_tail(-shift / 2)
        return enclose(value.log()) if value > 0 else LOG_ZERO
