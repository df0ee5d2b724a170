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

OneStatistic: TypeAlias = Statistic | FixedStatistic


def separated(name: str, query: OneStatistic | Quantiles) -> list[tuple[str, OneStatistic]]:
    """Return name and query of each result: of `Quantiles` a window of its own for each level.

    >>> [name for name, _ in separated("wage", Quantiles([0.25, 0.75], bounds=(0, 9)))]
    ['wage_0.25', 'wage_0.75']
    """
    if not isinstance(query, Quantiles):
        return [(name, query)]
    pairs = zip(query.levels, query.singles, strict=True)
    return [(f"{name}_{level_text(level)}", single) for level, single in pairs]


def check_names(names: Sequence[str]) -> None:
    """Refuse two results of one name.

    Raises:
        InvalidParameter: such a name is taken.
    """
    for name in names:
        if names.count(name) > 1:
            raise InvalidParameter(
                expected="a name for each result, several quantiles being NAME_LEVEL",
                got=f"{name!r} twice",
                remedy="Call one of them otherwise",
            )


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
