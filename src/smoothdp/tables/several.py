"""Several quantiles of a column in a table: a result for each level, with its part of the share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias
from smoothdp.errors import InvalidParameter
from smoothdp.queries import FixedStatistic, Quantiles
from smoothdp.queries.many.quantiles import level_text
from smoothdp.queries.statistic import Statistic
from smoothdp.tables.released_table import Cell

Asked: TypeAlias = Statistic | FixedStatistic


def separated(
    named: Sequence[tuple[str, str | None, Asked | Quantiles]],
) -> list[tuple[str, str | None, Asked, str, int]]:
    """Return (name, column, query, name as asked, of how many) of each result.

    `Quantiles` of the name wage become quantiles of the names wage_0.1, wage_0.5, ...: windows of
    their own, which share what it gets.

    Raises:
        InvalidParameter: such a name is taken.

    >>> quartiles = Quantiles([0.25, 0.75], bounds=(0, 9))
    >>> [(one[0], one[3], one[4]) for one in separated([("wage", "wage", quartiles)])]
    [('wage_0.25', 'wage', 2), ('wage_0.75', 'wage', 2)]
    """
    found: list[tuple[str, str | None, Asked, str, int]] = []
    for name, column, query in named:
        if isinstance(query, Quantiles):
            pairs = zip(query.levels, query.singles, strict=True)
            names: list[tuple[str, Asked]] = [
                (f"{name}_{level_text(level)}", single) for level, single in pairs
            ]
        else:
            names = [(name, query)]
        found += [(one, column, single, name, len(names)) for one, single in names]
    every = [one[0] for one in found]
    for name in every:
        if every.count(name) > 1:
            raise InvalidParameter(
                expected="a name for each result, several quantiles being NAME_LEVEL",
                got=f"{name!r} twice",
                remedy="Call one of them otherwise",
            )
    return found


def ascending(cells: Mapping[str, Cell], asked: Mapping[str, str]) -> dict[str, Cell]:
    """Return the results of a group with the quantiles of one column in increasing order.

    Intervals stay with the level that they are about: they are made before sorting.

    Args:
        cells: by name, levels in increasing order. asked: the name as asked for, by name.
    """
    together: dict[str, list[str]] = {}
    for name, group in asked.items():
        together.setdefault(group, []).append(name)
    result = dict(cells)
    for names in together.values():
        values = sorted(cells[name].value for name in names)
        for name, value in zip(names, values, strict=True):
            result[name] = replace(cells[name], value=value)
    return result


def check_ends(names: Sequence[str], *, taken: Sequence[str]) -> None:
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
