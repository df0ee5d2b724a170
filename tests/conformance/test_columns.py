"""Columns of files: what is read, and one clear line for each kind of bad file."""

from __future__ import annotations

import csv
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from smoothdp import read_column
from smoothdp.data import count_column
from smoothdp.errors import InvalidData, InvalidParameter, MissingExtra


def write(folder: Path, text: str, name: str = "votes.csv") -> Path:
    path = folder / name
    path.write_bytes(text.encode())
    return path


def test_reads_numbers_and_categories(tmp_path: Path) -> None:
    path = write(tmp_path, 'name,"age, years",vote\na,1.5,x\nb,-2e3,y\n"c, d",0,x\n')
    numbers = read_column(path, "age, years")
    assert isinstance(numbers, np.ndarray)
    assert numbers.tolist() == [1.5, -2000.0, 0.0]
    assert read_column(path, "name", kind="category") == ["a", "b", "c, d"]
    assert count_column(path, "vote") == {"x": 2, "y": 1}
    assert count_column(path, "vote", universe=["y", "z", "x"]) == {"y": 1, "z": 0, "x": 2}


def test_tab_separated_and_byte_order_mark(tmp_path: Path) -> None:
    path = write(tmp_path, "\ufeffa\tb\n1\t2\n", "t.tsv")
    assert count_column(path, "a") == {"1": 1}


def test_parquet(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "votes.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"v": ["x", "y", "x"], "n": [1, 2, 3]}), path)
    assert count_column(path, "v") == {"x": 2, "y": 1}
    numbers = read_column(path, "n")
    assert isinstance(numbers, np.ndarray)
    assert numbers.tolist() == [1, 2, 3]
    with pytest.raises(InvalidData, match="columns v, n"):
        count_column(path, "w")
    pyarrow.parquet.write_table(pyarrow.table({"v": ["x", None]}), path)
    with pytest.raises(InvalidData, match="none in some row"):
        count_column(path, "v")
    pyarrow.parquet.write_table(pyarrow.table({"v": [0.5, float("nan")]}), path)
    with pytest.raises(InvalidData, match="none in some row"):
        read_column(path, "v")
    pyarrow.parquet.write_table(pyarrow.table({"v": [0.5, -float("inf")]}), path)
    with pytest.raises(InvalidData, match="an infinite number"):
        read_column(path, "v")
    pyarrow.parquet.write_table(pyarrow.table({"v": pyarrow.array([], pyarrow.int64())}), path)
    with pytest.raises(InvalidData, match="header alone"):
        read_column(path, "v")


def test_types_of_parquet(tmp_path: Path) -> None:
    """Whole numbers count as they are written; bytes are texts; booleans are not numbers."""
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "types.parquet"
    columns = {"n": [10, 2, 10], "b": [b"x", b"y", b"\xff"], "t": [True, False, True]}
    pyarrow.parquet.write_table(pyarrow.table({**columns, "d": ["1", "2.5", "-3"]}), path)
    assert count_column(path, "n") == {"10": 2, "2": 1}
    assert read_column(path, "b", kind="category") == ["x", "y", "\\xff"]
    assert np.array_equal(read_column(path, "d"), [1, 2.5, -3])
    with pytest.raises(InvalidData, match="text"):
        read_column(path, "t")


def test_damaged_parquet(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    path = tmp_path / "votes.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"v": [str(i) for i in range(9999)]}), path)
    whole = path.read_bytes()
    for damaged in (b"not parquet", whole[:-9], whole[:50] + bytes(5000) + whole[5050:]):
        path.write_bytes(damaged)
        with pytest.raises(InvalidData, match="a readable file") as caught:
            count_column(path, "v")
        assert "\n" not in str(caught.value)


def test_parquet_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = write(tmp_path, "x", "a.parquet")
    with pytest.raises(MissingExtra, match=r'pip install "smoothdp\[data\]"'):
        count_column(path, "v")


# Texts that can stand in a file: no lone surrogates; a missing value is refused, not read.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=30))
def test_what_was_written_is_read(rows: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("a", "b"), *rows])
        assert read_column(path, "b", kind="category") == [b for _, b in rows]
        assert count_column(path, "a") == Counter(a for a, _ in rows)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=30))
def test_floats_keep_their_exact_value(values: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), "v\n" + "\n".join(map(repr, values)) + "\n")
        read = read_column(path, "v")
        assert [float(v).hex() for v in read] == [v.hex() for v in values]


