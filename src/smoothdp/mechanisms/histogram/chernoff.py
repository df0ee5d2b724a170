"""Chernoff's bound in arrays, safe against rounding."""

from __future__ import annotations

import numpy as np

from smoothdp.types import FloatArray


def chernoff_exponent(
    n_trials: FloatArray | float, share: FloatArray, chance: FloatArray
) -> FloatArray:
    """Return e with P(K <= share n_trials) <= exp(-e), K ~ Bin(n_trials, chance), below truth.

    e = n_trials KL(share || chance) where share < chance, else 0. The arguments may carry a
    few roundings: share is raised and chance lowered by 1e-12 of themselves and of their
    complements, and e lowered by what its own arithmetic can be wrong by.
    """
    slip = 1e-12
    s = np.maximum(share + slip * np.maximum(share, 0.0) + 1e-15, 0.0)
    p = np.minimum(chance * (1 - slip), 1 - (1 - chance) * (1 + slip)) - 1e-15
    valid = (s < p) & (p > 0) & (p < 1) & (s < 1)
    s, p = np.where(valid, s, 0.25), np.where(valid, p, 0.5)
    gap = p - s
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(s > 0, s * np.log1p(-gap / p), 0.0)
        misses = (1 - s) * np.log1p(gap / (1 - p))
    # ln(s/p) = log1p(-gap/p) and ln((1-s)/(1-p)) = log1p(gap/(1-p)); they cancel to second
    # order in the gap.
    value = hits + misses - 1e-14 * (np.abs(hits) + np.abs(misses))
    result = np.asarray(n_trials * np.maximum(value, 0.0) * (1 - 1e-12))
    return np.where(valid, result, 0.0)
