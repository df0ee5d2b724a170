"""What is asked of a table, read once: all of it public, and fixed before the data are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.parts import part_of
from smoothdp.claims.label import Label
from smoothdp.claims.neighbours import Neighbours
from smoothdp.data.row_rules import RowFilter, Rule, read_rules
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_positive, exact_text
from smoothdp.mechanisms.private_size.rules import resolve_private_size
from smoothdp.mechanisms.release.bars.coverage import Coverage, read_coverage
from smoothdp.mechanisms.release.by_ranks import draws_by_ranks
from smoothdp.mechanisms.release.request import MOST_RECORDS, ReleaseRequest
from smoothdp.queries import (
    ClampedMean,
    Count,
    FixedStatistic,
    Mean,
    Median,
    Quantile,
    Query,
    TrimmedMean,
)
from smoothdp.queries.fixed.fixed_statistic import Sums
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.read_arguments import bounds_text
from smoothdp.queries.statistic import Statistic
from smoothdp.tables.grouping import Key, read_public_keys
from smoothdp.tables.person import Person
from smoothdp.tables.private_keys import KeySelection, check_private, statistics_guarantee
from smoothdp.tables.shares import read_shares

COUNT = "n"
"""The name of the count of a group."""
KEYS = "keys"
"""The name of what shows private keys."""
NO_INTERVAL = (
    "no interval: a count that comes with a private key has noise that is cut, and is shown only "
    "where it is large"
)
_SIZES = Fraction(1), Fraction(MOST_RECORDS)
"""The least and the largest guess of a group's size that a count gives."""
PRIVATE = "private"
"""What is said instead of a list of keys."""


