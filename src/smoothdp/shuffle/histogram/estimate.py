"""The estimated histogram: bins that are not empty, whatever the size of the domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from smoothdp.errors import InvalidData, OutOfReach
from smoothdp.sources import Source
from smoothdp.types import FloatArray

LARGEST_ARRAY = 10**8
"""Bins that an explicit array may have."""


@dataclass(frozen=True, slots=True)
class HistogramEstimate:
    """Estimated counts; a bin that is not listed was reported as exactly 0.

    Attributes:
        n_bins: d, the size of the domain; may be far beyond memory.
        counts: bin -> estimated number of users, only bins reported as not empty. Divide by
            the number of users for the frequencies of paper 3.

    >>> estimate = HistogramEstimate(10**18, {7: 41.5})
    >>> estimate[7], estimate[8], estimate.support
    (41.5, 0.0, frozenset({7}))
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.2")
    n_bins: int
    counts: Mapping[int, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", MappingProxyType(dict(self.counts)))

    def __getitem__(self, bin_index: int) -> float:
        if not 0 <= bin_index < self.n_bins:
            raise IndexError(f"bin {bin_index} of a domain of {self.n_bins}")
        return self.counts.get(bin_index, 0.0)

    def __len__(self) -> int:
        return self.n_bins

    def __iter__(self) -> Iterator[float]:
        return iter(self.to_array().tolist())

    def __array__(self, dtype: object = None, copy: object = None) -> NDArray[np.generic]:
        return self.to_array().astype(np.float64 if dtype is None else dtype)  # type: ignore[call-overload, no-any-return]

    @property
    def support(self) -> frozenset[int]:
        """The bins reported as not empty."""
        return frozenset(self.counts)

    def top(self, k: int) -> list[tuple[int, float]]:
        """Return the k largest bins with their estimates, largest first."""
        return sorted(self.counts.items(), key=lambda entry: (-entry[1], entry[0]))[:k]

    def to_array(self) -> FloatArray:
        """Return one estimate per bin.

        Raises:
            OutOfReach: more than 1e8 bins.
        """
        if self.n_bins > LARGEST_ARRAY:
            raise OutOfReach(
                expected=f"at most {LARGEST_ARRAY} bins in an array",
                got=f"n_bins={self.n_bins}",
                remedy="Use counts, which lists only bins that are not empty",
            )
        array = np.zeros(self.n_bins)
        if self.counts:
            array[np.array(list(self.counts), dtype=np.int64)] = list(self.counts.values())
        return array


def require_bin(bin_index: object, n_bins: int, *, catch_all: bool = False) -> int:
    """Return a bin of the domain; for another value the last if that catches all, or raise.

    Raises:
        InvalidData: a value outside the domain, and no bin for it.

    >>> require_bin(7, 3, catch_all=True), require_bin(None, 3, catch_all=True)
    (2, 2)
    """
    is_whole = isinstance(bin_index, int | np.integer) and not isinstance(bin_index, bool)
    if not is_whole or not 0 <= int(bin_index) < n_bins:  # type: ignore[call-overload]
        if catch_all:
            return n_bins - 1
        raise InvalidData(
            expected=f"a value in 0..{n_bins - 1}",
            got="another value",
            remedy="Number the domain from 0, and map or drop other values before they are sent",
        )
    return int(bin_index)  # type: ignore[call-overload, no-any-return]
