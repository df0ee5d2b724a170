"""The log1p-normal law, which is in no paper."""

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
from smoothdp.noise.abstract_law import SHIPPED_EPSILONS, Growth, rational_above
from smoothdp.noise.laws import floats
from smoothdp.noise.laws.sigma_law import StretchedNormal, exponential_moment
from smoothdp.noise.specification import ParameterSpec, short_decimal
from smoothdp.sources import Source
from smoothdp.types import FloatArray


@dataclass(frozen=True, init=False, repr=False)
class Log1pNormal(StretchedNormal):
    """Z = sgn(Y) (e^(sigma |Y|) - 1) / sigma, Y standard normal.

    Density phi(y) e^(-sigma y) with y = ln(1 + sigma |x|) / sigma and phi the normal density;
    variance (E e^(2 sigma |Y|) - 2 E e^(sigma |Y|) + 1) / sigma^2. An addition to the
    arsinh-normal law of the source: zCDP with less noise where the smoothing is large.

    Args:
        sigma: shape > 0; near 0 the law is near the standard normal one.

    Raises:
        InvalidParameter: sigma outside this domain. OutOfReach: beyond what is computed,
            see ``parameters``.

    >>> round(Log1pNormal("0.5").variance, 6)
    2.56067
    """

    source: ClassVar[Source] = Source("bun-steinke-averages", "section 3.3, varied")
    parameters: ClassVar[tuple[ParameterSpec, ...]] = (
        ParameterSpec(
            "sigma",
            "shape",
            above=0,
            reach=("1e-4", "20"),
            typical=("0.5", "0.15", "1.06", "3"),
        ),
    )

    def _stretch(self, y: FloatArray) -> FloatArray:
        return np.expm1(self.sigma * y) / self.sigma

    def _normal_of(self, a: FloatArray) -> FloatArray:
        return np.log1p(self.sigma * np.minimum(a, 1e300)) / self.sigma

    def _log_density(self, a: FloatArray) -> FloatArray:
        y = self._normal_of(a)
        log_f = -y * y / 2 - self.sigma * y - floats.LOG_ROOT_TWO_PI
        return np.where(np.isinf(a), -math.inf, log_f)

    def _moment(self, k: int) -> float:
        return special.nearest(lambda: exponential_moment(k, self._shape()))

    def lazy(self) -> LazyLaw:
        return LazyLaw(2, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        # (proofs/the-released-number#4)
        sigma, inverse = ball(self.exact_sigma), ball(1 / self.exact_sigma)

        def draw(positive: bool, u: Ball, v: Ball) -> Ball:
            size = (sigma * abs(standard_normal(u, v))).expm1() * inverse
            return size if positive else -size

        return draw

    def _ball_log_density(self, v: Ball) -> Ball:
        sigma = self._shape()
        log_growth = (sigma * v.exp()).log1p()
        return special.normal_log_density(log_growth / sigma) - log_growth

    def _ball_elasticity(self, v: Ball) -> Ball:
        sigma = self._shape()
        w = sigma * v.exp()
        # In a form that keeps complex balls small.
        if special.real(w) > 1:
            log_growth = v + sigma.log() + special.log(1 + 1 / w)
        else:
            log_growth = special.log(1 + w)
        return (log_growth / (sigma * sigma) + 1) / (1 + 1 / w)

    def _ball_normal_of(self, x: Ball) -> Ball:
        sigma = self._shape()
        return (sigma * x).log1p() / sigma

    def _elasticity_slope(self, v: Ball) -> Ball:
        # With r = w / (1 + w): (r / sigma^2 + (ln(1+w) / sigma^2 + 1) (1 - r)) r, and
        # (1 - r) ln(1 + w) <= 1/e, falling for w >= e - 1.
        sigma = self._shape()
        w = sigma * v.exp()
        falling = w.log1p() / (1 + w) if w > 2 else special.number(0.5)
        return (1 + falling) / (sigma * sigma) + 1 / (1 + w)

    def _growth(self) -> Growth:
        # phi' = (y + sigma) e^(-sigma y), largest at y = max(0, 1/sigma - sigma)
        # (proofs/dilated-divergences#8).
        sigma = self.exact_sigma
        if sigma >= 1:
            return Growth(sigma, sigma=sigma, folded=True)
        top = (ball(sigma) ** 2 - 1).exp() / ball(sigma)
        return Growth(rational_above(top), sigma=sigma, folded=True)

    @classmethod
    def _shape_rule(cls, guarantee: Guarantee, smoothing: Fraction) -> Fraction | None:
        """A fit for zCDP up to rho = 1/2, with e = sqrt(2 rho) and r = t / e.

        max(0.06 e, r + 0.226 sqrt(r) e^(-3.193 r) + 0.034 r^4): within 1.3% of the best standard
        deviation for r <= 1.25.
        """
        if not isinstance(guarantee, ZCDP) or guarantee.exact_rho > Fraction(1, 2):
            return None
        e = math.sqrt(2 * float(guarantee.exact_rho))
        r = float(smoothing) / e if e > 0 else math.inf
        if r > 1.5:
            return None
        bend = 0.226 * math.sqrt(r) * math.exp(-3.193 * r)
        return short_decimal(max(0.06 * e, r + bend + 0.034 * r**4))

    @classmethod
    def _shipped_targets(cls) -> Iterable[tuple[Guarantee, Fraction]]:
        for e in SHIPPED_EPSILONS:
            # Releases of small data come out at 11/20 and 3/5.
            for ratio in ("11/20", "3/5", "7/10", "1"):
                yield ZCDP(e * e / 2), e * Fraction(ratio)
        yield ZCDP(Fraction(1, 2)), Fraction(1, 10)
