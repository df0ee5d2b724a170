"""Filters and derived columns: adding a row to any small table adds at most that row.

All tables of up to three rows over a few values, all places of one more row, and rules that fail,
or say something else than a truth value or a number.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.data.read_table import read_table
from smoothdp.data.row_rules import RowFilter
from smoothdp.errors import InvalidParameter

CELLS: list[tuple[Any, Any]] = [
    ("N", 1),
    ("S", 0),
    (None, 2),
    ("N", None),
    (3, "x"),
    ("N", math.inf),
]


def divided(row: Mapping[str, Any]) -> Any:
    return 6 / row["x"]


def odd_answers(row: Mapping[str, Any]) -> Any:
    return {1: "yes", 0: np.True_, 2: [1], None: None}.get(row["x"], True)


WHERE: list[Any] = [
    None,
    {"key": "N"},
    {"key": ["N", "S"], "x": {"at_least": 0, "below": 2}},
    {"key": {"not": "N"}},
    {"x": {"above": 0}},
    {"x": {"at_most": 1}, "key": {"at_least": "N"}},
    lambda row: row["x"] < 2,
    odd_answers,
]
DERIVE: list[Any] = [
    None,
    {"y": divided},
    {"y": odd_answers, "z": lambda row: row["y"] + 1},
]


def read(rows: tuple[tuple[Any, Any], ...], where: Any, derive: Any) -> Counter[Any]:
    names = list(derive or {})
    table = read_table(
        {"key": [row[0] for row in rows], "x": [row[1] for row in rows]},
        categories=["key"],
        numbers=["x", *names],
        where=where,
        derive=derive,
    )
    column = table.categories["key"]
    labels = [*column.labels, None]
    columns = [[labels[code] for code in column.codes]]
    columns += [[repr(float(one)) for one in table.numbers[name]] for name in ["x", *names]]
    return Counter(zip(*columns, strict=True))


@pytest.mark.parametrize("where", WHERE, ids=lambda one: str(getattr(one, "__name__", one)))
@pytest.mark.parametrize("derive", DERIVE, ids=lambda one: "-".join(one or ["none"]))
def test_neighbours_remain_neighbours(where: Any, derive: Any) -> None:
    """One more row adds one row or none, which depends on that row alone, wherever it stands."""
    alone = {row: read((row,), where, derive) for row in CELLS}
    for n in range(3):
        for rows in itertools.product(CELLS, repeat=n):
            before = read(rows, where, derive)
            assert before == sum((alone[row] for row in rows), Counter())
            for more, place in itertools.product(CELLS, range(n + 1)):
                after = read((*rows[:place], more, *rows[place:]), where, derive)
                assert after - before == alone[more]
                assert (after - before).total() <= 1
                assert not before - after


def test_a_rule_that_looks_at_another_row_is_caught() -> None:
    """The check above rejects a filter that is not row-wise."""
    seen: list[Any] = []

    def first_of_its_key(row: Mapping[str, Any]) -> bool:
        seen.append(row["key"])
        return seen.count(row["key"]) == 1

    rows = (("N", 1), ("N", 1))
    kept = read(rows, first_of_its_key, None)
    seen.clear()
    alone = read(rows[:1], first_of_its_key, None)
    assert kept != alone + alone


def test_a_filter_by_value_is_that_by_function() -> None:
    rows = tuple(itertools.islice(itertools.cycle(CELLS), 40))
    pairs: list[tuple[Any, Any]] = [
        ({"key": "N"}, lambda row: row["key"] == "N"),
        ({"key": {"not": ["N", "S"]}}, lambda row: row["key"] not in ("N", "S", None)),
        ({"x": {"at_least": 1}}, lambda row: row["x"] >= 1),
        ({"x": {"above": 0, "at_most": 2}}, lambda row: 0 < row["x"] <= 2),
    ]
    for mapping, function in pairs:
        assert read(rows, mapping, None) == read(rows, function, None)


@pytest.mark.parametrize(
    "where",
    [
        3,
        "N",
        [],
        {"x": {}},
        {"x": {"over": 3}},
        {"x": {"at_least": True}},
        {"x": [1, "a"]},
        {"x": {"at_least": 1, "below": "b"}},
        {"x": None},
        {3: 4},
        {"x": math.nan},
        {"x": []},
        {"x": {"below": math.nan}},
    ],
    ids=str,
)
def test_other_filters_are_refused(where: Any) -> None:
    with pytest.raises(InvalidParameter, match="where"):
        RowFilter.read(where)


@pytest.mark.parametrize("derive", [3, {"x": 4}, {3: len}, len], ids=str)
def test_other_derived_columns_are_refused(derive: Any) -> None:
    with pytest.raises(InvalidParameter, match="derive"):
        sd.release_table(
            {"k": ["a"]},
            by="k",
            keys=["a"],
            statistics={},
            derive=derive,
            counts=True,
            guarantee=sd.PureDP(1, neighbours="add_remove"),
        )


def test_rows_that_are_made_of_nothing_change_nothing() -> None:
    """Rows that a filter leaves out change no released number."""
    promise = sd.PureDP(1, neighbours="add_remove")
    query = sd.queries.Median((0, 10))
    rows: dict[str, list[Any]] = {"k": ["a"] * 50, "x": [float(i % 10) for i in range(50)]}
    more = {name: [*rows[name], *end] for name, end in (("k", "ab"), ("x", (99.0, 5.0)))}
    asked: dict[str, Any] = {
        "by": "k",
        "keys": ["a"],
        "counts": True,
        "statistics": {"m": ("x", query)},
        "guarantee": promise,
        "where": {"x": {"below": 10}},
    }
    few, many = (
        sd.release_table(one, **asked, rng=sd.SeededRandom(3)).columns() for one in (rows, more)
    )
    assert few == many


@pytest.mark.parametrize("bound", ["31.01.2026", "1/2/2026", "02-01-2026", "31.01.2026 12:00"])
def test_dates_with_the_year_last_are_refused(bound: str) -> None:
    with pytest.raises(InvalidParameter, match="year first"):
        RowFilter.read({"day": {"at_least": bound}})
    # One day is no question of order.
    assert RowFilter.read({"day": bound}).words() == f"rows with day {bound!r}"


@pytest.mark.parametrize("bound", ["2026-01-31", "26-01-31", "2026.01", "01.13.20", "N", "1.2026"])
def test_other_texts_are_bounds(bound: str) -> None:
    assert RowFilter.read({"day": {"below": bound}}).words() == f"rows with day below {bound}"
