"""What is asked of a table, read once: all of it public, and fixed before the data are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.parts import part_of
from smoothdp.claims.label import Label
from smoothdp.data.row_rules import RowFilter, Rule, read_rules
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_text
from smoothdp.mechanisms.private_size.rules import resolve_private_size
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.group_coverage import (
    check_group_windows,
    fixed_group_words,
    group_coverage,
    window_group_words,
)
from smoothdp.mechanisms.release.by_ranks import draws_by_ranks
from smoothdp.mechanisms.release.request import MOST_RECORDS, ReleaseRequest
from smoothdp.queries import Count, FixedStatistic, Median, Quantile, Query, TrimmedMean
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.read_arguments import bounds_text
from smoothdp.queries.statistic import Statistic
from smoothdp.tables.asked.arguments import check_guarantee, check_person, read_by, read_guess
from smoothdp.tables.asked.column_statistic import (
    COUNT,
    KEYS,
    ColumnStatistic,
    StatisticOfColumn,
    check_ends,
    read_statistics,
)
from smoothdp.tables.asked.shares import read_shares, with_n_share
from smoothdp.tables.grouping import Key, read_public_keys
from smoothdp.tables.person import Person
from smoothdp.tables.private_keys import KeySelection, check_private, statistics_guarantee

NO_INTERVAL = (
    "no interval: a count that comes with a private key has noise that is cut, and is shown only "
    "where it is large"
)
_SIZES = Fraction(1), Fraction(MOST_RECORDS)
"""The least and the largest guess of a group's size that a count gives."""
PRIVATE = "private"
"""What is said instead of a list of keys."""


