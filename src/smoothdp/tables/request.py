"""What is asked of a table, read once: all of it public, and fixed before the data are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.label import Label
from smoothdp.claims.neighbours import Neighbours
from smoothdp.data.row_rules import RowFilter, Rule, read_rules
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_positive
from smoothdp.mechanisms.release.coverage import Coverage, read_coverage
from smoothdp.queries import Median, Quantile, Query, TrimmedMean
from smoothdp.queries.statistic import Statistic
from smoothdp.tables.grouping import Key, read_public_keys
from smoothdp.tables.shares import part_of, read_shares

COUNT = "n"
"""The name of the count of a group."""


@dataclass(frozen=True, slots=True)
class ColumnStatistic:
    """A statistic of a column, for every group.

    Attributes:
        name: of the result. column: of the data. query: what is released of it.
        guarantee: its part of what one row gets.
    """

    name: str
    column: str
    query: Statistic
    guarantee: Guarantee

    @property
    def needs_size(self) -> bool:
        """Whether a rule chooses its window or its noise by a guess of the group's size."""
        return isinstance(self.query, Median | Quantile | TrimmedMean)


@dataclass(frozen=True, slots=True)
class TableRequest:
    """A table as it is asked for.

    Attributes:
        by: the columns of keys. keys: the public ones.
        statistics: what is released of each group.
        guarantee: of the whole table.
        count: the part of a count of each group's rows; None: no count.
        shows_count: whether the count is a column of the table.
        n_guess: a public guess of a group's size, for all or by key; None: by the count.
        coverage: of error bars; None: no bars.
        label: for the ledger.
        kept: which rows the table is about. derived: columns that functions of a row make.
    """

    by: tuple[str, ...]
    keys: tuple[Key, ...]
    statistics: tuple[ColumnStatistic, ...]
    guarantee: Guarantee
    count: Guarantee | None
    shows_count: bool
    n_guess: Fraction | Mapping[Key, Fraction] | None
    coverage: Coverage | None
    label: Label | None
    kept: RowFilter
    derived: Mapping[str, Rule]

    @classmethod
    def read(
        cls,
        *,
        by: str | Sequence[str],
        keys: object,
        statistics: Mapping[str, tuple[str, Statistic]],
        guarantee: Guarantee,
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
        public = read_public_keys(keys, columns)
        guess = read_guess(n_guess, public)
        needs = any(isinstance(q, Median | Quantile | TrimmedMean) for _, _, q in named)
        buys = counts or (needs and guess is None)
        names = [name for name, _, _ in named]
        parts = read_shares(shares, names=names, extra=[COUNT] if buys else [])
        return cls(
            columns,
            public,
            tuple(
                ColumnStatistic(name, column, query, part_of(guarantee, parts[name]))
                for name, column, query in named
            ),
            guarantee,
            part_of(guarantee, parts[COUNT]) if buys else None,
            counts,
            guess,
            read_coverage(confidence, covers="statistic", sd_bound=None),
            Label.read(label),
            RowFilter.read(where),
            read_rules(derive),
        )


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


def read_statistics(statistics: object, *, by: Sequence[str]) -> list[tuple[str, str, Statistic]]:
    """Return (name, column, query) of each; raises InvalidParameter for another shape."""
    if not isinstance(statistics, Mapping):
        raise _no_statistics(f"statistics={statistics!r}"[:80])
    named: list[tuple[str, str, Statistic]] = []
    for name, pair in statistics.items():
        good = isinstance(pair, tuple | list) and len(pair) == 2
        column, query = pair if good else (None, None)
        if not (isinstance(name, str) and isinstance(column, str) and isinstance(query, Statistic)):
            raise _no_statistics(f"{name!r}: {pair!r}"[:80])
        if name in (COUNT, "keys", *by):
            raise InvalidParameter(
                expected=f"a name for a statistic other than {name!r}, which is taken",
                got=f"{name!r}",
                remedy="Call it by what it is, such as 'median wage'",
            )
        if not isinstance(query, Query):
            raise InvalidParameter(
                expected=f"a statistic of a column for {name!r}",
                got=query.describe(),
                remedy="Use one of smoothdp.queries",
            )
        named.append((name, column, query))
    return named


def _no_statistics(got: str) -> InvalidParameter:
    return InvalidParameter(
        expected="statistics as a mapping from a name to (column, query)",
        got=got,
        remedy="Give statistics={'wage': ('wage', Median((0, 20000)))}",
    )


def read_guess(guess: object, keys: Sequence[Key]) -> Fraction | Mapping[Key, Fraction] | None:
    """Return the guess of a group's size: one for all, or one for each key."""
    if guess is None:
        return None
    if not isinstance(guess, Mapping):
        return exact_positive(cast("Parameter", guess), name="n_guess")
    by_key = {key if isinstance(key, tuple) else (key,): value for key, value in guess.items()}
    absent = [key for key in keys if key not in by_key]
    if absent or len(by_key) > len(keys):
        raise InvalidParameter(
            expected="n_guess as one number, or one for each public key",
            got=f"none for {absent[0]!r}" if absent else "more than there are keys",
            remedy="Give a guess for every group; too few is safer than too many",
        )
    return {key: exact_positive(by_key[key], name="n_guess") for key in keys}
