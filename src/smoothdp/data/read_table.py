"""Read the columns of a table that a release asks for, from whatever holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from smoothdp.data.batches import Batch, Column, ColumnsBatch, LabelKind, Source, TextBatch
from smoothdp.data.columns import existing_file, read_column
from smoothdp.data.csv_file import csv_columns, is_csv
from smoothdp.data.csv_format import CsvFormat
from smoothdp.data.row_rules import DerivedBatch, RowFilter, read_rules
from smoothdp.data.table import Categories, Label, Table, require_columns, same_label
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter
from smoothdp.types import FloatArray, IntArray


def read_table(
    data: object,
    *,
    categories: Sequence[str],
    numbers: Sequence[str],
    where: object = None,
    derive: object = None,
    csv: object = None,
    kinds: Mapping[str, LabelKind] | None = None,
) -> Table:
    """Return some columns of the data, row by row; no row is refused.

    Columns that are not needed are not read, and files are read in parts: what is kept are codes
    of labels, and numbers.

    Args:
        data: a mapping from names to columns; a frame of pandas, polars, pyarrow or of what else
            narwhals reads, lazily too; a relation of DuckDB; the path of a file of CSV
            (.csv, .tsv, also .gz; "-" is standard input), of Parquet, or of a folder of these.
        categories: columns of labels. numbers: columns of numbers.
        where: which rows to keep, see `smoothdp.data.row_rules`. Others are as if not there.
        derive: further columns, by a function of a row.
        csv: a `CsvFormat`, or its arguments by name.
        kinds: of which kind the public labels of a column are: a file of texts is read so, and a
            column of another type is refused.

    Raises:
        InvalidData: a column is absent, they differ in length, one has a type that holds no such
            values, or the file cannot be read.
        InvalidParameter: where, derive or csv of another shape.
        MissingExtra: a frame or Parquet without the ``data`` extra.

    >>> people = {"region": ["N", "S", "N"], "wage": [10, 20, None], "hours": [5, 4, 3]}
    >>> table = read_table(
    ...     people, categories=["region"], numbers=["hourly"], where={"region": "N"},
    ...     derive={"hourly": lambda row: row["wage"] / row["hours"]},
    ... )
    >>> table.numbers["hourly"]
    array([ 2., nan])
    """
    kept, rules, labels = RowFilter.read(where), read_rules(derive), dict(kinds or {})
    wanted = dict.fromkeys([*categories, *numbers, *kept.columns])
    everything = bool(rules) or kept.rule is not None
    coded = {name: _Codes() for name in categories}
    read: dict[str, list[FloatArray | IntArray]] = {name: [] for name in numbers}
    n_rows = 0
    source = open_source(data, csv=csv)
    for plain in source.batches([name for name in wanted if name not in rules], everything):
        batch = DerivedBatch.of(plain, rules)
        mask = kept.mask(batch)
        n_rows += batch.n_rows if mask is None else int(mask.sum())
        for name, codes in coded.items():
            found = batch.labels(name, labels.get(name))
            codes.add(found if mask is None else Categories(found.codes[mask], found.labels))
        for name, parts in read.items():
            column = batch.numbers(name)
            parts.append(column if mask is None else column[mask])
    return Table(
        n_rows,
        {name: coded.pop(name).column() for name in list(coded)},
        {name: _joined(read.pop(name)) for name in list(read)},
    )


def count_rows(path: str | Path, *, csv: object = None) -> int:
    """Return how many records a file holds; no value of any column is read.

    Args:
        path: a file of CSV or of Parquet, as for `read_column`. csv: how a CSV file is written.

    Raises:
        InvalidData: a file that cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "rows.csv"
    ...     _ = path.write_text("a,b\\n1,2\\n3,4\\n")
    ...     print(count_rows(path))
    2
    """
    return read_table(str(path), categories=[], numbers=[], csv=csv).n_rows


def read_numbers_of(
    data: object,
    column: str,
    *,
    may_drop: bool,
    where: object = None,
    derive: object = None,
    csv: object = None,
) -> FloatArray | IntArray:
    """Return a column of numbers of a table.

    Args:
        data, where, derive, csv: as for `read_table`. column: its name.
        may_drop: whether n is private. Otherwise no row is left out, and one without a number
            is nan, except that a file is read by `read_column`.

    Raises:
        IncompatibleClaims: a filter or a derived column where n is public.
        Others as `read_table`.
    """
    if may_drop:
        table = read_table(
            data, categories=[], numbers=[column], where=where, derive=derive, csv=csv
        )
        return table.numbers[column]
    if where is not None or derive is not None:
        raise IncompatibleClaims(
            expected="where and derive with a guarantee about adding or removing a record: how "
            "many records a filter keeps, or a function fails on, is private",
            got="a guarantee about replacing one",
            remedy='Give neighbours="add_remove"',
        )
    if isinstance(data, str | Path):
        csv_format = CsvFormat.read(csv)
        return read_column(data, column, **csv_format.options())
    batches = open_source(data, csv=csv).batches([column], False)
    return _joined([batch.numbers(column) for batch in batches])


def read_column_of_frame(column: object) -> FloatArray | IntArray:
    """Return a column of a library of frames as numbers, nan where there is none.

    Raises:
        InvalidData: a column whose type holds no numbers.
        MissingExtra: without the ``data`` extra.
    """
    return ColumnsBatch.of({"values": _column(column, "values")}).numbers("values")


def open_source(data: object, *, csv: object = None) -> Source:
    """Return where the rows of some data are; raises what `read_table` raises."""
    csv_format = CsvFormat.read(csv)
    if isinstance(data, str | Path):
        return _file(Path(data), csv_format)
    if csv is not None:
        raise InvalidParameter(
            expected="csv= with a file of CSV alone",
            got=f"a {type(data).__name__}",
            remedy="Leave csv out",
        )
    from smoothdp.data.frames import frame_source, is_frame

    if is_frame(data):
        return frame_source(data)
    if isinstance(data, Mapping):
        return _mapping(data)
    raise InvalidData(
        expected="a frame, a mapping from names to columns, or the path of a file",
        got=f"a {type(data).__name__}",
        remedy="Give a frame of pandas, polars or pyarrow, or {'region': [...], 'wage': [...]}",
    )


def source_kind(data: object) -> str:
    """Return the kind of a `Source`, for the frame of what is made of it; nothing is read."""
    if isinstance(data, str | Path):
        return "file"
    return "columns" if isinstance(data, Mapping) else open_source(data).kind


def _file(path: Path, csv_format: CsvFormat) -> Source:
    existing_file(path, folders=True)
    if not is_csv(path):
        from smoothdp.data.arrow_batch import parquet_source

        if csv_format != CsvFormat():
            raise InvalidParameter(
                expected="csv= with a file of CSV alone", got=f"{path}", remedy="Leave csv out"
            )
        return parquet_source(path)

    def batches(wanted: Sequence[str], everything: bool) -> Iterator[Batch]:
        for columns in csv_columns(path, wanted, csv_format, everything=everything):
            yield TextBatch(len(next(iter(columns.values()))), columns, csv_format)

    return Source("file", batches)


def _mapping(data: Mapping[str, object]) -> Source:
    def batches(wanted: Sequence[str], everything: bool) -> Iterator[Batch]:
        require_columns(wanted, list(data))
        names = list(data) if everything else wanted
        yield ColumnsBatch.of({name: _column(data[name], name) for name in names})

    return Source("columns", batches)


def _column(column: object, name: str) -> Column:
    """Return a column of a mapping: a list, an array, or a column of a frame."""
    if isinstance(column, list | tuple):
        return column
    if isinstance(column, np.ma.MaskedArray):
        return [
            None if gone else one
            for one, gone in zip(column.tolist(), np.ma.getmaskarray(column).tolist(), strict=True)
        ]
    if isinstance(column, np.ndarray):
        if column.ndim == 1:
            return column
    elif hasattr(column, "__len__") and not isinstance(column, str | bytes | Mapping):
        from smoothdp.data.frames import frame_column, is_column

        if is_column(column):
            return frame_column(column)
        if hasattr(column, "__iter__"):
            return list(column)
    raise InvalidData(
        expected=f"one value for each row in the column {name!r}",
        got=f"a {type(column).__name__}",
        remedy="Give a list, or an array of one dimension",
    )


class _Codes:
    """A column of labels that grows by parts, each with labels of its own."""

    def __init__(self) -> None:
        self._places: dict[object, int] = {}
        self._labels: list[Label] = []
        self._parts: list[IntArray] = []

    def add(self, part: Categories) -> None:
        """Add the labels of some more rows."""
        translate = [self._place(label) for label in part.labels]
        self._parts.append(np.array([*translate, -1], np.int64)[part.codes])

    def _place(self, label: Label) -> int:
        place = self._places.setdefault(same_label(label), len(self._labels))
        if place == len(self._labels):
            self._labels.append(label)
        return place

    def column(self) -> Categories:
        """Return the whole column."""
        codes = _joined(self._parts)
        return Categories(codes.astype(np.int64, copy=False), tuple(self._labels))


def _joined(parts: list[FloatArray] | list[IntArray] | list[FloatArray | IntArray]) -> np.ndarray:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, np.float64)
