"""What is released of each group: a statistic of a column, with its rounding and its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias, cast

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.group_coverage import coverage_of_group, group_coverage
from smoothdp.mechanisms.release.grid import read_step
from smoothdp.queries import (
    ClampedMean,
    Count,
    FixedStatistic,
    Mean,
    Median,
    Quantile,
    Quantiles,
    Query,
    TrimmedMean,
)
from smoothdp.queries.fixed.fixed_statistic import Sums
from smoothdp.queries.statistic import Statistic
from smoothdp.tables.asked.several import check_names, separated

AnyStatistic: TypeAlias = Statistic | FixedStatistic
Asked: TypeAlias = AnyStatistic | Quantiles
StatisticOfColumn: TypeAlias = (
    tuple[str | None, Asked] | tuple[str | None, Asked, Mapping[str, Any]]
)
"""A column, None for the rows themselves, a statistic, and maybe round_to and confidence."""
OPTIONS = ("round_to", "confidence")
"""What may be said of one statistic alone."""

COUNT = "n"
"""The name of the count of a group."""
KEYS = "keys"
"""The name of what shows private keys."""


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A statistic of a column by name, before it is known what it may cost.

    Attributes:
        name: of the result. column: of the data; None: the rows themselves, for a count.
        query: what is released of it. step: that values are rounded to; None: a fine one.
        coverage: of its interval; None: it has none. no_bars: why, where one was wanted.
        asked: the name as it was asked for, which several quantiles of a column share.
        many: how many of them share its part of the guarantee.
    """

    name: str
    column: str | None
    query: AnyStatistic
    step: Fraction | None = None
    coverage: Coverage | None = None
    no_bars: str = ""
    asked: str = ""
    many: int = 1

    @property
    def needs_size(self) -> bool:
        """Whether a rule chooses its window or its noise by a guess of the group's size."""
        return isinstance(self.query, Median | Quantile | TrimmedMean)

    @property
    def of_column(self) -> str:
        """The column in words, if there is one."""
        return "" if self.column is None else f" of {self.column!r}"

    def described(self) -> str:
        """Return the statistic and its column in words."""
        words = self.query.describe()
        if self.column is None:
            return words
        if isinstance(self.query, Count):
            return f"{words} with a number in {self.column!r}"
        return f"of {self.column!r}: {words}"

    @property
    def rounding(self) -> str:
        """The step in words, if one was asked for."""
        return "" if self.step is None else f"; rounded to a multiple of {exact_text(self.step)}"

    def paid(self, guarantee: Guarantee) -> ColumnStatistic:
        """Return the statistic with its part of what one row gets in its group."""
        return ColumnStatistic(
            self.name,
            self.column,
            self.query,
            self.step,
            self.coverage,
            self.no_bars,
            self.asked,
            self.many,
            guarantee=guarantee,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistic(NamedQuery):
    """A statistic of a column, for every group.

    Attributes:
        guarantee: its part of what one row gets in its group.
    """

    guarantee: Guarantee


def read_statistics(
    statistics: object,
    *,
    by: Sequence[str],
    coverage: Coverage | None,
    covers: str | None = None,
) -> list[NamedQuery]:
    """Return each statistic of a table; raises InvalidParameter for another shape.

    Args:
        statistics: a mapping from names to (column, query) or (column, query, options).
        by: columns of the groups. coverage: of the intervals of all that say nothing else.
        covers: what intervals of quantiles cover; None: the plain quantile.
    """
    if not isinstance(statistics, Mapping):
        raise _no_statistics(f"statistics={statistics!r}"[:80])
    named: list[NamedQuery] = []
    for name, parts in statistics.items():
        good = isinstance(parts, tuple | list) and len(parts) in (2, 3)
        column, query, *rest = parts if good else (None, None)
        has_column = isinstance(column, str) or (column is None and isinstance(query, Count))
        known = isinstance(query, Statistic | FixedStatistic | Quantiles) and all(
            isinstance(one, Mapping) for one in rest
        )
        if not (isinstance(name, str) and has_column and known):
            raise _no_statistics(f"{name!r}: {parts!r}"[:80])
        if name in (COUNT, KEYS, *by):
            raise InvalidParameter(
                expected=f"a name for a statistic other than {name!r}, which is taken",
                got=f"{name!r}",
                remedy="Call it by what it is, such as 'median wage'",
            )
        if not isinstance(query, Query | FixedStatistic | Quantiles):
            raise InvalidParameter(
                expected=f"a statistic of a column for {name!r}",
                got=cast("Statistic", query).describe(),
                remedy="Use one of smoothdp.queries",
            )
        if isinstance(query, TrimmedMean) and isinstance(query.trim, int) and query.trim:
            raise InvalidParameter(
                expected=f"trim of {name!r} as a share a side, such as 0.05: how many rows a group "
                "has is private",
                got=f"trim={query.trim}",
                remedy="Give a share below 1/2",
            )
        # Where n is private a mean is two sums, and its words say so.
        released = ClampedMean(query.bounds) if isinstance(query, Mean) else query
        results = separated(name, released)
        for result, single in results:
            options = rest[0] if rest else {}
            read = _with_options(result, column, single, options, coverage, covers)
            named.append(replace(read, asked=name, many=len(results)))
    check_names([one.name for one in named])
    return named


def _with_options(
    name: str,
    column: str | None,
    query: AnyStatistic,
    options: Mapping[str, Any],
    coverage: Coverage | None,
    covers: str | None,
) -> NamedQuery:
    for option in options:
        if option not in OPTIONS:
            raise InvalidParameter(
                expected=f"{' and '.join(OPTIONS)} as options of {name!r}",
                got=f"{option!r}"[:80],
                remedy="Leave it out: shares, and what else a table has, are its own arguments",
            )
    try:
        step = None if options.get("round_to") is None else read_step(options["round_to"])
        asked = options.get("confidence", False)
        own = None if asked is None or asked is False else group_coverage(asked, covers)
        if own is not None and isinstance(query, Sums):
            # Raises where no interval is known: it was asked for by name.
            query.covers()
    except InvalidParameter as error:
        raise error.about(repr(name)) from None
    if "confidence" not in options:
        words = _why_no_bars(query) if coverage is not None else ""
        shared = None if words else coverage_of_group(coverage, query)
        return NamedQuery(name, column, query, step, shared, words)
    return NamedQuery(name, column, query, step, coverage_of_group(own, query))


def _why_no_bars(query: AnyStatistic) -> str:
    """Return words where a statistic has no interval; "" where it has one."""
    if isinstance(query, Sums):
        try:
            query.covers()
        except InvalidParameter:
            return f"no interval: none is proved for the {query.describe()}"
    return ""


def check_ends(names: Sequence[str], *, others: Sequence[str]) -> None:
    """Refuse a result whose column would be the end of another one's interval.

    Args:
        names: of results with intervals. others: all names of columns.
    """
    for name in names:
        for end in (f"{name} low", f"{name} high"):
            if end in others:
                raise InvalidParameter(
                    expected=f"no column {end!r} beside {name!r} with confidence=, whose "
                    "interval ends there",
                    got=f"{end!r}",
                    remedy="Call it otherwise",
                )


def _no_statistics(got: str) -> InvalidParameter:
    return InvalidParameter(
        expected="statistics as a mapping from a name to (column, query), or to (column, query, "
        "options)",
        got=got,
        remedy="Give statistics={'wage': ('wage', Median((0, 20000)), {'round_to': 1})}; "
        "options may be left out",
    )
