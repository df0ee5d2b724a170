"""The mechanism of a table: everything about it is fixed before the data are read."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, Protocol

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.label import Label
from smoothdp.claims.release import Release, library_version
from smoothdp.data.table import Table
from smoothdp.errors import IncompatibleClaims, InvalidParameter, OutOfReach
from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.additive.integer_noise import IntegerNoise, integer_noise
from smoothdp.mechanisms.private_size.bought_size import low_end
from smoothdp.mechanisms.private_size.tried import check_some_size, mechanism_near
from smoothdp.mechanisms.release.bars.interval_release import IntervalRelease
from smoothdp.mechanisms.release.chosen import Releasable, mechanism_of
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries import Count
from smoothdp.sources import Source
from smoothdp.tables.asked.column_statistic import COUNT, KEYS, ColumnStatistic
from smoothdp.tables.asked.several import ascending
from smoothdp.tables.grouping import Groups, Key, told_apart
from smoothdp.tables.kept_rows import public_groups, shown_groups
from smoothdp.tables.released_table import Cell, ReleasedTable
from smoothdp.tables.request import TableRequest
from smoothdp.tables.usefulness import GUESS, LOW_COUNT, Judge, Marks


class GroupedData(Protocol):
    """Rows by group: as private as the data."""

    def size(self, place: int) -> int:
        """Return how many rows a group has."""

    def data(self, place: int, statistic: ColumnStatistic) -> object:
        """Return what the mechanism of a statistic takes of a group."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _RowsHere:
    """Rows of a table in memory."""

    table: Table
    groups: Groups

    def size(self, place: int) -> int:
        """Return how many rows a group has."""
        return len(self.groups.rows(place))

    def data(self, place: int, statistic: ColumnStatistic) -> object:
        """Return the column of a statistic, or the rows themselves."""
        rows, name = self.groups.rows(place), statistic.column
        return rows if name is None else self.table.numbers[name][rows]


