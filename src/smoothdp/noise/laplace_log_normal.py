"""The Laplace log-normal law."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np

from smoothdp.exact import special
from smoothdp.exact.balls import ball
from smoothdp.exact.lazy.laws import DrawFunction, LazyLaw, standard_normal
from smoothdp.exact.log_normal_balls import log_transform_ball
from smoothdp.exact.special import Ball
from smoothdp.exact.work import spend_once
from smoothdp.noise.abstract_law import Growth, rational_above
from smoothdp.noise.calibration.paper import is_pure, log_normal_statement
from smoothdp.noise.convolved import LogNormalFactor
from smoothdp.noise.law import FloatArray
from smoothdp.noise.log_normal_transform import log_transform, transform_deficit
from smoothdp.noise.shift_claim import ShiftClaim
from smoothdp.noise.specification import ParameterSpec
from smoothdp.privacy.concentrated import ZCDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.sources import Source

_TABLE_STEP = 0.04
# In the units of `smoothdp.exact.work`.
_PER_TABLE = 50_000


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

    The law is a mixture of Laplace laws, so that -f'/f falls from there.
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
