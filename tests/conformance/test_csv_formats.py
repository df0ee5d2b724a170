"""CSV as offices have it: explicit options, and one line where they do not fit."""

from __future__ import annotations

import gzip
import io
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.data import CsvFormat
from smoothdp.data.batches import TextBatch
from smoothdp.errors import InvalidData, InvalidParameter

WAGES = [1234.5, 0.25, -7.0, 1000000.0]


def texts(decimal: str, thousands: str) -> list[str]:
    return [f"{w:,}".replace(",", "T").replace(".", decimal).replace("T", thousands) for w in WAGES]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-32"])
@pytest.mark.parametrize(
    ("delimiter", "decimal", "thousands"),
    [(",", ".", ""), (";", ",", ""), (";", ",", "."), ("\t", ".", ","), ("|", ",", " ")],
)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "A.CSV.GZ"])
def test_numbers_in_every_dialect(
    delimiter: str, decimal: str, thousands: str, encoding: str, name: str, tmp_path: Path
) -> None:
    lines = [f"Größe{delimiter}wage", *(f"x{delimiter}{w}" for w in texts(decimal, thousands))]
    data = "\r\n".join(lines).encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.lower().endswith("gz") else data)
    options: dict[str, Any] = {
        "delimiter": delimiter,
        "decimal": decimal,
        "thousands": thousands or None,
        "encoding": encoding,
    }
    assert list(sd.read_column(path, "wage", **options)) == WAGES
    assert sd.data.count_column(path, "Größe", **options) == {"x": len(WAGES)}
    query, promise = sd.queries.Median((0, 2000)), sd.PureDP(40, neighbours="add_remove")
    options = {"csv": options, "column": "wage", "guarantee": promise, "n_guess": 4}
    assert (
        sd.release(path, query, **options, rng=sd.SeededRandom(1)).value
        == sd.release(WAGES, query, guarantee=promise, n_guess=4, rng=sd.SeededRandom(1)).value
    )


@pytest.mark.parametrize(
    ("options", "text", "number"),
    [
        ({}, "1,5", None),
        ({}, "1.5", 1.5),
        ({}, "1_0", None),
        ({}, " 2 ", 2.0),
        ({"decimal": ",", "delimiter": ";"}, "1,5", 1.5),
        ({"decimal": ",", "delimiter": ";"}, "1.5", None),
        ({"thousands": ",", "delimiter": ";"}, "1,234,567.5", 1234567.5),
        ({"thousands": ",", "delimiter": ";"}, "12,34", None),
        ({"thousands": ",", "delimiter": ";"}, "1234", 1234.0),
        ({"thousands": ",", "delimiter": ";"}, ",234", None),
        ({"thousands": ".", "decimal": ",", "delimiter": ";"}, "-1.234,5", -1234.5),
        ({"thousands": ".", "decimal": ",", "delimiter": ";"}, "1.2.3", None),
        ({"thousands": "'"}, "1'000", 1000.0),
        ({"thousands": "\u202f"}, "1\u202f000", 1000.0),
        ({"na": "NA"}, "NA", None),
        ({"na": ["-", "."]}, " . ", None),
        ({"na": "-99"}, "-99", None),
    ],
)
def test_a_field_that_is_no_number(
    options: dict[str, Any], text: str, number: float | None, tmp_path: Path
) -> None:
    """It has no value where rows are never refused, and is refused where n is public."""
    path = tmp_path / "a.csv"
    path.write_text(f'x\n"{text}"\n3\n', encoding="utf-8")
    read = CsvFormat.read(options).number(text)
    assert read == number if number is not None else math.isnan(read)
    if number is None:
        with pytest.raises(InvalidData) as refused:
            sd.read_column(path, "x", **options)
        assert text not in str(refused.value).replace("such as '-'", "") or len(text) == 1
        return
    assert list(sd.read_column(path, "x", **options)) == [number, 3.0]


def test_marks_of_missing_values_take_the_constant(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("x\n1\nNA\n\n3\n".replace("\n\n", '\n""\n'))
    assert list(sd.read_column(path, "x", na="NA", missing="2")) == [1, 2, 2, 3]
    assert list(sd.read_column(path, "x", na="NA", missing="public-drop")) == [1, 3]
    assert sd.read_column(path, "x", kind="category", na="NA", missing="none") == [
        "1",
        "none",
        "none",
        "3",
    ]
    with pytest.raises(InvalidData, match="a value in every row"):
        sd.read_column(path, "x", na="NA")


def test_wrong_formats_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_bytes("größe;x\nä;1,5\n".encode("cp1252"))
    (tmp_path / "b.csv").write_text("k;x\na;1,5\n")
    (tmp_path / "c.csv.gz").write_bytes(b"no gzip at all")
    (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"x\n1\n2\n")[:-6])
    ask = ["--statistic", "median", "--bounds", "0", "9", "--epsilon", "1", "--column", "x"]
    for name, more, words in [
        ("a.csv", [], '--encoding "cp1252"'),
        ("b.csv", [], "--delimiter ';'"),
        ("b.csv", ["--delimiter", ";"], "text that looks like a number"),
        ("b.csv", ["--decimal", ","], "different marks"),
        ("c.csv.gz", [], "damaged"),
        ("d.csv.gz", [], "damaged"),
        ("b.csv", ["--encoding", "martian"], "an encoding of texts"),
    ]:
        with pytest.raises(SystemExit) as stopped:
            main(["release", str(tmp_path / name), *ask, *more])
        shown = capsys.readouterr()
        assert (stopped.value.code, shown.out, shown.err.count("\n")) == (2, "", 1), shown.err
        assert words in shown.err


def test_parquet_has_no_dialect(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidParameter, match="with a CSV file alone"):
        sd.read_column(tmp_path / "a.parquet", "x", na="NA")


@pytest.mark.parametrize(
    "command",
    [
        ["release", "-", "--statistic", "median", "--bounds", "0", "9", "--epsilon", "1"],
        ["collect", "-", "--bounds", "0", "9", "--epsilon", "1", "--delta", "1e-6"],
        ["measure", "-", "--n-draws", "90", "--epsilon", "1"],
    ],
    ids=lambda one: one[0],
)
def test_commands_read_standard_input(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    values = np.arange(100) % 7

    class Stdin:
        buffer = io.BytesIO(("k;x\n" + "".join(f"a;{v}\n" for v in values)).encode())

    monkeypatch.setattr(sys, "stdin", Stdin)
    main([*command, "--column", "x", "--delimiter", ";"])
    assert capsys.readouterr().out


def test_a_field_means_the_same_whatever_the_other_rows_hold() -> None:
    """Columns without a strange field are read as a whole: to the same floats, bit by bit."""
    odd = [
        "1",
        " 2 ",
        "-0",
        "1e5",
        "+.5",
        "5.",
        "inf",
        "-Infinity",
        "nan",
        "٣",
        "",
        "1e400",
        "0.1",
        "9007199254740993",
        "1e-400",
        "\t7\n",
    ]
    strange = ["x", "1_0", "0x10", "1d5", "1,5", " ", "--1", "1 2", "1f", "NaN(3)"]
    for text in [*odd, *strange]:
        alone = TextBatch(1, {"x": [text]}, CsvFormat()).numbers("x")
        for other in [*odd, *strange]:
            both = TextBatch(2, {"x": [text, other]}, CsvFormat()).numbers("x")
            assert both[:1].tobytes() == alone.tobytes() or np.isnan([both[0], alone[0]]).all()
