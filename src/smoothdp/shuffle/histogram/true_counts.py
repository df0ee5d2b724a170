"""Data and true counts as users hand them over, checked before anything is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smoothdp.errors import InvalidData
from smoothdp.shuffle.histogram.estimate import require_bin

Tally = dict[int, int]
"""Bin -> true count, only bins that are not empty."""


def tally_data(
    data: Iterable[object], *, n_users: int, n_bins: int, catch_all: bool = False
) -> Tally:
    """Return the true counts of one value per user.

    With ``catch_all`` the last bin takes all values outside the others.

    Raises:
        InvalidData: a value outside the domain, or another number of users.
    """
    if isinstance(data, str | bytes) or not isinstance(data, Iterable):
        raise InvalidData(
            expected="one value per user",
            got=f"{type(data).__name__}",
            remedy="Give a list or an array",
        )
    if isinstance(data, np.ndarray):
        if data.ndim != 1 or data.dtype.kind not in "iu":
            raise InvalidData(
                expected="a one-dimensional array of whole numbers",
                got=f"{data.ndim} dimensions of {data.dtype}",
                remedy="Give the bin of each user, a whole number from 0",
            )
        bins, counts = np.unique(data, return_counts=True)
        tally = dict(zip(bins.tolist(), counts.tolist(), strict=True))
    else:
        values = list(data)
        if set(map(type, values)) - {int}:
            # Equal values of other types would be counted as one: True as 1.
            values = [require_bin(value, n_bins, catch_all=catch_all) for value in values]
        tally = Counter(values)
    checked: Tally = {}
    for value, count in tally.items():
        bin_index = require_bin(value, n_bins, catch_all=catch_all)
        checked[bin_index] = checked.get(bin_index, 0) + count
    _require_total(sum(checked.values()), n_users)
    return checked


def tally_counts(counts: object, *, n_users: int, n_bins: int) -> Tally:
    """Return true counts given as a sequence over all bins, or as bin -> count.

    Raises:
        InvalidData: counts that are negative or fractional, bins outside the domain, another
            number of bins, or counts that do not add up to the number of users.
    """
    if isinstance(counts, np.ndarray) and counts.shape == (n_bins,) and counts.dtype.kind in "iu":
        return _tally_array(counts, n_users)
    if isinstance(counts, Mapping):
        pairs = list(counts.items())
    elif isinstance(counts, Iterable) and not isinstance(counts, str | bytes):
        listed = counts.tolist() if isinstance(counts, np.ndarray) else list(counts)
        if len(listed) != n_bins:
            raise InvalidData(
                expected=f"one count for each of the {n_bins} bins",
                got=f"{len(listed)}",
                remedy="Give empty bins as 0, or a mapping from bin to count",
            )
        pairs = list(enumerate(listed))
    else:
        raise InvalidData(
            expected="counts as a sequence or a mapping",
            got=type(counts).__name__,
            remedy="Give one count per bin",
        )
    tally: Tally = {}
    for value, count in pairs:
        bin_index = require_bin(value, n_bins)
        is_whole = isinstance(count, Integral) or (isinstance(count, float) and count.is_integer())
        if not is_whole or isinstance(count, bool) or count < 0:
            raise InvalidData(
                expected="counts as whole numbers >= 0",
                got="another",
                remedy="Give the number of users in each bin",
            )
        if count:
            tally[bin_index] = int(count)
    _require_total(sum(tally.values()), n_users, is_sum=True)
    return tally


def _tally_array(counts: NDArray[np.integer[Any]], n_users: int) -> Tally:
    if (counts < 0).any():
        raise InvalidData(
            expected="counts >= 0",
            got="a negative one",
            remedy="Give the number of users in each bin",
        )
    occupied = np.flatnonzero(counts)
    _require_total(int(counts.sum(dtype=np.int64)), n_users, is_sum=True)
    return dict(zip(occupied.tolist(), counts[occupied].tolist(), strict=True))


def _require_total(total: int, n_users: int, *, is_sum: bool = False) -> None:
    if total != n_users:
        raise InvalidData(
            expected=f"the data of n_users={n_users} users",
            got="another sum" if is_sum else f"{total}",
            remedy="Build the protocol for the number of users there are",
        )
