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

Damped sums, of w e^(i phase) e^(t (i x - d)) with d >= 0 from t0 on: S = sum of w e^(-t0 d). The
first factor, at t0, has an exponent rounded by 2 u (|ln w| + t0 d), exp LIBM_ERROR, an angle
rounded by u (2 t0 |x| + |phase|). The other two are at most 1, and a rounding of their exponent -y
moves e^-y by u y e^-y < u. So each factor carries sqrt(2) TRIG_ERROR + LIBM_ERROR + 4 u, and the
angles in all 2 u t |x| + u |phase|.

Sums of w (e^(i t x) - 1): `moving_sums` (proofs/tilted-contour#6).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.types import ComplexArray, FloatArray

TRIG_ERROR = 2.0**-50
"""numpy's and math's cosine and sine are assumed within this absolutely, below 1e8 radians,
and sines of angles x below 1 within this times |x| (checked by the test suite against balls)."""
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
    values, lengths = _matrix_sums(weights, positions, None, step, count)
    size = float(np.sum(weights))
    constant = ((2 * lengths + 12) * UNIT_ROUNDOFF + 3 * TRIG_ERROR) * size * 1.01
    slope = 1.01 * UNIT_ROUNDOFF * float(np.sum(weights * np.abs(positions)))
    return Sums(values, constant, slope)


def moving_sums(
    weights: FloatArray, positions: FloatArray, *, step: float, count: int
) -> tuple[ComplexArray, FloatArray]:
    """Return the sums of w (e^(i t x) - 1) at t = 0, step, ..., and a bound of the error of each.

    With A = e^(i a x) - 1 and B likewise, e^(i (a + b) x) - 1 = A B + A + B: again products of
    matrices. A = 2 i sin(a x / 2) e^(i a x / 2) is within 5 TRIG_ERROR min(a |x|, 4), and what the
    rounding of its angle adds; its size is at most min(a |x|, 2); and min(p, 2) min(q, 2) is at
    most p + q, and 4. So with m = min(t sum w |x|, 8 S) all terms are within
    (15 TRIG_ERROR + 4 (lengths + 6) u) m + 2 u t sum w |x|.

    >>> values, error = moving_sums(np.ones(1), np.array([1e-9]), step=0.5, count=2)
    >>> bool(abs(values[1] - 5e-10j) < 1e-18), bool(error[1] < 1e-22)
    (True, True)
    """
    width = max(1, math.isqrt(count))
    rows = -(-count // width)
    coarse, fine = np.arange(rows) * (step * width), np.arange(width) * step
    total = np.zeros((rows, width), dtype=np.complex128)
    block = min(max(math.isqrt(weights.size), _BLOCKS[0]), _BLOCKS[1])
    for start in range(0, weights.size, block):
        part = slice(start, start + block)
        x = positions[part]
        left = _less_one(np.multiply.outer(coarse, x)) * weights[part]
        right = _less_one(np.multiply.outer(x, fine))
        total += left @ right
        total += left.sum(axis=1)[:, np.newaxis] + weights[part] @ right
    lengths = min(block, weights.size) + -(-weights.size // block)
    size, lever = float(np.sum(weights)), float(weights @ np.abs(positions))
    t = step * np.arange(count, dtype=np.float64)
    moved = np.minimum(t * lever, 8 * size)
    units = 15 * TRIG_ERROR + 4 * (lengths + 6) * UNIT_ROUNDOFF
    return total.ravel()[:count], 1.01 * (units * moved + 2 * UNIT_ROUNDOFF * lever * t)


def _less_one(angles: FloatArray) -> ComplexArray:
    """Return e^(i angle) - 1; where angles are small, sines have to be right relatively."""
    half = 0.5 * angles
    sine = np.sin(half)
    result = np.empty(angles.shape, dtype=np.complex128)
    np.multiply(-2 * sine, sine, out=result.real)
    np.multiply(2 * sine, np.cos(half), out=result.imag)
    return result


class Waves(NamedTuple):
    """Terms e^(log_size + i phase) e^(t (i position - damping)), damping >= 0."""

    log_sizes: FloatArray
    phases: FloatArray
    positions: FloatArray
    damping: FloatArray


def damped_sums(waves: Waves, *, first: int, step: float, count: int, budget: float) -> Sums:
    """Return the sums of the waves at t = first step, ..., (first + count - 1) step.

    Args:
        waves: taken as exact.
        first: at least 0.
        step: of at most 12 significant bits (`short_step`).
        count: so that first + count is at most 2^40.
        budget: waves that sum up to less from t = first step on are left out; what is left out
            is part of the error.

    >>> one = Waves(np.zeros(1), np.zeros(1), np.array([2.0]), np.array([0.5]))
    >>> sums = damped_sums(one, first=2, step=0.5, count=2, budget=0.0)
    >>> bool(abs(sums.values[1] - np.exp(1.5 * (2j - 0.5))) <= sums.constant + 1.5 * sums.slope)
    True
    """
    start = first * step
    sizes = np.exp(waves.log_sizes - start * waves.damping)
    keep = sizes > budget / max(1, sizes.size)
    dropped = 1.01 * float(np.sum(sizes[~keep]))
    sizes = sizes[keep]
    log_sizes, phases, x, damping = (part[keep] for part in waves)
    weights = sizes * unit_circle(phases + start * x)
    values, lengths = _matrix_sums(weights, x, damping, step, count)
    units = 2 * lengths + 20 + 2 * (np.abs(log_sizes) + start * damping) + np.abs(phases)
    constant = UNIT_ROUNDOFF * float(sizes @ units)
    constant += (5 * TRIG_ERROR + 3 * LIBM_ERROR) * float(np.sum(sizes))
    slope = 2 * UNIT_ROUNDOFF * float(sizes @ np.abs(x))
    return Sums(values, 1.01 * constant + dropped, 1.01 * slope)


def _matrix_sums(
    weights: FloatArray | ComplexArray,
    positions: FloatArray,
    damping: FloatArray | None,
    step: float,
    count: int,
) -> tuple[ComplexArray, int]:
    """Return the sums at t = 0, step, ..., and how many terms are added one after another."""
    width = max(1, math.isqrt(count))
    rows = -(-count // width)
    total = np.zeros((rows, width), dtype=np.complex128)
    coarse = np.arange(rows) * (step * width)
    fine = np.arange(width) * step
    block = min(max(math.isqrt(weights.size), _BLOCKS[0]), _BLOCKS[1])
    for start in range(0, weights.size, block):
        part = slice(start, start + block)
        w, x = weights[part], positions[part]
        left, right = (
            unit_circle(np.multiply.outer(coarse, x)),
            unit_circle(np.multiply.outer(x, fine)),
        )
        if damping is not None:
            left *= np.exp(-np.multiply.outer(coarse, damping[part]))
            right *= np.exp(-np.multiply.outer(damping[part], fine))
        left *= w
        total += left @ right
    return total.ravel()[:count], min(block, weights.size) + -(-weights.size // block)