@dataclass(frozen=True, slots=True)
class ColumnStatistic:
    """A statistic of a column, for every group.

    Attributes:
        name: of the result. column: of the data; None: the rows themselves, for a count.
        query: what is released of it. guarantee: its part of what one row gets in its group.
    """

    name: str
    column: str | None
    query: Statistic | FixedStatistic
    guarantee: Guarantee

    @property
    def needs_size(self) -> bool:
        """Whether a rule chooses its window or its noise by a guess of the group's size."""
        return isinstance(self.query, Median | Quantile | TrimmedMean)

    @property
    def of_column(self) -> str:
        """The column in words, if there is one."""
        return "" if self.column is None else f" of {self.column!r}"


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
        coverage: of error bars; None: no bars.
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
        statistics: Mapping[str, tuple[str | None, Statistic | FixedStatistic]],
        guarantee: Guarantee,
        person: Person | None = None,
        shares: Mapping[str, Parameter] | None = None,
        counts: bool = False,
        confidence: Parameter | None = None,
        n_guess: Parameter | Mapping[object, Parameter] | None = None,
        label: object = None,
        where: object = None,
        derive: object = None,
    ) -> TableRequest:
        """Return the request, or raise what `smoothdp.tables.release_table` raises."""
        columns = read_by(by)
        if not isinstance(counts, bool):
            raise InvalidParameter(
                expected="counts as true or false", got=f"{counts!r}"[:40], remedy="Give one"
            )
        check_guarantee(guarantee)
        named = read_statistics(statistics, by=columns)
        if confidence is not None:
            _check_ends([COUNT, *(name for name, _, _ in named)], taken=columns)
        check_person(person)
        are_private = isinstance(keys, str) and keys == PRIVATE
        public = () if are_private else read_public_keys(keys, columns)
        guess = read_guess(n_guess, None if are_private else public)
        needs = any(isinstance(q, Median | Quantile | TrimmedMean) for _, _, q in named)
        buys = counts or (needs and guess is None)
        extra = [KEYS] if are_private else [COUNT] if buys else []
        parts = read_shares(shares, names=[name for name, _, _ in named], extra=extra)
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
            tuple(
                ColumnStatistic(name, column, query, part_of(row, parts[name]))
                for name, column, query in named
            ),
            guarantee,
            part_of(row, parts[COUNT]) if COUNT in parts else None,
            counts,
            guess,
            read_coverage(confidence, covers="statistic", sd_bound=None),
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
            return query.describe() + statistic.of_column
        narrow, wide = self._windows(statistic)
        around = f"around {exact_text(wide.level)} n"
        said = f"{wide.name}{statistic.of_column}"
        if isinstance(query, TrimmedMean):
            share = f"{float(100 * (1 - 2 * query.trim)):g}% of a guess of n, ranks {around}"
            said += f" (mean of as many as {share})"
        elif not (isinstance(query, Median) and wide.width == 1):
            fewer = ", fewer in small groups" if narrow.width < wide.width else ""
            asked = ReleaseRequest(query, statistic.guarantee, coverage=self.coverage)
            if draws_by_ranks(asked, max(self.guesses or _SIZES)):
                return f"{said}, drawn by ranks; values clamped to {bounds_text(query.bounds)}"
            if draws_by_ranks(asked, min(self.guesses or _SIZES)):
                fewer += ", drawn by ranks instead in the smallest"
            ranks = "1 rank" if wide.width == 1 else f"{float(wide.width):.4g} ranks"
            said = f"mean of {ranks} {around}{fewer}, in place of the {said}"
        return f"{said}; beyond the data the bounds; values clamped to {bounds_text(query.bounds)}"

    def covers(self) -> dict[str, str]:
        """Return what the interval of each result covers, in words; empty without intervals."""
        if self.coverage is None:
            return {}
        return {
            **({COUNT: self._count_covers()} if self.shows_count else {}),
            **{one.name: self._covers(one) for one in self.statistics},
        }

    def _count_covers(self) -> str:
        if self.selection is None:
            return f"the {self.counted()}, not sampling error"
        return NO_INTERVAL

    def _covers(self, statistic: ColumnStatistic) -> str:
        query, rows = statistic.query, "rows" if self.person is None else "kept rows"
        if isinstance(query, Sums):
            return f"of the {rows} {query.covers()}, not sampling error"
        if isinstance(query, FixedStatistic):
            # A `SkewedMean`: its height is drawn for each group.
            return (
                f"of the {rows} the mean of values clipped at the height that was released first, "
                "not the plain mean, nor sampling error"
            )
        if isinstance(query, TrimmedMean):
            return f"the mean of that window of the {rows}, not sampling error"
        wide = self._windows(statistic)[1]
        if isinstance(query, Median) and wide.width == 1:
            return f"the median of the {rows}, not sampling error"
        return (
            f"the mean of that window of the {rows}, not the plain {wide.name}, nor sampling error"
        )

    def _windows(self, statistic: ColumnStatistic) -> tuple[PaddedWindow, PaddedWindow]:
        """Return the narrowest and the widest window that a group can get."""
        sizes = self.guesses or _SIZES
        query, has_bars = statistic.query, self.coverage is not None
        assert isinstance(query, Query)
        narrow, wide = (
            resolve_private_size(query, statistic.guarantee, size, error_bars=has_bars)
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


def read_by(by: object) -> tuple[str, ...]:
    """Return the columns of the keys, each once; raises InvalidParameter otherwise."""
    names = (by,) if isinstance(by, str) else tuple(by) if isinstance(by, list | tuple) else ()
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidParameter(
            expected="by as the name of a column, or a list of names",
            got=f"by={by!r}"[:80],
            remedy='Give by=["region", "year"]',
        )
    if len(set(names)) < len(names):
        raise InvalidParameter(
            expected="each column of by= once", got=f"by={names!r}", remedy="Leave one out"
        )
    return names


def check_guarantee(guarantee: object) -> None:
    """Refuse what is no guarantee about adding or removing a row.

    Raises:
        InvalidParameter: no guarantee.
        IncompatibleClaims: one about replacing a row: the sizes of groups are private.
    """
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            expected="a guarantee such as PureDP(1, neighbours='add_remove')",
            got=f"guarantee={guarantee!r}"[:80],
            remedy="Give one of smoothdp.claims",
        )
    if guarantee.neighbours is not Neighbours.ADD_REMOVE:
        raise IncompatibleClaims(
            expected="a guarantee about adding or removing a row: replacing one may move it from "
            "one group to another, whose sizes are private",
            got=f"{guarantee!r}",
            remedy="Give neighbours='add_remove'; replacing a row is adding one and removing one, "
            "at twice the epsilon",
        )


