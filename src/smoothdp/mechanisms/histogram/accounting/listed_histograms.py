"""All histograms of a given total, one by one: the outputs of a sample of fixed size."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.types import IntArray


def histograms_of_total(limits: Sequence[int], total: int, *, most: int, remedy: str) -> IntArray:
    """Return all vectors 0 <= h <= limits that add up to a total, one per column, in order.

    Args:
        limits: the greatest entry of each category.
        total: what the entries add up to.
        most: refuse more vectors than this number.
        remedy: what the refusal advises.

    Raises:
        OutOfReach: more than ``most`` vectors; nothing of that size is built.

    >>> histograms_of_total([1, 2], 2, most=10, remedy="").tolist()
    [[0, 1], [2, 1]]
    """
    columns = np.zeros((0, 1), dtype=np.int64)
    left = np.array([total])
    for position, limit in enumerate(limits):
        room = sum(limits[position + 1 :])
        low, high = np.maximum(0, left - room), np.minimum(limit, left)
        size = np.maximum(0, high - low + 1)
        # Every beginning has an end: their number only grows.
        if float(size.sum(dtype=np.float64)) > most:
            raise OutOfReach(
                expected=f"at most {most} sampled histograms", got="more", remedy=remedy
            )
        index = np.repeat(np.arange(left.size), size)
        offset = np.arange(index.size) - np.repeat(np.cumsum(size) - size, size)
        chosen = low[index] + offset
        columns = np.vstack([columns[:, index], chosen])
        left = left[index] - chosen
    return columns
