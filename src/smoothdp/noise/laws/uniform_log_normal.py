"""The uniform log-normal law."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw, standard_normal
from smoothdp.noise.abstract_law import Growth, rational_above
from smoothdp.noise.calibration.paper import is_pure, log_normal_statement
from smoothdp.noise.laws import floats
from smoothdp.noise.laws.sigma_law import LogNormalFactor
from smoothdp.noise.shift_claim import ShiftClaim, outside_the_theorem
from smoothdp.noise.specification import ParameterSpec
from smoothdp.sources import Source
from smoothdp.types import FloatArray

# Below this shape the closed form of the tail cancels, and an integral replaces it.
_SMALL = 0.5
_FAR_LEFT = -9.0
# The bracket of the root is this wide; the score errs by its square.
_BISECTIONS = 60
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)
_UNIT_NODES, _UNIT_WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2


@dataclass(frozen=True, init=False, repr=False)
class UniformLogNormal(LogNormalFactor):
    """Z = U e^(sigma Y), U uniform on [-1, 1], Y standard normal.

    Density e^(sigma^2 / 2) / 2 * Q(sigma + ln|x| / sigma), Q the normal tail; variance
    e^(2 sigma^2) / 3. zCDP under smooth sensitivity, for every sigma.

    Args:
        sigma: shape > 0.

    Raises:
        InvalidParameter: sigma outside this domain. OutOfReach: beyond what is computed,
            see ``parameters``.

    >>> round(UniformLogNormal("0.75").variance, 12)
    1.026738949639
    """

    _ball_work: ClassVar[int] = 16
    source: ClassVar[Source] = Source("bun-steinke-averages", "Definition 21")
    parameters: ClassVar[tuple[ParameterSpec, ...]] = (
        ParameterSpec(
            "sigma",
            "shape",
            above=0,
            reach=("1e-3", "20"),
            typical=("0.75", "1.5", "0.3", "3"),
        ),
    )
    # Theorem 22 begins at sqrt(2).
    printed_shapes: ClassVar[tuple[float, float] | None] = (1.4142135624, 4.0)

    def _log_density(self, a: FloatArray) -> FloatArray:
        sigma = self.sigma
        log_q = floats.normal_log_tail(sigma + np.log(a) / sigma)
        return sigma * sigma / 2 - math.log(2) + log_q

    def _log_survival(self, a: FloatArray) -> FloatArray:
        w = np.log(a) / self.sigma
        left, right = np.minimum(w, 0.0), np.maximum(w, 0.0)
        if self.sigma >= _SMALL:
            near = np.log(0.5 - self._central_mass(np.minimum(a, 1.0)))
            excess = floats.normal_mills(right) - floats.normal_mills(right + self.sigma)
        else:
            near = np.log(self._near_tail(left) / 2)
            excess = self._mills_difference(right)
        far = np.log(excess) - math.log(2) - right * right / 2 - floats.LOG_ROOT_TWO_PI
        far = np.where(np.isinf(a), -math.inf, far)
        return np.where(w > 0, far, near)

    def _mills_difference(self, w: FloatArray) -> FloatArray:
        """Return the integral over u > 0 of exp(-w u - u^2 / 2) (1 - e^(-sigma u)), w >= 0."""
        # In units of 1 / (w + 1) it falls like e^-u at least beyond the first few units.
        total = np.zeros_like(w)
        for start, stop in ((0.0, 4.0), (4.0, 12.0), (12.0, 24.0), (24.0, 44.0)):
            for node, weight in zip(_UNIT_NODES, _UNIT_WEIGHTS, strict=True):
                u = (start + (stop - start) * node) / (w + 1)
                term = np.exp(-w * u - u * u / 2) * -np.expm1(-self.sigma * u)
                total = total + (stop - start) * weight / (w + 1) * term
        return total

    def _near_tail(self, w: FloatArray) -> FloatArray:
        """Return P(|Z| > e^(sigma w)), w <= 0: the mean of (1 - e^(-sigma (Y - w)))_+."""
        sigma = self.sigma
        start = np.maximum(w, _FAR_LEFT)
        total = np.full_like(w, self._positive_part(start))
        for node, weight in zip(_UNIT_NODES, _UNIT_WEIGHTS, strict=True):
            y = start * node
            density = np.exp(-y * y / 2 - floats.LOG_ROOT_TWO_PI)
            total = total - start * weight * density * -np.expm1(-sigma * (y - start))
        far = -np.expm1(sigma * w + sigma * sigma / 2) - floats.scipy_special().ndtr(w)
        far += np.exp(sigma * w + sigma * sigma / 2) * floats.scipy_special().ndtr(w + sigma)
        return np.where(w < _FAR_LEFT, far, total)

    def _positive_part(self, start: FloatArray) -> FloatArray:
        """Return the same integral over Y > 0, for -9 <= start <= 0."""
        total = np.zeros_like(start)
        for node, weight in zip(_UNIT_NODES, _UNIT_WEIGHTS, strict=True):
            y = 9.0 * node
            density = math.exp(-y * y / 2 - floats.LOG_ROOT_TWO_PI)
            total = total + 9.0 * weight * density * -np.expm1(-self.sigma * (y - start))
        return total

    def _central_mass(self, a: FloatArray) -> FloatArray:
        """Return P(0 < Z < a) = (Phi(w) + a e^(sigma^2 / 2) Q(w + sigma)) / 2, w = ln a / sigma."""
        sigma = self.sigma
        w = np.log(a) / sigma
        scaled = np.exp(floats.normal_log_tail(w + sigma) + sigma * sigma / 2 + np.log(a))
        return np.asarray((floats.scipy_special().ndtr(w) + scaled) / 2)

    def _moment(self, k: int) -> float:
        return special.nearest(lambda: ball(self.exact_sigma**2 * k * k / 2).exp() / (k + 1))

    def lazy(self) -> LazyLaw:
        return LazyLaw(3, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        # (proofs/the-released-number#4)
        sigma = ball(self.exact_sigma)

        def draw(positive: bool, u: Ball, v: Ball, w: Ball) -> Ball:
            size = w * (sigma * standard_normal(u, v)).exp()
            return size if positive else -size

        return draw

    def _ball_log_density(self, v: Ball) -> Ball:
        sigma = self._shape()
        return sigma * sigma / 2 + (special.normal_tail(sigma + v / sigma) / 2).log()

    def _ball_log_peak(self) -> Ball:
        sigma = self._shape()
        return sigma * sigma / 2 - special.number(2.0).log()

    def _real_elasticity(self, v: Ball) -> Ball:
        sigma = self._shape()
        w = sigma + v / sigma
        return special.normal_log_density(w).exp() / special.normal_tail(w) / sigma

    def _ball_survival(self, x: Ball) -> Ball:
        sigma = self._shape()
        w = x.log() / sigma
        inner = x * (sigma * sigma / 2).exp() * special.normal_tail(w + sigma)
        return (special.normal_tail(w) - inner) / 2

    def _growth(self) -> Growth:
        sigma = self.exact_sigma
        return Growth(rational_above(uniform_log_normal_score(sigma)), sigma=sigma)

    @classmethod
    def _shipped_targets(cls) -> Iterable[tuple[Guarantee, Fraction]]:
        return ((ZCDP(Fraction(1, 2)), Fraction(1, 10)),)

    def _printed_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        sigma = self.exact_sigma
        if sigma**2 < 2:
            raise outside_the_theorem("sigma >= sqrt(2), for Theorem 22 as printed", self)
        statement = log_normal_statement(
            self,
            sigma,
            guarantee,
            smoothing,
            lambda: uniform_log_normal_score_as_printed(sigma),
            "Lemma 24" if is_pure(guarantee) else "Theorem 22",
        )
        return statement.shift(self, smoothing)

    def _closed_form_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        """The exact score replaces e^(3 sigma^2 / 2) sqrt(2 / pi) / sigma of Theorem 22.

        So every sigma > 0 is allowed, and not only sigma >= sqrt 2. The proof of Lemma 24 fails
        (its display needs 1 - e^-2 and e^(1 + 3 sigma^2 / 2)); the lemma is true, from
        sigma = sqrt(2 / pi) on (proofs/repaired-noise-lemmas#2, #3).
        """
        sigma = self.exact_sigma
        statement = log_normal_statement(
            self,
            sigma,
            guarantee,
            smoothing,
            lambda: uniform_log_normal_score(sigma),
            "Theorem 22, with the exact score",
        )
        return statement.shift(self, smoothing)


def uniform_log_normal_score_as_printed(sigma: Fraction) -> Ball:
    """Return e^(3 sigma^2 / 2) sqrt(2 / pi) / sigma (paper 2, Lemma 24: sigma^2 >= 2).

    It is a bound of the score from sigma^2 = 2 / pi on (proofs/repaired-noise-lemmas#2).
    """
    root = special.sqrt(2 / special.pi())
    return ball(3 * sigma**2 / 2).exp() * root / ball(sigma)


def uniform_log_normal_score(sigma: Fraction) -> Ball:
    """Return the exact score of the uniform log-normal law, for every sigma > 0.

    With u = sigma + ln(z) / sigma and lambda = phi / Q, the score at z is
    c(u) = e^(sigma^2 - sigma u) lambda(u) / sigma, largest where lambda(u) - u = sigma. On a
    bracket [a, b] of that root ln c exceeds ln c(a) by at most (b - a) (lambda(a) - a - sigma)
    (proofs/repaired-noise-lemmas#1).
    """
    shape = ball(sigma)
    # 1 / (u + 1/u) < lambda(u) - u < 1 / u for u > 0, and lambda > 0.
    low, high = -sigma - 2, 1 / sigma + 1
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        gap = _hazard(ball(middle)) - ball(middle) - shape
        if gap > 0:
            low = middle
        elif gap < 0:
            high = middle
        else:
            break
    u = ball(low)
    hazard = _hazard(u)
    least = (shape * (shape - u)).exp() * hazard / shape
    slack = ball(high - low) * (hazard - u - shape)
    return special.interval(least, least * slack.exp())


def _hazard(u: Ball) -> Ball:
    return special.normal_log_density(u).exp() / special.normal_tail(u)