def read_statistics(
    statistics: object, *, by: Sequence[str]
) -> list[tuple[str, str | None, Statistic | FixedStatistic]]:
    """Return (name, column, query) of each; raises InvalidParameter for another shape."""
    if not isinstance(statistics, Mapping):
        raise _no_statistics(f"statistics={statistics!r}"[:80])
    named: list[tuple[str, str | None, Statistic | FixedStatistic]] = []
    for name, pair in statistics.items():
        good = isinstance(pair, tuple | list) and len(pair) == 2
        column, query = pair if good else (None, None)
        has_column = isinstance(column, str) or (column is None and isinstance(query, Count))
        known = isinstance(query, Statistic | FixedStatistic)
        if not (isinstance(name, str) and has_column and known):
            raise _no_statistics(f"{name!r}: {pair!r}"[:80])
        if name in (COUNT, KEYS, *by):
            raise InvalidParameter(
                expected=f"a name for a statistic other than {name!r}, which is taken",
                got=f"{name!r}",
                remedy="Call it by what it is, such as 'median wage'",
            )
        if not isinstance(query, Query | FixedStatistic):
            raise InvalidParameter(
                expected=f"a statistic of a column for {name!r}",
                got=cast("Statistic", query).describe(),
                remedy="Use one of smoothdp.queries",
            )
        # Where n is private a mean is two sums, and its words say so.
        released = ClampedMean(query.bounds) if isinstance(query, Mean) else query
        named.append((name, column, released))
    return named


def _check_ends(names: Sequence[str], *, taken: Sequence[str]) -> None:
    """Refuse a result whose column would be the end of another one's interval."""
    for name in names:
        for end in (f"{name} low", f"{name} high"):
            if end in (*names, *taken):
                raise InvalidParameter(
                    expected=f"no column {end!r} beside {name!r} with confidence=, whose "
                    "interval ends there",
                    got=f"{end!r}",
                    remedy="Call it otherwise",
                )


def _no_statistics(got: str) -> InvalidParameter:
    return InvalidParameter(
        expected="statistics as a mapping from a name to (column, query)",
        got=got,
        remedy="Give statistics={'wage': ('wage', Median((0, 20000)))}",
    )


def check_person(person: object) -> None:
    """Refuse what is no `Person`; raises InvalidParameter."""
    if person is not None and not isinstance(person, Person):
        raise InvalidParameter(
            expected="person as a Person: the column of ids, and how many rows are kept of each",
            got=f"person={person!r}"[:80],
            remedy='Give Person("id", rows=10), or leave it out if each row is another person',
        )


def read_guess(
    guess: object, keys: Sequence[Key] | None
) -> Fraction | Mapping[Key, Fraction] | None:
    """Return the guess of a group's size: one for all, or one for each key if they are public."""
    if guess is None:
        return None
    if not isinstance(guess, Mapping):
        return exact_positive(cast("Parameter", guess), name="n_guess")
    if keys is None:
        raise InvalidParameter(
            expected="n_guess as one number where the keys are private",
            got="one for each key",
            remedy="Give one number, or leave it out: a count comes with each key",
        )
    by_key = {key if isinstance(key, tuple) else (key,): value for key, value in guess.items()}
    absent = [key for key in keys if key not in by_key]
    if absent or len(by_key) > len(keys):
        raise InvalidParameter(
            expected="n_guess as one number, or one for each public key",
            got=f"none for {absent[0]!r}" if absent else "more than there are keys",
            remedy="Give a guess for every group; too few is safer than too many",
        )
    return {key: exact_positive(by_key[key], name="n_guess") for key in keys}
