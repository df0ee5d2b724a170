"""The estimated histogram: bins that are not empty, whatever the size of the domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from smoothdp.claims.domains import read_inner_probability
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.shuffle.histogram.bars import BarLaw, HistogramBars
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
        law: what a protocol leaves for `bars`.

    >>> estimate = HistogramEstimate(10**18, {7: 41.5})
    >>> estimate[7], estimate[8], estimate.support
    (41.5, 0.0, frozenset({7}))
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.2")
    n_bins: int
    counts: Mapping[int, float]
    law: BarLaw | None = field(default=None, repr=False, compare=False, kw_only=True)

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

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the counts as a dictionary."""
        return _rebuilt, (self.n_bins, dict(self.counts), self.law)

    def bars(self, confidence: Parameter, *, bin: int | None = None) -> HistogramBars:
        """Return where the true counts lie: listed bins, unlisted ones, all at once.

        Whatever the data, with at least this confidence. All who answered follow the protocol,
        but for those tolerated, who may send nothing and are not in the true counts; each who
        sends anything moves a bin by up to the slots of an envelope more.

        Args:
            confidence: in (0, 1).
            bin: one bin, chosen before the data were seen, alone: narrower bars, which are not
                for the largest count or any other that the data choose.

        Raises:
            InvalidParameter: another confidence or bin; an estimate that no protocol made.

        >>> from smoothdp.shuffle import LowCommunicationHistogram
        >>> p = LowCommunicationHistogram(10_000, n_bins=100, noise_probability="0.00427468")
        >>> counts = [0] * 100
        >>> counts[3] = 10_000
        >>> bars = p.simulate(counts).value.bars("0.95")
        >>> round(bars.below, 4), round(bars.above, 4), bars.unlisted
        (24.2532, 20.7468, 45)
        """
        failure = 1 - read_inner_probability(confidence, name="confidence", example="0.95")
        if bin is not None:
            try:
                require_bin(bin, self.n_bins)
            except InvalidData as error:
                raise InvalidParameter(
                    expected=error.expected, got=f"bin={bin!r}", remedy="Name a bin of the domain"
                ) from None
        if self.law is None:
            raise InvalidParameter(
                expected="an estimate that a histogram protocol made",
                got="one made by hand",
                remedy="Ask the estimate that analyze, release or simulate returned",
            )
        return self.law.bars(self.counts, failure, bin_index=bin)

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


def _rebuilt(n_bins: int, counts: dict[int, float], law: BarLaw | None) -> HistogramEstimate:
    return HistogramEstimate(n_bins, counts, law=law)


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
