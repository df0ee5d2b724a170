"""The tilted inversion integral: delta of a composition as one short sum.

For every c > 0, with S the sum of the losses under P and K(z) = ln E[e^(zS); S finite],

    delta(e) = E[(1 - e^(e - S))_+; S finite] = (1/2 pi) int e^(K(z) - z e) / (z (z + 1)) dt,

z = c + i t. The trapezoid rule of step h = 2 pi / B gives exactly (Poisson summation)

    sum over m of e^(cmB) delta(e + mB) = delta(e) + aliases,     every alias >= 0.

So the sum is an upper bound as it stands; the aliases are bounded for the lower one
(proofs/tilted-contour#1, #2, #3).

Parts of the bound, relative to e^(K(c) - c e): truncation is proved (proofs/tilted-contour#5),
the constants of rounding are checked, not proved (#6).

truncation at T: with |psi_j(t)| <= b_j for all t >= T, and G the variance of the normal part
    (and of the smoothing), the rest of the sum is at most
    (1/pi) int_T^inf e^(-G t^2 / 2) prod b_j^k_j / t^2 dt
    <= prod (...) e^(-G T^2 / 2) min(1 / T, 1 / (G T^3)) / pi,
    as terms fall and |z (z + 1)| >= t^2.
rounding of a node: |psi_j| <= 1, so prod psi_j^k_j is off by at most sum k_j e_j, and by at
    most the relative sum k_j e_j / |psi_j| where this is small; e_j = the error of one factor
    (constant + slope t) + 3 u for its part in the products. The angle t (e - M), M the sum of
    the centres, is off by t times the error of e - M.
rounding of K(c) - c e + ln value: that of K, u (|K| + 3 |c e| + 4 |K - c e|), and 4 LIBM_ERROR
    (1 + |ln value|).

Laws that are atoms never decay: their delta(epsilon) is smoothed by a convex kernel first.

D(E) = delta(ln E) is convex (proofs/tilted-contour#4). With u normal of variance s^2:

upper: E_u[D(E e^u)] with E[e^u] = 1 is at least D(E) (Jensen), and multiplies the transform by
    e^(s^2 (z + z^2) / 2): it is the composition with one more Gaussian mechanism of mu = s.
lower: D(E) >= D(y) + D'(y)(E - y); averaged over y = E e^u, u of mean 0, it multiplies by
    (1 + z) G(z) - z G(z + 1) = G(z) [1 - z (e^(s^2 (z + 1/2)) - 1)], G(z) = e^(s^2 z^2 / 2).

Both are off by second order in s, and by less than any power where delta is linear in E
around epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from smoothdp.composition.laws.law import Excess
from smoothdp.composition.laws.oscillation import TRIG_ERROR, short_step, unit_circle
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.moved import Moved, Taken
from smoothdp.composition.routes.screen import Screen, left_out
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.types import ComplexArray, FloatArray


def kernel_error(tilt: float, t: FloatArray, spread: float) -> FloatArray:
    """Return a bound of the rounding of both kernels.

    Angles and exponents are at most s^2 (c + t + 1)^2 / 2 and carry four roundings; each
    cosine and sine is within 2^-50. The kernels are at most (1 + s^2 (c + t + 1)^2 e^a)
    times e^(s^2 ((c + 1)^2 - t^2) / 2), a = s^2 (c + 1/2): under 64 u of that in all, per
    unit of 1 + s^2 (c + t + 1)^2.
    """
    v = spread * spread
    reach = v * (tilt + t + 1) ** 2
    size = np.exp(0.5 * v * ((tilt + 1) ** 2 - t * t))
    return 2.0**-47 * (1 + reach) * (1 + reach * math.exp(v * (tilt + 0.5))) * size


def upper_kernel(tilt: float, t: FloatArray, spread: float) -> ComplexArray:
    """Return e^(s^2 (z + z^2) / 2) at z = c + i t."""
    v = spread * spread
    size = np.exp(0.5 * v * (tilt * (tilt + 1) - t * t))
    return size * unit_circle(v * t * (tilt + 0.5))


def lower_kernel(tilt: float, t: FloatArray, spread: float) -> ComplexArray:
    """Return (1 + z) G(z) - z G(z + 1) at z = c + i t."""
    v = spread * spread
    z = tilt + 1j * t
    size = np.exp(0.5 * v * (tilt * tilt - t * t))
    a, b = v * (tilt + 0.5), v * t
    half = np.sin(0.5 * b)
    # e^(a + ib) - 1 without cancellation.
    excess = (math.expm1(a) * np.cos(b) - 2 * half * half) + 1j * (math.exp(a) * np.sin(b))
    return np.asarray(size * unit_circle(v * t * tilt) * (1 - z * excess))


_NEGLIGIBLE = 1e-290

Progress = Callable[[int, int], None]
"""Called with (laws done, laws in all)."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Where to sum: tilt c, period B, last node T, standard deviation of the smoothing, and what
    leaves out nodes, if anything does."""

    tilt: float
    period: float
    last: float
    spread: float
    screen: Screen | None = None

    @property
    def step(self) -> float:
        """The distance of nodes: a short float, not above 2 pi / B."""
        return short_step(2 * math.pi / self.period)

    @property
    def count(self) -> int:
        """The number of nodes, 0 included."""
        return math.ceil(self.last / self.step) + 1


class Nearby(NamedTuple):
    """Bounds of ln delta, its slope and the second derivative: estimates."""

    bounds: LogBounds
    slope: float
    bend: float


class Contour:
    """The nodes of one plan; they do not depend on epsilon and serve all close by."""

    def __init__(
        self, product: Product, plan: Plan, *, budget: float, progress: Progress | None = None
    ) -> None:
        self.plan, self.product = plan, product
        moments = product.moments(plan.tilt)
        self.log_mgf, self.log_error = moments.log_mgf, moments.error
        kept = None if plan.screen is None else plan.screen.kept(step=plan.step, count=plan.count)
        numbers = np.arange(plan.count) if kept is None else kept
        t = plan.step * numbers.astype(np.float64)
        # Nodes that are not all of the first ones are asked for one by one.
        self.scattered = kept is not None and kept.size < plan.count
        values, error, self.centre, self.centre_error = self._nodes(t, budget, progress)
        z = plan.tilt + 1j * t
        weight = (plan.step / math.pi) / (z * (z + 1))
        weight[0] *= 0.5
        size = np.abs(weight)
        # The weight has a complex product and a division, the term two more products: 24 u.
        error = error + 24 * UNIT_ROUNDOFF * np.abs(values)
        self.t = t
        self.sides: list[tuple[ComplexArray, float, float]] = []
        if not plan.spread:
            self._add_side(values * weight, error * size)
        else:
            off = kernel_error(plan.tilt, t, plan.spread)
            for kernel in (upper_kernel, lower_kernel):
                factor = kernel(plan.tilt, t, plan.spread)
                bound = error * np.abs(factor) + np.abs(values) * off
                self._add_side(values * weight * factor, bound * size)
        last = plan.step * (plan.count - 1)
        self.truncation = truncation(product, plan.tilt, last, plan.spread)
        if self.scattered:
            gaps = np.flatnonzero(np.diff(numbers) > 1)
            first = plan.step * float(numbers[gaps[0] if gaps.size else -1] + 1)
            self.truncation += left_out(
                plan.tilt, plan.spread, step=plan.step, first=first, last=last
            )

    def _add_side(self, terms: ComplexArray, error: FloatArray) -> None:
        """Keep the terms of a sum with a bound of its rounding and its lever on angles."""
        absolute = np.abs(terms)
        rounding = float(np.sum(error))
        rounding += (3 * TRIG_ERROR + (math.log2(terms.size) + 30) * UNIT_ROUNDOFF) * float(
            np.sum(absolute)
        )
        self.sides.append((terms, rounding * 1.001, float(np.sum(absolute * self.t)) * 1.001))

    def _nodes(
        self, t: FloatArray, budget: float, progress: Progress | None
    ) -> tuple[ComplexArray, FloatArray, float, float]:
        """Return prod psi_j^k_j, its error, and the sum of the centres with its error."""
        plan, product = self.plan, self.product
        low, high = product.variance_bounds
        centres = [high * (plan.tilt + 0.5)]
        size = np.exp(-0.5 * low * t * t)
        values = size.astype(np.complex128)
        # The exponent has three roundings; a variance off by 1 ulp moves e^-x by x u e^-x < u.
        absolute = 8 * UNIT_ROUNDOFF + LIBM_ERROR + np.zeros(t.size)
        relative = LIBM_ERROR + 8 * UNIT_ROUNDOFF * (1 + 0.5 * high * t * t)
        share = budget / max(1, sum(count for _, count in product.parts))
        taken = Taken(plan.tilt, t) if isinstance(product, Moved) else None
        for done, (law, count) in enumerate(product.parts):
            if progress is not None:
                progress(done, len(product.parts))
            if self.scattered:
                sums = law.transform_at(plan.tilt, t)
            else:
                sums = law.transform(plan.tilt, step=plan.step, count=t.size, budget=share)
            centres.append(count * sums.centre)
            error = sums.error + 3 * UNIT_ROUNDOFF
            with np.errstate(under="ignore", divide="ignore", over="ignore"):
                if sums.excess is not None and _is_close(sums.excess):
                    power, slip = _raised(sums.excess, count)
                    absolute += slip
                    relative += slip
                    values *= power
                else:
                    absolute += count * error
                    relative += count * error / np.abs(sums.values)
                    values *= _power(sums.values, count)
            if taken is not None:
                taken.multiply(law, count, sums)
        total = math.fsum(centres)
        centre_error = 3 * UNIT_ROUNDOFF * math.fsum(abs(value) for value in centres)
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            # Terms of second order: (1 + x)^k - 1 <= 1.06 k x for k x below 0.1.
            close = np.where(relative < 0.1, 1.06 * relative * np.abs(values), math.inf)
            whole = np.where(absolute < 0.1, 1.06 * absolute, 2.0)
        error = np.fmin(close, whole) + _NEGLIGIBLE
        if taken is not None:
            values = values - taken.none - taken.one
            error = error + np.where(taken.error < 0.1, 1.07 * taken.error, 4.0)
        return values, error, total, centre_error

    def nearby(self, epsilon: float) -> Nearby:
        """Return the bounds before aliases, and about how ln delta goes on from there."""
        turn = self._turn(epsilon)
        value, first, second = ((self.sides[0][0] * turn) @ self._factors).real.tolist()
        if not value > 0:
            return Nearby(LogBounds(-math.inf, 0.0), 0.0, 0.0)
        slope = first / value
        return Nearby(self._log_bounds(epsilon, turn), slope, second / value - slope * slope)

    def _turn(self, epsilon: float) -> ComplexArray:
        return unit_circle(-self.t * (epsilon - self.centre))

    @cached_property
    def _factors(self) -> ComplexArray:
        """Columns 1, -z and z^2: what derivatives in epsilon multiply the terms by."""
        z = self.plan.tilt + 1j * self.t
        return np.stack([np.ones(z.size), -z, z * z], axis=1)

    def log_bounds(self, epsilon: float) -> LogBounds:
        """Bound ln delta(epsilon) of the finite losses; the lower one before aliases."""
        return self._log_bounds(epsilon, self._turn(epsilon))

    def _log_bounds(self, epsilon: float, turn: ComplexArray) -> LogBounds:
        exponent = self.log_mgf - self.plan.tilt * epsilon
        slip = self.log_error + UNIT_ROUNDOFF * (
            abs(self.log_mgf) + 3 * abs(self.plan.tilt * epsilon) + 4 * abs(exponent)
        )
        distance = epsilon - self.centre
        angle_error = self.centre_error + UNIT_ROUNDOFF * (abs(epsilon) + 2 * abs(distance))
        found = []
        for terms, rounding, lever in self.sides:
            value = float(np.sum((terms * turn).real))
            slack = rounding + lever * (angle_error + UNIT_ROUNDOFF * abs(distance))
            found.append((value, slack + self.truncation))
        upper = found[0][0] + found[0][1]
        lower = found[-1][0] - found[-1][1]
        return LogBounds(
            exponent + math.log(lower) - slip - 4 * LIBM_ERROR * (1 + abs(math.log(lower)))
            if lower > 0
            else -math.inf,
            exponent + math.log(upper) + slip + 4 * LIBM_ERROR * (1 + abs(math.log(upper)))
            if upper > 0
            else -math.inf,
        )


def truncation(product: Product, tilt: float, last: float, spread: float) -> float:
    """Return a bound of the terms beyond ``last``, relative to e^(K(c) - c e)."""
    if last <= 0:
        return math.inf
    log_size = product.log_decay(tilt, last)
    if log_size == -math.inf:
        return 0.0
    v = spread * spread
    variance = product.variance_bounds[0] + v
    log_size -= 0.5 * variance * last * last
    log_size += 0.5 * v * (tilt + 1) ** 2
    if spread:
        # Both kernels are at most 2 (1 + c + t) e^(s^2 ((c + 1)^2 - t^2) / 2), and
        # (1 + c + t) / t^2 falls.
        area = 2 * (1 + tilt + last) / (variance * last**3)
    else:
        area = min(1 / last, 1 / (variance * last**3)) if variance else 1 / last
    size = math.exp(min(700.0, log_size)) * area / math.pi
    return size * 1.0001 + _NEGLIGIBLE


def _is_close(excess: Excess) -> bool:
    return float(np.abs(excess.values).max()) <= 0.5 and float(excess.error.max()) <= 0.01


def _raised(excess: Excess, count: int) -> tuple[ComplexArray, FloatArray]:
    """Return (1 + z)^count = e^(count ln(1 + z)), and its relative error.

    ln(1 + z) is off by at most e / (1 - |z| - e), and by 32 u |z| for its rounding; the
    exponential by LIBM_ERROR, two trigonometric functions, and 2 u for each unit of the exponent
    and the angle.
    """
    z = excess.values
    size = np.abs(z)
    log_size = 0.5 * np.log1p(2 * z.real + (z.real * z.real + z.imag * z.imag))
    angle = np.arctan2(z.imag, 1 + z.real)
    off = excess.error / (0.99 - size) + 32 * UNIT_ROUNDOFF * size
    whole = count * (np.abs(log_size) + np.abs(angle))
    slip = 1.01 * (count * off + LIBM_ERROR + 3 * TRIG_ERROR + 3 * UNIT_ROUNDOFF * whole)
    return np.exp(count * log_size) * unit_circle(count * angle), slip


def _power(values: ComplexArray, count: int) -> ComplexArray:
    """Return values^count by repeated squaring: relative error below 2.3 u (count - 1)."""
    result = None
    square = values
    while True:
        if count & 1:
            result = square if result is None else result * square
        count >>= 1
        if not count:
            return values if result is None else result
        square = square * square
