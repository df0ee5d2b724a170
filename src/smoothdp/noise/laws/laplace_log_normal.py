"""The Laplace log-normal law."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.log_normal import log_transform_ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.balls.work import spend_once
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw, standard_normal
from smoothdp.noise.abstract_law import Growth, rational_above
from smoothdp.noise.calibration.paper import is_pure, log_normal_statement
from smoothdp.noise.laws.floats import scipy_special
from smoothdp.noise.laws.sigma_law import LogNormalFactor
from smoothdp.noise.shift_claim import ShiftClaim
from smoothdp.noise.specification import ParameterSpec
from smoothdp.sources import Source
from smoothdp.types import FloatArray

_TABLE_STEP = 0.04
# In the units of `smoothdp.exact.balls.work`.
_PER_TABLE = 50_000
_DIGITS = 40.0
_CHUNK = 256
# expm1(x) - x by its series below this.
_SERIES_BELOW = 0.5


@dataclass(frozen=True, init=False, repr=False)
class LaplaceLogNormal(LogNormalFactor):
    """Z = X e^(sigma Y), X standard Laplace, Y standard normal.

    With G(z) = E exp(-z e^(sigma Y)): P(Z > x) = G(x) / 2, density
    e^(sigma^2 / 2) G(|x| e^(sigma^2)) / 2, variance 2 e^(2 sigma^2). zCDP under smooth
    sensitivity.

    Args:
        sigma: shape > 0; near 0 the law is near the standard Laplace one.

    Raises:
        InvalidParameter: sigma outside this domain. OutOfReach: beyond what is computed,
            see ``parameters``.

    >>> round(LaplaceLogNormal("0.5").density(0.1), 12)
    0.491266906838
    """

    _ball_work: ClassVar[int] = 28
    source: ClassVar[Source] = Source("bun-steinke-averages", "Definition 17")
    parameters: ClassVar[tuple[ParameterSpec, ...]] = (
        ParameterSpec(
            "sigma",
            "shape",
            above=0,
            reach=("1e-3", "8"),
            typical=("0.5", "0.25", "1.2", "2.5"),
        ),
    )
    printed_shapes: ClassVar[tuple[float, float] | None] = (0.01, 4.0)

    def _log_density(self, a: FloatArray) -> FloatArray:
        square = self.sigma**2
        return square / 2 - math.log(2) + log_transform(np.log(a) + square, self.sigma)

    def _log_survival(self, a: FloatArray) -> FloatArray:
        return log_transform(np.log(a), self.sigma) - math.log(2)

    def _central_mass(self, a: FloatArray) -> FloatArray:
        return transform_deficit(np.log(a), self.sigma) / 2

    def _moment(self, k: int) -> float:
        return special.nearest(
            lambda: ball(self.exact_sigma**2 * k * k / 2).exp() * special.number(k + 1.0).gamma()
        )

    def lazy(self) -> LazyLaw:
        return LazyLaw(3, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        # (proofs/the-released-number#4)
        sigma = ball(self.exact_sigma)

        def draw(positive: bool, u: Ball, v: Ball, w: Ball) -> Ball:
            size = w.log() * (sigma * standard_normal(u, v)).exp()
            return -size if positive else size

        return draw

    def _ball_log_density(self, v: Ball) -> Ball:
        square = self._shape() ** 2
        log_half = special.number(2.0).log()
        return square / 2 - log_half + log_transform_ball(v + square, self.exact_sigma)

    def _ball_log_peak(self) -> Ball:
        return self._shape() ** 2 / 2 - special.number(2.0).log()

    def _real_elasticity(self, v: Ball) -> Ball:
        # f'(x) = -e^(3 sigma^2 / 2) f-like: G'(z) = -e^(sigma^2 / 2) G(z e^(sigma^2)).
        square = self._shape() ** 2
        ratio = log_transform_ball(v + 2 * square, self.exact_sigma)
        return (v + 3 * square / 2 + ratio - log_transform_ball(v + square, self.exact_sigma)).exp()

    def _ball_survival(self, x: Ball) -> Ball:
        return log_transform_ball(x.log(), self.exact_sigma).exp() / 2

    def _growth(self) -> Growth:
        sigma = self.exact_sigma
        return Growth(rational_above(laplace_log_normal_score(sigma)), sigma=sigma)

    def _fast_log_density(self, x: FloatArray) -> FloatArray:
        spend_once((self, "table"), _PER_TABLE)
        return _tabulated(self)(x)

    @classmethod
    def _shipped_targets(cls) -> Iterable[tuple[Guarantee, Fraction]]:
        return ((ZCDP(Fraction(1, 2)), Fraction(1, 10)),)

    def _printed_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        sigma = self.exact_sigma
        statement = log_normal_statement(
            self,
            sigma,
            guarantee,
            smoothing,
            lambda: laplace_log_normal_score(sigma),
            "Lemma 20" if is_pure(guarantee) else "Theorem 18",
        )
        return statement.shift(self, smoothing)


def laplace_log_normal_score(sigma: Fraction) -> Ball:
    """Return e^(3 sigma^2 / 2), approached at 0 (paper 2, Lemma 20).

    The law is a mixture of Laplace laws, so that -f'/f falls from there
    (proofs/dilated-divergences#8).
    """
    return ball(3 * sigma**2 / 2).exp()


@lru_cache(maxsize=64)
def _tabulated(law: LaplaceLogNormal) -> Callable[[FloatArray], FloatArray]:
    """Return ln f from a table, because it is slow to compute."""
    from scipy.interpolate import CubicSpline

    end = 12.0 + 14 * law.sigma + law.sigma**2
    # Beyond it ln f is nearly quadratic in v = ln x.
    v = np.concatenate([np.arange(-40.0, end, _TABLE_STEP), np.arange(end, 709.0, 1.0)])
    spline = CubicSpline(v, law.log_density(np.exp(v)))

    def log_density(x: FloatArray) -> FloatArray:
        return np.asarray(spline(np.clip(np.log(x), v[0], v[-1])), dtype=np.float64)

    return log_density


def log_transform(log_z: FloatArray, sigma: float) -> FloatArray:
    """Return ln E exp(-e^log_z e^(sigma Y)), Y standard normal, in floats.

    The integrand is centred at its saddle point and summed by the trapezoidal rule, whose error
    falls exponentially: positive terms, no cancellation, any z.

    With omega + ln omega = log_z + 2 ln sigma and k = omega / sigma^2, shifting the integral
    to Y = u - omega / sigma gives
    exp(-omega^2 / (2 sigma^2) - k) E exp(-k (e^(sigma u) - 1 - sigma u)), u standard normal.
    """
    flat = log_z.ravel()
    result = np.where(np.isnan(flat), math.nan, np.where(flat > 0, -math.inf, 0.0))
    finite = np.flatnonzero(np.isfinite(flat))
    for start in range(0, finite.size, _CHUNK):
        chosen = finite[start : start + _CHUNK]
        result[chosen] = _chunk(flat[chosen], sigma)
    return result.reshape(log_z.shape)


def _chunk(log_z: FloatArray, sigma: float) -> FloatArray:
    target = np.maximum(log_z + 2 * math.log(sigma), -700.0)
    omega = np.asarray(scipy_special().wrightomega(target))
    # One step of Newton's method: what is below takes the equation for exact.
    omega = omega + (target - omega - np.log(omega)) * omega / (1 + omega)
    k = omega / sigma**2
    step = _step(k, sigma)
    left, right = _reach(k, sigma, -1.0) / step, _reach(k, sigma, 1.0) / step
    j = np.arange(-math.ceil(left.max()), math.ceil(right.max()) + 1)
    u = step[:, None] * j
    terms = np.exp(-u * u / 2 - k[:, None] * _exponential_remainder(sigma * u))
    log_mean = np.log(terms.sum(axis=1) * (step / math.sqrt(2 * math.pi)))
    return np.asarray(log_mean - omega * omega / (2 * sigma * sigma) - k)


def _step(k: FloatArray, sigma: float) -> FloatArray:
    """Return a step of the trapezoidal rule with a relative error of e^-40."""
    height = np.minimum(np.sqrt(2 * _DIGITS / (1 + k * sigma**2)), 1.2 / sigma)
    # The integrand at height y is at most exp(y^2/2 - k ln cos(sigma y)) times the real one.
    growth = height**2 / 2 - k * np.log(np.cos(sigma * height))
    return 2 * math.pi * height / (_DIGITS + growth)


def _reach(k: FloatArray, sigma: float, side: float) -> FloatArray:
    """Return distances at which the integrand has fallen by e^-40."""
    far, near = np.full_like(k, math.sqrt(2 * _DIGITS)), np.zeros_like(k)
    for _ in range(12):
        middle = (far + near) / 2
        fall = middle**2 / 2 + k * _exponential_remainder(side * sigma * middle)
        far, near = np.where(fall > _DIGITS, middle, far), np.where(fall > _DIGITS, near, middle)
    return far


def _exponential_remainder(x: FloatArray) -> FloatArray:
    """Return e^x - 1 - x without cancellation."""
    small = np.clip(x, -_SERIES_BELOW, _SERIES_BELOW)
    term = small * small / 2
    total = term.copy()
    for n in range(3, 20):
        term = term * small / n
        total = total + term
    with np.errstate(over="ignore"):
        return np.where(np.abs(x) < _SERIES_BELOW, total, np.expm1(x) - x)


def transform_deficit(log_z: FloatArray, sigma: float) -> FloatArray:
    """Return 1 - E exp(-e^log_z e^(sigma Y)), accurate where it is small."""
    step = min(0.3, 2 * math.pi * (1.2 / sigma) / (_DIGITS + 2))
    u = np.arange(-9.0 - step, 9.0 + sigma + 2 * step, step)
    weights = np.exp(-u * u / 2) * (step / math.sqrt(2 * math.pi))
    flat = log_z.ravel()[:, None]
    with np.errstate(over="ignore"):
        deficit = -np.expm1(-np.exp(flat + sigma * u)) @ weights
    return np.asarray(deficit).reshape(log_z.shape)
