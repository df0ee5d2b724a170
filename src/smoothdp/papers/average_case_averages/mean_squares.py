"""Mean squared smooth sensitivities of trimmed means of N(0, 1) data, for many t at once.

The local sensitivity at every distance comes from all pairs of order statistics that
Proposition 40 of paper 2 compares, in floats; then S(t) = max e^(-t k) LS_k for every t. Data are
drawn by a seeded generator.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smoothdp.types import FloatArray

BOUNDS = (-50.0, 1050.0)
"""The bounds to which the paper truncates records."""

_SEED = 20191012
# Numbers drawn in one go, and entries of e^(-t k) LS_k.
_CHUNK = 250_000


def mean_squares(
    n_records: int,
    trims: Sequence[int],
    smoothings: Sequence[float],
    *,
    batch: int,
    n_samples: int,
) -> list[list[list[float]]]:
    """Return the means of S^2 and of S^4 for each trim and smoothing.

    Args:
        n_records: n. trims: each m < n / 2. smoothings: each t > 0.
        batch: which data: equal numbers give equal data.
        n_samples: how many data sets.

    Returns:
        For each trim two lists with one number for each smoothing.
    """
    rng = np.random.default_rng((_SEED, n_records, batch))
    sums = np.zeros((len(trims), 2, len(smoothings)))
    left = n_samples
    while left:
        count = min(left, max(1, _CHUNK // n_records))
        data = np.clip(np.sort(rng.standard_normal((count, n_records)), axis=1), *BOUNDS)
        for row, trim in enumerate(trims):
            squares = smooth_sensitivities(data, trim, smoothings) ** 2
            sums[row] += np.array([squares.sum(axis=0), (squares**2).sum(axis=0)])
        left -= count
    means: list[list[list[float]]] = (sums / n_samples).tolist()
    return means


def local_sensitivities(data: FloatArray, trim: int) -> FloatArray:
    """Return LS_k, k = 0 ... 2m + 1, of the trimmed mean; one row for each row of sorted data.

    The largest of (u_q - v_p) / (n - 2m) over p + q = k + 1, where u_q is the q-th value above
    the window's largest, u_0, v_p the p-th below its least, v_0, and the bounds come last.
    """
    rows, n = data.shape
    low, high = (np.full((rows, 1), bound) for bound in BOUNDS)
    below = np.concatenate([data[:, trim::-1], low], axis=1)
    above = np.concatenate([data[:, n - trim - 1 :], high], axis=1)
    size = trim + 2
    gaps = np.full((rows, 2 * size - 1), -np.inf)
    for p in range(size):
        reached = gaps[:, p : p + size]
        np.maximum(reached, above - below[:, p : p + 1], out=reached)
    # p = q = 0 is no change of a record.
    sensitivities: FloatArray = gaps[:, 1:] / (n - 2 * trim)
    return sensitivities


def smooth_sensitivities(data: FloatArray, trim: int, smoothings: Sequence[float]) -> FloatArray:
    """Return S(t) for each row of sorted data and each smoothing, one column for each."""
    sensitivities = local_sensitivities(data, trim)
    distances = np.arange(sensitivities.shape[1])
    return np.stack(
        [(sensitivities * np.exp(-t * distances)).max(axis=1) for t in smoothings], axis=1
    )
