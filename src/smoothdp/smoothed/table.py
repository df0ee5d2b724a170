"""delta(x) of every histogram of n records, from above and from below."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.parameters import Real
from smoothdp.mechanisms.histogram.accounting.pair_table import PairTable
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.mechanisms.sampling.sampled import SampledMechanism

FloatArray = NDArray[np.float64]
LARGEST_FACTORS = 4_000_000


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
    return _one_by_one(mechanism, n_categories, epsilon)


def _by_pairs(pairs: PairTable, n: int, n_categories: int) -> tuple[FloatArray, FloatArray]:
    counts = np.indices((n + 1,) * (n_categories - 1), dtype=np.int32)
    last = n - counts.sum(axis=0)
    inside = last >= 0
    histograms = np.concatenate([counts[:, inside], last[inside][None]])
    small, large = np.sort(histograms, axis=0)[:2]
    lower, upper = np.zeros(inside.shape), np.zeros(inside.shape)
    lower[inside], upper[inside] = pairs.lower[small, large], pairs.upper[small, large]
    return lower, upper


def _one_by_one(
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
        # A histogram's delta depends on its two smallest counts alone (composition notes
        # C(i)); that of a function of it does not.
        key = histogram
        if isinstance(mechanism, HistogramMechanism):
            key = tuple(sorted(histogram)[:2])
        if key not in known:
            logs = mechanism.profile_at(histogram).log_delta_bounds(epsilon)
            known[key] = logs.linear()
        lower[counts], upper[counts] = known[key]
    return lower, np.minimum(upper, 1.0)
