"""The expectation of a table over databases, for every way to share n records out.

With k_v records from vertex v, the expectation is that of the table under a sum of
independent multinomials. The operators A_v f(H) = sum over c of pi_v(c) f(H + e_c), which
add one record of vertex v, commute (notes A8): the first vertices are applied one record at
a time, the last by one sum against its multinomial probabilities. All terms are positive.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.binomial import log_binomial_pmf
from smoothdp.exact.logspace import LIBM_ERROR, UNIT_ROUNDOFF

FloatArray = NDArray[np.float64]
Vertex = tuple[Fraction, ...]


def expectations(
    table: FloatArray, n_records: int, vertices: tuple[Vertex, ...]
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield (records per vertex, expectation) for every composition of n_records."""
    last = vertices[-1]
    weights = [_multinomial(k, last) for k in range(n_records + 1)]
    yield from _descend(table, n_records, vertices[:-1], weights, ())


def expectation(table: FloatArray, counts: tuple[int, ...], vertices: tuple[Vertex, ...]) -> float:
    """Return the expectation with a given number of records from each vertex."""
    for count, vertex in zip(counts[:-1], vertices[:-1], strict=True):
        for _ in range(count):
            table = _add_record(table, vertex)
    return float((table * _multinomial(counts[-1], vertices[-1])).sum())


def relative_error(n_records: int, n_categories: int) -> float:
    """Bound the relative error of each expectation.

    Each record applied costs a product and n_categories additions of rounded
    probabilities; the weights are right to 5e-15 of their logarithm, which as a float is
    above -750, plus 2e-14; the final sum adds a unit per term of its longest axis.
    """
    per_record = (n_categories + 2) * UNIT_ROUNDOFF
    weights = (n_categories - 1) * (5e-15 * 780 + 2e-14) + 2 * LIBM_ERROR
    return 1.01 * (n_records * per_record + weights + (n_records + 64) * 2 * UNIT_ROUNDOFF)


def _descend(
    table: FloatArray,
    left: int,
    vertices: tuple[Vertex, ...],
    weights: list[FloatArray],
    taken: tuple[int, ...],
) -> Iterator[tuple[tuple[int, ...], float]]:
    if not vertices:
        yield (*taken, left), float((table * weights[left]).sum())
        return
    here = table
    for count in range(left + 1):
        yield from _descend(here, left - count, vertices[1:], weights, (*taken, count))
        if count < left:
            here = _add_record(here, vertices[0])


def _add_record(table: FloatArray, vertex: Vertex) -> FloatArray:
    """Return f(H) = sum over c of vertex(c) table(H + e_c), for one record fewer."""
    axes, size = table.ndim, table.shape[0] - 1
    inner = (slice(0, size),) * axes
    result = float(vertex[-1]) * table[inner]
    for axis in range(axes):
        moved = (*inner[:axis], slice(1, size + 1), *inner[axis + 1 :])
        result += float(vertex[axis]) * table[moved]
    return result


def _multinomial(k: int, vertex: Vertex) -> FloatArray:
    """Return the probabilities of all histograms of k records of a vertex (0 off them)."""
    axes = len(vertex) - 1
    logs = np.zeros((k + 1,) * axes)
    used = np.zeros((k + 1,) * axes, dtype=np.int64)
    rest = Fraction(1)
    for axis in range(axes):
        # Given the categories before it, a count is binomial among what is left.
        counts = np.arange(k + 1).reshape([-1 if a == axis else 1 for a in range(axes)])
        chance = vertex[axis] / rest if rest else Fraction(0)
        rest -= vertex[axis]
        for taken in np.unique(used):
            part = log_binomial_pmf(np.arange(k + 1), max(0, k - int(taken)), chance).log_values
            block = part.reshape(counts.shape)
            logs = np.where((used == taken) & (taken <= k), logs + block, logs)
        logs = np.where(used > k, -math.inf, logs)
        used = used + counts
    logs = np.where(used > k, -math.inf, logs)
    return np.exp(logs)
