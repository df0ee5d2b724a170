"""The passes over a table by key: pure functions of some rows, and merges in any order.

The first counts each group's rows, adds up what sums need, and puts the values of windows in
buckets. Later ones look at the values between two codes alone, of the groups that ask for them.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from smoothdp.claims.neighbours import Neighbours
from smoothdp.data.batches import LabelKind
from smoothdp.data.read_table import read_table
from smoothdp.data.table import Table, same_label
from smoothdp.engines.by_key.buckets import Buckets
from smoothdp.engines.codes import codes_of
from smoothdp.engines.job import Partition
from smoothdp.queries.fixed.fixed_statistic import Sums
from smoothdp.queries.private_size.read_rows import read_rows
from smoothdp.queries.read_arguments import Bounds
from smoothdp.queries.windows.sides import Clamp
from smoothdp.tables.grouping import Groups, Key, group_places, public_places
from smoothdp.tables.kept_rows import present_keys
from smoothdp.types import FloatArray, IntArray, WordArray

FIRST_BUCKETS = 256
"""Of each group in the first pass: so many of its values, or shares of them, are told apart."""


@dataclass(frozen=True)
class Layout:
    """What the columns of a partition are: those of keys, then those of numbers.

    Attributes:
        by, numbers: their names. kinds: of public labels, for the columns that have them.
        sums: by name the column, or None for the rows themselves, and the statistic.
        windows: by name the column and the bounds.
    """

    by: tuple[str, ...]
    numbers: tuple[str, ...]
    kinds: Mapping[str, LabelKind]
    sums: Mapping[str, tuple[str | None, Sums]]
    windows: Mapping[str, tuple[str, Bounds]]

    def table(self, columns: Partition) -> Table:
        """Return the rows: read one by one, and none is refused."""
        named = dict(zip((*self.by, *self.numbers), columns, strict=True))
        # A column may be both; whole numbers are floats in every part, or in none.
        return read_table(named, categories=self.by, numbers=self.numbers, kinds=self.kinds)

    def values(self, table: Table, name: str, rows: IntArray) -> tuple[IntArray, WordArray]:
        """Return which of some rows have a value for a window, and the codes of these."""
        column, bounds = self.windows[name]
        numbers = np.asarray(table.numbers[column][rows], np.float64)
        kept = np.flatnonzero(~np.isnan(numbers))
        return kept, codes_of(within(np.asarray(read_rows(numbers), np.float64), bounds))


def within(values: FloatArray, bounds: Bounds) -> FloatArray:
    """Return values of which all beyond a bound are one: they count as the bound itself."""
    clamp = Clamp.on(values, bounds)
    least, most = np.nextafter(clamp.first, -np.inf), np.nextafter(clamp.last, np.inf)
    if clamp.first > clamp.last:
        # No float lies between the bounds.
        return np.where(values > clamp.last, clamp.first, clamp.last)
    return np.clip(values, least, most)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FirstPart:
    """What the first pass tells: by key.

    Attributes:
        keys: those that are present, as they are shown; places of buckets count along these.
        rows: of each key. sums: of each key, by name. buckets: by name.
    """

    keys: tuple[Key, ...]
    rows: IntArray
    sums: Mapping[str, tuple[tuple[int, ...], ...]]
    buckets: Mapping[str, Buckets]


@dataclass(frozen=True)
class CountGroups:
    """The first pass over some rows."""

    layout: Layout
    public: tuple[Key, ...] | None

    def __call__(self, columns: Partition) -> FirstPart:
        """Return its part."""
        table = self.layout.table(columns)
        if self.public is None:
            keys, places = present_keys([table.categories[name] for name in self.layout.by])
        else:
            keys, places = self.public, public_places(table, self.layout.by, self.public)
        groups = group_places(places, len(keys))
        sizes = np.diff(groups.starts)
        held = np.flatnonzero(sizes)
        sums = {name: self._sums(table, groups, held, name) for name in self.layout.sums}
        renumbered = np.full(len(keys) + 1, -1, np.int64)
        renumbered[held] = np.arange(len(held))
        buckets = {}
        rows = groups.order[: groups.starts[-1]]
        for name in self.layout.windows:
            kept, codes = self.layout.values(table, name, rows)
            of_rows = renumbered[places[rows[kept]]]
            buckets[name] = Buckets.of(of_rows, codes, most=FIRST_BUCKETS)
        present = tuple(keys[place] for place in held.tolist())
        return FirstPart(present, sizes[held].astype(np.int64), sums, buckets)

    @property
    def nothing(self) -> FirstPart:
        """The part of no rows."""
        none, codes = np.zeros(0, np.int64), np.zeros(0, np.uint64)
        buckets = dict.fromkeys(self.layout.windows, Buckets(none, codes, codes, none))
        return FirstPart((), none, dict.fromkeys(self.layout.sums, ()), buckets)

    def _sums(
        self, table: Table, groups: Groups, held: IntArray, name: str
    ) -> tuple[tuple[int, ...], ...]:
        column, query = self.layout.sums[name]
        found = []
        for place in held.tolist():
            rows = groups.rows(place)
            data = rows if column is None else table.numbers[column][rows]
            found.append(query.sums(query.read(data, Neighbours.ADD_REMOVE)))
        return tuple(found)


def merge_first(a: FirstPart, b: FirstPart) -> FirstPart:
    """Return the part of both."""
    places = {same_key(key): place for place, key in enumerate(a.keys)}
    keys = list(a.keys)
    moved = []
    for key in b.keys:
        place = places.setdefault(same_key(key), len(keys))
        if place == len(keys):
            keys.append(key)
        moved.append(place)
    move = np.array(moved, np.int64)
    rows = np.zeros(len(keys), np.int64)
    rows[: len(a.keys)] = a.rows
    np.add.at(rows, move, b.rows)
    sums = {}
    for name, first in a.sums.items():
        added = list(first) + [(0,) * _width(first, b.sums[name])] * (len(keys) - len(first))
        for place, more in zip(moved, b.sums[name], strict=True):
            added[place] = tuple(x + y for x, y in zip(added[place], more, strict=True))
        sums[name] = tuple(added)
    buckets = {}
    for name, mine in a.buckets.items():
        theirs = b.buckets[name]
        moved_there = Buckets(move[theirs.places], theirs.low, theirs.high, theirs.counts)
        buckets[name] = mine.merged(moved_there, most=FIRST_BUCKETS)
    return FirstPart(tuple(keys), rows, sums, buckets)


def same_key(key: Key) -> tuple[Hashable, ...]:
    """Return what two keys have in common if they mean the same."""
    return tuple(map(same_label, key))


def _width(*several: Sequence[tuple[int, ...]]) -> int:
    return next((len(sums[0]) for sums in several if sums), 0)


@dataclass(frozen=True)
class Between:
    """Codes from ``low`` to ``high`` of one group and window, in ``most`` buckets at most."""

    low: int
    high: int
    most: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LookedInto:
    """Of the intervals that were asked for: how many values are below, and buckets inside."""

    below: IntArray
    buckets: Buckets


@dataclass(frozen=True)
class LookInto:
    """A later pass: the values between two codes, of some groups, for one window.

    Attributes:
        keys: the groups that are asked about. between: of each.
    """

    layout: Layout
    name: str
    keys: tuple[Key, ...]
    between: tuple[Between, ...]

    @property
    def most(self) -> int:
        """The buckets of a group."""
        return max(one.most for one in self.between)

    def __call__(self, columns: Partition) -> LookedInto:
        """Return its part."""
        table = self.layout.table(columns)
        places = public_places(table, self.layout.by, self.keys)
        rows = np.flatnonzero(places >= 0)
        kept, codes = self.layout.values(table, self.name, rows)
        of_rows = places[rows[kept]]
        low = np.array([one.low for one in self.between], np.uint64)[of_rows]
        high = np.array([one.high for one in self.between], np.uint64)[of_rows]
        below = np.bincount(of_rows[codes < low], minlength=len(self.keys)).astype(np.int64)
        inside = (codes >= low) & (codes <= high)
        return LookedInto(below, Buckets.of(of_rows[inside], codes[inside], most=self.most))

    def merge(self, a: LookedInto, b: LookedInto) -> LookedInto:
        """Return the part of both."""
        return LookedInto(a.below + b.below, a.buckets.merged(b.buckets, most=self.most))
