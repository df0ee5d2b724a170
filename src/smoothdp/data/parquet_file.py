"""One column of a Parquet file, read with pyarrow (the ``data`` extra)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from smoothdp.data.refusals import column_place, missing_value, no_rows, unreadable
from smoothdp.errors import MissingExtra

if TYPE_CHECKING:
    import pyarrow


def parquet_texts(path: Path, column: str) -> Iterator[list[str]]:
    """Yield the values of a column as texts, in chunks; a missing value is an error."""
    return (_texts(values) for values in _arrays(path, column))


def parquet_numbers(path: Path, column: str) -> Iterator[list[str] | NDArray[np.float64]]:
    """Yield a column of numbers as floats; a column of another type as texts, to be parsed."""
    return (_floats(values) for values in _arrays(path, column))


def _arrays(path: Path, column: str) -> Iterator[pyarrow.Array]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("reading Parquet files", "data") from None
    row = 1
    try:
        with parquet.ParquetFile(path) as file:
            column_place(path, file.schema_arrow.names, column)
            for batch in file.iter_batches(columns=[column]):
                values = batch.column(0)
                # A nan in a column of floats is how pandas writes a missing value.
                missing = values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
                if missing.any():
                    raise missing_value(column, row + int(missing.argmax()))
                yield values
                row += len(values)
    except (pyarrow.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    if row == 1:
        raise no_rows(path)


def _floats(values: pyarrow.Array) -> list[str] | NDArray[np.float64]:
    import pyarrow

    if pyarrow.types.is_integer(values.type) or pyarrow.types.is_floating(values.type):
        return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)
    return _texts(values)


def _texts(values: pyarrow.Array) -> list[str]:
    # Older writers store texts as bytes.
    return [
        value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
        for value in values.to_pylist()
    ]
