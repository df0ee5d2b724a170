"""Convex smoothing of delta(epsilon), for laws that are atoms and so never decay.

D(E) = delta(ln E) is convex. With u normal of variance s^2:

upper: E_u[D(E e^u)] with E[e^u] = 1 is at least D(E) (Jensen), and multiplies the transform by
    e^(s^2 (z + z^2) / 2): it is the composition with one more Gaussian mechanism of mu = s.
lower: D(E) >= D(y) + D'(y)(E - y); averaged over y = E e^u, u of mean 0, it multiplies by
    (1 + z) G(z) - z G(z + 1) = G(z) [1 - z (e^(s^2 (z + 1/2)) - 1)], G(z) = e^(s^2 z^2 / 2).

Both are off by second order in s, and by less than any power where delta is linear in E
around epsilon.
"""

from __future__ import annotations

import math

import numpy as np

from smoothdp.privacy.composition.oscillation import unit_circle
from smoothdp.types import ComplexArray, FloatArray


def kernel_error(tilt: float, t: FloatArray, spread: float) -> FloatArray:
    """Return a bound of the rounding of both kernels.

    Angles and exponents are at most s^2 (c + t + 1)^2 / 2 and carry four roundings; each
    cosine and sine is within 2^-50. The kernels are at most (1 + s^2 (c + t + 1)^2 e^a)
    times e^(s^2 ((c + 1)^2 - t^2) / 2), a = s^2 (c + 1/2): under 64 u of that in all, per
    unit of 1 + s^2 (c + t + 1)^2.
    """
    v = spread * spread
    reach = v * (tilt + t + 1) ** 2
    size = np.exp(0.5 * v * ((tilt + 1) ** 2 - t * t))
    return 2.0**-47 * (1 + reach) * (1 + reach * math.exp(v * (tilt + 0.5))) * size


def upper_kernel(tilt: float, t: FloatArray, spread: float) -> ComplexArray:
    """Return e^(s^2 (z + z^2) / 2) at z = c + i t."""
    v = spread * spread
    size = np.exp(0.5 * v * (tilt * (tilt + 1) - t * t))
    return size * unit_circle(v * t * (tilt + 0.5))


def lower_kernel(tilt: float, t: FloatArray, spread: float) -> ComplexArray:
    """Return (1 + z) G(z) - z G(z + 1) at z = c + i t."""
    v = spread * spread
    z = tilt + 1j * t
    size = np.exp(0.5 * v * (tilt * tilt - t * t))
    a, b = v * (tilt + 0.5), v * t
    half = np.sin(0.5 * b)
    # e^(a + ib) - 1 without cancellation.
    excess = (math.expm1(a) * np.cos(b) - 2 * half * half) + 1j * (math.exp(a) * np.sin(b))
    return np.asarray(size * unit_circle(v * t * tilt) * (1 - z * excess))
