"""OpenDP's quantile over candidates as a law: what `make_private_quantile` draws, exactly.

A candidate c has the penalty |#{x < c} - q #{x != c}|; an exponential of mean ``scale`` is added
to each score and the largest wins, which is permute-and-flip. So with r_c = e^(-(penalty less
the least one) / scale)

    P(c) = r_c times the integral over u in [0, 1] of the product over the others of (1 - r u).

One row added or removed moves a penalty by M = max(q, 1 - q) at most: scale = 2 M / epsilon keeps
epsilon. The tests compare law and scale with draws and `map` of the library.

Source: OpenDP 0.16, make_private_quantile; R. McKenna, D. Sheldon, Permute-and-flip (2020).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from smoothdp.types import FloatArray

_EDGES = np.concatenate([[0.0], np.geomspace(1e-7, 1.0, 34)])
_NODES, _WEIGHTS = (
    np.concatenate(parts)
    for parts in zip(
        *(
            ((a + b) / 2 + (b - a) / 2 * x, (b - a) / 2 * w)
            for a, b in pairwise(_EDGES.tolist())
            for x, w in [np.polynomial.legendre.leggauss(6)]
        ),
        strict=True,
    )
)
_NOTHING = 1e-14
"""Below this r the factor 1 - r u is e^(-r u) within rounding."""


def scale_of(q: float, epsilon: float) -> float:
    """Return the scale that keeps epsilon where one row is added or removed."""
    return 2 * max(q, 1 - q) / epsilon


def penalties(data: FloatArray, q: float, candidates: FloatArray) -> FloatArray:
    """Return the penalty of each candidate; ``data`` sorted."""
    below = np.searchsorted(data, candidates, side="left")
    equal = np.searchsorted(data, candidates, side="right") - below
    return np.asarray(np.abs(below - q * (len(data) - equal)), np.float64)


def chances(scores: FloatArray, scale: float) -> FloatArray:
    """Return the probability of each candidate, from their penalties."""
    # Equal but for the rounding of q n.
    distinct, place, count = np.unique(np.round(scores, 9), return_inverse=True, return_counts=True)
    r = np.exp(-(distinct - distinct[0]) / scale)
    near = r > _NOTHING
    logs = count[near] @ np.log1p(-np.multiply.outer(r[near], _NODES))
    logs -= float(count[~near] @ r[~near]) * _NODES
    matters = logs > -60
    u, weights = _NODES[matters], (_WEIGHTS * np.exp(logs))[matters]
    each = r * ((1 / (1 - np.multiply.outer(r, u))) @ weights)
    return np.asarray(each[place], np.float64)
