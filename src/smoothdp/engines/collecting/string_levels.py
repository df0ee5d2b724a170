"""The levels of a `PrefixTree`: a pass of its own for each, with noise of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np

from smoothdp.engines.collecting.marked_rows import MarkedRows
from smoothdp.engines.collection import OTHER, MarkRows, read_rows
from smoothdp.engines.job import Job, Partition, Run
from smoothdp.engines.randomized_counts import MarkedCounts, add_noise
from smoothdp.shuffle import HistogramEstimate, LowCommunicationHistogram, PrefixTree
from smoothdp.shuffle.strings.found_strings import FoundStrings, Prefix
from smoothdp.types import BoolArray, IntArray


@dataclass(frozen=True)
class CountLevel:
    """Count the messages of a level: a user's own bin, and the noise of the user in this level.

    Attributes:
        answers: says of an array of users' names who answers this level; None: all of them.
    """

    histogram: LowCommunicationHistogram
    marks: MarkRows
    collection: bytes
    level: int
    prefixes: tuple[Prefix, ...]
    answers: Callable[[Sequence[Any]], BoolArray] | None = None

    def __call__(self, columns: Partition) -> MarkedCounts:
        users, data = columns
        names, rows = users.tolist(), read_rows(self.marks.protocol, data)
        marked = self.marks.mark(names, rows)
        if self.answers is not None:
            asked = self.answers(names)
            names, rows = users[asked].tolist(), rows[asked]
        bins = bins_of_level(rows, self.level, self.prefixes, n_bins=self.histogram.n_bins)
        counts = np.bincount(bins, minlength=self.histogram.n_bins)
        add_noise(counts, self.histogram, names, key=self.marks.key, collection=self.collection)
        return MarkedCounts(counts, marked)


def bins_of_level(
    rows: IntArray, level: int, prefixes: Sequence[Prefix], *, n_bins: int
) -> IntArray:
    """Return the bin of each row of symbols, as `PrefixTree.bin_of` has it for strings.

    >>> rows = np.array([[0, 1], [2, 3], [OTHER, OTHER]])
    >>> bins_of_level(rows, 1, [()], n_bins=5), bins_of_level(rows, 2, [(2,)], n_bins=5)
    (array([0, 2, 4]), array([4, 3, 4]))
    """
    fan_out, last = (n_bins - 1) // max(1, len(prefixes)), n_bins - 1
    places = {prefix: place for place, prefix in enumerate(prefixes)}
    parents = np.array(
        [places.get(tuple(row), -1) for row in rows[:, : level - 1].tolist()], dtype=np.int64
    )
    symbols = rows[:, level - 1]
    return np.where((parents < 0) | (symbols == OTHER), last, parents * fan_out + symbols)


def level_name(
    rows: MarkedRows[PrefixTree], level: int, prefixes: Sequence[Prefix], who: str = "all"
) -> bytes:
    """Return the name of a level's noise, with what survived and who answers: no other has it."""
    return rows.noise_name(f"level={level}", who, *map(str, prefixes))


def found_strings(run: Run, rows: MarkedRows[PrefixTree]) -> FoundStrings:
    """Return what the levels find, each from a pass over the same rows."""
    tree = rows.protocol

    def ask(level: int, prefixes: tuple[Prefix, ...]) -> HistogramEstimate:
        histogram = tree.round(level, prefixes)
        job = CountLevel(histogram, rows.marks, level_name(rows, level, prefixes), level, prefixes)
        found: MarkedCounts = run(Job(job, add))
        rows.require_same(found.rows.data_mark)
        return histogram.estimate_counts(found.messages)

    return tree.climb(ask)
