"""One row decides nothing about types: attacks on tables, as they were found."""

from __future__ import annotations

from typing import Any

import pytest

import smoothdp as sd
from smoothdp.errors import InvalidData

pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
pa: Any = pytest.importorskip("pyarrow")
PURE = sd.PureDP(1, neighbours="add_remove")


def outcome(data: Any, keys: Any = ("a", "b")) -> str:
    """Return "released", or the words of the refusal."""
    try:
        sd.release_table(
            data,
            by="k",
            keys=list(keys),
            statistics={"s": ("w", sd.queries.Sum((0, 10), grid=1))},
            guarantee=PURE,
        )
    except InvalidData as error:
        return str(error)
    return "released"


def polars(k: list[int], w: list[str]) -> Any:
    return pl.DataFrame({"k": k, "w": w}, schema={"k": pl.Int64, "w": pl.String})


def arrow(k: list[int], w: list[str]) -> Any:
    return pa.table({"k": pa.array(k, pa.int64()), "w": pa.array(w, pa.string())})


@pytest.mark.parametrize("make", [polars, lambda k, w: polars(k, w).lazy(), arrow])
@pytest.mark.parametrize("keys", [("a", "b"), (1, 2)], ids=["texts", "numbers"])
def test_no_rows_and_one_row_are_refused_alike(make: Any, keys: Any) -> None:
    empty, one = outcome(make([], []), keys), outcome(make([1], ["x"]), keys)
    assert empty == one
    assert empty != "released"


def test_a_relation_without_rows_is_refused_like_one_with_a_row() -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    empty = duckdb.sql("select 1 k, 'x' w where false")
    assert outcome(empty) == outcome(duckdb.sql("select 1 k, 'x' w")) != "released"


@pytest.mark.parametrize("rows", [[], ["x"], [None], [5], ["x", 5], [b"x"]], ids=repr)
def test_objects_of_pandas_are_read_row_by_row(rows: list[object]) -> None:
    keys = pd.Series(["a"] * len(rows), dtype=object)
    frame = pd.DataFrame({"k": keys, "w": pd.Series(rows, dtype=object)})
    assert outcome(frame) == "released"
    labels = pd.DataFrame(
        {"k": pd.Series(rows, dtype=object), "w": pd.Series([1.0] * len(rows), dtype=float)}
    )
    assert outcome(labels, keys=[1, 2]) == "released"


@pytest.mark.parametrize("value", [2**53 + 1, 2**62, 5, None])
def test_whole_numbers_of_arrow_are_rounded_not_refused(value: int | None) -> None:
    column = pa.array([value], pa.int64())
    assert outcome({"k": ["a"], "w": column}) == "released"
    frame = pd.DataFrame({"k": ["a"], "w": pd.Series([value], dtype="int64[pyarrow]")})
    assert outcome(frame) == "released"