@dataclass(frozen=True, slots=True)
class TableMechanism:
    """Statistics of every group: each row is in one group at most.

    What a row gets is what one group releases: adding or removing it changes that group alone,
    and within the group the parts compose to no more than the guarantee. A person pays for all
    rows that are kept, and private keys are paid for before.

    Source: proofs/tables#1, #5, #6; private keys: proofs/private-keys#6.

    Attributes:
        request: what is released, of which groups.
        label: its name for the ledger; empty without one. purpose, who: as of a `Label`.
        columns: the columns that are read. unit: whom the guarantee is about.
        n_groups: how many groups there are; None where keys are private.
        person_column: the persons' ids; empty where rows are the unit. A ledger keeps one unit.

    Raises:
        InvalidParameter, IncompatibleClaims: a statistic that no noise can release under its
            share of the guarantee.
    """

    source: ClassVar[Source] = Source("own", "proofs/tables#1")
    request: TableRequest
    label: str
    purpose: str
    who: str
    columns: str
    unit: str
    n_groups: int | None
    person_column: str = ""

    @classmethod
    def of(cls, request: TableRequest) -> TableMechanism:
        """Return the mechanism of a request, having tried each of its statistics."""
        label = request.label or Label("table")
        named = [*request.read_columns, *request.columns, *request.kept.columns]
        read = dict.fromkeys(named)
        mechanism = cls(
            request,
            label.name if request.label else "",
            label.purpose,
            label.who,
            ", ".join(read),
            "row" if request.person is None else "person",
            None if request.selection else len(request.keys),
            "" if request.person is None else request.person.column,
        )
        for statistic in request.statistics:
            try:
                if request.n_guess is None:
                    check_some_size(partial(mechanism.statistic, statistic))
                for size in request.guesses:
                    mechanism.statistic(statistic, size)
            except (InvalidParameter, IncompatibleClaims, OutOfReach) as error:
                raise error.about(repr(statistic.name)) from None
            request.words(statistic)
        # The words too are made before the data: nothing is refused once something is drawn.
        request.covers()
        return mechanism

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, before any data are seen."""
        return self.request.guarantee

    def marks(self) -> Marks:
        """Return when each result is no more than noise, by public and released numbers."""
        request = self.request
        judges = {
            one.name: Judge.of(one, None if one.needs_size else self.statistic(one, None))
            for one in request.statistics
        }
        if request.shows_count and self.count_noise is not None:
            judges = {COUNT: Judge.of_count(self.count_noise.law), **judges}
        is_guess = request.n_guess is not None
        selection = request.selection
        has_count = request.count is not None or (selection is not None and selection.has_counts)
        sized = [
            one.name
            for one in request.statistics
            if is_guess or has_count or isinstance(one.query, Count)
        ]
        by = GUESS if is_guess else LOW_COUNT if has_count else ""
        return Marks(judges, frozenset([*sized, *({COUNT} & set(judges))]), by)

    @property
    def count_noise(self) -> IntegerNoise | None:
        """The noise of the counts, if there are any."""
        part = self.request.count
        return None if part is None else integer_noise(part)

    def statistic(self, statistic: ColumnStatistic, n_guess: Fraction | None) -> Releasable:
        """Return the mechanism of one statistic for groups of about n_guess rows."""
        return mechanism_of(
            ReleaseRequest.read(
                statistic.query,
                guarantee=statistic.guarantee,
                clamp=True,
                coverage=statistic.coverage,
                round_to=statistic.step,
                n_guess=n_guess if statistic.needs_size else None,
                is_guess_released=True,
            )
        )

    def _mechanism(self, statistic: ColumnStatistic, size: Fraction | None) -> Releasable:
        """Return the mechanism of one statistic: for a released size, one that works."""
        if size is None or self.request.n_guess is not None:
            return self.statistic(statistic, size)
        return mechanism_near(partial(self.statistic, statistic), size)

    def describe(self) -> str:
        """Return the table and its public parameters in words."""
        what = [f"{s.name}: {self.request.words(s)}" for s in self.request.statistics]
        if self.count_noise is not None:
            counted = self.request.counted()
            what.insert(0, f"{counted} in each group, with {self.count_noise.describe()}")
        if self.request.person is not None:
            what.insert(0, self.request.person.words())
        by = " and ".join(map(repr, self.request.by))
        selection = self.request.selection
        groups = selection.describe() if selection else f"{self.n_groups} public groups"
        kept = [words] if (words := request_words(self.request)) else []
        return f"table by {by}, {'; '.join([groups, *kept, *what])}"

    def release(
        self,
        table: Table,
        *,
        rng: Entropy | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> ReleasedTable:
        """Return every statistic of every group with noise, and the guarantee.

        Args:
            table: with the columns of ``by`` and the persons as categories, the others as
                numbers.
            rng: `SystemRandom()` (default), or `SeededRandom`, marked not private.
            progress: called with (groups done, groups in all).
        """
        source = read_rng(rng)
        keys, groups, counts = self._groups(table, source)
        return self.release_groups(
            keys, _RowsHere(table, groups), counts, rng=source, progress=progress
        )

    def release_groups(
        self,
        keys: Sequence[Key],
        groups: GroupedData,
        counts: Sequence[int] | None,
        *,
        rng: Entropy,
        progress: Callable[[int, int], None] | None = None,
    ) -> ReleasedTable:
        """Return the table of some groups, wherever their rows are.

        Args:
            keys: of the groups. groups: their rows, in this order.
            counts: with noise, that came with private keys; None: no such.
            rng: the source of bits. progress: as for `release`.
        """
        source = rng
        released: dict[Key, dict[str, Cell]] = {}
        made: dict[tuple[str, Fraction | None], Releasable] = {}
        marks = self.marks()
        for place, (key, shown) in enumerate(zip(keys, told_apart(keys), strict=True)):
            count = None if counts is None else counts[place]
            if self.count_noise is not None:
                count = self.count_noise.release(groups.size(place), rng=source).value
            size = self._size(key)
            if size is None and count is not None:
                size = self._low_end(count)
            cells: dict[str, Cell] = {}
            if self.request.shows_count:
                assert count is not None
                bars = self._count_bars(count)
                cells[COUNT] = Cell(count, bars, marks.is_noise(COUNT, count, count, bars))
            for statistic in self.request.statistics:
                which = statistic.name, size if statistic.needs_size else None
                if which not in made:
                    made[which] = self._mechanism(statistic, which[1])
                made_of = made[which].release(groups.data(place, statistic), rng=source)
                cells[statistic.name] = _cell(made_of, statistic, marks, size)
            released[shown] = ascending(cells, {s.name: s.asked for s in self.request.statistics})
            if progress is not None:
                progress(place + 1, len(keys))
        return self._table(released, source.is_private)

    def _groups(
        self, table: Table, rng: Entropy
    ) -> tuple[tuple[Key, ...], Groups, list[int] | None]:
        """Return the keys, their kept rows, and the counts that came with private keys."""
        request = self.request
        if request.selection is None:
            groups = public_groups(
                table, by=request.by, keys=request.keys, person=request.person, rng=rng
            )
            return request.keys, groups, None
        return shown_groups(
            table, by=request.by, selection=request.selection, person=request.person, rng=rng
        )

    def _table(self, released: dict[Key, dict[str, Cell]], is_private: bool) -> ReleasedTable:
        request = self.request
        words = {s.name: request.words(s) for s in request.statistics}
        spent = {s.name: request.cost(s.guarantee) for s in request.statistics}
        if request.count is not None:
            spent = {COUNT: request.cost(request.count), **spent}
        if request.selection is not None:
            spent = {KEYS: request.selection.guarantee, **spent}
        if request.shows_count:
            words = {COUNT: request.counted(), **words}
        coverage = request.coverage
        return ReleasedTable(
            by=request.by,
            groups=released,
            statistics=words,
            spent=spent,
            guarantee=self.guarantee,
            unit=self.unit,
            person=request.person,
            person_column=self.person_column,
            is_private=is_private,
            covers=request.covers(),
            confidence=None if coverage is None else float(coverage.confidence),
            confidences={name: float(one) for name, one in request.confidences().items()},
            marks=self.marks().words(),
            label=request.label,
            library_version=library_version(),
            sources=(self.source,),
            rows=request_words(request),
            selection="" if request.selection is None else request.selection.words(),
        )

    def _count_bars(self, count: int) -> tuple[float, float] | None:
        """Return the interval of a count, by the exact quantile of its noise.

        Source: proofs/private-sums#4.
        """
        noise, coverage = self.count_noise, self.request.coverage
        if noise is None or coverage is None:
            return None
        low, high = Count().bars((count,), noise.law.reach(1 - coverage.confidence))
        return int(low), int(high)

    def _size(self, key: Key) -> Fraction | None:
        guess = self.request.n_guess
        return guess if guess is None or isinstance(guess, Fraction) else guess[key]

    def _low_end(self, count: int) -> Fraction:
        """Return a guess of n from a released count, with two digits: groups share noise."""
        if self.count_noise is not None:
            return low_end(count, self.count_noise.law.deviation)
        assert self.request.selection is not None
        return low_end(count, self.request.selection.deviation)


def request_words(request: TableRequest) -> str:
    """Return which rows a table is about and what columns were made, in words."""
    made = [f"{name!r} by a function of a row" for name in request.derived]
    return "; ".join(filter(None, [request.kept.words(), *made]))


def _cell(
    released: Release[float | int],
    statistic: ColumnStatistic,
    marks: Marks,
    size: Fraction | None,
) -> Cell:
    """Return what a table shows of a release: the ends of an interval rounded outward."""
    interval = released.interval if isinstance(released, IntervalRelease) else None
    is_count = isinstance(statistic.query, Count)
    step = Fraction(1) if is_count and statistic.step is None else statistic.step
    if interval is not None and step is not None:
        interval = outward(interval, step)
    about = released.value if is_count else size
    is_noise = marks.is_noise(statistic.name, about, released.value, interval)
    return Cell(released.value, interval, is_noise)


def outward(interval: tuple[float, float], step: Fraction) -> tuple[float, float]:
    """Return an interval with ends on a grid that holds the given one, so that it covers too.

    >>> outward((1.2, 3.0), Fraction(1)), outward((0.3, math.inf), Fraction(1, 4))
    ((1, 3), (0.25, inf))
    """
    low, high = interval
    if math.isfinite(low):
        low = _end(math.floor(Fraction(low) / step) * step, step, -1, low)
    if math.isfinite(high):
        high = _end(math.ceil(Fraction(high) / step) * step, step, 1, high)
    return low, high


def _end(point: Fraction, step: Fraction, side: int, given: float) -> float:
    """Return a point of a grid as a number that is not inside of what was given."""
    if step.denominator == 1:
        return int(point)
    nearest = float(point)
    is_outside = nearest <= given if side < 0 else nearest >= given
    return nearest if is_outside else float_bounds(point)[max(side, 0)]
