"""delta(x) of every histogram of n records, from above and from below."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from smoothdp.exact.parameters import Real
from smoothdp.mechanisms.histograms import HistogramMechanism

FloatArray = NDArray[np.float64]


def delta_table(
    mechanism: HistogramMechanism, n_categories: int, epsilon: Real
) -> tuple[FloatArray, FloatArray]:
    """Return (lower, upper) of delta_epsilon over all histograms.

    The arrays have n_categories - 1 axes of length n + 1: the counts of all categories but
    the last. Entries whose counts exceed n are 0 and mean nothing. delta depends on the two
    smallest counts alone (composition notes C(i)), so each pair is computed once.
    """
    n = mechanism.n_records
    shape = (n + 1,) * (n_categories - 1)
    lower, upper = np.zeros(shape), np.zeros(shape)
    known: dict[tuple[int, int], tuple[float, float]] = {}
    for counts in product(range(n + 1), repeat=n_categories - 1):
        last = n - sum(counts)
        if last < 0:
            continue
        histogram = (*counts, last)
        small, large = sorted(histogram)[:2]
        if (small, large) not in known:
            profile = mechanism.profile_at(histogram)
            logs = profile.log_delta_bounds(epsilon)
            known[small, large] = logs.linear()
        lower[counts], upper[counts] = known[small, large]
    return lower, np.minimum(upper, 1.0)
