"""Rows of Arrow: of frames, of relations, and of Parquet files and folders (the ``data`` extra)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from smoothdp.data.batches import Batch, LabelKind, Source, labels_of_texts, require_kind
from smoothdp.data.csv_format import CsvFormat
from smoothdp.data.refusals import column_index, no_type, unreadable
from smoothdp.data.table import Categories, categories_of_codes
from smoothdp.errors import InvalidData, MissingExtra
from smoothdp.types import FloatArray

if TYPE_CHECKING:
    import pyarrow

_ROWS_AT_ONCE = 131072


@dataclass(frozen=True, slots=True, eq=False)
class ArrowBatch:
    """Some rows of Arrow.

    Attributes:
        batch: the rows. untyped: columns that are texts because folders are named by them.
    """

    batch: pyarrow.RecordBatch
    untyped: frozenset[str] = frozenset()

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.batch.num_rows)

    def labels(self, name: str, kind: LabelKind | None) -> Categories:
        """Return a column of labels, by its dictionary."""
        import pyarrow

        column = self.batch.column(self.batch.schema.get_field_index(name))
        if name in self.untyped:
            texts = ["" if text is None else text for text in column.to_pylist()]
            return labels_of_texts(texts, kind, CsvFormat())
        values = column.type.value_type if _is_dictionary(column) else column.type
        require_kind(name, kind, _kind_of(values, name))
        if pyarrow.types.is_timestamp(values):
            # Finer ones are no dates of Python.
            column = column.cast(pyarrow.timestamp("us", values.tz), safe=False)
        elif pyarrow.types.is_string(values) or pyarrow.types.is_large_string(values):
            # Bytes that are no UTF-8 are read as they come, not refused.
            column = _as_bytes(column)
        encoded = column if _is_dictionary(column) else column.dictionary_encode()
        codes = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)
        return categories_of_codes(codes, _values(encoded.dictionary))

    def numbers(self, name: str) -> FloatArray:
        """Return a column of numbers; each becomes a float, nan where there is none."""
        import pyarrow

        column = self.batch.column(self.batch.schema.get_field_index(name))
        if name in self.untyped:
            texts = ["" if text is None else text for text in column.to_pylist()]
            return np.array([CsvFormat().number(text) for text in texts], np.float64)
        types = pyarrow.types
        good = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
        if not any(is_type(column.type) for is_type in good):
            raise no_type(name, str(column.type), "numbers")
        floats = column.cast(pyarrow.float64(), safe=False)
        return np.asarray(floats.to_numpy(zero_copy_only=False), np.float64)

    def rows(self) -> Iterator[dict[str, object]]:
        """Yield each row."""
        names = self.batch.schema.names
        columns = [_values(column) for column in self.batch.columns]
        for place, name in enumerate(names):
            if name in self.untyped:
                texts = columns[place]
                columns[place] = [text and CsvFormat().value(str(text)) for text in texts]
        for values in zip(*columns, strict=True):
            yield dict(zip(names, values, strict=True))


def parquet_source(path: Path) -> Source:
    """Return the table of a Parquet file, or of a folder of them; columns are read in parts.

    Folders below that are named such as year=2026 make a column.

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("reading Parquet files", "data") from None

    def batches(wanted: Sequence[str], everything: bool) -> Iterator[Batch]:
        yield from _batches(path, wanted, everything)

    return Source("file", batches)


def _batches(path: Path, wanted: Sequence[str], everything: bool) -> Iterator[Batch]:
    import pyarrow

    try:
        dataset, untyped = _dataset(path)
        for name in wanted:
            column_index(path, dataset.schema.names, name)
        names = dataset.schema.names if everything else list(wanted)
        # One fragment at a time: what is read ahead stays in memory.
        scanner = dataset.scanner(
            columns=names, batch_size=_ROWS_AT_ONCE, batch_readahead=2, fragment_readahead=1
        )
        for batch in scanner.to_batches():
            yield ArrowBatch(batch, untyped)
    except (pyarrow.ArrowException, OSError) as error:
        raise unreadable(path, error) from None


def _dataset(path: Path) -> tuple[Any, frozenset[str]]:
    """Return the dataset, and which of its columns are made of names of folders."""
    import pyarrow
    from pyarrow import dataset

    plain = dataset.dataset(str(path), format="parquet")
    if not path.is_dir():
        return plain, frozenset()
    if not plain.files:
        raise InvalidData(
            expected=f"Parquet files in the folder {path}",
            got="none",
            remedy="Give the folder that holds them",
        )
    named = dataset.dataset(str(path), format="parquet", partitioning="hive").schema.names
    parts = [name for name in named if name not in plain.schema.names]
    # As texts whatever they look like: what type is guessed would depend on the rows.
    texts = pyarrow.schema([(name, pyarrow.string()) for name in parts])
    by_folder = dataset.partitioning(texts, flavor="hive")
    found = dataset.dataset(str(path), format="parquet", partitioning=by_folder)
    return found, frozenset(parts)


def _is_dictionary(column: pyarrow.Array) -> bool:
    import pyarrow

    return bool(pyarrow.types.is_dictionary(column.type))


def _kind_of(kind: pyarrow.DataType, name: str) -> LabelKind | None:
    """Return the kind of labels of a type; None where it holds no rows, or dates."""
    import pyarrow

    types = pyarrow.types
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_boolean(kind):
        return "truth"
    if types.is_nested(kind):
        raise no_type(name, str(kind), "labels")
    return None if types.is_null(kind) else "text"


def _as_bytes(column: pyarrow.Array) -> pyarrow.Array:
    import pyarrow

    if _is_dictionary(column):
        bytes_of = pyarrow.dictionary(column.type.index_type, pyarrow.large_binary())
        return column.cast(bytes_of)
    return column.cast(pyarrow.large_binary())


def _values(column: pyarrow.Array) -> list[object]:
    """Return the values of a column; None for one that Python has no value for.

    Such are dates beyond the year 9999. An error would tell of a row, and quote it.
    """
    import pyarrow

    if pyarrow.types.is_string(column.type) or pyarrow.types.is_large_string(column.type):
        column = _as_bytes(column)
    try:
        return list(map(_text, column.to_pylist()))
    except (OverflowError, ValueError, UnicodeError, pyarrow.ArrowException):
        return [_value(one) for one in column]


def _value(scalar: pyarrow.Scalar) -> object:
    import pyarrow

    try:
        return _text(scalar.as_py())
    except (OverflowError, ValueError, UnicodeError, pyarrow.ArrowException):
        return None


def _text(label: object) -> object:
    # Older writers store texts as bytes.
    return label.decode("utf-8", "replace") if isinstance(label, bytes) else label
