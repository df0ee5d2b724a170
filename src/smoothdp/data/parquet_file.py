"""One column of a Parquet file, read with pyarrow (the ``data`` extra)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from smoothdp.data.missing import without_missing
from smoothdp.data.refusals import column_index, no_rows, unreadable
from smoothdp.errors import MissingExtra
from smoothdp.types import BoolArray, FloatArray

if TYPE_CHECKING:
    import pyarrow


def parquet_texts(path: Path, column: str, missing: str | None) -> Iterator[list[str]]:
    """Yield the values of a column as texts, in chunks; see `smoothdp.data.missing`."""
    for values, absent in _arrays(path, column):
        yield _present(values, absent, missing, column)


def parquet_numbers(
    path: Path, column: str, missing: str | None
) -> Iterator[list[str] | FloatArray]:
    """Yield a column of numbers as floats; a column of another type as texts, to be parsed."""
    for values, absent in _arrays(path, column):
        if absent.any():
            yield _present(values, absent, missing, column)
        else:
            yield _floats(values)


def _present(
    values: pyarrow.Array, absent: BoolArray, missing: str | None, column: str
) -> list[str]:
    texts = _texts(values)
    if absent.any():
        texts = ["" if gone else text for text, gone in zip(texts, absent.tolist(), strict=True)]
    return without_missing(texts, missing, column)


def _arrays(path: Path, column: str) -> Iterator[tuple[pyarrow.Array, BoolArray]]:
    """Yield chunks, and which of their values are missing."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtra("reading Parquet files", "data") from None
    is_empty = True
    try:
        with parquet.ParquetFile(path) as file:
            column_index(path, file.schema_arrow.names, column)
            for batch in file.iter_batches(columns=[column]):
                values = batch.column(0)
                # A nan in a column of floats is how pandas writes a missing value.
                absent = values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
                yield values, absent
                is_empty = is_empty and not len(values)
    except (pyarrow.ArrowException, OSError) as error:
        raise unreadable(path, error) from None
    if is_empty:
        raise no_rows(path)


def _floats(values: pyarrow.Array) -> list[str] | FloatArray:
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
