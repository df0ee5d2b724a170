"""Does a sampler follow a stated law? Tests whose false-alarm rate is guaranteed.

Asymptotic tests have the size they promise only in the limit. Here every cell and every
cumulated cell is tested by its exact binomial law, and the p-values are combined by
Bonferroni's inequality: a correct sampler is rejected with at most the stated probability,
for every sample size.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from smoothdp.errors import InvalidData
from smoothdp.exact.parameters.reading import float_array
from smoothdp.types import FloatArray


def frequency_test(observed: ArrayLike, probabilities: ArrayLike) -> float:
    """Return a p-value for the hypothesis that counts follow given probabilities.

    The probability that the result is at most a, if the hypothesis is true, is at most a.
    Cells show wrong weights, cumulated cells show shifts.

    Args:
        observed: counts per cell, a one-dimensional array.
        probabilities: the stated law over the same cells; sums to 1 within 1e-9.

    Raises:
        InvalidData: arrays of different shapes, counts that are no whole numbers, or
            probabilities that do not sum to 1.

    >>> frequency_test([498, 502], [0.5, 0.5]) > 0.5
    True
    >>> frequency_test([400, 600], [0.5, 0.5]) < 1e-8
    True
    """
    counts, law = _read(observed, probabilities)
    n = int(counts.sum())
    hits = np.concatenate([counts, np.cumsum(counts)[:-1]])
    chances = np.minimum(1.0, np.concatenate([law, np.cumsum(law)[:-1]]))
    below = stats.binom.cdf(hits, n, chances)
    above = stats.binom.sf(hits - 1, n, chances)
    two_sided = np.minimum(1.0, 2.0 * np.minimum(below, above))
    return float(min(1.0, two_sided.min() * two_sided.size))


def chi_square_test(observed: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the p-value of Pearson's test; asymptotic: its size is only approximate.

    Neighbouring cells are pooled until each expects at least 5.

    Args:
        observed: counts per cell, a one-dimensional array.
        probabilities: the stated law over the same cells; sums to 1 within 1e-9.

    Raises:
        InvalidData: arrays of different shapes, counts that are no whole numbers, or
            probabilities that do not sum to 1.

    >>> chi_square_test([498, 502], [0.5, 0.5]) > 0.5
    True
    """
    counts, law = _read(observed, probabilities)
    expected = law * counts.sum()
    groups = np.floor(np.cumsum(expected) / 5.0 * (1 - 1e-12)).astype(int)
    size = int(groups.max()) + 1
    pooled_counts = np.bincount(groups, weights=counts, minlength=size)
    pooled = np.bincount(groups, weights=expected, minlength=size)
    used = pooled > 0
    if used.sum() < 2:
        return 1.0
    gap = pooled_counts[used] - pooled[used]
    statistic = float(np.sum(gap * gap / pooled[used]))
    return float(stats.chi2.sf(statistic, int(used.sum()) - 1))


def _read(observed: ArrayLike, probabilities: ArrayLike) -> tuple[FloatArray, FloatArray]:
    counts = float_array(observed, name="observed")
    law = float_array(probabilities, name="probabilities")
    if counts.ndim != 1 or counts.shape != law.shape or counts.size < 2:
        raise InvalidData(
            expected="one count and one probability for each of at least two cells",
            got=f"shapes {counts.shape} and {law.shape}",
            remedy="Give arrays of one length",
        )
    if not (np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts))).all():
        raise InvalidData(
            expected="whole counts >= 0", got="other numbers", remedy="Count the cells"
        )
    if not (abs(float(law.sum()) - 1.0) <= 1e-9 and (law >= 0).all()):
        raise InvalidData(
            expected="probabilities that sum to 1",
            got=f"{float(law.sum())!r}",
            remedy="Add the missing cell",
        )
    return counts, law
