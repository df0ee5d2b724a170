"""Convex hulls of distributions, decided exactly.

A vertex may be dropped only if it is a mixture of the others. Floats propose the mixture
(non-negative least squares), rational arithmetic confirms it: on a face, where floats
cannot tell, a vertex is kept rather than lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from smoothdp.types import FloatArray

Distribution = tuple[Fraction, ...]
_FAR = 1e-9


def hull_vertices(points: Sequence[Distribution]) -> tuple[Distribution, ...]:
    """Return the points, in order, without those that are exactly mixtures of the others kept.

    >>> third, half = Fraction(1, 3), Fraction(1, 2)
    >>> triangle = [(half, half, Fraction(0)), (half, Fraction(0), half), (Fraction(0), half, half)]
    >>> hull_vertices([*triangle, (third, third, third)]) == tuple(triangle)
    True
    """
    kept = list(dict.fromkeys(points))
    if len(points[0]) == 2:
        # Two values: the two ends, in the order given.
        ends = {max(kept), min(kept)}
        return tuple(point for point in kept if point in ends)
    for point in tuple(kept):
        others = [other for other in kept if other != point]
        if others and is_mixture(point, others):
            kept = others
    return tuple(kept)


def is_mixture(point: Distribution, others: Sequence[Distribution]) -> bool:
    """Whether a point is certainly a mixture of the others; False where undecided."""
    if point in others:
        return True
    if len(point) == 2:
        return min(others) <= point <= max(others)
    matrix = np.array([[float(p) for p in other] for other in others]).T
    target = np.array([float(p) for p in point])
    weights = _least_squares(matrix, target)
    if float(np.abs(matrix @ weights - target).max()) > _FAR:
        return False
    chosen = [others[index] for index in np.flatnonzero(weights > 0).tolist()]
    return _exact_mixture(point, chosen)


def _least_squares(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """Minimise |matrix w - target| over w >= 0 (Lawson and Hanson's active sets)."""
    n = matrix.shape[1]
    weights, active = np.zeros(n), np.zeros(n, dtype=np.bool_)
    for _ in range(3 * n + 10):
        gradient = matrix.T @ (target - matrix @ weights)
        gradient[active] = -np.inf
        best = int(np.argmax(gradient))
        if gradient[best] <= 1e-13:
            break
        active[best] = True
        while True:
            trial = np.zeros(n)
            trial[active] = np.linalg.lstsq(matrix[:, active], target, rcond=None)[0]
            if (trial[active] > 0).all():
                weights = trial
                break
            # Move towards the trial until the first weight reaches 0, and drop it.
            falling = active & (trial <= 0)
            step = float(np.min(weights[falling] / (weights[falling] - trial[falling])))
            weights = weights + step * (trial - weights)
            active &= weights > 1e-15
            weights[~active] = 0.0
            if not active.any():
                break
    return weights


def _exact_mixture(point: Distribution, chosen: Sequence[Distribution]) -> bool:
    """Solve for the weights of a mixture in rational arithmetic, and check them."""
    rows = [[*(vertex[i] for vertex in chosen), point[i]] for i in range(len(point))]
    pivots: list[int] = []
    for column in range(len(chosen)):
        pivot = next((r for r in range(len(pivots), len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        top = len(pivots)
        rows[top], rows[pivot] = rows[pivot], rows[top]
        lead = rows[top][column]
        rows[top] = [value / lead for value in rows[top]]
        for r, row in enumerate(rows):
            if r != top and row[column]:
                factor = row[column]
                rows[r] = [
                    value - factor * base for value, base in zip(row, rows[top], strict=True)
                ]
        pivots.append(column)
    # Without a pivot a column's weight is 0; rows left over must say 0 = 0.
    consistent = all(row[-1] == 0 for row in rows[len(pivots) :])
    return consistent and all(rows[r][-1] >= 0 for r in range(len(pivots)))
