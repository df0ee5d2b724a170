"""Ways in which one row was noticed, or moved thousands of others: attacks, as they were found."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.errors import IncompatibleClaims

PURE = sd.PureDP(1, neighbours="add_remove")
SURE = sd.PureDP(1000, neighbours="add_remove")
"""So much that the noise is 0."""


def count(file: Path) -> float:
    return float(sd.release(file, sd.queries.Count(), column="w", guarantee=SURE).value)


@pytest.mark.parametrize(
    "line", ['"', '5,"', '"a""', 'x"y,"z', '"5","', '"' + "5" * 140_000, "5" * 140_000, ""]
)
@pytest.mark.parametrize("place", [0, 7, 400])
def test_one_line_of_a_file_is_one_row(tmp_path: Path, line: str, place: int) -> None:
    """An open quotation mark took up to 131,072 characters of other rows."""
    lines = ["5,a"] * 400
    before, after = tmp_path / "before.csv", tmp_path / "after.csv"
    before.write_text("w,k\n" + "\n".join(lines) + "\n")
    lines.insert(place, line)
    after.write_text("w,k\n" + "\n".join(lines) + "\n")
    assert count(before) == 400
    assert abs(count(after) - 400) <= 1


def test_quoted_fields_are_read_as_before(tmp_path: Path) -> None:
    file = tmp_path / "quoted.csv"
    file.write_text('"w","k"\n"5","a,b"\n6,"c ""d"""\r\n7,e\n')
    keys = ["a,b", 'c "d"', "e"]
    table = sd.release_table(
        file,
        by="k",
        keys=keys,
        statistics={"s": ("w", sd.queries.Sum((0, 9), grid=1))},
        guarantee=sd.PureDP(10_000, neighbours="add_remove"),
    )
    assert table.columns()["s"] == [5, 6, 7]


class Loud:
    """An object whose text and number are errors that quote it."""

    def __str__(self) -> str:
        raise RuntimeError("secret 5")

    def __float__(self) -> float:
        raise RuntimeError("secret 5")


@pytest.mark.parametrize(
    "strange", [Loud(), Fraction(10**5000), (10**5000,), 1 + 2j, object()], ids=lambda s: type(s)
)
def test_strange_objects_are_missing_and_silent(strange: object) -> None:
    data = {"k": ["a", strange], "w": [1.0, strange], "id": [1, strange]}
    asked: dict[str, Any] = {
        "by": "k",
        "statistics": {"s": ("w", sd.queries.Sum((0, 9), grid=1))},
        "person": sd.Person("id", rows=1),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sd.release_table(data, keys=["a"], guarantee=PURE, **asked)
        private = sd.ApproxDP(1, delta="1e-6", neighbours="add_remove")
        sd.release_table(data, keys="private", guarantee=private, **asked)
        sd.release([1.0, strange], sd.queries.Median((0, 9)), guarantee=PURE, n_guess=1000)


def test_a_column_is_read_by_its_type() -> None:
    """As an array, one missing value changed the type, and with it all values beyond 2^53."""
    pl: Any = pytest.importorskip("polars")
    value = 2**53 + 1
    query = sd.queries.ClampedMean((2**53, 2**53 + 2))
    whole = pl.Series([value] * 1000, dtype=pl.Int64)
    with_one = pl.Series([value] * 1000 + [None], dtype=pl.Int64)
    first, second = (
        sd.release(column, query, guarantee=SURE).value for column in (whole, with_one)
    )
    assert first == second
    # Truth values are no numbers, with one missing or without.
    for column in (pl.Series([True]), pl.Series([True, None]), pl.Series([], dtype=pl.Boolean)):
        assert 2**53 <= sd.release(column, query, guarantee=SURE).value <= 2**53 + 2


def test_a_ledger_keeps_one_unit(tmp_path: Path) -> None:
    """A person's promise says nothing of one row, nor a row's of a person; nothing is charged."""
    data = {"k": ["a", "b"] * 50, "w": [1, 2] * 50, "id": [i // 2 for i in range(100)]}
    asked: dict[str, Any] = {
        "by": "k",
        "keys": ["a", "b"],
        "statistics": {"s": ("w", sd.queries.Sum((0, 9), grid=1))},
        "guarantee": PURE,
    }
    budget = sd.PureDP(10, neighbours="add_remove")
    rows, persons = (sd.Ledger(tmp_path / name, budget=budget) for name in ("r.db", "p.db"))
    by_id, by_w = sd.Person("id", rows=2), sd.Person("w", rows=2)
    sd.release_table(data, ledger=rows, **asked)
    sd.release_table(data, ledger=persons, person=by_id, **asked)
    for ledger, person in ((rows, by_id), (persons, None), (persons, by_w)):
        with pytest.raises(IncompatibleClaims, match="Keep a ledger for each unit"):
            sd.release_table(data, ledger=ledger, person=person, **asked)
    with pytest.raises(IncompatibleClaims):
        sd.release([1.0], sd.queries.Count(), guarantee=PURE, ledger=persons)
    with pytest.raises(IncompatibleClaims):
        persons.charge(PURE)
    sd.release_table(data, ledger=persons, person=by_id, **asked)
    assert [len(ledger.entries()) for ledger in (rows, persons)] == [1, 2]
    assert "one row" in sd.report.Account.of(rows).text()
    said = sd.report.Account.of(persons).text()
    assert "one person's rows, by the column 'id'" in said
    assert "one row" not in said


@pytest.mark.parametrize("values", [[], [4.0], [5e-324], [1e-310]], ids=str)
def test_the_error_state_of_numpy_shows_nothing(values: list[float]) -> None:
    with np.errstate(all="raise"):
        for query in (sd.queries.ClampedMean((0, 10)), sd.queries.Variance((0, 10))):
            sd.release(values, query, guarantee=PURE)


def test_values_that_python_has_not_are_missing() -> None:
    """Dates beyond the year 9999, and bytes that are no text: errors would quote them."""
    pa: Any = pytest.importorskip("pyarrow")
    numbers = pa.array([1.0, 2.0])
    days = pa.array([10**9, 1], pa.int32()).cast(pa.date32())
    broken = pa.StringArray.from_buffers(
        2, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0"), pa.py_buffer(b"\xffa")
    )
    statistics = {"s": ("w", sd.queries.Sum((0, 9), grid=1))}
    for labels, key in ((days, "1970-01-02"), (broken, "a")):
        frame = pa.table({"k": labels, "w": numbers})
        for where in (None, lambda row: row["w"] > 0):
            table = sd.release_table(
                frame, by="k", keys=[key], statistics=statistics, guarantee=SURE, where=where
            )
            assert table.columns()["s"] == [2.0]


def test_a_lazy_query_that_fails_says_nothing_of_the_row() -> None:
    pl: Any = pytest.importorskip("polars")
    frame = pl.LazyFrame({"k": ["a", "a"], "w": ["1", "secret"]}).with_columns(
        pl.col("w").cast(pl.Int64)
    )
    with pytest.raises(sd.errors.InvalidData, match="a query that no row can make fail") as told:
        sd.release_table(
            frame,
            by="k",
            keys=["a"],
            statistics={"s": ("w", sd.queries.Sum((0, 9), grid=1))},
            guarantee=PURE,
        )
    assert told.value.__context__ is None
    assert "secret" not in str(told.value)
