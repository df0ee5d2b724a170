"""One column of a Parquet file, read with pyarrow (the ``data`` extra)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from smoothdp.data.csv_file import column_place
from smoothdp.errors import InvalidData, MissingExtra, explain


def parquet_values(path: Path, column: str) -> Iterator[list[str]]:
    """Yield the values of a column as texts, in chunks; a missing value is an error."""
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("reading Parquet files", "data") from None
    try:
        file = parquet.ParquetFile(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InvalidData(explain(f"a Parquet file at {path}", reason, "Check the file")) from None
    with file:
        column_place(path, file.schema_arrow.names, column)
        row = 1
        for batch in file.iter_batches(columns=[column]):
            values = batch.column(0)
            if values.null_count:
                missing = values.is_null().to_pylist().index(True)
                raise InvalidData(
                    explain(
                        f"a value in every row of column {column!r}",
                        f"none in row {row + missing}",
                        "Replace missing values by a category or constant of their own",
                    )
                )
            yield [str(value) for value in values.to_pylist()]
            row += len(values)
    if row == 1:
        raise InvalidData(explain(f"rows in {path}", "none", "Check the file"))
