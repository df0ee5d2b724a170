"""Frames of pandas, polars, pyarrow and what else narwhals reads; relations of DuckDB.

The one file that imports narwhals (the ``data`` extra).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from smoothdp.data.batches import Batch, ColumnsBatch, Encoded, Source
from smoothdp.data.refusals import no_type
from smoothdp.data.table import require_columns
from smoothdp.errors import InvalidData, MissingExtra

_LIBRARIES = ("pandas", "polars", "pyarrow", "duckdb", "modin", "dask", "ibis", "pyspark", "cudf")
_ROWS_AT_ONCE = 131072
_KEPT_KINDS = ("pandas", "polars", "pyarrow")


def is_frame(data: object) -> bool:
    """Return whether data come from a library of frames; nothing is imported to say so."""
    if hasattr(data, "__narwhals_dataframe__") or hasattr(data, "__narwhals_lazyframe__"):
        return True
    return is_column(data) and hasattr(type(data), "columns")


def is_column(data: object) -> bool:
    """Return whether data are a column of a library of frames."""
    library = type(data).__module__.split(".")[0].lstrip("_")
    return library in (*_LIBRARIES, "narwhals")


def frame_source(data: object) -> Source:
    """Return the table of a frame, or of a relation of DuckDB, which is read in parts.

    Raises:
        InvalidData: an object that is no frame.
        MissingExtra: narwhals or pyarrow is not installed.
    """
    if type(data).__name__ == "DuckDBPyRelation":
        return _relation_source(data)
    frames = _narwhals()
    native = frames.from_native(data, pass_through=True)
    if not isinstance(native, frames.DataFrame | frames.LazyFrame):
        raise InvalidData(
            expected="a frame, a mapping from names to columns, or the path of a file",
            got=f"a {type(data).__name__}",
            remedy="Give a frame of pandas, polars or pyarrow, or {'wage': [...]}",
        )

    def batches(wanted: Sequence[str], everything: bool) -> Iterator[Batch]:
        present = native.collect_schema().names()
        require_columns(wanted, present)
        yield from _batches(native, present if everything else list(wanted))

    return Source(_library(native), batches)


def _relation_source(relation: Any) -> Source:
    """Return the table of a relation of DuckDB, read in parts: it need not fit into memory."""
    _narwhals()

    def batches(wanted: Sequence[str], everything: bool) -> Iterator[Batch]:
        from smoothdp.data.arrow_batch import ArrowBatch

        require_columns(wanted, relation.columns)
        names = relation.columns if everything or not wanted else wanted
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        chosen = relation.project(quoted)
        reader = getattr(chosen, "to_arrow_reader", None) or chosen.fetch_arrow_reader
        for batch in _at_least_one(reader(_ROWS_AT_ONCE)):
            yield ArrowBatch(batch)

    return Source("duckdb", batches)


def frame_columns(data: object, names: Sequence[str]) -> dict[str, list[object]]:
    """Return columns of a frame as lists of Python's values.

    Raises:
        InvalidData: a column is absent.
    """
    lists: dict[str, list[object]] = {name: [] for name in names}
    for batch in frame_source(data).batches(names, False):
        for row in batch.rows():
            for name in names:
                lists[name].append(row[name])
    return lists


def make_frame(columns: Mapping[str, list[Any]], kind: str) -> Any:
    """Return a frame of columns; where its library is not installed, a dict of the columns.

    Args:
        kind: of a `Source`. Relations of DuckDB and lazy frames become tables of pyarrow, other
            data frames of pandas.
    """
    library = kind if kind in _KEPT_KINDS else "pandas"
    if kind in ("duckdb", "ibis"):
        library = "pyarrow"
    if find_spec(library) is None or find_spec("narwhals") is None:
        return dict(columns)
    texts = {name: list(map(_writable, values)) for name, values in columns.items()}
    return _narwhals().from_dict(texts, backend=library).to_native()


def _writable(value: Any) -> Any:
    """Return a text that can be encoded: a private key may hold half of a character."""
    if not isinstance(value, str) or value.isascii():
        return value
    return value.encode("utf-8", "backslashreplace").decode()


def _narwhals() -> Any:
    try:
        import narwhals
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("reading frames", "data") from None
    return narwhals


def _library(frame: Any) -> str:
    return str(frame.implementation.name).lower()


def _batches(frame: Any, names: list[str]) -> Iterator[Batch]:
    if not names:
        yield ColumnsBatch(_height(frame), {})
        return
    if frame.implementation.is_pandas_like():
        yield ColumnsBatch.of({name: frame_column(frame[name]) for name in names})
        return
    from smoothdp.data.arrow_batch import ArrowBatch

    for batch in _arrow(frame.select(names)):
        yield ArrowBatch(batch)


def _arrow(frame: Any) -> Iterator[Any]:
    """Yield record batches of a frame, collected if it is lazy."""
    import pyarrow

    if hasattr(frame, "collect"):
        frame = _collected(frame)
    try:
        table = frame.to_arrow()
    except (pyarrow.ArrowException, TypeError, ValueError):
        table = None
    # Outside of the except: what the libraries say may quote a value.
    if table is None:
        raise InvalidData(
            expected="columns of texts, numbers, truth values or dates",
            got="another type in the frame",
            remedy="Convert the columns that are used",
        )
    yield from _at_least_one(table.to_reader(max_chunksize=1 << 20))


def _at_least_one(reader: Any) -> Iterator[Any]:
    """Yield the batches of a reader; without rows an empty one, so that its types are checked.

    Types that are refused with one row and not with none would tell the two apart.
    """
    import pyarrow

    is_empty = True
    while (batch := _answer(lambda: next(reader, None))) is not None:
        yield batch
        is_empty = False
    if is_empty:
        yield pyarrow.RecordBatch.from_pylist([], schema=reader.schema)


def _collected(frame: Any) -> Any:
    """Return the rows of a lazy frame."""
    lazy_polars = frame.implementation.is_polars()
    return _answer(lambda: frame.collect(backend="polars" if lazy_polars else "pyarrow"))


def _answer(query: Callable[[], Any]) -> Any:
    """Return what a query answers; if it fails on a row, what it says may quote that row."""
    try:
        return query()
    except Exception:
        pass
    # Outside of the except: what the library says would go along.
    raise InvalidData(
        expected="a query that no row can make fail",
        got="one that failed",
        remedy="Try it on public rows, and let it answer null where it cannot convert a value",
    )


def frame_column(column: object) -> np.ndarray | Encoded | list[object]:
    """Return a column of a frame: an array of numbers where its type says so, else labels."""
    import pyarrow

    frames = _narwhals()
    if isinstance(column, pyarrow.Array):
        column = pyarrow.chunked_array([column])
    series = (
        column
        if isinstance(column, frames.Series)
        else frames.from_native(column, series_only=True)
    )
    native, kind = series.to_native(), series.dtype
    dtype = getattr(native, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "iufb":
        return np.asarray(native)
    if isinstance(dtype, np.dtype) and dtype.kind == "O":
        # What narwhals calls the type of Python's objects, it guesses from the rows.
        return list(native)
    if kind.is_numeric():
        # Not a safe cast: it refuses whole numbers beyond 2^53, by what a row holds.
        floats = series.to_arrow().cast(pyarrow.float64(), safe=False)
        return np.asarray(floats.to_numpy(zero_copy_only=False), np.float64)
    if kind.is_nested():
        raise no_type(str(series.name), str(kind), "labels or numbers")
    if kind == frames.Object or not series.implementation.is_pandas_like():
        # Row by row: to some libraries 1 and True are one label.
        return list(native.to_pylist() if hasattr(native, "to_pylist") else native)
    codes, labels = native.factorize()
    return Encoded(np.asarray(codes, np.int64), tuple(labels), str(kind))


def _height(frame: Any) -> int:
    return len(_collected(frame) if hasattr(frame, "collect") else frame)
