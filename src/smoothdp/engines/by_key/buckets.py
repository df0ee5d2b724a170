"""Which values each group has, in a bounded number of buckets: exact where that is enough.

A bucket (low, high, count) stands for ``count`` values whose codes lie between the two. A run of
equal values is a bucket with low = high, and says all about them. So of any bounds [a, b] the
buckets tell between which ranks they lie, and a further pass over the values of [a, b] alone
tells more. Any two neighbouring buckets may be put together, in any order of the merges: what is
said stays true.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smoothdp.types import IntArray, WordArray


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Buckets:
    """Buckets of some groups, in the order of group, low and high.

    Attributes:
        places: the group of each. low, high: codes. counts: how many values.
    """

    places: IntArray
    low: WordArray
    high: WordArray
    counts: IntArray

    @classmethod
    def of(cls, places: IntArray, codes: WordArray, *, most: int) -> Buckets:
        """Return those of some values, at most about ``most`` in each group."""
        return cls(places, codes, codes, np.ones(len(places), np.int64))._joined(most)

    def merged(self, other: Buckets, *, most: int) -> Buckets:
        """Return those of both."""
        return Buckets(
            np.concatenate([self.places, other.places]),
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
            np.concatenate([self.counts, other.counts]),
        )._joined(most)

    def group(self, place: int) -> Buckets:
        """Return those of one group."""
        start, stop = np.searchsorted(self.places, [place, place + 1])
        cut = slice(int(start), int(stop))
        return Buckets(self.places[cut], self.low[cut], self.high[cut], self.counts[cut])

    @property
    def is_exact(self) -> bool:
        """Whether each bucket is a run of equal values."""
        return bool((self.low == self.high).all())

    def around(self, first: int, last: int) -> tuple[int, int]:
        """Return codes (a, b) between which the ranks from first to last of one group lie.

        The ranks count from 1, and there are such values.
        """
        # Below the low end of a bucket lie at most the values of buckets that begin below it.
        order = np.argsort(self.low, kind="stable")
        low, counts = self.low[order], self.counts[order]
        begun = np.cumsum(counts) - counts
        # Of buckets that begin at one code none begins below it.
        begun = begun[np.searchsorted(low, low, side="left")]
        start = low[np.flatnonzero(begun < first)[-1]]
        # Up to the high end of a bucket lie all values of buckets that end there or before.
        order = np.argsort(self.high, kind="stable")
        high, ended = self.high[order], np.cumsum(self.counts[order])
        stop = high[np.flatnonzero(ended >= last)[0]]
        return int(start), int(stop)

    def _joined(self, most: int) -> Buckets:
        """Return equal runs as one, and where a group has too many buckets, neighbours as one."""
        order = np.lexsort((self.high, self.low, self.places))
        places, counts = self.places[order], self.counts[order]
        low, high = self.low[order], self.high[order]
        same = (low[1:] == low[:-1]) & (high[1:] == high[:-1]) & (low[1:] == high[1:])
        runs = _summed(places, low, high, counts, ~(same & (places[1:] == places[:-1])))
        sizes = np.bincount(runs.places) if len(runs.places) else np.zeros(0, np.int64)
        if len(sizes) == 0 or sizes.max() <= 2 * most:
            return runs
        # In a group of n values a share of n / most each, by where a bucket begins.
        totals = np.bincount(runs.places, weights=runs.counts)[runs.places]
        before = np.cumsum(runs.counts) - runs.counts
        starts = np.flatnonzero(np.diff(runs.places, prepend=-1) > 0)
        before = before - np.repeat(before[starts], np.diff([*starts, len(before)]))
        share = np.floor(before * (most / totals)).astype(np.int64)
        share[sizes[runs.places] <= 2 * most] = -1
        new = (share[1:] != share[:-1]) | (runs.places[1:] != runs.places[:-1]) | (share[1:] < 0)
        return _summed(runs.places, runs.low, runs.high, runs.counts, new)


def _summed(
    places: IntArray, low: WordArray, high: WordArray, counts: IntArray, is_new: np.ndarray
) -> Buckets:
    """Return buckets put together, where ``is_new`` says of each but the first that one begins."""
    if not len(places):
        return Buckets(places, low, high, counts)
    starts = np.concatenate([[0], np.flatnonzero(is_new) + 1])
    return Buckets(
        places[starts],
        low[starts],
        np.maximum.reduceat(high, starts),
        np.add.reduceat(counts, starts),
    )