BAD = [
    ("", "an empty file"),
    ("v\n", "a header alone"),
    ("a,b\n1,2\n", "columns a, b"),
    ("v,v\n1,2\n", "it 2 times"),
    (",".join(f"c{i}" for i in range(30)) + "\n", "c19 and 10 more"),
    ("\n1\n", "got no columns"),
    ("v,w\n1,2\n1\n", "another number in some row"),
    ("v\n1\n\n2\n", "another number in some row"),
    ("v,w\n1,2\n,3\n", "none in some row"),
    ('v\n"x\n', "a line that is not"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidData, match=message) as caught:
        count_column(write(tmp_path, text), "v")
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("Expected ")


def test_bad_numbers(tmp_path: Path) -> None:
    """The kind is said, and never the value or its row: they are somebody's."""
    kinds = {
        "twelve": "text",
        "0x10": "text",
        "nan": "a mark for a missing value",
        "NA": "a mark for a missing value",
        " ": "a mark for a missing value",
        "-inf": "an infinite number",
        "1_000": "text that looks like a number",
        "1,5": "text that looks like a number",
    }
    for bad, kind in kinds.items():
        path = write(tmp_path, f'v\n1\n"{bad}"\n')
        with pytest.raises(InvalidData, match=f"'v'; got {kind}[.]"):
            read_column(path, "v")
    for secret in ("Jane Doe, 7 Elm St", "451-22-9981 alias", "1e999"):
        with pytest.raises(InvalidData) as caught:
            read_column(write(tmp_path, f'v\n1\n"{secret}"\n'), "v")
        assert secret not in str(caught.value)


def test_what_takes_the_place_of_missing_numbers_is_a_number(tmp_path: Path) -> None:
    """The parameter is to blame, and not the file: also where nothing is missing."""
    for text in ("v\n1\n\n", "v,w\n1,2\n,3\n", "v\n1\n2\n"):
        path = write(tmp_path, text)
        for word in ("NA", "drop", "nan", "1_0", ""):
            with pytest.raises(InvalidParameter, match='a number or "public-drop"') as caught:
                read_column(path, "v", missing=word)
            assert "row" not in str(caught.value)
    # Of categories any word may take the place.
    assert read_column(write(tmp_path, "v,w\n,1\n"), "v", kind="category", missing="NA") == ["NA"]


def test_bad_places(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="no such file"):
        count_column(tmp_path / "none.csv", "v")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(InvalidData, match="the directory"):
        count_column(tmp_path / "folder.csv", "v")
    with pytest.raises(InvalidData, match="the directory"):
        read_column(tmp_path, "v")
    with pytest.raises(InvalidData, match="no such file"):
        count_column(tmp_path / "a.xlsx", "v")
    (tmp_path / "a.xlsx").write_text("x")
    with pytest.raises(InvalidData, match=r"ending in \.csv"):
        count_column(tmp_path / "a.xlsx", "v")
    path = tmp_path / "latin.csv"
    path.write_bytes(b"v\n\xe9\xff\n")
    with pytest.raises(InvalidData, match="UTF-8"):
        count_column(path, "v")
    good = write(tmp_path, "v\nx\n")
    with pytest.raises(InvalidData, match="among the universe; got another"):
        count_column(good, "v", universe=["y"])
    with pytest.raises(InvalidParameter, match="'x' twice"):
        count_column(good, "v", universe=["x", "y", "x"])
    with pytest.raises(InvalidParameter, match="kind"):
        read_column(good, "v", kind="text")  # type: ignore[call-overload]


@pytest.mark.slow
def test_ten_million_rows(tmp_path: Path) -> None:
    """Counted in bounded memory: the peak grows by less than 100 MB."""
    import tracemalloc

    path = tmp_path / "large.csv"
    with path.open("w") as file:
        file.write("id,vote\n")
        for start in range(0, 10**7, 10**5):
            file.writelines(f"{i},{'ab'[i % 3 > 0]}\n" for i in range(start, start + 10**5))
    tracemalloc.start()
    counts = count_column(path, "vote")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert counts == {"a": 3333334, "b": 6666666}
    assert peak < 100e6


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_missing_values(tmp_path: Path, ending: str) -> None:
    """Refused, replaced by a public constant with n kept, or dropped by declaration."""
    path = tmp_path / f"delays.{ending}"
    if ending == "csv":
        path.write_text("delay,to\n1.5,A\n,B\n3,\n")
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(
            pyarrow.table({"delay": [1.5, None, 3.0], "to": ["A", "B", None]}), path
        )
    with pytest.raises(InvalidData, match="none in some row"):
        read_column(path, "delay")
    with pytest.raises(InvalidData, match=r"none in some row.*public-drop"):
        count_column(path, "to")
    assert list(read_column(path, "delay", missing="0")) == [1.5, 0.0, 3.0]
    assert list(read_column(path, "delay", missing="public-drop")) == [1.5, 3.0]
    assert read_column(path, "to", kind="category", missing="none") == ["A", "B", "none"]
    assert count_column(path, "to", missing="public-drop") == {"A": 1, "B": 1}
    with pytest.raises(InvalidParameter, match="--missing"):
        read_column(path, "delay", missing="unknown")


def test_nothing_left_after_dropping(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("delay,to\n,\n,\n")
    with pytest.raises(InvalidData, match="rows in"):
        read_column(path, "delay", missing="public-drop")
    with pytest.raises(InvalidData, match="rows in"):
        count_column(path, "to", missing="public-drop")
