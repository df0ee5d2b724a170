"""Gauss-Legendre quadrature: nodes as balls or as floats, and its error.

With n nodes and a function analytic and bounded by M in the ellipse with foci -1, 1 and
semi-axes (r +- 1/r) / 2, r > 1, the error is at most (64/15) M r^(2 - 2n) / (r^2 - 1): the k-th
Chebyshev coefficient is at most 2 M r^-k; the rule is exact up to degree 2n - 1, and on T_k it
is off by at most 2 + 2 / (k^2 - 1) for even k, by 0 for odd k (Trefethen, Approximation Theory
and Approximation Practice, Theorem 19.3; proofs/divergence-enclosures#3).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from flint import arb

from smoothdp.exact.balls.balls import precision
from smoothdp.types import FloatArray

N_NODES = 24
_RHO = 1 + math.sqrt(2)
REAL_REACH, IMAGINARY_REACH = 1.4143, 1.0001
"""Half axes, rounded up, of the Bernstein ellipse of parameter 1 + sqrt 2 around [-1, 1]."""


@lru_cache(maxsize=8)
def nodes_and_weights(bits: int) -> tuple[tuple[arb, arb], ...]:
    """Enclose the `N_NODES` nodes in (-1, 1) and their weights, which are positive."""
    with precision(bits):
        return tuple(arb.legendre_p_root(N_NODES, k, True) for k in range(N_NODES))


def log_error_factor() -> float:
    """Return ln of c: with `N_NODES` the error is at most c sup|f| over the ellipse of 1 + sqrt 2.

    That is 64/15 r^(-2n) / (1 - r^-2), rounded up.
    """
    return math.log(64 / 15) - 2 * N_NODES * math.log(_RHO) - math.log(1 - _RHO**-2) + 1e-12


@lru_cache(maxsize=16)
def gauss_legendre(n: int) -> tuple[FloatArray, FloatArray]:
    """Return n increasing nodes in (-1, 1) and their weights: each the nearest float.

    >>> nodes, weights = gauss_legendre(2)
    >>> [round(float(x), 6) for x in nodes], [round(float(w), 6) for w in weights]
    ([-0.57735, 0.57735], [1.0, 1.0])
    """
    with precision(128):
        pairs = [arb.legendre_p_root(n, k, weight=True) for k in range(n)]
        nodes = np.array([float(x.mid()) for x, _ in pairs])
        weights = np.array([float(w.mid()) for _, w in pairs])
    order = np.argsort(nodes)
    nodes, weights = nodes[order], weights[order]
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights
