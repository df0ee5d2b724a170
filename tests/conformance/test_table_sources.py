"""A table is the same whatever holds it: frames, relations, files; rows never refuse."""

from __future__ import annotations

import datetime
import io
import math
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.data.read_table import read_table
from smoothdp.errors import InvalidData, InvalidParameter
from tests.conformance.table_sources import SOURCES, columns, duckdb, pd, pl, write_csv

pa: Any = pytest.importorskip("pyarrow")

KEYS = {"region": ["N", "Örebro", "nobody"], "year": [2024, 2026]}
PROMISE = sd.PureDP(2, neighbours="add_remove")
WAGE = {"median": ("wage", sd.queries.Median((0, 5000)))}


def released(data: object, csv: dict[str, Any] | None = None, **options: Any) -> Any:
    asked: dict[str, Any] = {
        "by": ["region", "year"],
        "keys": KEYS,
        "statistics": WAGE,
        "guarantee": PROMISE,
        "counts": True,
        "rng": sd.SeededRandom(5),
        "csv": csv or None,
    }
    return sd.release_table(data, **{**asked, **options})


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_gives_the_same_table(kind: str, tmp_path: Path) -> None:
    make, csv = SOURCES[kind]
    want = released(columns()).columns()
    assert released(make(columns(), tmp_path), csv).columns() == want
    kept = {"region": {"not": "S"}, "wage": {"at_least": 100, "below": 4000}}
    want = released(columns(), where=kept).columns()
    assert released(make(columns(), tmp_path), csv, where=kept).columns() == want


@pytest.mark.parametrize("kind", SOURCES)
def test_functions_of_rows_see_the_same_values(kind: str, tmp_path: Path) -> None:
    make, csv = SOURCES[kind]
    options: dict[str, Any] = {
        "where": lambda row: row["year"] > 2024,
        "derive": {"shifted": lambda row: row["wage"] / (row["year"] - 2024)},
        "statistics": {"m": ("shifted", sd.queries.Median((0, 5000)))},
    }
    want = released(columns(), **options).columns()
    found = released(make(columns(), tmp_path), csv, **options).columns()
    assert found == want
    assert want["n"][1] > 20  # 2026
    assert abs(want["n"][0]) < 20  # 2024 passes nowhere


@pytest.mark.parametrize(
    ("kind", "library"),
    [
        ("pandas", "pandas"),
        ("polars", "polars"),
        ("polars, lazy", "polars"),
        ("pyarrow", "pyarrow"),
        ("duckdb", "pyarrow"),
        ("csv", "pandas"),
        ("columns", "pandas"),
        ("parquet folder", "pandas"),
    ],
)
def test_a_frame_of_the_kind_that_came_in(kind: str, library: str, tmp_path: Path) -> None:
    make, csv = SOURCES[kind]
    table = released(make(columns(), tmp_path), csv, confidence="0.9")
    frame = table.to_frame()
    assert type(frame).__module__.split(".")[0] == library
    names = frame.column_names if library == "pyarrow" else list(frame.columns)
    assert names == list(table.columns())
    assert (
        list(map(float, frame["median"].to_pylist() if library == "pyarrow" else frame["median"]))
        == table.columns()["median"]
    )


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_csv(tmp_path / "a.csv", columns())

    class Stdin:
        buffer = io.BytesIO((tmp_path / "a.csv").read_bytes())

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert released("-").columns() == released(columns()).columns()


def test_no_row_is_refused_and_none_disturbs_another() -> None:
    """Whatever a row holds, the other rows are read as before; a strange one has no value."""
    strange: list[Any] = [
        None,
        math.nan,
        math.inf,
        -math.inf,
        "text",
        "12",
        True,
        b"x",
        10**400,
        Decimal("NaN"),
        Decimal("1.5"),
        Fraction(1, 3),
        [1],
        {},
        object(),
        np.float32("nan"),
        pd.NA,
        pd.NaT,
        datetime.date(2026, 1, 1),
        np.datetime64("NaT"),
        1 + 2j,
        "\ud800",
        "x" * 10**6,
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for odd in strange:
            for where in (None, {"wage": {"above": 0}}, lambda row: row["wage"] > 0):
                table = read_table(
                    {"region": ["N", odd, "S"], "wage": [1.0, odd, 3.0]},
                    categories=["region"],
                    numbers=["wage"],
                    where=where,
                    derive={"half": lambda row: row["wage"] / 2},
                )
                codes, wage = table.categories["region"], table.numbers["wage"]
                assert [codes.labels[codes.codes[k]] for k in (0, -1)] == ["N", "S"]
                assert [wage[k] for k in (0, -1)] == [1.0, 3.0]


@pytest.mark.parametrize(
    "row",
    [
        "N",
        "N,2,3,4,5",
        '"N,5',
        'N,"5',
        'N,5"6',
        "N,1_000",
        "N,0x10",
        "N,1e999",
        "N,٣",
        ",",
        "",
        "N,\x00",
        "\ufeff,1",
        '"' + "x" * 200_000 + '",1',
    ],
    ids=lambda row: repr(row[:12]),
)
def test_a_csv_record_is_never_refused(row: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"region,wage\nN,1\nS,2\n{row}", encoding="utf-8")
    table = read_table(path, categories=["region"], numbers=["wage"])
    assert list(table.numbers["wage"][:2]) == [1.0, 2.0]
    assert table.n_rows <= 3


def test_bytes_of_another_encoding_are_no_refusal_in_a_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"region,wage\nN,1\n\xd6rebro,2\n")
    table = read_table(path, categories=["region"], numbers=["wage"])
    assert list(table.numbers["wage"]) == [1.0, 2.0]
    path.write_bytes(b"region,\xd6re\nN,1\n")
    with pytest.raises(InvalidData, match=r"utf-8|UTF-8"):
        read_table(path, categories=["region"], numbers=["wage"])


