"""The test that a protected user's bits give, in the form that loses no digits.

Bits are flipped with probability q; the total of all reported bits is seen. One user holds r
zeros, or r ones, the others have total V. With E = e^epsilon,

    P0(y) - E P1(y) = sum_b g(b) V(y - b),
    g(b) = C(r, b) (q^b (1-q)^(r-b) - E q^(r-b) (1-q)^b),

and V(y) = M rho^-y V'(y), V' the law of the total under odds that are rho times as large and
M its normaliser. rho is chosen so that G(b) = rho^b g(b) sums to 0. Then, with the partial
sums H of G, the sum is that of H(b) (V'(y-b) - V'(y-b-1)): differences of a law at its mode
(proofs/flipped-bits#8).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from smoothdp.exact.balls.balls import ball, enclose, precision, round_down, round_up
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball, number
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Real
from smoothdp.types import FloatArray

_BITS = 192
_LEAST_TILT = 1e-200
# Accurate bits of the largest partial sum: next to the largest loss nearly all of it cancels.
_SHARP = 100


@dataclass(frozen=True, slots=True, eq=False)
class FlipKernel:
    """Partial sums H of G, scaled to a largest value of 1, for one (q, r, epsilon).

    Attributes:
        flip: q, in (0, 1/2).
        tilt: rho, in (0, 1], exact as a float.
        partial_sums: H(0), ..., H(r - 1), each within 2^-52 of the truth (and c times, see below).
        log_scale: encloses ln of the largest partial sum before scaling.
        residual: floats around the sum of G, scaled; about 1e-16 of the scale.
    """

    flip: Fraction
    tilt: float
    partial_sums: FloatArray
    log_scale: Ball
    residual: tuple[float, float]
    log_zero: Ball
    log_one: Ball
    log_tilt: Ball

    def log_normaliser(self, n_zeros: int, n_ones: int, total: int) -> LogBounds:
        """Bound ln of scale M rho^-total: M = (1-q+q rho)^zeros (q+(1-q) rho)^ones."""
        with precision(_BITS):
            value = n_zeros * self.log_zero + n_ones * self.log_one - total * self.log_tilt
            return enclose(value + self.log_scale)


@lru_cache(maxsize=512)
def flip_kernel(
    flip: Fraction, n_bits: int, epsilon: Real, *, copies: int = 1
) -> FlipKernel | None:
    """Return the kernel at epsilon >= 0; None where delta is proved 0.

    No output is more than ((1 - q) / q)^r times as likely under the one as under the other.
    With copies c > 1 each bit of the user counts c times in the total: b is replaced by c b, and
    each partial sum stands for c steps of V'.
    """
    if at_most(LogRatio(((1 - flip) / flip) ** n_bits), epsilon):
        return None
    bits = _BITS
    while True:
        with precision(bits):
            kernel = _made(flip, n_bits, epsilon, copies)
        if kernel is not None:
            return kernel
        bits *= 2


def _made(flip: Fraction, n_bits: int, epsilon: Real, copies: int) -> FlipKernel | None:
    """Return the kernel; None if the working precision does not tell its largest sum from 0."""
    q, growth = ball(flip), ball(epsilon).exp()
    stay = 1 - q
    root = (ball(epsilon) / n_bits).exp()
    power = (stay - root * q) / (root * stay - q)
    tilt = float(power.root(copies)) if power > 0 else 0.0
    if not tilt > _LEAST_TILT:
        # As if epsilon were smaller: the residual is negative, delta is larger.
        tilt = _LEAST_TILT
    rho = ball(Fraction(min(tilt, 1.0)))
    total, sums, choose = number(0.0), [], 1
    for b in range(n_bits + 1):
        there, here = q**b * stay ** (n_bits - b), q ** (n_bits - b) * stay**b
        total += rho ** (b * copies) * choose * (there - growth * here)
        sums.append(total)
        choose = choose * (n_bits - b) // (b + 1)
    # All are positive, but where the tilt is at its least.
    largest = max((abs(value) for value in sums[:-1]), key=float)
    if not largest > 0 or largest.rel_accuracy_bits() < _SHARP:
        return None
    residual = sums[-1] / largest
    scaled = np.array([float(value / largest) for value in sums[:-1]])
    return FlipKernel(
        flip=flip,
        tilt=min(tilt, 1.0),
        partial_sums=np.repeat(scaled, copies),
        log_scale=largest.log(),
        residual=(min(0.0, round_down(residual)), max(0.0, round_up(residual))),
        log_zero=(stay + q * rho).log(),
        log_one=(q + stay * rho).log(),
        log_tilt=rho.log(),
    )
