"""Densities and divergences written anew, for the theorem tests of papers 2 and 4."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from smoothdp.types import FloatArray

Array = FloatArray
LogDensity = Callable[[Array], Array]

ORDERS = (1.01, 1.5, 2.0, 5.0, 20.0, 100.0)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(60)


def laplace_log_normal(sigma: float) -> LogDensity:
    """E exp(-|x| e^(-sigma y)) e^(-sigma y) / 2 over a standard normal y, by quadrature.

    The exponent is concave in y with a second derivative below -1, and largest at
    sigma (y + sigma) = W(sigma^2 |x| e^(sigma^2)).
    """

    def log_density(x: Array) -> Array:
        peak = special.lambertw(sigma**2 * np.abs(x) * math.exp(sigma**2)).real / sigma - sigma
        y = peak[:, None] + 10 * _NODES
        terms = -(y**2) / 2 - sigma * y - np.abs(x)[:, None] * np.exp(-sigma * y)
        weights = 10 * _WEIGHTS / math.sqrt(2 * math.pi) / 2
        return np.asarray(special.logsumexp(terms, b=weights, axis=1))

    return log_density


def uniform_log_normal(sigma: float) -> LogDensity:
    def log_density(x: Array) -> Array:
        g = sigma + np.log(np.maximum(np.abs(x), 1e-300)) / sigma
        return np.asarray(sigma**2 / 2 - math.log(2) + special.log_ndtr(-g))

    return log_density


def arsinh_normal(sigma: float) -> LogDensity:
    def log_density(x: Array) -> Array:
        y = np.arcsinh(sigma * x) / sigma
        return -y * y / 2 - np.log1p((sigma * x) ** 2) / 2 - math.log(2 * math.pi) / 2

    return log_density


def student_t(d: float) -> LogDensity:
    constant = math.lgamma((d + 1) / 2) - math.lgamma(d / 2) - math.log(math.pi * d) / 2
    return lambda x: constant - (d + 1) / 2 * np.log1p(x * x / d)


def generalized_cauchy(c: float) -> LogDensity:
    constant = math.log(c * math.sin(math.pi / c) / (2 * math.pi))
    return lambda x: constant - np.logaddexp(0, c * np.log(np.maximum(np.abs(x), 1e-300)))


def poly_place(a: float) -> LogDensity:
    """Definition 6 with s = 1 and N = a / (2 (2 ((a - 1) / a)^a + a - 1))."""
    log_n = math.log(a / (2 * (2 * ((a - 1) / a) ** a + a - 1)))

    def log_density(x: Array) -> Array:
        y = np.abs(x)
        near = math.log(a - 1) + (a - 1) * np.log1p(-np.minimum(y, 1 / a))
        far = math.log(a + 1) + a * math.log1p(-1 / a**2) - (a + 1) * np.log1p(y)
        return log_n + np.where(y < 1 / a, near, far)

    return log_density


def line(reach: float = 60.0, points: int = 8_001) -> tuple[Array, Array]:
    """Return points of the real line, dense at 0, and trapezoidal weights."""
    u = np.linspace(-reach, reach, points)
    x = np.sinh(u) / 50
    return x, np.cosh(u) / 50 * (u[1] - u[0])


def losses(log_f: LogDensity, shift: float, dilation: float) -> tuple[Array, Array, Array, Array]:
    """Return (weights, ln p, ln q, ln p - ln q) of Z and e^t Z + s on a grid."""
    x, weights = line()
    log_p = log_f(x)
    log_q = log_f((x - shift) * math.exp(-dilation)) - dilation
    return weights, log_p, log_q, log_p - log_q


def renyi_both(log_f: LogDensity, shift: float, dilation: float) -> dict[float, float]:
    """Return the larger of D_a(Z || e^t Z + s) and its reverse, for ORDERS, by quadrature."""
    weights, log_p, log_q, loss = losses(log_f, shift, dilation)
    result = {}
    for order in ORDERS:
        forward = special.logsumexp(log_p + (order - 1) * loss, b=weights) / (order - 1)
        reverse = special.logsumexp(log_q - (order - 1) * loss, b=weights) / (order - 1)
        result[order] = float(max(forward, reverse))
    return result


def worst_zcdp_epsilon(log_f: LogDensity, shift: float, dilation: float) -> float:
    """Return the largest sqrt(2 D_a / a) over ORDERS and both directions."""
    values = renyi_both(log_f, shift, dilation)
    return math.sqrt(max(2 * max(d, 0.0) / order for order, d in values.items()))


def max_loss(log_f: LogDensity, shift: float, dilation: float) -> float:
    """Return the largest loss seen on a grid, both directions."""
    loss = losses(log_f, shift, dilation)[3]
    return float(np.nanmax(np.abs(loss)))