@dataclass(frozen=True, slots=True)
class TableRequest:
    """A table as it is asked for.

    Attributes:
        by: the columns of keys. keys: the public ones; none where they are private.
        selection: of private keys, with their counts or without; None: public keys.
        person: how persons' rows are bounded; None: rows are the unit.
        statistics: what is released of each group.
        guarantee: of the whole table, for one unit.
        count: what a row pays for a count of each group's rows; None: no count, or with the keys.
        shows_count: whether the count is a column of the table.
        n_guess: a public guess of a group's size, for all or by key; None: by the count.
        coverage: of the intervals of counts, and of statistics that say nothing else.
        label: for the ledger.
        kept: which rows the table is about. derived: columns that functions of a row make.
    """

    by: tuple[str, ...]
    keys: tuple[Key, ...]
    selection: KeySelection | None
    person: Person | None
    statistics: tuple[ColumnStatistic, ...]
    guarantee: Guarantee
    count: Guarantee | None
    shows_count: bool
    n_guess: Fraction | Mapping[Key, Fraction] | None
    coverage: Coverage | None
    label: Label | None
    kept: RowFilter
    derived: Mapping[str, Rule]

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that statistics are of, each once."""
        return tuple(dict.fromkeys(s.column for s in self.statistics if s.column is not None))

    @classmethod
    def read(
        cls,
        *,
        by: str | Sequence[str],
        keys: object,
        statistics: Mapping[str, StatisticOfColumn],
        guarantee: Guarantee,
        person: Person | None = None,
        shares: Mapping[str, Parameter] | None = None,
        counts: bool = False,
        confidence: Parameter | None = None,
        covers: str | None = None,
        n_guess: Parameter | Mapping[object, Parameter] | None = None,
        n_share: Parameter | None = None,
        label: object = None,
        where: object = None,
        derive: object = None,
    ) -> TableRequest:
        """Return the request, or raise what `smoothdp.tables.release_table` raises."""
        columns = read_by(by)
        if not isinstance(counts, bool):
            got = f"{counts!r}"[:40]
            raise InvalidParameter(expected="counts as true or false", got=got, remedy="Give one")
        check_guarantee(guarantee)
        coverage = group_coverage(confidence, covers)
        named = read_statistics(statistics, by=columns, coverage=coverage, covers=covers)
        if covers == "quantile":
            check_group_windows({one.name: one.query for one in named})
        with_ends = [one.name for one in named if one.coverage is not None]
        results = [one.name for one in named]
        check_ends(
            [*([] if coverage is None else [COUNT]), *with_ends],
            others=[COUNT, *results, *columns],
        )
        asked = list(dict.fromkeys(one.asked for one in named))
        check_person(person)
        are_private = isinstance(keys, str) and keys == PRIVATE
        public = () if are_private else read_public_keys(keys, columns)
        guess = read_guess(n_guess, None if are_private else public)
        needs = any(one.needs_size for one in named)
        buys = counts or (needs and guess is None)
        extra = [KEYS] if are_private else [COUNT] if buys else []
        parts = read_shares(with_n_share(shares, n_share), names=asked, extra=extra)
        selection, left = None, guarantee
        if are_private:
            whole = check_private(guarantee)
            selection = KeySelection.of(
                whole,
                share=parts[KEYS],
                most_keys=1 if person is None else person.most_groups,
                counts=buys,
            )
            left = statistics_guarantee(whole)
        row = left if person is None else person.row_share(left)
        return cls(
            columns,
            public,
            selection,
            person,
            tuple(one.paid(part_of(row, parts[one.asked] / one.many)) for one in named),
            guarantee,
            part_of(row, parts[COUNT]) if COUNT in parts else None,
            counts,
            guess,
            coverage,
            Label.read(label),
            RowFilter.read(where),
            read_rules(derive),
        )

    @property
    def guesses(self) -> tuple[Fraction, ...]:
        """The public guesses of a group's size, each once."""
        if self.n_guess is None or isinstance(self.n_guess, Fraction):
            return () if self.n_guess is None else (self.n_guess,)
        return tuple(dict.fromkeys(self.n_guess.values()))

    def cost(self, part: Guarantee) -> Guarantee:
        """Return what one unit pays for a part of what a row gets."""
        return part if self.person is None else self.person.cost(part)

    def words(self, statistic: ColumnStatistic) -> str:
        """Return a statistic and its column: of a median the window, whose mean it is.

        The window goes by the size of the group, of which the widest is said.
        """
        query = statistic.query
        if not isinstance(query, Median | Quantile | TrimmedMean):
            return statistic.described() + statistic.rounding
        narrow, wide = self._windows(statistic)
        around = f"around {exact_text(wide.level)} n"
        said = f"{wide.name}{statistic.of_column}"
        if isinstance(query, TrimmedMean):
            share = f"{float(100 * (1 - 2 * query.trim)):g}% of a guess of n, ranks {around}"
            said += f" (mean of as many as {share})"
        elif not _is_plain(query, wide):
            fewer = ", fewer in small groups" if narrow.width < wide.width else ""
            asked = ReleaseRequest(query, statistic.guarantee, coverage=statistic.coverage)
            if draws_by_ranks(asked, max(self.guesses or _SIZES)):
                return f"{said}, drawn by ranks; values clamped to {bounds_text(query.bounds)}"
            if draws_by_ranks(asked, min(self.guesses or _SIZES)):
                fewer += ", drawn by ranks instead in the smallest"
            ranks = "1 rank" if wide.width == 1 else f"{float(wide.width):.4g} ranks"
            said = f"mean of {ranks} {around}{fewer}, in place of the {said}"
        clamped = f"values clamped to {bounds_text(query.bounds)}{statistic.rounding}"
        return f"{said}; beyond the data the bounds; {clamped}"

    def covers(self) -> dict[str, str]:
        """Return what the interval of each result contains, in words; empty without intervals."""
        counted = self.shows_count and self.coverage is not None
        return {
            **({COUNT: self._count_covers()} if counted else {}),
            **{
                one.name: one.no_bars or self._covers(one)
                for one in self.statistics
                if one.no_bars or one.coverage is not None
            },
        }

    def confidences(self) -> dict[str, Fraction]:
        """Return the confidence of each result that has an interval, by name."""
        own = {one.name: one.coverage for one in self.statistics}
        if self.shows_count and self.selection is None:
            own = {COUNT: self.coverage, **own}
        return {name: one.confidence for name, one in own.items() if one is not None}

    def _count_covers(self) -> str:
        if self.selection is None:
            return f"the {self.counted()}, not sampling error"
        return NO_INTERVAL

    def _covers(self, statistic: ColumnStatistic) -> str:
        query, rows = statistic.query, "rows" if self.person is None else "kept rows"
        if isinstance(query, Count) and statistic.column is not None:
            return f"the number of {rows} with a number in {statistic.column!r}, not sampling error"
        if isinstance(query, FixedStatistic | TrimmedMean):
            return fixed_group_words(query, rows)
        wide, coverage = self._windows(statistic)[1], statistic.coverage
        is_quantile = coverage is not None and coverage.target == "quantile"
        is_quantile |= _is_plain(query, wide)
        return window_group_words(wide, rows, is_quantile=is_quantile)

    def _windows(self, statistic: ColumnStatistic) -> tuple[PaddedWindow, PaddedWindow]:
        """Return the narrowest and the widest window that a group can get."""
        sizes = self.guesses or _SIZES
        query = statistic.query
        covers = None if statistic.coverage is None else statistic.coverage.target
        assert isinstance(query, Query)
        narrow, wide = (
            resolve_private_size(query, statistic.guarantee, size, covers=covers)
            for size in (min(sizes), max(sizes))
        )
        return narrow, wide

    def counted(self) -> str:
        """Return in words what the counts are of."""
        if self.person is None:
            return "number of rows"
        if self.selection is None:
            return "number of rows that are kept"
        return "number of persons with rows that are kept"

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The columns whose labels are read: keys, and persons."""
        person = () if self.person is None else (self.person.column,)
        return tuple(dict.fromkeys([*self.by, *person]))


def _is_plain(query: Statistic, wide: PaddedWindow) -> bool:
    """Whether a window is the median itself: one rank, or half of each of the middle two."""
    return isinstance(query, Median) and wide.width == 1
