"""Sums of a sample, counted: the arithmetic behind the sampling-average mechanism.

A layer t holds, for every sum s, the weight of the samples of size t with that sum: the
number of subsets, or the number of sequences divided by t!. Both numbers are coefficients of a
product over the records u of series phi(z X^u), phi(y) = 1 + y or e^y, so a record is put in
by multiplying and taken out by the alternating series of 1 / phi. Weights are sums of
positive numbers, at least 1 (or 1/t!) in exact units, so none underflows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.types import FloatArray

Layers = list[FloatArray]

MOST_WORK = 2e10
MOST_MEMORY = 7e7
# Weights between 2^-1000 and 2^1000 leave room for sums and errors.
_MOST_BITS = 2000
_BLOCK = 64


class Bracket(NamedTuple):
    """Arrays around a true array: 0 <= lower <= truth <= upper."""

    lower: FloatArray
    upper: FloatArray


def check_work(*, additions: float, numbers: float) -> None:
    """Raise OutOfReach if so many additions, or so many floats at once, are too many."""
    if additions > MOST_WORK or numbers > MOST_MEMORY:
        raise _out_of_reach(
            f"at most {MOST_WORK:.0e} additions and {MOST_MEMORY:.0e} weights",
            f"{additions:.1e} and {numbers:.1e}",
        )


def weight_unit(*, largest: int, smallest: int = 1) -> int:
    """Return k such that weights from 1/smallest to largest fit floats in units of 2^k."""
    bits = largest.bit_length() + smallest.bit_length()
    if bits > _MOST_BITS:
        raise _out_of_reach(f"numbers of samples of at most {_MOST_BITS} bits", f"{bits} bits")
    return max(0, largest.bit_length() - _MOST_BITS // 2)


def _out_of_reach(expected: str, got: str) -> OutOfReach:
    remedy = (
        "Draw fewer records, take a coarser universe, or with two values SamplingHistogram; "
        "delta is at most worst_case_delta()"
    )
    return OutOfReach(expected=expected, got=got, remedy=remedy)


def subset_layers(records: Sequence[int], depth: int, span: int, unit: float) -> Layers:
    """Return layers 0..depth of the subsets of records, whole numbers in [0, span].

    Layer t has t * span + 1 entries; each is a sum of positive floats with at most
    len(records) roundings in a row.

    >>> [layer.tolist() for layer in subset_layers([0, 1, 1], 2, 1, 1.0)]
    [[1.0], [1.0, 2.0], [0.0, 2.0, 1.0]]
    """
    layers = [np.zeros(t * span + 1) for t in range(depth + 1)]
    layers[0][0] = unit
    ordered = sorted(records)
    for n_earlier, record in enumerate(ordered):
        low = ordered[0]
        for t in range(min(n_earlier + 1, depth), 0, -1):
            # So far no record exceeds this one, nor is one below the first.
            start, stop = (t - 1) * low, (t - 1) * record + 1
            layers[t][start + record : stop + record] += layers[t - 1][start:stop]
    return layers


def with_record(layers: Layers, record: int) -> Layers:
    """Return the layers of the subsets with one more record."""
    grown = [layers[0]]
    for t in range(1, len(layers)):
        layer = layers[t].copy()
        layer[record : record + layers[t - 1].size] += layers[t - 1]
        grown.append(layer)
    return grown


def sequence_layers(counts: Sequence[int], depth: int, unit: float) -> Layers:
    """Return layers 0..depth of the sequences over values 0..len(counts) - 1, weight 1/t!.

    Each entry of layer t is a sum of positive floats with at most t (len(counts) + 2)
    roundings in a row.

    >>> [layer.tolist() for layer in sequence_layers([1, 1], 2, 1.0)]
    [[1.0], [1.0, 1.0], [0.5, 1.0, 0.5]]
    """
    weights = np.array(counts, dtype=np.float64)
    occupied = np.flatnonzero(weights)
    low, high = int(occupied[0]), int(occupied[-1])
    short = weights[low : high + 1]
    trimmed, layers = np.array([unit]), [np.array([unit])]
    for t in range(1, depth + 1):
        trimmed = np.convolve(trimmed, short) / t
        layer = np.zeros(t * (len(counts) - 1) + 1)
        layer[t * low : t * low + trimmed.size] = trimmed
        layers.append(layer)
    return layers


def alternating(
    layers: Layers, record: int, coefficients: Sequence[float], error: float, first: int = 0
) -> Bracket:
    """Bound sum_j (-1)^(j - first) c_j layers[top - j] shifted by j * record, j >= first.

    The truth is known to be nonnegative. ``error`` is the relative error of the layers; the
    bounds follow from it and from the sum of the terms without signs.
    """
    top = len(layers) - 1
    value, size = np.zeros(layers[top].size), np.zeros(layers[top].size)
    for j in range(first, top + 1):
        term = layers[top - j] if coefficients[j] == 1.0 else coefficients[j] * layers[top - j]
        span = slice(j * record, j * record + term.size)
        size[span] += term
        if (j - first) % 2:
            value[span] -= term
        else:
            value[span] += term
    size *= 1.01 * (error + (top + 4) * UNIT_ROUNDOFF)
    return Bracket(np.maximum(value - size, 0.0), np.maximum(value + size, 0.0))


def smallest_in_reach(values: FloatArray, reach: int) -> FloatArray:
    """Return the minimum of each entry and the ``reach`` entries before it; 0 outside.

    >>> smallest_in_reach(np.array([3.0, 2.0, 5.0]), 1).tolist()
    [0.0, 2.0, 2.0, 0.0]
    """
    minima = np.concatenate([values, np.zeros(reach)])
    covered = 1
    while covered < reach + 1:
        step = min(covered, reach + 1 - covered)
        moved = np.zeros(minima.size)
        moved[step:] = minima[:-step]
        minima = np.minimum(minima, moved)
        covered += step
    return minima


def sum_upper(values: FloatArray) -> float:
    """Return a float not below the sum of nonnegative floats."""
    blocks = np.add.reduceat(values, np.arange(0, values.size, _BLOCK))
    return math.fsum(blocks.tolist()) * (1 + (_BLOCK + 4) * 2 * UNIT_ROUNDOFF)
