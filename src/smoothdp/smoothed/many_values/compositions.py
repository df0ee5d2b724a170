"""The expectation of a table over databases, for every way to share n records out.

With k_v records from vertex v, the expectation is that of the table under a sum of
independent multinomials. The operators A_v f(H) = sum over c of pi_v(c) f(H + e_c), which
add one record of vertex v, commute (proofs/smoothed-delta#2): the first vertices are applied one
record at a time, the last by one sum against its multinomial probabilities. All terms are
positive. The table holds delta(x) of every histogram of n records, from above or from below.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import Real
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.mechanisms.histogram.accounting.pair_table import PairTable
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.mechanisms.sampling.sampled import SampledMechanism
from smoothdp.types import FloatArray, IntArray

Vertex = tuple[Fraction, ...]
LARGEST_FACTORS = 4_000_000


def expectations(
    table: FloatArray, n_records: int, vertices: tuple[Vertex, ...]
) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield (records per vertex, expectation) for every composition of n_records."""
    yield from _descend(table, n_records, vertices[:-1], Multinomial(n_records, vertices[-1]), ())


def expectation(table: FloatArray, counts: tuple[int, ...], vertices: tuple[Vertex, ...]) -> float:
    """Return the expectation with a given number of records from each vertex."""
    for count, vertex in zip(counts[:-1], vertices[:-1], strict=True):
        for _ in range(count):
            table = _add_record(table, vertex)
    return float((table * Multinomial(counts[-1], vertices[-1]).probabilities(counts[-1])).sum())


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
    last: Multinomial,
    taken: tuple[int, ...],
) -> Iterator[tuple[tuple[int, ...], float]]:
    if not vertices:
        yield (*taken, left), float((table * last.probabilities(left)).sum())
        return
    remaining_table = table
    for count in range(left + 1):
        yield from _descend(remaining_table, left - count, vertices[1:], last, (*taken, count))
        if count < left:
            remaining_table = _add_record(remaining_table, vertices[0])


def _add_record(table: FloatArray, vertex: Vertex) -> FloatArray:
    """Return f(H) = sum over c of vertex(c) table(H + e_c), for one record fewer."""
    axes, size = table.ndim, table.shape[0] - 1
    inner = (slice(0, size),) * axes
    result = float(vertex[-1]) * table[inner]
    for axis in range(axes):
        moved = (*inner[:axis], slice(1, size + 1), *inner[axis + 1 :])
        result += float(vertex[axis]) * table[moved]
    return result


class Multinomial:
    """The law of the histogram of k records of one vertex, for every k up to a largest one.

    Given the categories before it, a count is binomial among what is left, so the law is a
    product of entries of one matrix per category.
    """

    def __init__(self, largest: int, vertex: Vertex) -> None:
        self.largest = largest
        remaining = Fraction(1)
        self._conditional: list[FloatArray] = []
        for probability in vertex[:-1]:
            self._conditional.append(
                _binomials(largest, probability / remaining if remaining else Fraction(0))
            )
            remaining -= probability
        self._known: dict[int, FloatArray] = {}
        # All laws are kept where they fit into 160 MB; otherwise each is made when it is asked for.
        axes = len(vertex) - 1
        self._keep = (largest + 1) ** (axes + 1) <= 20_000_000 * (axes + 1)

    def probabilities(self, k: int) -> FloatArray:
        """Return P(histogram) of k records, one axis per category but the last."""
        known = self._known.get(k)
        if known is not None:
            return known
        axes = len(self._conditional)
        steps = [
            np.arange(k + 1).reshape([-1 if axis == own else 1 for axis in range(axes)])
            for own in range(axes)
        ]
        result = np.ones((1,) * axes)
        left: IntArray = np.full((1,) * axes, k)
        for matrix, count in zip(self._conditional, steps, strict=True):
            # Below 0 nothing is left, and the factor before such an entry is 0.
            result = result * matrix[np.maximum(left, 0), count]
            left = left - count
        if self._keep:
            self._known[k] = result
        return result


def _binomials(largest: int, chance: Fraction) -> FloatArray:
    """Return P(Bin(r, chance) = h) as rows r."""
    matrix = np.zeros((largest + 1, largest + 1))
    for r in range(largest + 1):
        logs = log_binomial_pmf(np.arange(r + 1), r, chance).log_values
        matrix[r, : r + 1] = np.exp(logs)
    return matrix


# ---- the table ------------------------------------------------------------------------


def delta_table(
    mechanism: SampledMechanism[Any], n_categories: int, epsilon: Real
) -> tuple[FloatArray, FloatArray]:
    """Return (lower, upper) of delta_epsilon over all histograms.

    The arrays have n_categories - 1 axes of length n + 1: the counts of all categories but
    the last. Entries whose counts exceed n are 0 and mean nothing.
    """
    if isinstance(mechanism, SamplingHistogram) and n_categories > 2:
        draws = mechanism.draws
        if (draws.n_records + 1) * (draws.n_draws + 1) <= LARGEST_FACTORS:
            return _by_pairs(PairTable(draws, epsilon), draws.n_records, n_categories)
    return _of_every_histogram(mechanism, n_categories, epsilon)


def _by_pairs(pairs: PairTable, n: int, n_categories: int) -> tuple[FloatArray, FloatArray]:
    counts = np.indices((n + 1,) * (n_categories - 1), dtype=np.int32)
    last = n - counts.sum(axis=0)
    inside = last >= 0
    histograms = np.concatenate([counts[:, inside], last[inside][None]])
    small, large = np.sort(histograms, axis=0)[:2]
    lower, upper = np.zeros(inside.shape), np.zeros(inside.shape)
    lower[inside], upper[inside] = pairs.lower[small, large], pairs.upper[small, large]
    return lower, upper


def _of_every_histogram(
    mechanism: SampledMechanism[Any], n_categories: int, epsilon: Real
) -> tuple[FloatArray, FloatArray]:
    n = mechanism.n_records
    shape = (n + 1,) * (n_categories - 1)
    lower, upper = np.zeros(shape), np.zeros(shape)
    known: dict[tuple[int, ...], tuple[float, float]] = {}
    for counts in product(range(n + 1), repeat=n_categories - 1):
        last = n - sum(counts)
        if last < 0:
            continue
        histogram = (*counts, last)
        # A histogram's delta depends on its two smallest counts alone (proofs/two-smallest#4);
        # the delta of a function of the histogram does not.
        key = histogram
        if isinstance(mechanism, HistogramMechanism):
            key = tuple(sorted(histogram)[:2])
        if key not in known:
            logs = mechanism.profile_at(histogram).log_delta_bounds(epsilon)
            known[key] = logs.linear()
        lower[counts], upper[counts] = known[key]
    return lower, np.minimum(upper, 1.0)
