"""The whole line by the trapezoid rule, with an error in closed form.

For a sum over all of the line no panels are needed: N(y) G(y)^w is analytic for |m Im y| < pi / 2
and falls fast, so the trapezoid rule of step h is off by e^(-2 pi d / h) for a strip of
half-width d that is at hand (proofs/tilted-contour#7). On the line Im y = s the integral of
|N G^w| bounds the transform from t on, and the same rule sums it (#8).

y is a multiple of a short float, hence exact. The sum beyond the last points is at most the
integral there, since its terms fall; those integrals are `Mixture.beyond`'s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from smoothdp.composition.laws.law import Excess, Moments, TiltedSums
from smoothdp.composition.laws.oscillation import Waves, moving_sums, short_step
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.training_runs.gaussian_step.line_points import Line, Points, scaled
from smoothdp.training_runs.gaussian_step.path_panels import Branch, PanelRow
from smoothdp.training_runs.gaussian_step.ratio import Ratio
from smoothdp.types import FloatArray, IntArray

_HALF_LOG_2PI = 0.91893853320467274178
# Terms off by e^-41 = 2e-18, of which two.
_ROOM = 41.0
# The widest strip that is of use, and shares of pi / 2 below 1, so that rounding keeps below it.
_WIDEST = 9.0
_WHOLE = 0.9999
_SHARES = (0.9, 0.8, 0.65, 0.5, 0.35, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.01, 0.003, 0.001)
# Half-widths of a strip around a line, as shares of the widest.
_LIFTS = (1.0, 0.8, 0.6, 0.45, 0.3)
_N_HEIGHTS = 12
_N_ROUGH = 48
_MOST_POINTS = 3000
# If not all t, then at least those up to here are served.
_REAL = 64.0


@dataclass(frozen=True, eq=False)
class PlainSums:
    """Integrals of N G^w over the whole line, w = power + i sign t, the sign that of the power.

    Attributes:
        mixture: G.
        branch: the power, and an interval beyond which little is left.
    """

    mixture: Ratio
    branch: Branch
    _lifted: dict[int, Line] = field(default_factory=dict, repr=False, compare=False)
    _edges: dict[int, _Edge | None] = field(default_factory=dict, repr=False, compare=False)
    _places: dict[int, int] = field(default_factory=dict, repr=False, compare=False)

    def _strip(self, t: float, height: float = 0.0) -> tuple[float, float]:
        """Return (d, ln of the largest size in the strip relative to E e^(cL)).

        Of several d that which allows the longest step.
        """
        m, power = self.mixture.m, self.branch.power
        quarter = _WHOLE * 0.5 * math.pi / m
        if height == 0.0 and power > 0:
            d = min(quarter, _WIDEST)
            return d, d * d / 2 + t * m * d
        if power > 0:
            d = min(0.5 * quarter, _WIDEST)
            return d, (d * d + height * height) / 2
        best = 0.0, 1.0
        for share in _SHARES:
            d = min(share * (quarter - height), _WIDEST)
            size = (d * d + height * height) / 2 + (t * m * d if height == 0.0 else 0.0)
            size += power * math.log(math.cos(m * (height + d)))
            if best[0] / (best[1] + _ROOM) < d / (size + _ROOM):
                best = d, size
        return best

    def _step(self, t: float, height: float = 0.0) -> tuple[float, float]:
        """Return a step, and a bound of what the rule of that step is off, relative to E e^(cL)."""
        d, size = self._strip(t, height)
        step = short_step(2 * math.pi * d / (size + _ROOM))
        gap = 2 * math.pi * d / step * (1 - 1e-14)
        return step, 2.0001 * math.exp(size - gap) / -math.expm1(-gap)

    def n_points(self, t: float) -> float:
        """Return about how many points of the real line serve up to t."""
        return (self.branch.high - self.branch.low) / self._step(t)[0]

    def serves(self, t: float) -> bool:
        """Whether reasonably many points are enough up to t."""
        return self.n_points(t) <= _MOST_POINTS

    def served(self, step: float, count: int) -> int:
        """Return how many of so many nodes the real line serves: all, or up to a power of 2."""
        if self.serves(step * (count - 1)):
            return count
        limit = _REAL
        if not self.serves(limit):
            return 0
        while self.serves(2 * limit):
            limit *= 2
        return min(count, math.floor(limit / step) + 1)

    def _row(self, step: float, height: float) -> PanelRow:
        first, last = math.floor(self.branch.low / step), math.ceil(self.branch.high / step)
        y = step * np.arange(first, last + 1, dtype=np.float64)
        return PanelRow(y, np.full(y.size, height), 0.0, up=False)

    def line(self, t: float) -> _RealLine:
        """Return a real line that serves up to t, of masses not divided by anything; its error is
        that of the rule, relative to E e^(cL), without the tails."""
        step, error = self._step(t)
        row = self._row(step, 0.0)
        ends = float(row.middles[0]), float(row.middles[-1])
        return _RealLine(self._points(row, step), 1.01 * error, ends)

    def tails(self, line: _RealLine, log_mgf: float) -> float:
        """Return a bound of what a real line leaves out at both ends, relative to E e^(cL)."""
        power, losses = self.branch.power, line.points.waves.positions
        sign = 1.0 if power > 0 else -1.0
        low, high = line.ends
        left = self.mixture.log_left(power, low, sign * float(losses[0]))
        right = self.mixture.log_right(power, high, sign * float(losses[-1]))
        return 1.01 * math.fsum(math.exp(min(700.0, tail - log_mgf)) for tail in (left, right))

    # ---- lines that serve every t -------------------------------------------------------

    def lifted(self, t: float, log_mgf: float) -> Line | None:
        """Return a line off the real one, about the best at t; None without one of reasonable size.

        Between it and the real line, and as far beyond, |R^w| is at most its value at t = 0: the
        error of the rule does not grow with t (proofs/mixtures-of-gaussians#6).
        """
        place = self._place_at(t)
        if self._lift_size(place) > 4 * _MOST_POINTS:
            place = min(range(_N_HEIGHTS), key=self._lift_size)
            if self._lift_size(place) > 4 * _MOST_POINTS:
                return None
        line = self._lifted.get(place)
        if line is None:
            line = self._lifted[place] = self._lift(place, log_mgf)
        return line

    def _lift_size(self, place: int) -> float:
        """Return about how many points the line of a place has."""
        return (self.branch.high - self.branch.low) / self._lift_step(place)[0]

    def _lift_step(self, place: int) -> tuple[float, float]:
        """Return a step, and what the rule of that step is off, relative to E e^(cL)."""
        height = float(self._height(np.array(place)))
        m, power = self.mixture.m, self.branch.power
        best, size = 0.0, 1.0
        for share in _LIFTS:
            d = share * min(height, _WHOLE * math.pi / m - height)
            log_size = (height + d) ** 2 / 2
            if power < 0:
                log_size += power * math.log(math.cos(0.5 * m * (height + d)))
            if best / (size + _ROOM) < d / (log_size + _ROOM):
                best, size = d, log_size
        step = short_step(2 * math.pi * best / (size + _ROOM))
        gap = 2 * math.pi * best / step * (1 - 1e-14)
        return step, 2.0001 * math.exp(size - gap) / -math.expm1(-gap)

    def _lift(self, place: int, log_mgf: float) -> Line:
        height, power = float(self._height(np.array(place))), self.branch.power
        step, error = self._lift_step(place)
        row = self._row(step, height)
        points = self._points(row, step)
        y, waves = row.middles, points.waves
        sign = 1.0 if power > 0 else -1.0
        phases = sign * (power * waves.damping - y * height)
        # Phases are rounded once more than sizes.
        mass = points.mass_error + 8 * UNIT_ROUNDOFF * np.abs(y) * height
        points = points._replace(waves=waves._replace(phases=phases), mass_error=mass)
        constant = error + self.mixture.beyond(self.branch, row, log_mgf)
        return Line(height, scaled(points, log_mgf), 1.01 * constant)

    def _points(self, row: PanelRow, step: float) -> Points:
        mixture, power = self.mixture, self.branch.power
        y, s = row.middles, row.heights
        height = float(s[0])
        if height == 0.0:
            log_size, angle = mixture.log_real_ratio(y), s
        else:
            log_size, angle = mixture.log_ratio(y, s)
        lift = 0.5 * height * height - _HALF_LOG_2PI + math.log(step)
        log_w = power * log_size - 0.5 * (y * y) + lift
        mass = 2 * (y * y + height * height + 60) + 4 * abs(power) * (angle + np.abs(log_size))
        loss = mixture.loss_error(y, s, log_size)
        sign = 1.0 if power > 0 else -1.0
        return Points(
            Waves(log_w, np.zeros(y.size), sign * log_size, angle),
            UNIT_ROUNDOFF * mass + (abs(power) + 1) * loss,
            loss,
        )

    # ---- the transform beyond a node ----------------------------------------------------

    def bound_from(self, t: float, log_mgf: float) -> float:
        """Return a bound of |psi| at every t' >= t > 0, along a line of a height that suits t."""
        return min(1.0, self._size(self._place_at(t), t, log_mgf))

    def _place_at(self, t: float) -> int:
        mantissa = math.frexp(t)[1]
        place = self._places.get(mantissa)
        if place is None:
            place = self._places[mantissa] = self._place(math.ldexp(0.75, mantissa))
        return place

    def _place(self, t: float) -> int:
        """Return the place of the height whose bound is about least at t: an estimate."""
        log_sizes, damping = self._rough
        return int(np.argmin(np.exp(log_sizes - t * damping).sum(axis=1)))

    @cached_property
    def _rough(self) -> tuple[FloatArray, FloatArray]:
        """Sizes and falls along lines of all heights, at few points."""
        y = np.linspace(self.branch.low, self.branch.high, _N_ROUGH)
        heights = self._height(np.arange(_N_HEIGHTS))[:, np.newaxis]
        grid, s = np.broadcast_arrays(y, heights)
        log_size, angle = self.mixture.log_ratio(grid, s)
        log_w = self.branch.power * log_size + 0.5 * (s * s - grid * grid)
        return log_w - log_w.max(), angle

    def _height(self, place: IntArray) -> FloatArray:
        share = _WHOLE if self.branch.power > 0 else 0.75
        highest = min(share * 0.5 * math.pi / self.mixture.m, _WIDEST)
        return np.asarray(highest * 2.0 ** (-0.5 * place))

    def _size(self, place: int, t: float, log_mgf: float) -> float:
        """Return a bound of the integral of |N G^w| at t along the line of a place."""
        if place not in self._edges:
            self._edges[place] = self._edge(place, log_mgf)
        edge = self._edges[place]
        if edge is None:
            return math.inf
        sizes = np.exp(edge.log_sizes - t * edge.damping)
        return (
            float(np.sum(sizes)) + 1.01 * float(sizes @ (edge.fixed + t * edge.lever)) + edge.rest
        )

    def _edge(self, place: int, log_mgf: float) -> _Edge | None:
        height = float(self._height(np.array(place)))
        step, error = self._step(0.0, height)
        if (self.branch.high - self.branch.low) / step > 4 * _MOST_POINTS:
            return None
        row = self._row(step, height)
        error += self.mixture.beyond(self.branch, row, log_mgf)
        points = self._points(row, step)
        log_sizes, damping = points.waves.log_sizes - log_mgf, points.waves.damping
        fixed = points.mass_error + UNIT_ROUNDOFF * (np.abs(points.waves.log_sizes) + abs(log_mgf))
        fixed += 64 * UNIT_ROUNDOFF + LIBM_ERROR
        lever = points.loss_error + 4 * UNIT_ROUNDOFF * damping
        # What is below e^-60 at t = 0 never counts.
        kept = log_sizes > -60.0
        error += 2e-26 * log_sizes.size
        return _Edge(log_sizes[kept], damping[kept], fixed[kept], lever[kept], 1.01 * error)


class _RealLine(NamedTuple):
    """Points on the real line, the error of the rule relative to E e^(cL), the first and last."""

    points: Points
    constant: float
    ends: tuple[float, float]


class _Edge(NamedTuple):
    """Points on a line Im y > 0: ln of their sizes at t = 0, how fast these fall, the relative
    error of each, constant and per unit of t, and what else the integral may have."""

    log_sizes: FloatArray
    damping: FloatArray
    fixed: FloatArray
    lever: FloatArray
    rest: float


def moments_of(sums: PlainSums) -> Moments:
    """Return ln of the sum over the line, with its error, and the mean and variance of the loss.

    The weights carry the errors of their masses and u (|ln w| + |top|); a pairwise sum of n
    terms adds (log2 n + 26) u.
    """
    line = sums.line(0.0)
    waves = line.points.waves
    top = float(waves.log_sizes.max())
    weights = np.exp(waves.log_sizes - top)
    total = float(np.sum(weights))
    weights /= total
    log_mgf = top + math.log(total)
    mean = float(weights @ waves.positions)
    variance = float(weights @ (waves.positions - mean) ** 2)
    rounding = line.points.mass_error + UNIT_ROUNDOFF * np.abs(waves.log_sizes)
    error = 1.1 * (line.constant + float(weights @ rounding) + sums.tails(line, log_mgf))
    error += 2 * LIBM_ERROR
    error += (math.log2(weights.size) + 26 + 2 * abs(top) + 2 * abs(log_mgf)) * UNIT_ROUNDOFF
    error += LIBM_ERROR * abs(math.log(total))
    return Moments(log_mgf, error, mean, variance)


def transform_of(sums: PlainSums, moments: Moments, *, step: float, count: int) -> TiltedSums:
    """Return psi at t = 0, step, ..., (count - 1) step, but for the error of the moments."""
    last = step * (count - 1)
    line = sums.line(last)
    points = scaled(line.points, moments.log_mgf)
    waves = points.waves
    weights = np.exp(waves.log_sizes)
    positions = waves.positions - moments.mean
    values, rounding = moving_sums(weights, positions, step=step, count=count)
    # The rule, at t and at 0, and what is beyond its ends.
    constant = 2 * (line.constant + sums.tails(line, moments.log_mgf))
    # Weights are off relatively, which counts times |e^(i t x) - 1|; positions less the centre are
    # rounded once more.
    t = step * np.arange(count, dtype=np.float64)
    off = weights * (points.mass_error + 2 * LIBM_ERROR)
    moved = np.minimum(t * float(off @ np.abs(positions)), 2 * float(np.sum(off)))
    slope = float(weights @ (points.loss_error + UNIT_ROUNDOFF * np.abs(positions)))
    error = 1.01 * (constant + rounding + moved + slope * t)
    excess = Excess(values, error + 1.01 * moments.error * np.abs(values))
    return TiltedSums(1 + values, error + 2 * UNIT_ROUNDOFF, moments.mean, excess)
