"""Laws X e^(sigma Y) with a log-normal factor: what their analytic continuation obeys."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from smoothdp.exact.balls import special
from smoothdp.exact.balls.special import Ball
from smoothdp.noise.inverted_quantiles import InvertedQuantiles
from smoothdp.noise.sigma_law import SigmaLaw


class LogNormalFactor(SigmaLaw, InvertedQuantiles):
    """X e^(sigma Y), Y standard normal, where the density of X falls log-concavely in ln|x|.

    Then g(v) = f(e^v) is a convolution of a normal density of variance sigma^2 with a
    log-concave function, so the tilted law of what is integrated has a variance of at most
    sigma^2. Hence A = -d ln g / dv has 0 <= dA/dv <= 1 / sigma^2, and for real x and y

        g(x + iy) = g(x) exp(-i A(x) y + q) c,  q = y^2 / (2 sigma^2),  |c - 1| <= q:

    c is the characteristic function of the centred tilted law at y / sigma^2. So g has no
    zero where y^2 < 2 sigma^2, and ln g differs from its first-order continuation by at most
    q - ln(1 - q), which is below 2, and with the first-order term below 3.5, within 1.2 sigma of x.
    By Cauchy's estimate, A differs from A(x) by at most 6 / sigma within 0.6 sigma of it.
    """

    @abstractmethod
    def _real_elasticity(self, v: Ball) -> Ball:
        """Return A(v) for a thin real ball."""

    def _ball_elasticity(self, v: Ball) -> Ball:
        real = special.real(v)
        if not real.is_finite():
            return special.undefined()
        if special.is_thin(real):
            return self._real_elasticity(real)
        # A increases in v.
        ends = (
            self._real_elasticity(special.lower(real)),
            self._real_elasticity(special.upper(real)),
        )
        return special.interval(*ends)

    def _elasticity_size(self, branch: Callable[[Ball], Ball], v: Ball) -> Ball:
        sigma = self._shape()
        if not special.imaginary_reach(v) < 0.6 * sigma:
            return special.undefined()
        return special.size(branch(v)) + 6 / sigma

    def _continuation_error(self, v: Ball) -> Ball:
        height = special.imaginary_reach(v)
        q = height * height / (2 * self._shape() ** 2)
        return q - special.log(1 - q) if q < 1 else special.undefined()

    def _elasticity_slope(self, v: Ball) -> Ball:
        del v
        return 1 / self._shape() ** 2
