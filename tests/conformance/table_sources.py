"""One small table in every shape that a release takes, for tests."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("narwhals")
duckdb: Any = pytest.importorskip("duckdb")
pd: Any = pytest.importorskip("pandas")
pl: Any = pytest.importorskip("polars")
dataset: Any = pytest.importorskip("pyarrow.dataset")
parquet: Any = pytest.importorskip("pyarrow.parquet")

REGIONS = ("N", "S", "Örebro", "x y")


def columns(n: int = 1200) -> dict[str, list[Any]]:
    """Return rows with missing labels and values, ties, and a key that is nobody's public one."""
    draw = random.Random(22)
    return {
        "region": [draw.choice([*REGIONS, None]) for _ in range(n)],
        "year": [draw.choice([2024, 2025, 2026]) for _ in range(n)],
        "wage": [
            None if i % 17 == 0 else round(draw.lognormvariate(7, 1), draw.choice([0, 2]))
            for i in range(n)
        ],
        "extra": [draw.random() for _ in range(n)],
    }


def write_csv(
    path: Path,
    table: dict[str, list[Any]],
    *,
    delimiter: str = ",",
    decimal: str = ".",
    na: str = "",
    encoding: str = "utf-8",
) -> None:
    """Write a table as CSV in some dialect."""
    lines = [delimiter.join(table)]
    for row in zip(*table.values(), strict=True):
        fields = [
            na
            if one is None
            else repr(one).replace(".", decimal)
            if isinstance(one, float)
            else str(one)
            for one in row
        ]
        lines.append(delimiter.join(fields))
    data = ("\n".join(lines) + "\n").encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def _frame(table: dict[str, list[Any]]) -> Any:
    return pd.DataFrame(table)


def _polars(table: dict[str, list[Any]]) -> Any:
    return pl.DataFrame(table)


def _file(name: str, **options: str) -> Callable[[dict[str, list[Any]], Path], Any]:
    def make(table: dict[str, list[Any]], folder: Path) -> Any:
        write_csv(folder / name, table, **options)
        return str(folder / name)

    return make


def _parquet(table: dict[str, list[Any]], folder: Path) -> Any:
    parquet.write_table(_polars(table).to_arrow(), folder / "a.parquet")
    return folder / "a.parquet"


def _folder(table: dict[str, list[Any]], folder: Path) -> Any:
    dataset.write_dataset(
        _polars(table).to_arrow(),
        folder / "parts",
        format="parquet",
        partitioning=["year"],
        partitioning_flavor="hive",
        existing_data_behavior="overwrite_or_ignore",
    )
    return folder / "parts"


SOURCES: dict[str, tuple[Callable[[dict[str, list[Any]], Path], Any], dict[str, Any]]] = {
    "columns": (lambda t, _: t, {}),
    "pandas": (lambda t, _: _frame(t), {}),
    "pandas, nullable": (lambda t, _: _frame(t).convert_dtypes(), {}),
    "pandas, objects": (lambda t, _: _frame(t).astype(object), {}),
    "pandas, categories": (lambda t, _: _frame(t).astype({"region": "category"}), {}),
    "polars": (lambda t, _: _polars(t), {}),
    "polars, lazy": (lambda t, _: _polars(t).lazy(), {}),
    "polars, categories": (
        lambda t, _: _polars(t).with_columns(pl.col("region").cast(pl.Categorical)),
        {},
    ),
    "pyarrow": (lambda t, _: _polars(t).to_arrow(), {}),
    "duckdb": (lambda t, _: duckdb.from_arrow(_polars(t).to_arrow()), {}),
    "series": (
        lambda t, _: {
            "region": _frame(t)["region"],
            "year": _polars(t)["year"],
            "wage": _polars(t).to_arrow()["wage"],
        },
        {},
    ),
    "parquet": (_parquet, {}),
    "parquet folder": (_folder, {}),
    "csv": (_file("a.csv"), {}),
    "csv with BOM": (_file("bom.csv", encoding="utf-8-sig"), {}),
    "tsv.gz": (_file("a.tsv.gz", delimiter="\t"), {}),
    "office": (
        _file("b.csv", delimiter=";", decimal=",", na="NA", encoding="cp1252"),
        {"delimiter": ";", "decimal": ",", "na": "NA", "encoding": "cp1252"},
    ),
    "utf-16": (_file("c.csv.gz", encoding="utf-16", na="."), {"na": ["."], "encoding": "utf-16"}),
}
"""For each kind of data a function of (columns, folder), and the csv options that it needs."""
