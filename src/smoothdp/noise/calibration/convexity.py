"""When the reverse divergence is convex in the dilation: Theorems B and B'.

R_a(t') = (a - 1) D_a(e^t' Z + s || Z). Averaging the integrand over +-Z, R is convex in t'
for every a if, for every y > 0, H(v) = ln(e^(b phi(e^v + s)) + e^(b phi(e^v - s))) is convex
in v = ln y + t', b = a - 1. With p_+- = phi(e^v +- s) and weights pi_+-,
H'' = b (pi_+ p_+'' + pi_- p_-'') + b^2 pi_+ pi_- (p_+' - p_-')^2, pi_+ in [1/2, 1). The first
bracket is linear in pi_+. At pi_+ = 1, with y = e^v + s, p_+'' = (y - s) (phi' + (y - s) phi'')
>= 0: both terms are if phi'' >= 0, else it is at least (y - s) (phi' + y phi'') >= 0, phi(e^v)
being convex. So N(v) = p_+'' + p_-'' >= 0 for all v suffices.

Theorem B. For phi = ln(1 + x^2 / lambda), e^(p_+ + p_-) is a polynomial in q = e^(2v) with
coefficients 1, 2 (lambda - s^2), (lambda + s^2)^2 over lambda^2: log-convex in v if
s^2 <= lambda. N is linear in phi, so mixtures with lambda >= s^2, and x^2, inherit it:

* Student's T: lambda = degrees;
* arsinh-normal: asinh^2(x) = 1/2 int_0^1 (1-u)^(-1/2) u^-1 ln(1 + u x^2) du, so
  lambda = 1 / (u sigma^2) >= 1 / sigma^2;
* the normal law: any s.

Theorem B'. Arsinh-normal beyond that: N >= 0 is decided in balls, in the coordinate
X = sigma e^v with S = sigma s, psi(X) = phi(X / sigma), w = arsinh X, C = cosh w, T = tanh w:
psi' = (w / sigma^2 + T) / C and psi'' = (1 / sigma^2 + 1 / C^2 - w T / sigma^2 - T^2) / C^2.

* X <= d: N / X^2 = 2 mean of psi'' over [S - X, S + X], plus psi''(S + X) + psi''(S - X).
* X <= X0: N / X over cells, by its value at the centre and its slope.
* beyond: with y = X + S in p_+ and y = X - S in p_-, E = y psi' + y^2 psi'' >= T^2 / sigma^2,
  p_+'' >= (1 - S/y) min(E, ...) >= 0 as above, and p_-'' = (1 + S/y) (E + (S/y) y^2 psi'')
  with y^2 psi'' >= -(w / sigma^2 + 1), which is nonnegative if T^2 y >= S (w + sigma^2):
  true from where it is true once, (w + sigma^2) / y falling and T rising.
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.errors import Explanation
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.balls.work import remembered, spend
from smoothdp.noise.arsinh_normal import ArsinhNormal
from smoothdp.noise.gaussian import Gaussian
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.student_t import StudentT

_BITS = 64
_MOST_CELLS = 4000
# In the units of `smoothdp.exact.balls.work`.
_PER_CELL = 100


def reverse_is_convex(law: NoiseDistribution, shift: Fraction) -> str | None:
    """Return the theorem by which R is convex in the dilation, None if none applies.

    >>> reverse_is_convex(StudentT(4), Fraction(2))
    'Theorem B'
    """
    match law:
        case Gaussian():
            return "Theorem B"
        case StudentT():
            return "Theorem B" if shift**2 <= law.exact_degrees else None
        case ArsinhNormal():
            product = law.exact_sigma * shift
            if product <= 1:
                return "Theorem B"
            return "Theorem B'" if symmetrised_is_convex(law.exact_sigma, product) else None
        case _:
            return None


def _undecided(sigma: Fraction, product: Fraction) -> Explanation:
    return Explanation(
        "Theorem B' to be decided", f"sigma={sigma} and sigma s={product}", "Cover the dilations"
    )


@remembered(_MOST_CELLS * 2 * _PER_CELL, kept=1024, message=_undecided)
def symmetrised_is_convex(sigma: Fraction, product: Fraction) -> bool:
    """Whether N >= 0 for the arsinh-normal law is verified; ``product`` is sigma s > 0."""
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
