"""Sums of weights times e^(i t x) at equally spaced t, as matrix products, with error bounds.

The t are m * step, m = 0, 1, ...; with m = a * width + b the factor e^(i t x) is a product of
two factors, so that the exponentials are taken for the rows and columns only and the sums
over the atoms are one product of matrices.

Error of one sum, with S = sum of |w| over n atoms and u = 2^-53. Steps have few bits, so
every t is exact. An angle t x is rounded by u |t x|; cosine and sine are each within
TRIG_ERROR, so a factor is within u |t x| + sqrt(2) TRIG_ERROR; a product of two factors adds
both and 3 u of its own; its weight adds u. A complex inner product of length b, whatever the
order of its sums, is within 2 (b + 2) u of the sum of the absolute values (Higham, Accuracy
and Stability of Numerical Algorithms, section 3.6); the atoms come in n / b blocks of b, whose
sums are added. In all

    2 (b + n / b + 3) u S + (2 sqrt(2) TRIG_ERROR + 4 u) S + u t sum w |x|.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.logspace import UNIT_ROUNDOFF

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

TRIG_ERROR = 2.0**-50
"""numpy's and math's cosine and sine are assumed within this absolutely, below 1e8 radians
(checked by the test suite against ball arithmetic)."""
_BLOCKS = (64, 2048)


class Sums(NamedTuple):
    """Values at t = m * step, each within ``constant + slope * t`` of the truth."""

    values: ComplexArray
    constant: float
    slope: float


def short_step(step: float) -> float:
    """Return a float just below, with a mantissa of at most 12 bits: multiples are exact.

    >>> short_step(0.1) <= 0.1 and 0.1 - short_step(0.1) < 1e-4
    True
    """
    mantissa, exponent = math.frexp(step)
    return math.ldexp(math.floor(mantissa * 4096) / 4096, exponent)


def unit_circle(angles: FloatArray) -> ComplexArray:
    """Return e^(i angle), real and imaginary part each within TRIG_ERROR."""
    result = np.empty(angles.shape, dtype=np.complex128)
    np.cos(angles, out=result.real)
    np.sin(angles, out=result.imag)
    return result


def oscillating_sums(
    weights: FloatArray, positions: FloatArray, *, step: float, count: int
) -> Sums:
    """Return the sums of w e^(i t x) at t = 0, step, ..., (count - 1) step.

    Args:
        weights: w >= 0.
        positions: x, taken as exact.
        step: of at most 12 significant bits (`short_step`).
        count: at most 2^40.

    >>> sums = oscillating_sums(np.array([1.0]), np.array([2.0]), step=0.5, count=3)
    >>> bool(abs(sums.values[2] - np.exp(2j)) <= sums.constant + sums.slope)
    True
    """
    width = max(1, math.isqrt(count))
    rows = -(-count // width)
    total = np.zeros((rows, width), dtype=np.complex128)
    coarse = np.arange(rows) * (step * width)
    fine = np.arange(width) * step
    block = min(max(math.isqrt(weights.size), _BLOCKS[0]), _BLOCKS[1])
    for start in range(0, weights.size, block):
        w, x = weights[start : start + block], positions[start : start + block]
        left = unit_circle(np.multiply.outer(coarse, x))
        left *= w
        total += left @ unit_circle(np.multiply.outer(x, fine))
    size = float(np.sum(weights))
    lengths = min(block, weights.size) + -(-weights.size // block)
    constant = ((2 * lengths + 12) * UNIT_ROUNDOFF + 3 * TRIG_ERROR) * size * 1.01
    slope = 1.01 * UNIT_ROUNDOFF * float(np.sum(weights * np.abs(positions)))
    return Sums(total.ravel()[:count], constant, slope)
