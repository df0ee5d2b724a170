"""The loss of the subsampled Gaussian, by quadrature with a proved error.

In units of the noise, y ~ N(0, 1), m = mu = 1 / noise multiplier, a(y) = m y - m^2 / 2,
G(y) = 1 - q + q e^a(y), the likelihood ratio of the mixture (1 - q) N(0, 1) + q N(m, 1)
against N(0, 1). E e^(zL) is an integral of N(y) G(y)^w over y:

mixture against base: L = ln G under the mixture, w = z + 1;
base against mixture: L = -ln G under N(0, 1), w = -z;
symmetric: losses l > 0 of the first, their mirror image (w = -z), both over y > m / 2, and
    the rest of the mass at l = 0. This is D(E) = q D_Gauss(1 + (E - 1) / q) for E >= 1, the
    bound of sampling without replacement (Balle, Barthe, Gaboardi 2018, Theorem 9).

Quadrature: Gauss-Legendre on panels [b - h, b + h]. G has its zeros at Im y = pi / m, and for
|m s| < pi, with y + i s in the ellipse of a panel (semi-axes A, B):

    |arg G| <= m |s|,   G(y) cos(m s / 2) <= |G(y + i s)| <= G(y),
    |N(y + i s)| = N(y) e^(s^2 / 2).

So |N G^w| <= max N e^(B^2 / 2) max G^(Re w) cos(m B / 2)^(min(0, Re w)) e^(|Im w| m B), maxima over
real parts in [b - A, b + A], where G grows.

Tails beyond the panels: G^w <= G(y_min)^(c+1) to the left and <= (q + (1 - q) e^-a(y_max))^(c+1)
e^((c+1) a) to the right for w = c + 1; (1 - q)^-c and G(y_max)^-c for w = -c.

Decay: the density of L at l(y) is h(y) = N G^(w + 1) e^-a / (m q), normalised; ln h has the slope
-y - m + (Re w + 1) m s(y), s rising from 0 to 1: at most two maxima, total variation at most
4 max h, and at most 5 max h over a half line.

Rounding: y is within 3 u |y| + u m of its exact place, ln of a mass within 2 u (y^2 + 60) besides.
a(y) is within A = 8 u (m |y| + m^2 + 1), which moves L by A dL/da, dL/da = 1 - (1 - q) / G <= 1.
For q <= 1/2, L = log1p(q expm1(a)) adds 8 u (|1 - 1/G| + |L|); else A itself and 8 u |L| cover
ln(1 - q + q e^a). The end of a half line is off by u m, its mass by less than 4 u (m + 1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.gauss_legendre import gauss_legendre
from smoothdp.exact.logspace import UNIT_ROUNDOFF
from smoothdp.exact.oscillation import Sums
from smoothdp.exact.subsampled import log_mass_at_zero
from smoothdp.privacy.composition.atoms_law import AtomsLaw
from smoothdp.privacy.composition.laws import LossLaw, Moments, TiltedSums

FloatArray = NDArray[np.float64]
View = Literal["mixture", "base", "symmetric"]
_NODES = 64
_HALF_LOG_2PI = 0.91893853320467274178
# e^-45 = 3e-20 of a tail is left out.
_TAIL = 45.0


@dataclass(frozen=True, eq=False)
class SubsampledGaussianLaw(LossLaw):
    """The loss of a Gaussian shift by mu, seen with probability ``rate`` in (0, 1)."""

    rate: Fraction
    mu: Fraction
    view: View
    _cache: dict[tuple[float, int], tuple[AtomsLaw, FloatArray, FloatArray]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def largest(self) -> float:
        if self.view == "base":
            # -ln G <= -ln(1 - q).
            return math.nextafter(-math.log1p(-float(self.rate)) * (1 + 1e-14), math.inf)
        return math.inf

    @property
    def largest_tilt(self) -> float:
        # So that the window takes no more than 4e4 points.
        units = 4e4 * 2 * self._half_width(0.0) / _NODES
        if self.view == "base":
            return max(1.0, (units * units / 8 - _TAIL) / -math.log1p(-float(self.rate)))
        return max(1.0, units / float(self.mu) - 20.0)

    # ---- the points -----------------------------------------------------------------

    def _window(self, tilt: float) -> tuple[float, float]:
        m, q = float(self.mu), float(self.rate)
        if self.view == "base":
            reach = math.sqrt(2 * (_TAIL - tilt * math.log1p(-q)))
            return -reach, reach
        low = m / 2 if self.view == "symmetric" else -math.sqrt(2 * _TAIL)
        reach = math.sqrt(2 * (_TAIL + 2))
        # Beyond a = ln((c + 1) / q) the mixture is all but the shifted normal.
        shifted = (tilt + 1) * m + reach
        wide = (tilt + 1) * m + math.sqrt(2 * _TAIL + m * m * tilt * (tilt + 1))
        return low, min(wide, max(shifted, (math.log((tilt + 2) / q) + m * m / 2) / m))

    def _half_width(self, last: float) -> float:
        m = float(self.mu)
        level = max(0, math.ceil(math.log2(max(last * m / 40, 2.0, 2.0 * m))))
        return 2.0**-level

    def _points(self, tilt: float, last: float) -> tuple[AtomsLaw, FloatArray, FloatArray]:
        """Return the atoms, their places y, and the middles of the panels."""
        half = self._half_width(last)
        key = (tilt, round(-math.log2(half)))
        found = self._cache.get(key)
        if found is not None:
            return found
        low, high = self._window(tilt)
        panels = np.arange(math.ceil((high - low) / (2 * half)), dtype=np.float64)
        middles: FloatArray = low + half * (2 * panels + 1)
        nodes, weights = gauss_legendre(_NODES)
        y: FloatArray = np.add.outer(middles, half * nodes).ravel()
        log_w = np.tile(np.log(weights * half), middles.size)
        log_n = -0.5 * y * y - _HALF_LOG_2PI + log_w
        ratio = self._log_ratio(y)
        if self.view == "mixture":
            law = AtomsLaw(log_n + ratio, ratio)
        elif self.view == "base":
            law = AtomsLaw(log_n, -ratio)
        else:
            middle = log_mass_at_zero(self.rate, self.mu).upper
            law = AtomsLaw(
                np.concatenate([log_n + ratio, log_n, [middle]]),
                np.concatenate([ratio, -ratio, [0.0]]),
            )
            y = np.concatenate([y, y, [0.0]])
        if len(self._cache) > 4:
            self._cache.clear()
        self._cache[key] = law, y, middles
        return law, y, middles

    def _log_ratio(self, y: FloatArray) -> FloatArray:
        """Return ln G(y)."""
        m, q = float(self.mu), float(self.rate)
        a = m * y - float(self.mu * self.mu / 2)
        large = a > 30.0
        near = np.minimum(a, 30.0)
        if q <= 0.5:
            below = np.log1p(q * np.expm1(near))
        else:
            below = np.log(float(1 - self.rate) + q * np.exp(near))
        above = a + np.log(q + float(1 - self.rate) * np.exp(-np.maximum(a, 30.0)))
        return np.where(large, above, below)

    # ---- its error ------------------------------------------------------------------

    def _error(self, tilt: float, last: float) -> tuple[float, float]:
        """Return (constant, slope): a bound of the error of psi at t <= last."""
        law, y, middles = self._points(tilt, last)
        weights, moments, _ = law._tilted(tilt)
        constant = self._quadrature_error(tilt, last, middles, moments.log_mgf)
        constant += self._tails(tilt, moments.log_mgf)
        m = float(self.mu)
        constant += 4 * UNIT_ROUNDOFF * (m + 1)
        size = np.abs(y) + m
        per_mass = 2 * UNIT_ROUNDOFF * (y * y + 60) + 4 * UNIT_ROUNDOFF * size * np.abs(y)
        per_loss = 8 * UNIT_ROUNDOFF * (m * size + 1)
        ratio = self._log_ratio(y)
        if self.rate <= Fraction(1, 2):
            inverse = np.exp(-ratio)
            per_loss *= np.maximum(0.0, 1 - float(1 - self.rate) * inverse) + np.abs(1 - inverse)
        per_loss += 8 * UNIT_ROUNDOFF * np.abs(ratio)
        mass, loss = float(np.sum(weights * per_mass)), float(np.sum(weights * per_loss))
        return constant + 1.01 * (mass + tilt * loss), 1.01 * loss

    def _quadrature_error(
        self, tilt: float, last: float, middles: FloatArray, log_mgf: float
    ) -> float:
        powers = {"mixture": [tilt + 1], "base": [-tilt], "symmetric": [tilt + 1, -tilt]}
        half, m = self._half_width(last), float(self.mu)
        best = np.full(middles.size, math.inf)
        for r in (1.5, 2.0, 2.5, 3.0, 4.0, 6.0):
            tall, wide = half * (r - 1 / r) / 2, half * (r + 1 / r) / 2
            if m * tall >= 3.1:
                continue
            nearest = np.maximum(0.0, np.abs(middles) - wide)
            total = np.zeros(middles.size)
            for power in powers[self.view]:
                edge = middles + wide if power > 0 else middles - wide
                size = power * self._log_ratio(edge) - 0.5 * nearest**2 - _HALF_LOG_2PI
                size += 0.5 * tall * tall + last * m * tall - log_mgf
                size += min(0.0, power) * math.log(math.cos(m * tall / 2))
                size += math.log(half * 64 / 15) - (2 * _NODES - 2) * math.log(r)
                total += np.exp(np.minimum(size, 700.0)) / (1 - r**-2)
            best = np.minimum(best, total)
        return 1.01 * float(np.sum(best))

    def _tails(self, tilt: float, log_mgf: float) -> float:
        """Return a bound of the integral beyond the panels, relative to E e^(cL)."""
        m, q = float(self.mu), float(self.rate)
        low, high = self._window(tilt)
        ends = self._log_ratio(np.array([low, high]))
        a_high = m * high - m * m / 2
        share = math.log(q + (1 - q) * math.exp(-min(a_high, 700.0)))
        shifted = (tilt + 1) * share + m * m * tilt * (tilt + 1) / 2
        mixture_right = shifted + _log_tail(high - (tilt + 1) * m)
        base_right = -tilt * float(ends[1]) + _log_tail(high)
        parts = {
            "mixture": [(tilt + 1) * float(ends[0]) + _log_tail(-low), mixture_right],
            "base": [-tilt * math.log1p(-q) + _log_tail(-low), base_right],
            "symmetric": [mixture_right, base_right],
        }[self.view]
        return 1.01 * math.fsum(math.exp(min(part - log_mgf, 700.0)) for part in parts)

    # ---- what a law offers ------------------------------------------------------------

    def moments(self, tilt: float) -> Moments:
        law, _, _ = self._points(tilt, 0.0)
        found = law.moments(tilt)
        constant, _ = self._error(tilt, 0.0)
        return found._replace(error=found.error + 1.1 * constant)

    def transform(self, tilt: float, *, step: float, count: int, budget: float) -> TiltedSums:
        last = step * count
        law, _, _ = self._points(tilt, last)
        sums, centre = law.transform(tilt, step=step, count=count, budget=budget)
        constant, slope = self._error(tilt, last)
        # Of the transform, and of what it is divided by.
        return TiltedSums(
            Sums(sums.values, sums.constant + 2.1 * constant, sums.slope + 1.1 * slope), centre
        )

    def cost(self, tilt: float, *, last: float, budget: float) -> int:
        del budget
        low, high = self._window(tilt)
        panels = (high - low) / (2 * self._half_width(last))
        return math.ceil(panels * _NODES) * (2 if self.view == "symmetric" else 1)

    def decay(self, tilt: float) -> tuple[float, float]:
        m, q = float(self.mu), float(self.rate)
        law, _, _ = self._points(tilt, 0.0)
        log_mgf = law.moments(tilt).log_mgf
        share = 0.0
        if self.view == "symmetric":
            share = math.exp(log_mass_at_zero(self.rate, self.mu).upper - log_mgf) * 1.001
        powers = {"mixture": [tilt + 1], "base": [-tilt], "symmetric": [tilt + 1, -tilt]}
        factor = 5.0 if self.view == "symmetric" else 4.0
        variation = 0.0
        for power in powers[self.view]:
            # Outside, ln h rises to the left of the window and falls to the right of it.
            reach = abs(power + 1) * m + m + 10.0
            low = m / 2 if self.view == "symmetric" else -reach
            grid = np.linspace(low, max(reach, low + 1.0), 4001)
            gap = float(grid[1] - grid[0])
            log_h = (power + 1) * self._log_ratio(grid) - m * grid + m * m / 2
            log_h += -0.5 * grid * grid - _HALF_LOG_2PI - math.log(m * q) - log_mgf
            steepest = float(np.abs(grid).max()) + m + abs(power + 1) * m
            log_variation = float(log_h.max()) + 0.5 * gap * steepest + 1e-9
            # Beyond floats the bound says nothing, and the plan is for another route.
            variation += factor * math.exp(log_variation) if log_variation < 700 else math.inf
        return share, variation


def _log_tail(x: float) -> float:
    """Return a float not below ln P(N(0, 1) > x)."""
    return -0.5 * x * x - math.log(2) + 1e-9 if x > 0 else 0.0
