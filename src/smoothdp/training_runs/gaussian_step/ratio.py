"""A likelihood ratio to the standard normal law, and integrals of its powers along lines.

R(y) = sum p_i e^(m_i y - m_i^2 / 2), m_i >= 0, p_i > 0, is a sum of exponentials, m the largest
m_i; N is the standard normal density, and w = power + i sign t, the sign that of the power. By
symmetry everything is written for sign 1 and lines Im y = s > 0, b = m s <= pi / 2.

Moving right, |R| and arg R grow; moving up, |R| falls and arg R, in [0, b], grows
(proofs/mixtures-of-gaussians#4).

Quadrature: Gauss-Legendre on panels. The ellipse of a panel lies in a box; in slices of the box,

    ln |N(y) R(y)^w| <= -x^2 / 2 + s^2 / 2 + power ln |R| - t arg R - ln sqrt(2 pi)

with each term at the side of the slice where the term is largest. The same bound holds for
the extension of |N R^w| off the line, N e^(s^2 / 2) R(y + is)^(w / 2) R(y - is)^(conj(w) / 2)
(proofs/mixtures-of-gaussians#8).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache

import numpy as np

from smoothdp.composition.laws.oscillation import Waves
from smoothdp.exact.balls.gauss_legendre import gauss_legendre
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.training_runs.gaussian_step.line_points import Points
from smoothdp.training_runs.gaussian_step.path_panels import Branch, PanelRow
from smoothdp.types import FloatArray

N_NODES = 64
HALF_LOG_2PI = 0.91893853320467274178
# The second where the first ellipse is too large.
_RADII = (2.0, 1.5)
_SMALL = 1e-20
_SLICES = 8


class Ratio(ABC):
    """ln R off the real line, with its error, and integrals of N R^w."""

    @property
    @abstractmethod
    def m(self) -> float:
        """The largest shift, as a float."""

    @abstractmethod
    def log_ratio(self, y: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ln |R| and arg R at y + i s, m s up to `farthest`."""

    @abstractmethod
    def log_real_ratio(self, y: FloatArray) -> FloatArray:
        """Return ln R at real y, within `loss_error`."""

    @abstractmethod
    def loss_error(self, y: FloatArray, s: FloatArray, log_size: FloatArray) -> FloatArray:
        """Return a bound of the error of ln R."""

    @abstractmethod
    def log_left(self, power: float, low: float, log_ratio: float) -> float:
        """Return ln of a bound of the integral of |N R^w| below a point, where ln R is given."""

    @abstractmethod
    def log_right(self, power: float, high: float, log_ratio: float) -> float:
        """Return ln of a bound of the integral of |N R^w| above a point, where ln |R| is given."""

    def farthest(self, power: float) -> float:  # noqa: ARG002
        """Return the largest m s of a box in which the bounds of the integrand hold."""
        return math.pi / 2

    def points(self, power: float, row: PanelRow) -> Points:
        """Return the points of panels, of masses that are not yet normalised."""
        nodes, weights = gauss_legendre(N_NODES)
        shift = np.tile(row.half * nodes, row.middles.size)
        x = np.repeat(row.middles, N_NODES)
        s = np.repeat(row.heights, N_NODES)
        if row.up:
            s = s + shift
        else:
            x = x + shift
        log_size, angle = self.log_ratio(x, s)
        log_w = np.tile(np.log(weights * row.half), row.middles.size)
        log_w += power * log_size - 0.5 * (x * x - s * s) - HALF_LOG_2PI
        sign = 1.0 if power > 0 else -1.0
        phases = sign * (power * angle - x * s + (math.pi / 2 if row.up else 0.0))
        size = np.abs(x) + self.m + s
        mass = 2 * (x * x + s * s + 60) + 4 * size * (np.abs(x) + s)
        mass += 4 * (abs(power) * (angle + np.abs(log_size)) + np.abs(x) * s)
        loss = self.loss_error(x, s, log_size)
        return Points(
            Waves(log_w, phases, sign * log_size, angle),
            UNIT_ROUNDOFF * mass + (abs(power) + 1) * loss,
            loss,
        )

    def rule_error(
        self, power: float, row: PanelRow, *, log_mgf: float, first: float, last: float
    ) -> float:
        """Return a bound of the quadrature error relative to e^log_mgf, for first <= t <= last."""
        best = np.full(row.middles.size, math.inf)
        for r in _RADII:
            along, across = row.half * (r + 1 / r) / 2, row.half * (r - 1 / r) / 2
            wide, tall = (across, along) if row.up else (along, across)
            low, high = row.heights - tall, row.heights + tall
            farthest = self.m * float(max(np.max(np.abs(low)), np.max(high)))
            if farthest > self.farthest(power) or self.m * -low.min() > math.pi / 2:
                continue
            edges = np.add.outer(np.linspace(-wide, wide, _SLICES + 1), row.middles)
            size = self._largest(power, edges, (low, high), first, last).max(axis=0)
            size += math.log(row.half * 64 / 15 / (1 - r**-2)) - (2 * N_NODES - 2) * math.log(r)
            best = np.minimum(best, np.exp(np.minimum(size - log_mgf, 700.0)))
            if float(np.sum(best)) < _SMALL:
                break
        return 1.01 * float(np.sum(best))

    def beyond(self, branch: Branch, row: PanelRow, log_mgf: float) -> float:
        """Return a bound of the integral beyond the panels, with the error of misplaced ends."""
        m, power = self.m, branch.power
        height = float(row.heights[0])
        low, high = float(row.middles[0]) - row.half, float(row.middles[-1]) + row.half
        ends_of_panels = np.array([low, high])
        on_line, _ = self.log_ratio(ends_of_panels, np.zeros(2))
        above, _ = self.log_ratio(ends_of_panels, np.full(2, height))
        end_errors = 8 * UNIT_ROUNDOFF * (np.abs(ends_of_panels) + m + 1)
        ends = (
            power * (on_line if power > 0 else above)
            - 0.5 * ends_of_panels * ends_of_panels
            + np.log(end_errors)
        )
        left = self.log_left(power, low, float(on_line[0]))
        right = self.log_right(power, high, float(above[1]))
        if branch.ends_left:
            left = float(ends[0])
        if branch.ends_right:
            right = float(ends[1])
        lift = 0.5 * height * height - log_mgf
        return 1.01 * math.fsum(math.exp(min(tail + lift, 700.0)) for tail in (left, right))

    def way_up(self, power: float, start: float, height: float, t: float, log_mgf: float) -> float:
        """Return a bound of the integral of |N G^w| from ``start`` up to the height.

        Of each factor its largest value in each of many cells, which widen from the start on.
        """
        ratios, ends = _cells()
        s = height * ratios
        x = np.full(s.size, start)
        log_size, angle = self.log_ratio(x, s)
        # |G| falls and arg G grows on the way.
        largest = power * (log_size[:-1] if power > 0 else log_size[1:])
        logs = largest - 0.5 * (start * start - s[1:] * s[1:]) - t * angle[:-1]
        logs -= HALF_LOG_2PI + log_mgf
        return 1.0001 * height * float(np.exp(np.minimum(logs, 700.0)) @ ends)

    def _largest(
        self,
        power: float,
        edges: FloatArray,
        heights: tuple[FloatArray, FloatArray],
        first: float,
        last: float,
    ) -> FloatArray:
        """Return a bound of ln |N G^w| over slices between edges, of heights within reach."""
        left, right = edges[:-1], edges[1:]
        low, high = heights
        farthest = np.maximum(np.abs(low), high)
        if power > 0:
            size = self.log_ratio(edges, np.zeros_like(edges))[0][1:]
        else:
            size = self.log_ratio(left, np.broadcast_to(farthest, left.shape))[0]
        growth = np.zeros_like(size)
        if (low < 0).any():
            _, below = self.log_ratio(right, np.broadcast_to(np.maximum(-low, 0.0), right.shape))
            growth = np.where(below > 0, last * np.maximum(below, 1e-300), 0.0)
        if first > 0 and (low >= 0).any():
            angles = [
                self.log_ratio(left, np.broadcast_to(np.maximum(height, 0.0), left.shape))[1]
                for height in (low, high)
            ]
            growth = np.where(low >= 0, -first * np.minimum(*angles), growth)
        nearest = np.where((left <= 0) & (right >= 0), 0.0, np.minimum(np.abs(left), np.abs(right)))
        log_sizes = power * size - 0.5 * nearest**2 + 0.5 * farthest**2 + growth - HALF_LOG_2PI
        return log_sizes + 1e-9 * (1 + np.abs(power * size))


@lru_cache(maxsize=1)
def _cells() -> tuple[FloatArray, FloatArray]:
    """Return the edges of cells of [0, 1] and their widths."""
    edges = np.concatenate([[0.0], 1.05 ** np.arange(-300.0, 1.0)])
    return edges, np.diff(edges)


def log_tail(x: float) -> float:
    """Return a float not below ln P(N(0, 1) > x)."""
    return -0.5 * x * x - math.log(2) + 1e-9 if x > 0 else 0.0