BAD: list[tuple[Any, dict[str, Any], str]] = [
    ({"region": ["N"], "year": [1]}, {}, "a column 'wage'"),
    ({"region": ["N"], "year": [1, 2], "wage": [1]}, {}, "columns of one length"),
    ({"region": ["N"], "year": [1], "wage": np.array(["x"])}, {}, "numbers in the column 'wage'"),
    ({"region": ["N"], "year": [1], "wage": np.zeros((1, 1))}, {}, "one value for each row"),
    ({"region": ["N"], "year": [1], "wage": "x"}, {}, "one value for each row"),
    ([1, 2, 3], {}, "a frame, a mapping"),
    (3, {}, "a frame, a mapping"),
    (pd.DataFrame({"region": ["N"], "year": [1]}), {}, "a column 'wage'"),
    (pd.DataFrame({"region": ["N"], "year": [1], "wage": ["x"]}), {}, "numbers in the column"),
    (pl.DataFrame({"region": ["N"], "year": [1], "wage": ["x"]}), {}, "numbers in the column"),
    (pl.DataFrame({"region": [["N"]], "year": [1], "wage": [1]}), {}, "labels in the column"),
    (
        pl.DataFrame({"region": ["N"], "year": ["1"], "wage": [1]}),
        {},
        "texts for the column 'year'",
    ),
    (pa.table({"region": [1], "year": [1], "wage": [1]}), {}, "numbers for the column 'region'"),
    (duckdb.sql("select 'N' as region, 1 as year, 'x' as wage"), {}, "numbers in the column"),
    ("nowhere.csv", {}, "the file nowhere.csv"),
    ("table.xlsx", {}, "the file table.xlsx"),
    ({"region": ["N"]}, {"delimiter": ";"}, "csv= with a file"),
    ("a.csv", {"delimeter": ";"}, "csv with delimiter"),
    ("a.csv", {"delimiter": ";;"}, "delimiter as one character"),
    ("a.csv", {"decimal": ","}, "different marks"),
    ("a.csv", {"decimal": "'"}, 'decimal "."'),
    ("a.csv", {"thousands": "x"}, "thousands as"),
    ("a.csv", {"encoding": "klingon"}, "an encoding"),
    ("a.csv", {"encoding": "zlib"}, "an encoding"),
    ("a.csv", {"na": 3}, "na as a text"),
]


@pytest.mark.parametrize(("data", "csv", "words"), BAD, ids=lambda one: str(one)[:30])
def test_a_schema_is_refused_in_one_line_and_nothing_is_charged(
    data: Any, csv: dict[str, Any], words: str, tmp_path: Path
) -> None:
    ledger = sd.Ledger(tmp_path / "ledger.db", budget=sd.PureDP(9, neighbours="add_remove"))
    with pytest.raises((InvalidData, InvalidParameter)) as refused:
        released(data, csv, ledger=ledger)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert ledger.entries() == []


def test_a_file_without_a_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("N,2024,3\nS,2025,4\n")
    with pytest.raises(InvalidData, match="Begin the file with names"):
        released(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_text("")
    with pytest.raises(InvalidData, match="a header line"):
        released(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_text("region,year,wage\n")
    assert len(released(tmp_path / "c.csv").groups) == 6


def test_keys_of_several_types_are_refused() -> None:
    for keys in ([("N", 1), ("S", "2")], {"region": ["N", 3], "year": [1]}):
        with pytest.raises(InvalidParameter, match="one type"):
            released(columns(), keys=keys)
    frame = pl.DataFrame({"region": ["N", "S"], "year": [2024, 2024]})
    assert list(released(columns(), keys=frame).groups) == [("N", 2024), ("S", 2024)]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    frame = pd.DataFrame(columns())
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "narwhals", None)
    with pytest.raises(sd.errors.MissingExtra, match=r"smoothdp\[data\]"):
        released(frame)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(sd.errors.MissingExtra, match=r"smoothdp\[data\]"):
        released(tmp_path / "a.parquet")


def test_a_column_of_a_table() -> None:
    """`sd.release` takes a column of whatever a table may be."""
    query, pure = sd.queries.Median((0, 5000)), sd.PureDP(1)
    whole = [wage for wage in columns()["wage"] if wage is not None]
    frames = [pd.DataFrame({"w": whole}), pl.DataFrame({"w": whole}), {"w": whole}]
    values = {
        sd.release(one, query, column="w", guarantee=pure, rng=sd.SeededRandom(1)).value
        for one in frames
    }
    assert values == {sd.release(whole, query, guarantee=pure, rng=sd.SeededRandom(1)).value}
    private: dict[str, Any] = {"guarantee": PROMISE, "n_guess": 1000}
    for one in (pd.DataFrame(columns()), pl.DataFrame(columns()), columns()):
        found = sd.release(
            one, query, column="wage", where={"year": 2024}, rng=sd.SeededRandom(1), **private
        )
        chosen = [w for w, y in zip(columns()["wage"], columns()["year"], strict=True) if y == 2024]
        assert found.value == sd.release(chosen, query, rng=sd.SeededRandom(1), **private).value
    with pytest.raises(sd.errors.IncompatibleClaims, match="private"):
        sd.release(frames[0], query, column="w", where={"w": 1}, guarantee=pure)
    with pytest.raises(InvalidParameter, match="column="):
        sd.release(whole, query, where={"w": 1}, guarantee=PROMISE)
