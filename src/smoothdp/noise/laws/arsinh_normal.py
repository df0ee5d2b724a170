"""The arsinh-normal law."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import Explanation
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.balls.work import remembered, spend
from smoothdp.exact.random.lazy import DrawFunction, LazyLaw, standard_normal
from smoothdp.noise.abstract_law import SHIPPED_EPSILONS, Growth
from smoothdp.noise.calibration.paper import BUN_STEINKE, Statement, is_pure, log_normal_amount
from smoothdp.noise.laws import floats
from smoothdp.noise.laws.sigma_law import StretchedNormal, hyperbolic_moment
from smoothdp.noise.shift_claim import ShiftClaim
from smoothdp.noise.specification import ParameterSpec, short_decimal
from smoothdp.sources import Source
from smoothdp.types import FloatArray

_BITS = 64
_MOST_CELLS = 4000
# In the units of `smoothdp.exact.balls.work`.
_PER_CELL = 100


@dataclass(frozen=True, init=False, repr=False)
class ArsinhNormal(StretchedNormal):
    """Z = sinh(sigma Y) / sigma, Y standard normal.

    Density exp(-y^2 / 2) / sqrt(2 pi (1 + sigma^2 x^2)) with y = arsinh(sigma x) / sigma;
    variance (e^(2 sigma^2) - 1) / (2 sigma^2). zCDP under smooth sensitivity.

    Args:
        sigma: shape > 0; near 0 the law is near the standard normal one.

    Raises:
        InvalidParameter: sigma outside this domain. OutOfReach: beyond what is computed,
            see ``parameters``.

    >>> round(ArsinhNormal("0.4").variance, 12)
    1.17852426355
    """

    _ball_work: ClassVar[int] = 10
    source: ClassVar[Source] = Source("bun-steinke-averages", "Lemma 26")
    parameters: ClassVar[tuple[ParameterSpec, ...]] = (
        ParameterSpec(
            "sigma",
            "shape",
            above=0,
            reach=("1e-4", "20"),
            typical=("0.4", "0.17", "1.26", "3"),
        ),
    )
    printed_shapes: ClassVar[tuple[float, float] | None] = (0.01, 4.0)

    def _stretch(self, y: FloatArray) -> FloatArray:
        return np.sinh(self.sigma * y) / self.sigma

    def _normal_of(self, a: FloatArray) -> FloatArray:
        return np.arcsinh(self.sigma * np.minimum(a, 1e300)) / self.sigma

    def _log_density(self, a: FloatArray) -> FloatArray:
        # ln sqrt(1 + sigma^2 x^2) = ln cosh(sigma y).
        y = self._normal_of(a)
        decay = 2 * self.sigma * y
        log_cosh = decay / 2 + np.log1p(np.expm1(-decay) / 2)
        log_f = -y * y / 2 - log_cosh - floats.LOG_ROOT_TWO_PI
        return np.where(np.isinf(a), -math.inf, log_f)

    def _moment(self, k: int) -> float:
        return special.nearest(lambda: hyperbolic_moment(k, self._shape()))

    def lazy(self) -> LazyLaw:
        return LazyLaw(2, self._draw_function)

    def _draw_function(self) -> DrawFunction:
        # (proofs/the-released-number#4)
        sigma, inverse = ball(self.exact_sigma), ball(1 / self.exact_sigma)

        def draw(_: bool, u: Ball, v: Ball) -> Ball:
            return (sigma * standard_normal(u, v)).sinh() * inverse

        return draw

    def _ball_log_density(self, v: Ball) -> Ball:
        w = self._shape() * v.exp()
        y = w.asinh() / self._shape()
        return special.normal_log_density(y) - (w * w).log1p() / 2

    def _ball_elasticity(self, v: Ball) -> Ball:
        sigma = self._shape()
        log_w = v + sigma.log()
        # T = tanh(sigma y) and sigma y, in a form that keeps complex balls small.
        if special.real(log_w) > 0:
            root = special.sqrt(1 + (-2 * log_w).exp())
            slope, angle = 1 / root, log_w + special.log(1 + root)
        else:
            w = log_w.exp()
            root = special.sqrt(1 + w * w)
            slope, angle = w / root, special.log(w + root)
        return slope * (angle / (sigma * sigma) + slope)

    def _ball_normal_of(self, x: Ball) -> Ball:
        sigma = self._shape()
        return (sigma * x).asinh() / sigma

    def _elasticity_slope(self, v: Ball) -> Ball:
        # T^2/sigma^2 + z sech^2 z T / sigma^2 + 2 T^2 sech^2 z, z = sigma y, T = tanh z.
        sigma = self._shape()
        z = (sigma * v.exp()).asinh()
        falling = z / z.cosh() ** 2 if z > 1 else special.number(0.5)
        curvature = 2 / z.cosh() ** 2 if z > 1 else special.number(2.0)
        return (1 + falling) / (sigma * sigma) + curvature

    def _growth(self) -> Growth:
        # phi' = (y + sigma tanh(sigma y)) / cosh(sigma y), with max z / cosh z < 0.66275 and
        # max tanh z / cosh z = 1/2 (proofs/dilated-divergences#8).
        sigma = self.exact_sigma
        score = Fraction("0.66275") / sigma + sigma / 2
        return Growth(score, sigma=sigma, folded=True)

    def _reverse_convexity(self, shift: Fraction) -> str | None:
        product = self.exact_sigma * shift
        # (proofs/zcdp-certificates#4, #5).
        if product <= 1:
            return "Theorem B"
        return "Theorem B'" if symmetrised_is_convex(self.exact_sigma, product) else None

    @classmethod
    def _shape_rule(cls, guarantee: Guarantee, smoothing: Fraction) -> Fraction | None:
        """A fit for zCDP up to rho = 4, with e = sqrt(2 rho) and r = t / e.

        max(0.235 e, 0.762 r^(1/3) + 0.311 r + 0.193 r^3): up to rho = 1/2 within 0.6% of the best
        standard deviation for r <= 1.25. Beyond, where a search for the best comes to the limit of
        work, 0.1 more, within 15% for r <= 0.6.
        """
        if not isinstance(guarantee, ZCDP) or guarantee.exact_rho > 4:
            return None
        beyond = guarantee.exact_rho > Fraction(1, 2)
        e = math.sqrt(2 * float(guarantee.exact_rho))
        r = float(smoothing) / e if e > 0 else math.inf
        if r > (0.65 if beyond else 1.5):
            return None
        fit = max(0.235 * e, 0.762 * r ** (1 / 3) + 0.311 * r + 0.193 * r**3)
        return short_decimal(fit + (0.1 if beyond else 0.0))

    @classmethod
    def _shipped_targets(cls) -> Iterable[tuple[Guarantee, Fraction]]:
        for e in SHIPPED_EPSILONS:
            for ratio in ("1/50", "1/20", "1/10", "1/5", "3/10", "1/2"):
                yield ZCDP(e * e / 2), e * Fraction(ratio)

    def _printed_claim(self, guarantee: Guarantee, smoothing: Fraction) -> ShiftClaim:
        """Return that of Theorem 25 of paper 2; of Lemma 28 in pure DP without a dilation."""
        sigma, t = self.exact_sigma, smoothing
        statement = Statement(
            log_normal_amount(self, guarantee, t),
            lambda: theorem_25_dilation_cost(sigma, t),
            lambda: arsinh_normal_score_as_printed(sigma),
            "t (t / sigma^2 + 1 / sigma + 2) < 2 rho with t the smoothing",
            Source(BUN_STEINKE, "Lemma 28" if is_pure(guarantee) else "Theorem 25"),
        )
        return statement.shift(self, t)


def arsinh_normal_score_as_printed(sigma: Fraction) -> Ball:
    """Return 2 / (3 sigma) + sigma / 2, not below the score (paper 2, Lemma 28)."""
    return ball(2 / (3 * sigma) + sigma / 2)


def theorem_25_dilation_cost(sigma: Fraction, t: Fraction) -> Ball:
    """Return sqrt(t (t / sigma^2 + 1 / sigma + 2)), of the arsinh-normal law."""
    return special.sqrt(ball(t * (t / sigma**2 + 1 / sigma + 2)))


def _undecided(sigma: Fraction, product: Fraction) -> Explanation:
    return Explanation(
        "Theorem B' to be decided", f"sigma={sigma} and sigma s={product}", "Cover the dilations"
    )


@remembered(_MOST_CELLS * 2 * _PER_CELL, kept=1024, message=_undecided)
def symmetrised_is_convex(sigma: Fraction, product: Fraction) -> bool:
    """Whether N >= 0 for the arsinh-normal law is verified; ``product`` is sigma s > 0.

    Theorem B' (proofs/zcdp-certificates#5). N >= 0 is decided in balls, in the coordinate
    X = sigma e^v with S = sigma s, psi(X) = phi(X / sigma), w = arsinh X, C = cosh w, T = tanh w:
    psi' = (w / sigma^2 + T) / C and psi'' = (1 / sigma^2 + 1 / C^2 - w T / sigma^2 - T^2) / C^2.

    * X <= d: psi'' > 0 on [S - d, S + d].
    * X <= X0: N / X over cells, by its value at the centre and its slope.
    * beyond: T^2 y >= S (w + sigma^2) at y = X0 - S, which is true from where it is true once.
    """
    if product > 2:
        # psi'' is negative from 1.51 on, and so is N near 0.
        return False
    with precision(_BITS):
        potential = _Potential(ball(sigma), ball(product))
        start = potential.start()
        return start is not None and potential.positive(start)


class _Potential:
    def __init__(self, sigma: Ball, product: Ball) -> None:
        self.square, self.s = sigma * sigma, product

    def start(self) -> Fraction | None:
        """Return a d > 0 such that psi'' > 0 on [S - d, S + d]."""
        d = Fraction(1, 4)
        while d > Fraction(1, 4096):
            around = special.interval(self.s - ball(d), self.s + ball(d))
            if self.second(around) > 0:
                return d
            d /= 2
        return None

    def first(self, x: Ball) -> Ball:
        """Return psi'."""
        w = x.asinh()
        cosh = special.sqrt(1 + x**2)
        return (w / self.square + x / cosh) / cosh

    def second(self, x: Ball) -> Ball:
        """Return psi''."""
        w = x.asinh()
        square = 1 + x**2
        tanh = x / special.sqrt(square)
        return (1 / self.square + 1 / square - w * tanh / self.square - tanh * tanh) / square

    def third(self, x: Ball) -> Ball:
        """Return the third derivative (n_w - 2 T n) / C^3, n = C^2 psi''; n_w its slope in w."""
        w = x.asinh()
        square = 1 + x**2
        cosh = special.sqrt(square)
        tanh = x / cosh
        slope = -4 * tanh / square - (tanh + w / square) / self.square
        return (slope - 2 * tanh * square * self.second(x)) / (square * cosh)

    def positive(self, start: Fraction) -> bool:
        """Whether N > 0 beyond ``start``."""
        end = Fraction(4)
        while not self._beyond(end):
            end *= 2
            if end > 10**9:
                return False
        cells = [(start, end)]
        for _ in range(_MOST_CELLS):
            if not cells:
                return True
            low, high = cells.pop()
            if self._scaled(low, high) > 0:
                continue
            middle = (low + high) / 2 if high <= 4 * low else 2 * low
            cells += [(low, middle), (middle, high)]
        return False

    def _scaled(self, low: Fraction, high: Fraction) -> Ball:
        """Return N / X over a cell: its value at the centre, and its slope over the cell."""
        spend(_PER_CELL)
        middle = ball((low + high) / 2)
        x = special.interval(ball(low), ball(high))
        up, down = middle + self.s, middle - self.s
        value = self.first(up) + self.first(down) + middle * (self.second(up) + self.second(down))
        up, down = x + self.s, x - self.s
        slope = 2 * (self.second(up) + self.second(down)) + x * (self.third(up) + self.third(down))
        return value + slope * (x - middle)

    def _beyond(self, end: Fraction) -> bool:
        y = ball(end) - self.s
        if not y > 1:
            return False
        tanh_squared = y * y / (1 + y * y)
        return bool(tanh_squared * y > self.s * (y.asinh() + self.square))
