"""The likelihood ratio of a mixture of normal laws along lines Im y = s, with its errors.

R(y) = p_0 + sum p_i e^(a_i(y)), a_i(y) = m_i y - m_i^2 / 2, over the shifts m_i > 0. What is left
out beyond the ends of a line: proofs/mixtures-of-gaussians#5.

Rounding, u = 2^-53. a_i is within A_i = 8 u (m_i (|y| + s + m_i) + 1) of its value, which moves
ln R by the mean of the A_i with the weights w_i = p_i |e^(a_i)| / |R|. Where R >= 1 / 2 and no
exponent is large, ln R = ln(1 + U) with U = sum p_i expm1(a_i), within (K + 12) u V of its value,
V the sum of p_i |expm1(a_i)|, on the real line; off it each term is
expm1(a) cos b - 2 sin^2(b/2) + i e^a sin b, and V has 2 |sin(b/2)| + e^a besides. ln(1 + U) by
log1p and arctan2 is then within (K + 64) u V / |R| + 16 u |ln R|. Elsewhere R is e^top times a sum
of terms of at most 1, each within 4 u (|ln p_i| + |a_i|) + 20 u of its value
(proofs/mixtures-of-gaussians#7).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.training_runs.gaussian_step.mixture_step import Shifts, near_root
from smoothdp.training_runs.gaussian_step.path_panels import Branch
from smoothdp.training_runs.gaussian_step.ratio import Ratio, log_tail
from smoothdp.types import FloatArray

# ln of what R may be for it to be formed as 1 + U, and the largest exponent.
_TOP, _LEAST = 30.0, -0.69
_EXPONENT = 600.0
# e^-45 = 3e-20 of a tail is left out, on lines of this height, too.
_TAIL = 45.0
_HIGHEST = 9.0
# Where the ends of the line are looked for.
_N_PLACES = 400
# Probabilities below floats, times the largest power.
_LOST = 1e-35


class _Terms(NamedTuple):
    """a_i and ln p_i + a_i, the largest of these and of ln p_0, and ln R on the real line."""

    a: FloatArray
    logs: FloatArray
    top: FloatArray
    real: FloatArray


@dataclass(frozen=True, eq=False)
class ManyShifts(Ratio):
    """ln R of a mixture of N(m_i, 1) against N(0, 1), and tails of N R^w."""

    shifts: Shifts

    @cached_property
    def m(self) -> float:
        """The largest shift, as a float."""
        return float(self.shifts.sizes[-1])

    @cached_property
    def _moving(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """m_i, p_i, ln p_i and m_i^2 / 2 of the shifts above 0."""
        pairs = self.shifts.moving
        return (
            np.array([float(m) for m, _ in pairs]),
            np.array([float(p) for _, p in pairs]),
            np.array([log_bounds(p).lower for _, p in pairs]),
            np.array([float(m * m / 2) for m, _ in pairs]),
        )

    @cached_property
    def log_still(self) -> float:
        """ln p_0, -inf if there is no shift of 0."""
        still = self.shifts.still
        return log_bounds(still).lower if still else -math.inf

    def _terms(self, y: FloatArray) -> _Terms:
        m, _, log_p, offset = self._moving
        a = np.multiply.outer(m, y) - _deep(offset, y)
        logs = a + _deep(log_p, y)
        top = np.maximum(logs.max(axis=0), self.log_still)
        real = top + np.log(np.exp(logs - top).sum(axis=0) + np.exp(self.log_still - top))
        return _Terms(a, logs, top, real)

    @staticmethod
    def _near(terms: _Terms) -> FloatArray:
        """Return where R is formed as 1 + U."""
        near = (terms.a.max(axis=0) <= _EXPONENT) & (terms.real <= _TOP) & (terms.real >= _LEAST)
        return np.asarray(near)

    def log_ratio(self, y: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ln |R| and arg R at y + i s, |m s| <= pi / 2."""
        if not np.any(s):
            return self.log_real_ratio(y), np.zeros_like(y)
        m, p, _, _ = self._moving
        terms = self._terms(y)
        near = self._near(terms)
        b = np.multiply.outer(m, s)
        if near.all():
            return self._near_ratio(terms, p, b)
        weights = np.exp(terms.logs - terms.top)
        still = np.exp(self.log_still - terms.top)
        along = (weights * np.cos(b)).sum(axis=0) + still
        across = (weights * np.sin(b)).sum(axis=0)
        log_size = terms.top + 0.5 * np.log(along * along + across * across)
        angle = np.arctan2(across, along)
        if not near.any():
            return log_size, angle
        close, turn = self._near_ratio(terms, p, b)
        return np.where(near, close, log_size), np.where(near, turn, angle)

    @staticmethod
    def _near_ratio(terms: _Terms, p: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ln |R| and arg R where R is formed as 1 + U: |R|^2 is above 1 / 8 there."""
        excess, half = np.expm1(np.minimum(terms.a, _EXPONENT)), np.sin(0.5 * b)
        with np.errstate(over="ignore", invalid="ignore"):
            # e^a cos b - 1 = expm1(a) cos b - 2 sin^2(b / 2).
            x = np.tensordot(p, excess * np.cos(b) - 2 * half * half, axes=1)
            z = np.tensordot(p, (1 + excess) * np.sin(b), axes=1)
            size = x * (2 + x) + z * z
            return 0.5 * np.log1p(np.maximum(size, -0.9)), np.arctan2(z, 1 + x)

    def log_real_ratio(self, y: FloatArray) -> FloatArray:
        """Return ln R at real y, within `loss_error`."""
        _, p, _, _ = self._moving
        terms = self._terms(y)
        near = self._near(terms)
        if not near.any():
            return terms.real
        excess = np.tensordot(p, np.expm1(np.minimum(terms.a, _EXPONENT)), axes=1)
        return np.where(near, np.log1p(np.where(near, excess, 0.0)), terms.real)

    def loss_error(self, y: FloatArray, s: FloatArray, log_size: FloatArray) -> FloatArray:
        """Return a bound of the error of ln R."""
        m, p, log_p, _ = self._moving
        terms = self._terms(y)
        near = self._near(terms)
        off_line = bool(np.any(s))
        weights = np.exp(np.minimum(terms.logs - log_size, 1.0))
        reach = np.abs(y) + np.abs(s)
        position = 8 * ((reach + _deep(m, y)) * _deep(m, y) + 1)
        moved = (weights * position).sum(axis=0)
        angle = m[-1] * np.abs(s)
        of_log = (16 if off_line else 9) * (np.abs(log_size) + angle)
        # R as 1 + U.
        level = np.exp(-np.where(near, log_size, 0.0))
        a = np.minimum(terms.a, _EXPONENT)
        value = np.abs(np.expm1(a))
        if off_line:
            value += 2 * np.abs(np.sin(0.5 * np.multiply.outer(m, s))) + np.exp(a)
        value = np.tensordot(p, value, axes=1)
        near_error = (m.size + (64 if off_line else 12)) * np.where(near, value, 0.0) * level
        # R as a sum of positive terms, or of terms within a right angle.
        spread = (weights * (np.abs(terms.a) + _deep(np.abs(log_p), y))).sum(axis=0)
        if self.log_still > -math.inf:
            spread += abs(self.log_still)
        far_error = 6 * spread + 2 * (m.size + 40)
        found = moved + of_log + np.where(near, near_error, far_error)
        return np.asarray(1.01 * UNIT_ROUNDOFF * found + _LOST)

    def place(self, loss: float) -> float:
        """Return about where ln R is a loss above 0."""
        return near_root(self.shifts, math.log(math.expm1(loss) + float(1 - self.shifts.still)))

    def log_mass_above(self, cut: float) -> float:
        """Return a float not below ln P(y > cut), y under the mixture."""
        logs = [
            log_bounds(p).upper + log_tail(cut - float(m))
            for m, p in zip(*self.shifts, strict=True)
        ]
        top = max(logs)
        return top + math.log(math.fsum(math.exp(log - top) for log in logs)) + 1e-9

    # ---- beyond the ends ----------------------------------------------------------------

    def log_left(self, power: float, low: float, log_ratio: float) -> float:
        """Return ln of a bound of the integral of |N R^w| below a point, where ln R is given.

        For power < 0 the point is at most power times the smallest shift.
        """
        if power > 0:
            return log_tail(-low) + power * log_ratio
        first, log_p = float(self.shifts.sizes[0]), log_bounds(self.shifts.probabilities[0]).lower
        found = power * (log_p - (1 - power) * first * first / 2)
        return found + 1e-14 * abs(found) + log_tail(power * first - low)

    def log_right(self, power: float, high: float, log_ratio: float) -> float:
        """Return ln of a bound of the integral of |N R^w| above a point, where ln |R| is given.

        For power > 0 the point is at least power times the largest shift.
        """
        if power < 0:
            return power * log_ratio + log_tail(high)
        m, ends = self.m, np.array([high])
        # R = e^(a_K) times what falls.
        share = float(self._terms(ends).real[0]) - (m * high - m * m / 2)
        share += 1e-14 * (m * abs(high) + m * m + 40)
        found = power * share + m * m * power * (power - 1) / 2
        return found + 1e-14 * abs(found) + log_tail(high - power * m)

    def window(self, power: float) -> Branch:
        """Return an interval beyond which little of N R^power is left: an estimate."""
        sizes = [float(m) for m in self.shifts.sizes]
        log_p = [log_bounds(p).lower for p in self.shifts.probabilities]
        room = _TAIL + 0.5 * min(_HIGHEST, 0.5 * math.pi / self.m) ** 2
        if power > 0:
            # Of the transform: it is at least 1, and that of each part alone.
            grown = power * (power - 1) / 2
            parts = zip(sizes, log_p, strict=True)
            about = max(0.0, *(power * log + m * m * grown for m, log in parts))
            right = np.linspace(0, math.sqrt(2 * (room + self.m**2 * grown)), _N_PLACES)
            right += power * self.m
            high = _first(right, lambda at: self.log_right(power, right[at], 0.0) - about + room)
            return Branch(power, -math.sqrt(2 * room), high, False, False)
        # R is at least p_1 e^(m_1 y - m_1^2 / 2), and rises.
        middle, grown = power * sizes[0], power * (power - 1) * sizes[0] ** 2 / 2
        wide = math.sqrt(2 * (room + power * log_p[0] + grown))
        left, right = np.linspace(middle, middle - wide, _N_PLACES), np.linspace(0, wide, _N_PLACES)
        y = np.concatenate([left, right])
        logs = self.log_real_ratio(y)
        about = max(0.0, float((power * logs - 0.5 * y * y).max()) - 3.0)
        onward = logs[left.size :]
        low = _first(left, lambda at: self.log_left(power, left[at], 0.0) - about + room)
        high = _first(right, lambda at: self.log_right(power, right[at], onward[at]) - about + room)
        return Branch(power, low, high, False, False)


def _first(places: FloatArray, log_tail: Callable[[int], float]) -> float:
    """Return the first place with little beyond it, else the last: what is left falls."""
    found = bisect_left(range(places.size), 1, key=lambda at: log_tail(at) < 0)
    return float(places[min(found, places.size - 1)])


def _deep(values: FloatArray, like: FloatArray) -> FloatArray:
    """Return values of the shifts, for arrays of points."""
    return values.reshape(values.shape + (1,) * np.ndim(like))
