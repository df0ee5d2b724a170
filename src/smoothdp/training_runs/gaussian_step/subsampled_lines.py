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

The quadrature is that of `Ratio`.

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

from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.training_runs.gaussian_step.ratio import HALF_LOG_2PI, Ratio, log_tail
from smoothdp.types import FloatArray


@dataclass(frozen=True)
class Mixture(Ratio):
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

    def farthest(self, power: float) -> float:
        """Return the largest m s of a box in which the bounds of the integrand hold."""
        return 3.1 if power > 0 else math.pi / 2

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
        logs = 0.5 * s[1:] * s[1:] - 0.125 * self.m * self.m - HALF_LOG_2PI - log_mgf
        return 1.0001 * float(np.exp(np.minimum(logs, 700.0)) * (apart + turned) @ np.diff(s))


@lru_cache(maxsize=1)
def _fine_cells() -> FloatArray:
    """Return the edges of cells of [0, 1], the first of 2e-13."""
    return np.concatenate([[0.0], 1.05 ** np.arange(-600.0, 1.0)])
