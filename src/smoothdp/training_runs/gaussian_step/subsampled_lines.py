"""Quadrature of the subsampled Gaussian along lines Im y = s, with a proved error.

In units of the noise, y ~ N(0, 1), m = mu = 1 / noise multiplier, a(y) = m y - m^2 / 2,
G(y) = 1 - q + q e^a(y), the likelihood ratio of the mixture (1 - q) N(0, 1) + q N(m, 1)
against N(0, 1). The file sums integrals of N(y) G(y)^w over all y, or over y > m / 2, where
w = power + i sign t, the sign that of the power.

Why off the real line: for sign s > 0, |G^w| = |G|^power e^(-t |arg G|) falls with t, and where
|G^w| does not fall, G hardly turns. So a few hundred points serve any t, and the integral of
|N G^w| along the line bounds the transform from t on. The integrand is analytic for |m s| < pi and
falls in both directions, so the line may be moved; a half line is joined by a path up from
y = m / 2. By symmetry everything is written for sign 1 and s > 0.

With b = m s <= pi / 2, moving right (rho = q e^Re a / (1 - q) grows): |G| grows, and 0 <= arg G =
arg(1 + rho e^(ib)) grows towards b; moving up, |G| falls from G to G cos(b / 2) or more, and
arg G grows, up to b = pi at first and then falls: on an interval it is least at an end.

Quadrature: Gauss-Legendre on panels. The ellipse of a panel lies in a box; in slices of the box,

    ln |N(y) G(y)^w| <= -x^2 / 2 + s^2 / 2 + power ln |G| - t arg G - ln sqrt(2 pi)

with each term at the side of the slice where the term is largest. The same bound holds for
the extension of |N G^w| off the line, N e^(s^2 / 2) G(y + is)^(w / 2) G(y - is)^(conj(w) / 2).

Tails beyond the panels, e^(s^2 / 2) times those on the real line or less: G^w <= G(y_min)^power to
the left and <= (q + (1 - q) e^-a(y_max))^power e^(power a) to the right for power > 0;
(1 - q)^power and |G(y_max + is)|^power for power < 0, as |G| >= 1 - q for b <= pi / 2.

Rounding of a point, u = 2^-53: y is within 3 u |y| + u m of its exact value, ln of a mass within
2 u (y^2 + s^2 + 60) besides, a phase within 4 u (|power arg G| + |y| s). a(y) is within
A = 8 u (m (|y| + m + s) + 1), which moves ln G by A |da ln G|, |da ln G| = |q e^a / G| <= 1.
U = q expm1(a) is formed from real and imaginary parts and is within 20 u V, V = q (|expm1 Re a| +
2 |sin(b/2)| + e^Re a), on the real line within 9 u |U|; ln(1 + U) by log1p and arctan2 is then
within 64 u V / |G| + 16 u |ln G|, on the real line within 12 u |U| / G + 9 u |ln G|. For
q > 1/2 and where a is large, ln G itself is taken, within 3 A + 32 u (|ln G| + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from smoothdp.composition.laws.oscillation import Waves
from smoothdp.exact.balls.gauss_legendre import gauss_legendre
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.training_runs.gaussian_step.line_points import Points
from smoothdp.training_runs.gaussian_step.path_panels import Branch, PanelRow
from smoothdp.types import FloatArray

N_NODES = 64
_HALF_LOG_2PI = 0.91893853320467274178
# The second where the first ellipse is too large.
_RADII = (2.0, 1.5)
_SMALL = 1e-20
_SLICES = 8


@dataclass(frozen=True)
class Mixture:
    """ln G and integrals of N G^w."""

    rate: Fraction
    mu: Fraction

    @cached_property
    def m(self) -> float:
        """The shift, as a float."""
        return float(self.mu)

    @cached_property
    def _floats(self) -> tuple[float, float, float]:
        """Return q, 1 - q and m^2 / 2."""
        return float(self.rate), float(1 - self.rate), float(self.mu * self.mu / 2)

    def log_ratio(self, y: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ln |G| and arg G at y + i s, |m s| < pi."""
        q, base_share, offset = self._floats
        a, b = self.m * y - offset, self.m * s
        cos, sin = np.cos(b), np.sin(b)
        log_q = math.log(q)
        top = min(30.0 - log_q, 700.0)
        growth, excess = np.exp(np.minimum(a, top)), np.expm1(np.minimum(a, top))
        across = q * growth * sin
        if q <= 0.5:
            half = np.sin(0.5 * b)
            along = q * (excess * cos - 2 * half * half)
            log_size = 0.5 * np.log1p(2 * along + along * along + across * across)
            angle = np.arctan2(across, 1 + along)
        else:
            along = base_share + q * growth * cos
            log_size = 0.5 * np.log(along * along + across * across)
            angle = np.arctan2(across, along)
        # Beyond, G = q e^a (1 + small).
        small = np.exp(math.log(base_share) - log_q - np.maximum(a, top))
        far_size = a + log_q + 0.5 * np.log1p(2 * small * cos + small * small)
        far_angle = b - np.arctan2(small * sin, 1 + small * cos)
        far = a > top
        return np.where(far, far_size, log_size), np.where(far, far_angle, angle)

    def log_real_ratio(self, y: FloatArray) -> FloatArray:
        """Return ln G at real y, within `loss_error`."""
        q, base_share, offset = self._floats
        a, log_q = self.m * y - offset, math.log(q)
        top = min(30.0 - log_q, 700.0)
        near = np.minimum(a, top)
        if q <= 0.5:
            log_size = np.log1p(q * np.expm1(near))
        else:
            log_size = np.log(base_share + q * np.exp(near))
        if float(a[-1]) <= top and float(a[0]) <= top:
            return np.asarray(log_size)
        small = np.exp(math.log(base_share) - log_q - np.maximum(a, top))
        return np.where(a > top, a + log_q + np.log1p(small), log_size)

    def loss_error(self, y: FloatArray, s: FloatArray, log_size: FloatArray) -> FloatArray:
        """Return a bound of the error of ln G."""
        m, (q, _, offset) = self.m, self._floats
        a = m * y - offset
        of_position = 8 * UNIT_ROUNDOFF * (m * (np.abs(y) + np.abs(s) + m) + 1)
        slope = np.exp(np.minimum(math.log(q) + a - log_size, 0.0))
        if q > 0.5:
            return np.asarray(3 * of_position + 32 * UNIT_ROUNDOFF * (np.abs(log_size) + 1))
        level = np.exp(-log_size)
        # The second bound serves where e^a is beyond floats.
        excess = np.abs(np.expm1(np.minimum(a, 600.0)))
        on_line = np.where(a < 600.0, q * excess * level, slope + 2 * q)
        off_line = on_line + slope + 2 * q * np.abs(np.sin(0.5 * m * s)) * level
        of_value = np.where(s == 0, 12 * on_line, 64 * off_line)
        angle = np.where(s == 0, 0.0, m * np.abs(s))
        size = np.where(s == 0, 9.0, 16.0) * (np.abs(log_size) + angle)
        far = np.where(m * y > 20.0, 2 * of_position, 0.0)
        return np.asarray(of_position * slope + far + UNIT_ROUNDOFF * (of_value + size))

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
        log_w += power * log_size - 0.5 * (x * x - s * s) - _HALF_LOG_2PI
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
            if farthest > (3.1 if power > 0 else math.pi / 2) or self.m * -low.min() > math.pi / 2:
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

    def log_left(self, power: float, low: float, log_ratio: float) -> float:
        """Return ln of a bound of the integral of |N G^w| below a point, where ln G is given."""
        q, _, _ = self._floats
        return log_tail(-low) + power * (log_ratio if power > 0 else math.log1p(-q))

    def log_right(self, power: float, high: float, log_ratio: float) -> float:
        """Return ln of a bound of the integral of |N G^w| above a point, where ln |G| is given."""
        (q, base_share, offset), m = self._floats, self.m
        if power < 0:
            return power * log_ratio + log_tail(high)
        share = math.log(q + base_share * math.exp(-min(m * high - offset, 700.0)))
        return power * share + m * m * power * (power - 1) / 2 + log_tail(high - power * m)

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
        logs -= _HALF_LOG_2PI + log_mgf
        return 1.0001 * height * float(np.exp(np.minimum(logs, 700.0)) @ ends)

    def both_ways_up(self, tilt: float, height: float, t: float, log_mgf: float) -> float:
        """Return a bound of both ways up from y = m / 2 of the symmetric law together, from t on.

        At the start both integrands are the same, as G = 1 there: they differ by the sizes, and by
        a phase of at most m s + 2 t |ln |G|| (proofs/tilted-contour#11). Of each factor its largest
        value in each of many cells, and of t e^(-t arg G) the largest from t on.
        """
        (q, base_share, _), s = self._floats, height * _fine_cells()
        b = self.m * s
        half = np.sin(0.5 * b) ** 2
        angle = np.arctan2(q * np.sin(b), 1 - 2 * q * half)
        shrunk = -0.5 * np.log1p(-4 * q * base_share * half[1:]) * (1 + 1e-9) + 1e-15
        sizes = np.exp(np.minimum(tilt * shrunk, 700.0))
        least = angle[:-1] * (1 - 1e-9)
        fall = np.exp(-t * least)
        with np.errstate(divide="ignore"):
            risen = np.where(t * least < 1, 1 / (math.e * least), t * fall)
        turned = np.minimum(2 * fall, self.m * s[1:] * fall + 2 * shrunk * risen)
        apart = (sizes - np.exp(-(tilt + 1) * shrunk)) * fall
        logs = 0.5 * s[1:] * s[1:] - 0.125 * self.m * self.m - _HALF_LOG_2PI - log_mgf
        return 1.0001 * float(np.exp(np.minimum(logs, 700.0)) * (apart + turned) @ np.diff(s))

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
        log_sizes = power * size - 0.5 * nearest**2 + 0.5 * farthest**2 + growth - _HALF_LOG_2PI
        return log_sizes + 1e-9 * (1 + np.abs(power * size))


@lru_cache(maxsize=1)
def _cells() -> tuple[FloatArray, FloatArray]:
    """Return the edges of cells of [0, 1] and their widths."""
    edges = np.concatenate([[0.0], 1.05 ** np.arange(-300.0, 1.0)])
    return edges, np.diff(edges)


@lru_cache(maxsize=1)
def _fine_cells() -> FloatArray:
    """Return the edges of cells of [0, 1], the first of 2e-13."""
    return np.concatenate([[0.0], 1.05 ** np.arange(-600.0, 1.0)])


def log_tail(x: float) -> float:
    """Return a float not below ln P(N(0, 1) > x)."""
    return -0.5 * x * x - math.log(2) + 1e-9 if x > 0 else 0.0
