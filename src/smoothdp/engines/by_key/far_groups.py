"""Groups whose rows are in many places: counts and sums, and the ranks that windows read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from smoothdp.engines.by_key.buckets import Buckets
from smoothdp.engines.by_key.passes import (
    Between,
    FirstPart,
    Layout,
    LookInto,
    same_key,
)
from smoothdp.engines.codes import values_of
from smoothdp.engines.job import Job, Run
from smoothdp.mechanisms.private_size.rules import private_size_smoothing, resolve_private_size
from smoothdp.queries import Count, Query
from smoothdp.queries.fixed.count import Rows
from smoothdp.queries.fixed.fixed_statistic import AddedSums
from smoothdp.queries.private_size.known_column import KnownColumn, KnownRanks
from smoothdp.tables.asked.column_statistic import ColumnStatistic
from smoothdp.tables.grouping import Key
from smoothdp.tables.request import TableRequest
from smoothdp.types import FloatArray, IntArray

LATER_BUCKETS = 8192
"""Of each group in a later pass, which looks at the values near its window alone."""
Ranks = tuple[int, int]


@dataclass(slots=True, eq=False, repr=False)
class FarGroups:
    """The groups of a table, behind a run over partitions: as private as the data.

    Attributes:
        run: over the columns of the layout. first: what the first pass told.
        keys: the groups, in the order of the table. passes: how many there were.
    """

    run: Run
    layout: Layout
    request: TableRequest
    first: FirstPart
    keys: Sequence[Key]
    passes: int = 1
    _found: Mapping[object, int] = field(init=False)
    _known: dict[tuple[str, int], KnownRanks] = field(init=False)

    def __post_init__(self) -> None:
        self._found = {same_key(key): place for place, key in enumerate(self.first.keys)}
        self._known = {}

    def size(self, place: int) -> int:
        """Return how many rows a group has."""
        found = self._found.get(same_key(self.keys[place]))
        return 0 if found is None else int(self.first.rows[found])

    def data(self, place: int, statistic: ColumnStatistic) -> object:
        """Return what the mechanism of a statistic takes of a group."""
        name = statistic.name
        if name in self.layout.windows:
            return self._column(name, place)
        found = self._found.get(same_key(self.keys[place]))
        query = self.layout.sums[name][1]
        sums = (0,) * query.n_sums if found is None else self.first.sums[name][found]
        return Rows(sums[0]) if isinstance(query, Count) else AddedSums(sums)

    def look_ahead(self) -> None:
        """Have the ranks that are read as a rule: of all groups in one pass for each window."""
        for statistic in self.request.statistics:
            if statistic.name not in self.layout.windows:
                continue
            wanted = {}
            for place in range(len(self.keys)):
                ranks = self._as_a_rule(statistic, place)
                if ranks is not None:
                    wanted[place] = ranks
            self._have(statistic.name, wanted)

    def _as_a_rule(self, statistic: ColumnStatistic, place: int) -> Ranks | None:
        """Return the ranks that a release is likely to read: nothing depends on it but speed."""
        n_records, query = self._n_records(statistic.name, place), statistic.query
        if not n_records:
            return None
        assert isinstance(query, Query)
        guess = self.request.n_guess
        if isinstance(guess, Mapping):
            guess = guess[self.keys[place]]
        elif guess is None:
            guess = Fraction(max(1, self.size(place)))
        covers = None if statistic.coverage is None else statistic.coverage.target
        window = resolve_private_size(query, statistic.guarantee, guess, covers=covers)
        rate = private_size_smoothing(window, statistic.guarantee, guess, covers=covers)
        first, last = window.first_ranks(n_records, smoothing=rate)
        more = (last - first) // 4
        first, last = max(1, first - more), min(n_records, last + more)
        return (first, last) if first <= last else None

    def _buckets(self, name: str, place: int) -> Buckets:
        found = self._found.get(same_key(self.keys[place]))
        return self.first.buckets[name].group(-1 if found is None else found)

    def _n_records(self, name: str, place: int) -> int:
        return int(self._buckets(name, place).counts.sum())

    def _column(self, name: str, place: int) -> KnownColumn:
        known = self._known.get((name, place))
        if known is None:
            nothing: FloatArray = np.zeros(0)
            known = KnownRanks(self._n_records(name, place), 0, nothing, np.zeros(0, np.int64))

        def more(first: int, last: int) -> KnownRanks:
            here = self._known.get((name, place))
            if here is not None:
                # With what was known, so that nothing is asked for twice.
                first = min(first, here.below + 1)
                last = max(last, here.below + int(here.counts.sum()))
            self._have(name, {place: (first, last)})
            return self._known[name, place]

        return KnownColumn(known, more)

    def _have(self, name: str, wanted: Mapping[int, Ranks]) -> None:
        """Have ranks of some groups, in as many passes as the buckets need."""
        below = dict.fromkeys(wanted, 0)
        buckets = {place: self._buckets(name, place) for place in wanted}
        pending = dict(wanted)
        most = LATER_BUCKETS
        while pending:
            intervals: dict[int, Between] = {}
            for place, (first, last) in pending.items():
                here = buckets[place]
                low, high = here.around(first - below[place], last - below[place])
                known = _runs(here, low, high, below[place], self._n_records(name, place))
                if known is None:
                    size = max(most, 4 * (last - first + 1))
                    intervals[place] = Between(low, high, size)
                else:
                    self._known[name, place] = known
            pending = {place: wanted[place] for place in intervals}
            if pending:
                places = list(pending)
                job = LookInto(
                    self.layout,
                    name,
                    tuple(self.keys[place] for place in places),
                    tuple(intervals[place] for place in places),
                )
                told = self.run(Job(job, job.merge))
                self.passes += 1
                for index, place in enumerate(places):
                    below[place] = int(told.below[index])
                    buckets[place] = told.buckets.group(index)
                most *= 2


def _runs(buckets: Buckets, low: int, high: int, below: int, n_records: int) -> KnownRanks | None:
    """Return the values from one code to another, or None where buckets do not tell them."""
    a, b = np.uint64(low), np.uint64(high)
    touched = (buckets.high >= a) & (buckets.low <= b)
    if (buckets.low[touched] != buckets.high[touched]).any():
        return None
    before: IntArray = buckets.counts[buckets.high < a]
    return KnownRanks(
        n_records,
        below + int(before.sum()),
        np.asarray(values_of(buckets.low[touched], whole=False), np.float64),
        buckets.counts[touched],
    )
